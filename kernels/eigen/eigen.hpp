#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/buffer.hpp"
#include "core/stream.hpp"
#include "core/variant.hpp"
#include "kernels/eigen/block.hpp"

/// Kernel family `eigen`: A·u = λ·u for operators that are symmetric in an inner product,
///
///   ⟨u, v⟩ = Σ_p w_p·u_p·v_p,   ⟨u, A·v⟩ = ⟨A·u, v⟩,
///
/// by methods that need products with blocks of vectors (`lobpcg`, `lanczos`), or of a dense symmetric
/// matrix by a transformation of all of it (`decompose`). All is float64. Vectors are rows of n values
/// in the stream's device memory; products of blocks with blocks go to the host, where the small
/// problems are solved.
///
/// Sums are over tiles of a size that depends on n alone, in a fixed order: where `apply` and
/// `precondition` give the same bits every time, so do the methods, with any number of threads.
namespace gridstride::eigen {

/// A as a function, in units in which its largest row is near 1: no square of a residual is then out
/// of range.
struct Operator {
  Space space;
  std::int64_t unknowns = 0;  ///< how many of the n values are any: the others are 0
  double norm = 1;            ///< what Σ_j |A_ij| is at most
  /// Queues y ← A·x for so many rows, one after the other in memory.
  std::function<void(Stream&, int rows, double const* x, double* y)> apply;
  /// Queues w ← T·w for such rows, of the norms that the host knows. T is near the inverse of A − σ
  /// with some σ below all eigenvalues; it need be neither symmetric nor exact. May be empty.
  std::function<void(Stream&, std::span<double const> norms, double* w)> precondition = {};
};

struct Options {
  int modes = 1;         ///< k
  bool largest = false;  ///< else the smallest eigenvalues, in the order of numbers
  /// A mode is found where ‖A·u − λ·u‖ is at most so much of |λ|, or of a thousandth of the largest
  /// |λ| of the block where that is more, and at most so much of how far the block's eigenvalues lie
  /// apart, if that is above 10⁻⁸·norm; or where it is what roundings are.
  double tolerance = 1e-8;
  std::int64_t iterations = 1000;
  /// What ends them as well, in the units of `work_of_iteration`.
  double most_work = std::numeric_limits<double>::infinity();
  std::uint64_t seed = 1;  ///< of the vectors to begin with
};

/// How far an iteration has come.
struct Step {
  int found = 0;          ///< modes, of the k
  double residual = 0;    ///< the largest ‖A·u − λ·u‖ of the k
  double eigenvalue = 0;  ///< the last of the k
};

struct Result {
  bool converged = false;
  std::vector<double> values;     ///< the k eigenvalues: the smallest first, or the largest first
  std::vector<double> residuals;  ///< ‖A·u − λ·u‖ of each, computed anew at the end
  std::optional<double> next;     ///< an approximation of the eigenvalue after the last, or nearer
  std::vector<Step> history;
  std::int64_t products = 0;  ///< of A with a vector
};

/// Locally optimal block preconditioned conjugate gradients (Knyazev, SIAM J. Sci. Comput. 23
/// (2001)): in each iteration the best of the space of the modes so far, of what the preconditioner
/// makes of their residuals, and of the directions before. That space has an orthonormal basis,
/// made by products of blocks alone (Stathopoulos and Wu, SIAM J. Sci. Comput. 23 (2002); Duersch,
/// Shao, Yang and Gu, SIAM J. Sci. Comput. 40 (2018)); what roundings have left of a vector is
/// dropped. The block has a quarter more vectors than modes are asked for, and four at least, so
/// that none of several equal eigenvalues is passed over: `rows` has room for `block_size` of them, of
/// which the first k become modes. What a preconditioner cannot tell apart, eigenvalues that lie close
/// together beside their size, takes hundreds of iterations unless the block has all of them: after some
/// iterations without an end it has twice as many vectors, up to `largest_block`. Iterations go on until the
/// residuals of the others of the block, too, are so small that none of them may turn out to stand for one of
/// the eigenvalues asked for. Throws
/// `std::invalid_argument` for more modes than unknowns, or than `most_modes`, and for other room.
Result lobpcg(Stream& stream, Operator const& a, Options const& options, std::span<double> rows);

/// What an iteration with a basis of so many vectors takes, beside n³ for all of an n × n matrix by
/// `decompose`: products of blocks, the small problem, and a cycle of multigrid for a third of the basis.
double work_of_iteration(int basis, std::int64_t unknowns);
/// Of some twenty iterations of `lobpcg`, which finds the smallest modes of most grids by them.
double work_of_lobpcg(int modes, std::int64_t unknowns);

inline constexpr int most_modes = 128;  ///< of `lobpcg` and `lanczos`

/// Vectors of the block that finds so many modes.
int block_size(int modes, std::int64_t unknowns);
/// And at most, where they have room in 256 MiB with all that belongs to them.
int largest_block(int modes, std::int64_t size, std::int64_t unknowns);
/// Device memory that it takes beside `rows`, at most.
std::size_t lobpcg_bytes(int modes, std::int64_t size, std::int64_t unknowns);

/// Lanczos' method with blocks, all vectors orthogonal to all others, and thick restarts (Wu and Simon,
/// SIAM J. Matrix Anal. Appl. 22 (2000)): the best in a space that products of A with random vectors
/// make, again and again. It needs fewer products than `lobpcg` without a preconditioner, and has none.
/// An iteration is what is done between two restarts. Of equal eigenvalues none is passed over: where
/// as many are found as a block has vectors, it goes on in what is orthogonal to all modes found,
/// and `converged` says that nothing is there that should be among them. `rows` has room for
/// `lanczos_rows`, of which the first k become modes; there is no other memory. Throws as `lobpcg`.
Result lanczos(Stream& stream, Operator const& a, Options const& options, std::span<double> rows);

/// Vectors of its basis, and for products.
int lanczos_rows(int modes, std::int64_t unknowns);

/// Rayleigh's quotients ⟨u, A·u⟩/⟨u, u⟩ of rows that are nearly modes, and ‖A·u − λ·u‖/‖u‖.
struct Judged {
  std::vector<double> values, residuals;
};
Judged judge(Stream& stream, Operator const& a, int rows, double const* x);

/// How far eigenvalues may be from those found, in order, in exact arithmetic and `rounding` more. At
/// least ‖A·u − λ·u‖ is a bound; where the eigenvalues of other modes, `next` among them, are further
/// away than that, so is Σ‖A·u − λ·u‖²/distance, over those that are not (Kato and Temple; Parlett,
/// "The Symmetric Eigenvalue Problem", 1998, 11.7).
std::vector<double> error_bounds(std::span<double const> values, std::span<double const> residuals,
                                 std::optional<double> next, double rounding);

/// The eigenvalues of a symmetric n × n matrix in device memory, in ascending order, and in the
/// place of the matrix its modes, a row each. Only one triangle is read. Waits for the stream. Throws
/// `NumericalError` where the iteration for an eigenvalue does not end.
void decompose(Stream& stream, std::int64_t n, std::span<double> matrix, std::span<double> values,
               std::string_view variant = "auto");

/// One piece of work for a rung.
using Function = void(Stream&, std::int64_t n, double* matrix, double* values);

/// Every variant, from the textbook's to the fastest of each backend.
std::span<Variant<Function> const> variants();

/// What `auto` means.
std::string_view default_variant(Backend backend);

}  // namespace gridstride::eigen

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/buffer.hpp"
#include "core/csr.hpp"
#include "kernels/krylov/krylov.hpp"

/// Kernel family `amg`: algebraic multigrid by smoothed aggregation, for sparse symmetric positive
/// definite matrices, as a preconditioner of conjugate gradients. T is float or double.
///
/// Levels are found from the matrix alone: unknowns that are strongly coupled, a_ij < 0 and
/// a_ij² > θ²·m_i·m_j with m_i the largest |a_ij| beside the diagonal, gather about roots that are no
/// nearer than three couplings to each other (a maximal independent set of the graph's square); who has
/// no strong coupling joins whom it follows, unless its diagonal dominates its row. An aggregate is an
/// unknown of the next level. Interpolation P is v on aggregates, what A takes nearly to 0 (constants,
/// where nothing else is known), smoothed by a step of Jacobi's relaxation along those couplings,
/// and the next matrix is PᵀAP. A cycle relaxes before and after, and solves the coarsest level by its inverse.
///
/// All of it happens where the stream is; the host waits for a few counts on the way. Roots are drawn
/// by numbers that follow from the unknowns' indices, and every sum has its own fixed order: the same
/// bits every time, for any number of threads.
/// Sources: Vaněk, Mandel and Brezina, "Algebraic multigrid by smoothed aggregation for second and
/// fourth order elliptic problems", Computing 56 (1996); Bell, Dalton and Olson, "Exposing
/// fine-grained parallelism in algebraic multigrid methods", SIAM J. Sci. Comput. 34 (2012).
namespace gridstride::amg {

/// A sparse matrix in a stream's device memory, by rows; columns may have any order.
template <class T>
struct Rows {
  std::int64_t rows = 0, columns = 0;
  Buffer<std::int64_t> offsets;
  Buffer<std::int32_t> column_indices;
  Buffer<T> values;

  std::int64_t nonzeros() const { return static_cast<std::int64_t>(values.size()); }
};

/// A copy of what the host has; waits for the stream.
template <class T>
Rows<T> on_device(Stream& stream, Csr<T> const& matrix);

struct Options {
  double strength = 0.25;       ///< θ
  std::int64_t coarsest = 256;  ///< unknowns that are few enough for an inverse
  std::int64_t vectors = 1;     ///< that a cycle has memory for at once
  /// Whether A·v = 0, and all unknowns hang together. Roundings hide that from a small pivot, whose inverse
  /// would make much of what r has of v.
  bool singular = false;
};

template <class T>
struct Level;

template <class T>
class Hierarchy {
 public:
  /// `near_kernel` is v, in device memory; none of its elements may be 0. Without any it is 1.
  /// Throws `std::invalid_argument` for a matrix that is not square, one with an element of the
  /// diagonal that is not positive in a row that has others, and a v of another size. Waits for the
  /// stream.
  Hierarchy(Stream& stream, Rows<T> matrix, Options const& options = {},
            Buffer<T> near_kernel = {});
  ~Hierarchy();
  Hierarchy(Hierarchy&&) noexcept;

  /// Queues z ← M⁻¹·r, one cycle; M is symmetric, and positive definite where A is. Of several vectors,
  /// one after the other, each has the bits that it has alone.
  void cycle(Stream& stream, std::span<T const> r, std::span<T> z) const;

  /// Unknowns of each level, from the finest.
  std::vector<std::int64_t> unknowns() const;
  /// Elements of all levels' matrices, as a multiple of those of the finest.
  double operator_complexity() const;
  /// Level number `index` and how it interpolates from the next, for tests.
  Rows<T> const& matrix(std::size_t index) const;
  Rows<T> const& interpolation(std::size_t index) const;

 private:
  bool coarsen(Stream& stream, double strength);
  void invert(Stream& stream, bool singular);
  void cycle_from(Stream& stream, std::size_t level, T const* b, T* x, std::int64_t vectors) const;

  std::vector<std::unique_ptr<Level<T>>> levels_;
  std::int64_t room_;  // vectors of a cycle
};

/// A cycle as a preconditioner.
template <class T>
krylov::Preconditioner<T> preconditioner(std::shared_ptr<Hierarchy<T> const> hierarchy);

}  // namespace gridstride::amg

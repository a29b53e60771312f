#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/stream.hpp"

/// Kernel family `krylov`: A·x = b by methods that need of A nothing but products with vectors. T is
/// float or double.
///
/// A is whatever a function computes: a sparse matrix, differences on a grid. Vectors are arrays of
/// n values in the stream's device memory. The scalars of a method stay on the device; the host
/// queues some iterations at a time and looks whether they have come to an end.
///
/// Sums are accumulated in float64, over tiles of a fixed size, in a fixed order: where `apply` gives
/// the same bits every time, so does a solve, whatever the GPU and the number of threads.
///
/// A method ends where the norm of its residual, which it carries along, is at most
/// tolerance·‖b‖₂; whether b − A·x, computed anew, is so small decides on `Outcome::converged`, and
/// where it is not, the method goes on from there, and to a smaller norm where it is but a little larger. The
/// residual of a result is always that computed anew.
namespace gridstride {
class RankPlanes;
}

namespace gridstride::krylov {

/// Queues y ← A·x, on this stream alone, without waiting for it; x and y do not overlap. It may be
/// captured into a graph. For `solve_together` it takes several vectors, one after the other, too: as
/// many as x is longer than n; each has the bits that it has alone.
template <class T>
using Apply = std::function<void(Stream&, std::span<T const> x, std::span<T> y)>;

/// What steps of conjugate gradients an operator can take in one pass over the vectors, where it
/// has more to gain than by products alone: on a grid p and A·p need not be stored both. The
/// factors lie in device memory, and so do the partial sums: as many as `partials` says, each of
/// terms that depend on nothing but n; their sum is taken in their order. Once `*stop` is not 0 the
/// steps do nothing.
template <class T>
struct FusedSteps {
  std::int64_t partials = 0;
  /// q ← r + β·p and sums of q·A·q.
  std::function<void(Stream&, int const* stop, double const* beta, std::span<T const> r,
                     std::span<T const> p, std::span<T> q, std::span<double> sums)>
      direct;
  /// x ← x + α·q, r ← r − α·A·q and sums of r·r.
  std::function<void(Stream&, int const* stop, double const* alpha, std::span<T const> q,
                     std::span<T> x, std::span<T> r, std::span<double> sums)>
      descend;
  /// Of several ranks: whose the sums are.
  std::vector<std::int64_t> direct_cuts = {}, descend_cuts = {};
};

/// A: n × n. Conjugate gradients and MINRES need Aᵀ = A in the plain inner product (on a grid: rows
/// times the volumes of their cells); what x and b have where there are no unknowns is to be 0, and
/// y too.
template <class T>
struct Operator {
  std::int64_t size = 0;  ///< n; of several ranks, the values that this one has in memory
  Apply<T> apply;
  FusedSteps<T> fused = {};  ///< may be empty
  /// The same in float32, with whole steps; may be null. Where A is of float64, conjugate gradients
  /// carry directions and residuals along in float32 then, x and b − A·x in float64.
  std::shared_ptr<Operator<float> const> rounded = nullptr;
  /// Values of a plane of the grid, so that sums are those of planes, which ranks may share; 0: there
  /// are none. With ranks, which all call `solve`, vectors have their planes as `RankPlanes` has them.
  std::int64_t plane = 0;
  RankPlanes* ranks = nullptr;
};

/// z ← M⁻¹·r, an approximation of A⁻¹·r that is linear in r and the same each time; for conjugate
/// gradients and MINRES symmetric (but see `Options::flexible`) and positive definite. Empty for
/// none.
template <class T>
using Preconditioner = Apply<T>;

/// z = r/diagonal, element by element: Jacobi's preconditioner, of any number of vectors. Throws `std::invalid_argument` for a
/// diagonal with elements that are 0 or not finite.
template <class T>
Preconditioner<T> jacobi(Stream& stream, std::span<T const> diagonal_on_host);

enum class Method { cg, bicgstab, gmres, minres };
std::string_view name_of(Method method);

struct Progress {
  std::int64_t iteration;
  double residual_norm;  ///< ‖r‖₂ / ‖b‖₂ as the method carries it along
};

struct Options {
  double tolerance = 1e-8;         ///< of ‖b − A·x‖₂ / ‖b‖₂
  std::int64_t iterations = 1000;  ///< at most; one of BiCGSTAB has two products with A
  /// GMRES: vectors that are kept until it begins anew.
  int restart = 30;
  /// CG: the residual is computed anew each time after so many iterations.
  int replace_every = 50;
  /// CG: whether M⁻¹ is only nearly symmetric. Each direction is then made conjugate to the last one,
  /// and steps go as far along it as is best, whatever M⁻¹ is: one more vector is read an iteration.
  /// (Notay, "Flexible conjugate gradients", SIAM J. Sci. Comput. 22 (2000).)
  bool flexible = false;
  /// Called now and then while the method runs, of several right-hand sides for the one that is the
  /// farthest from its end; may throw to end it.
  std::function<void(Progress const&)> progress = {};
};

enum class Outcome {
  converged,
  iterations,      ///< there were not enough of them
  stagnated,       ///< rounding keeps the residual from becoming smaller
  breakdown,       ///< a denominator of the method is 0
  indefinite,      ///< p·A·p ≤ 0 in conjugate gradients
  preconditioner,  ///< r·M⁻¹·r ≤ 0: it is not positive definite
  incompatible,    ///< A is singular, and no x that the method finds has a smaller residual
  not_finite,      ///< overflow, a product that is no number, or squares of b that underflow
};

struct Result {
  Outcome outcome = Outcome::iterations;
  std::int64_t iterations = 0;
  double residual_norm = 0;  ///< ‖b − A·x‖₂ / ‖b‖₂, computed anew
  double right_norm = 0;     ///< ‖b‖₂
  /// Of conjugate gradients that do not take whole steps (`FusedSteps`) and are not flexible: the
  /// condition of M⁻¹·A as they have met it, which is at most that (ritz.hpp); else NaN.
  double condition = std::numeric_limits<double>::quiet_NaN();
  /// ‖r‖₂ / ‖b‖₂ before the first iteration and after each, as the method carries it along.
  std::vector<double> history;
  /// What happened and which method would do, in words; empty where it converged.
  std::string advice;

  bool converged() const { return outcome == Outcome::converged; }
};

/// Solves A·x = b from the x that is given, which becomes the last one (of GMRES and MINRES the one
/// with the smallest residual). b = 0 gives x = 0. Waits for the stream. Throws
/// `std::invalid_argument` for vectors of other sizes than n, b and x that overlap, a tolerance
/// that is not in (0, 1), less than one iteration and a restart that is not in [1, 1000].
template <class T>
Result solve(Stream& stream, Method method, Operator<T> const& a,
             std::type_identity_t<Preconditioner<T>> const& preconditioner,
             std::type_identity_t<std::span<T const>> right, std::span<T> solution,
             Options const& options = {});

inline constexpr std::int64_t most_together = 64;

/// The same for `count` right-hand sides at once, columns of n values one after the other, with a product
/// and a pass for all of them in the place of one for each: what is read of A and M is read once for
/// some. Each has the result and the bits that it has alone; one that has come to an end waits for the
/// others. `a` and the preconditioner have to take several vectors. Throws as `solve`, for GMRES, for an
/// operator with whole steps, planes or ranks, and for a count that is not in [1, most_together].
template <class T>
std::vector<Result> solve_together(Stream& stream, Method method, Operator<T> const& a,
                                   std::type_identity_t<Preconditioner<T>> const& preconditioner,
                                   std::type_identity_t<std::span<T const>> rights,
                                   std::span<T> solutions, std::int64_t count,
                                   Options const& options = {});

/// Planes of so many whose values are summed together (`Operator::plane`): a power of two. No rank cuts
/// them.
std::int64_t planes_together(std::int64_t planes);
/// The sums that are kept of such a vector, at most.
std::int64_t sums_kept(std::int64_t size, std::int64_t plane);

/// Device memory that `solve` takes for a method's vectors, beside b and x; of several right-hand sides
/// `solve_together`.
std::size_t work_bytes(Method method, std::int64_t size, std::size_t element,
                       Options const& options, bool preconditioned, std::int64_t together = 1);

}  // namespace gridstride::krylov

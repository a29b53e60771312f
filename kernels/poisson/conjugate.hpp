#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <type_traits>

#include "core/buffer.hpp"
#include "core/precision.hpp"
#include "core/stream.hpp"
#include "kernels/krylov/krylov.hpp"
#include "kernels/poisson/poisson.hpp"

/// The equation by conjugate gradients of family `krylov`, without a matrix: differences are taken
/// as they are needed. Rows are multiplied by the shares of cells that belong to points, which makes
/// them symmetric, and by a power of two; so is the right-hand side. Where a or κ are fields, rows and
/// columns are divided by the roots of the diagonal, too: as many iterations as with Jacobi's
/// preconditioner, and the passes of one without.
namespace gridstride::poisson {

struct ConjugateOptions {
  /// Of ‖V·(f − A·u)‖₂, with V the shares of cells, over ‖V·f‖₂; where a or κ are fields, V is these
  /// over the roots of the diagonal of V·A.
  double tolerance = 1e-10;
  std::int64_t iterations = 10000;  ///< at most
  /// In which directions and residuals are carried along. u and what is left of the right-hand side
  /// are kept in float64.
  Precision inner = Precision::float64;
  /// Whether a cycle of algebraic multigrid makes each direction (aggregation.hpp), in float64.
  bool aggregates = false;
  std::function<void(krylov::Progress const&)> progress = {};
};

/// Device memory that a solver takes, at most; of several ranks, for a grid of their planes.
std::size_t conjugate_bytes(Grid const& grid, bool has_fields, Precision inner);

/// Planes along the slowest axis that ranks which share a grid do not cut: one, or a power of two.
std::int64_t planes_together(Backend backend, Grid const& grid, Sides const& sides, bool has_fields,
                             Precision inner);
/// Sums that a solver's ranks share at a time, at most.
std::int64_t most_shared_sums(Grid const& grid);

template <class T>
struct ConjugateBody;

/// T is the type of the grid's arrays, float or double.
template <class T>
class ConjugateSolver {
 public:
  /// a > 0 and κ ≥ 0, whose fields are read while it is solved. Where constants solve the equation
  /// without a source it is `singular`: the mean of the right-hand side is taken off it, and that of
  /// u is any. Waits for the stream. Throws `std::invalid_argument` for grids and sides that the
  /// family does not take, and for those that `aggregation` refuses. Of several ranks all make one, and
  /// solve.
  ConjugateSolver(Stream& stream, Equation<T> const& equation, bool singular,
                  ConjugateOptions options = {});
  ~ConjugateSolver();
  ConjugateSolver(ConjugateSolver&&) noexcept;
  ConjugateSolver& operator=(ConjugateSolver&&) noexcept;

  /// From 0. u keeps what it has on Dirichlet sides. Where float32 inside comes to an end too early
  /// the iterations go on in float64. Where they come no further it has converged all the same if each
  /// row is off by no more than its roundings, 16 units of Σ_j |A_ij|·max |u|, or, with a cycle to tell, if
  /// that changes u by no more than the tolerance of the largest |u|, and rows that are let off their
  /// roundings leave no more than the tolerance. Waits for the stream.
  krylov::Result solve(Stream& stream, std::type_identity_t<std::span<T const>> right,
                       std::span<T> u);

 private:
  std::unique_ptr<ConjugateBody<T>> body_;
};

/// R = 1/√ of the diagonal of 2^exponent·V·A where a or κ are fields, 0 where u is known; else nothing.
template <class S, class T>
Buffer<S> diagonal_roots(Stream& stream, Equation<T> const& equation, int exponent);

/// The operator that it solves with, 2^exponent·V·A or R·2^exponent·V·A·R, with whole steps: x and b are
/// 0 on Dirichlet sides. The equation's fields and R have to outlive it.
template <class S, class T>
krylov::Operator<S> symmetric_operator(Stream& stream, Equation<T> const& equation, int exponent,
                                       S const* roots = nullptr);

}  // namespace gridstride::poisson

#pragma once

#include <cstddef>
#include <optional>

#include "kernels/multigrid/multigrid.hpp"
#include "kernels/stencil/implicit.hpp"
#include "model/entry.hpp"

/// Implicit stages of heat by cycles of multigrid, without splitting.
namespace gridstride::heat {

/// Whether a run's implicit steps go by it.
bool takes_multigrid(config::RunConfig const& run);

template <class T>
class WholeSystem {
 public:
  /// `ranks`: how several share it, whose arrays are then as `poisson::Equation` has them, and diffusions
  /// those of the whole grid but for their fields.
  explicit WholeSystem(config::RunConfig const& run, RankPlanes* ranks = nullptr);

  /// (1 − step·L) v = given, v what it is on Dirichlet sides and near the solution inside; `given` is
  /// changed. Waits for the stream. Throws `NumericalError` where cycles do not come to the
  /// tolerance.
  void solve(Stream& stream, stencil::Diffusion<T> const& diffusion, double step,
             std::span<T> given, std::span<T> v);
  /// The same of an error v, which is 0 on Dirichlet sides and has no slope on Neumann ones.
  void solve_error(Stream& stream, stencil::Diffusion<T> const& diffusion, double step,
                   std::span<T> given, std::span<T> v);

  static std::size_t bytes(config::RunConfig const& run, Backend backend,
                           RankCuts const& cuts = {});
  /// Planes that no rank may cut.
  static std::int64_t planes_together(config::RunConfig const& run, Backend backend);

 private:
  poisson::Equation<T> equation_of(stencil::Diffusion<T> const& diffusion, double step) const;
  void go(Stream& stream, poisson::Equation<T> const& equation, std::span<T const> right,
          std::span<T> v, bool from_v);

  RankPlanes* ranks_;
  std::string variant_;
  multigrid::Options options_;
  double reaction_ = 0;  ///< that of the solver (1/s)
  std::optional<multigrid::Solver<T>> solver_;
};

}  // namespace gridstride::heat

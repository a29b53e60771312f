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
  explicit WholeSystem(config::RunConfig const& run);

  /// (1 − step·L) v = given, v what it is on Dirichlet sides and near the solution inside; `given` is
  /// changed. Waits for the stream. Throws `NumericalError` where cycles do not come to the
  /// tolerance.
  void solve(Stream& stream, stencil::Diffusion<T> const& diffusion, double step,
             std::span<T> given, std::span<T> v);
  /// The same of an error v, which is 0 on Dirichlet sides and has no slope on Neumann ones.
  void solve_error(Stream& stream, stencil::Diffusion<T> const& diffusion, double step,
                   std::span<T> given, std::span<T> v);

  static std::size_t bytes(config::RunConfig const& run, Backend backend);

 private:
  void go(Stream& stream, poisson::Equation<T> const& equation, std::span<T const> right,
          std::span<T> v, bool from_v);

  std::string variant_;
  multigrid::Options options_;
  double reaction_ = 0;  ///< that of the solver (1/s)
  std::optional<multigrid::Solver<T>> solver_;
};

}  // namespace gridstride::heat

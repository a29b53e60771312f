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

  static std::size_t bytes(config::RunConfig const& run);

 private:
  std::string variant_;
  multigrid::Options options_;
  double step_ = 0;  ///< that of the solver (s)
  std::optional<multigrid::Solver<T>> solver_;
};

}  // namespace gridstride::heat

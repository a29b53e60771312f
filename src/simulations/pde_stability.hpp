#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/buffer.hpp"
#include "equations/stability.hpp"
#include "kernels/reduce/reduce.hpp"
#include "kernels/system/system.hpp"
#include "model/scheme.hpp"
#include "simulations/pde_globals.hpp"

namespace gridstride::pde {

/// Finds the longest stable step of a state: evaluates each coefficient of the linearisation that is
/// no number at all points, one after the other, and takes the extremes by `reduce`. Instantiated
/// for float and double.
template <class T>
class StabilityFinder {
 public:
  StabilityFinder(Stream const& stream, Grid const& grid, Wraps const& wraps,
                  equations::Stencil stencil, Scheme const& scheme);

  /// Whether the limit depends on the state.
  bool varies() const { return !programs_.empty(); }
  /// Waits for the device. Throws `NumericalError` for a coefficient that is not finite.
  equations::StepLimit find(std::vector<system::Input<T>> const& inputs,
                            evaluate::DeviceClock const* clock);

 private:
  Stream stream_;
  Grid grid_;
  equations::Linearisation linearisation_;
  Scheme const& scheme_;
  std::vector<equations::StencilProgram> programs_;  // of the coefficients
  GlobalFinder<T> globals_;
  Buffer<T> values_;
  Buffer<reduce::Moments<T>> moments_;
};

}  // namespace gridstride::pde

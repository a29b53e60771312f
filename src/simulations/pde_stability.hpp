#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/buffer.hpp"
#include "equations/stability.hpp"
#include "kernels/reduce/reduce.hpp"
#include "kernels/system/extremes.hpp"
#include "simulations/pde_globals.hpp"

namespace gridstride::pde {

/// Finds the longest stable step of a state from the extremes of each coefficient of the
/// linearisation that is no number, and of the factors on sides. `degree` is that of the scheme (equations::Linearisation::limit).
/// Instantiated for float and double.
template <class T>
class StabilityFinder {
 public:
  StabilityFinder(Stream const& stream, Grid const& grid, Wraps const& wraps,
                  equations::Stencil stencil, int degree, bool factors_change);

  /// Whether the limit depends on the state, or on factors on sides that change.
  bool varies() const { return factors_change_ || extremes_.size() > 0; }
  /// How many steps a limit holds for, at most: fields change by what the equations do in a step,
  /// factors as their formulas say.
  std::int64_t steps_between() const { return factors_change_ ? 1 : 32; }
  /// Waits for the device, but where nothing that it depends on has changed since it was found. Throws `NumericalError` for a coefficient or a factor that is not finite.
  equations::StepLimit find(std::vector<system::Input<T>> const& inputs,
                            evaluate::DeviceClock const* clock);

 private:
  bool follows_space_alone() const;
  std::vector<equations::RobinSide> find_factors(std::vector<system::Input<T>> const& inputs);

  Stream stream_;
  Grid grid_;
  equations::Linearisation linearisation_;
  int degree_;
  bool factors_change_;
  system::ExtremesFinder<T> extremes_;  // of the coefficients
  GlobalFinder<T> globals_;
  std::optional<equations::StepLimit> lasting_;  // a limit that is the same for every state
  Buffer<T> scratch_;
  Buffer<reduce::Moments<T>> moments_;
};

}  // namespace gridstride::pde

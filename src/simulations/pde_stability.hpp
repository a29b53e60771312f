#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/buffer.hpp"
#include "equations/stability.hpp"
#include "kernels/reduce/reduce.hpp"
#include "kernels/system/extremes.hpp"
#include "simulations/pde_globals.hpp"
#include "simulations/pde_step_choice.hpp"

namespace gridstride::pde {

/// Finds the longest stable step of a state from the extremes of each coefficient of the
/// linearisation that is no number, and of the factors on sides, by a variant of family `system`.
/// `degree` is that of the scheme (equations::Linearisation::limit), `stage_times` the parts of a
/// step that it looks at the time at.
/// Instantiated for float and double.
template <class T>
class StabilityFinder {
 public:
  /// That of a run for a linearisation of its equations.
  StabilityFinder(Stream const& stream, config::RunConfig const& run,
                  std::shared_ptr<equations::Linearisation const> linearisation);
  /// Finds the extremes of all coefficients at present, or ahead of those that depend on the time, in
  /// the place of `look`.
  using Look = std::function<std::vector<system::Extremes>(Ahead const&)>;
  /// Puts the factors at a part of the step to come into the arrays of the inputs.
  using SetFactors = std::function<void(double part)>;

  /// While the host waits for what a look at present finds, this is queued, from now on.
  void while_waiting(std::function<void()> queue) { while_waiting_ = std::move(queue); }

  StabilityFinder(Stream const& stream, Grid const& grid, Wraps const& wraps,
                  std::shared_ptr<equations::Linearisation const> linearisation, int degree,
                  bool factors_change, std::vector<double> stage_times, std::string_view variant);

  /// Fields change by what the equations do in a step, factors as their formulas say; what depends
  /// on the time is known before, and what depends on the place alone is found once.
  LimitFollows follows() const {
    return {.state = factors_change_ || (extremes_.size() > 0 && !follows_space_alone()),
            .fields = extremes_.size() > 0 && follows_fields(),
            .time = factors_change_ || ahead_.size() > 0,
            .steps_between = factors_change_     ? 1
                             : ahead_.size() > 0 ? 8
                                                 : 64};
  }
  /// Whether what is found at a point follows from the fields there alone.
  bool looks_at_points() const {
    return linearisation_->operands().empty() && extremes_.looks_at_points();
  }
  /// How waves grow where that follows from the present fields, or from the place.
  std::vector<equations::Linearisation::WaveGrowth> wave_growths(Look const& look) {
    if (linearisation_->coefficients().empty()) return {};
    return linearisation_->wave_growths(find_ranges(look));
  }
  /// A look at these inputs, which outlive it, over the whole grid.
  Look look_at(std::vector<system::Input<T>> const& inputs, evaluate::DeviceClock const* clock);
  /// For the present fields, and the time as it is at present and in the steps to come, by what `look`
  /// finds. Waits for the device, but where nothing that it depends on has changed since it was found.
  /// Throws `NumericalError` for a coefficient or a factor that is not finite.
  equations::StepLimit find(std::vector<system::Input<T>> const& inputs, Ahead const& ahead,
                            SetFactors const& set_factors, Look const& look);
  /// Compiles and loads what looks at such inputs take.
  void prepare(std::vector<system::Input<T>> const& inputs);
  /// What a look finds: at the grid of the finder, or at a rank's own planes of the step's piece of it,
  /// see `system::ExtremesFinder::add`. `step` says inputs and clock.
  std::vector<system::Extremes> look(system::Step<T> step, Ahead const& ahead,
                                     OwnPlanes const* own = nullptr);

 private:
  bool follows_fields() const;
  bool follows_space_alone() const;
  std::vector<equations::Range> find_ranges(Look const& look);
  /// Widens ranges by what coefficients are in steps to come.
  void look_ahead(Look const& look, Ahead const& ahead, std::vector<equations::Range>& ranges);
  std::span<T> scratch_of(std::int64_t size);
  equations::Range checked(system::Extremes const& found) const;
  std::vector<equations::RobinSide> find_factors(std::vector<system::Input<T>> const& inputs);

  Stream stream_;
  Grid grid_;
  std::shared_ptr<equations::Linearisation const> linearisation_;
  int degree_;
  bool factors_change_;
  std::vector<double> stage_times_;  // parts of a step
  std::string_view variant_;
  system::ExtremesFinder<T> extremes_;  // of the coefficients
  std::vector<std::size_t> timed_;      // those that depend on the time
  system::ExtremesFinder<T> ahead_;     // of these
  GlobalFinder<T> globals_;
  std::optional<equations::StepLimit> lasting_;  // a limit that is the same for every state
  Buffer<evaluate::DeviceClock> clock_;          // of steps to come
  Buffer<T> scratch_;
  Buffer<reduce::Moments<T>> moments_;
  std::function<void()> while_waiting_;
};

}  // namespace gridstride::pde

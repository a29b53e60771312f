#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "config/run_config.hpp"
#include "core/buffer.hpp"
#include "equations/discretise.hpp"
#include "kernels/reduce/reduce.hpp"
#include "simulations/pde_events_sections.hpp"
#include "simulations/pde_globals.hpp"
#include "simulations/pde_moment.hpp"

namespace gridstride::pde {

/// What an event sets at the points. Throws `Error` for what has no differences.
equations::Stencil event_stencil(config::RunConfig const& run, std::size_t event);

/// The events of a run. Which are done follows from the time alone: those up to it, give or take
/// its rounding. Instantiated for float and double.
template <class T>
class Events {
 public:
  Events(Stream const& stream, config::RunConfig const& run);

  /// The next moment of an event (s), after `time` by more than rounding; infinite: there is none.
  double next(double time) const;
  /// That of the last event up to this time; none: there is none.
  std::optional<double> last(double time) const;
  /// Whether events lie after `before` and up to `now`.
  bool due(double before, double now) const { return next(before) <= latest(now); }
  /// Does the events that do, in their order: evaluates all that one sets from the values of
  /// before, then writes it to `state`, the arrays of all components, and holds the sides. `moment`
  /// gives the present one before each. Waits for the device. Throws `NumericalError` for a value
  /// that is not finite.
  void apply(double before, double now, std::function<Moment<T>()> const& moment,
             std::span<T* const> state);

  /// The same for ranks that each set their own points: the numbers of those that `apply` does, what one of
  /// them sets at the points, and the components that are set, in the order of its results.
  std::vector<std::size_t> due_events(double before, double now) const;
  equations::StencilProgram const& program(std::size_t event) const {
    return programs_[event].program;
  }
  std::vector<std::size_t> components(std::size_t event) const;
  /// Throws as `apply` does, for what an event has given at a point.
  [[noreturn]] void refuse(std::size_t event, double time, std::int64_t point) const;

 private:
  /// The latest time that is still the same.
  static double latest(double time);
  void set(std::size_t event, Moment<T> const& moment, std::span<T* const> state);

  Stream stream_;
  config::RunConfig const& run_;
  std::vector<EventOptions> const& events_;
  /// What an event does at the points, and the global values that it needs.
  struct Program {
    equations::StencilProgram program;
    GlobalFinder<T> globals;
  };
  std::vector<Program> programs_;
  Buffer<reduce::Moments<T>> moments_;
};

}  // namespace gridstride::pde

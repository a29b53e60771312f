#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "config/run_config.hpp"
#include "core/buffer.hpp"
#include "core/error.hpp"
#include "core/nearly_equal.hpp"
#include "kernels/evaluate/evaluate.hpp"
#include "model/simulation.hpp"

namespace gridstride {

/// So many equal steps, at least one.
struct StepPlan {
  double step;  ///< s
  std::int64_t steps;
};

/// What the next steps are at a moment, on the way to another one that they do not pass; more than
/// rounding lies between the two. Asked again when they are done.
using StepRule = std::function<StepPlan(double time, double until)>;

/// Steps of one length; the one that would pass `until` is shortened to land on it.
StepRule whole_steps(double step);
/// As few equal steps to `until` as are not over `longest`.
StepRule equal_steps(double longest);

/// What two times near `time` may differ by and still be the same (s).
double time_rounding(double time);

/// The time between two outputs (s); to the end where outputs do not go by time.
double output_interval(config::RunConfig const& run);

/// The longest step that `auto` takes whatever is stable (s): the time between two outputs. Where
/// formulas depend on time, a tenth of it, so that ten steps at least see how they change.
double longest_step(config::RunConfig const& run, bool depends_on_time);

/// The longest step up to `longest` that goes into the time between outputs a whole number of
/// times. Leapfrog conserves its energy as long as the step is the same.
double dividing_step(config::RunConfig const& run, double longest);

/// Whether a step is over a limit by more than rounding, as that of a formula of the same limit.
inline bool is_over(double step, double limit) {
  return step > limit && !nearly_equal(step, limit);
}

/// The step of a run whose scheme is stable up to `limit` (s): the one that the config gives, or
/// `safety` times the limit, at most `longest_step`. Throws `ConfigError` for one over the limit;
/// `bound` says in words where that comes from.
double stable_step(config::RunConfig const& run, double limit, bool depends_on_time,
                   std::string const& bound);
/// What that says.
ConfigError unstable_step(config::RunConfig const& run, double step, double limit,
                          std::string const& bound);

/// The time of a simulation. It goes in legs of equal steps: step n of a leg is at origin + n·step,
/// so that rounding does not add up, and a leg that meets the moment asked for ends there to the
/// bit. Time never goes on without a step by more than rounding. It is kept on the host, and in
/// device memory for formulas that depend on time.
class StepClock {
 public:
  /// At time 0, with steps by `rule` up to `end` (s).
  StepClock(Stream& stream, StepRule rule, double end);

  Clock now() const { return {steps_, leg_.time()}; }
  bool at_end() const { return now().time >= end_; }
  /// Whether the last step ended at a moment that was asked for.
  bool at_moment() const { return leg_.done == leg_.steps && leg_.end == leg_.until; }
  /// The length of the present leg's steps (s).
  double step() const { return leg_.step; }
  /// How many these are; 0: there was none.
  std::int64_t steps_of_leg() const { return leg_.steps; }
  evaluate::DeviceClock const* device() const { return device_.data(); }
  /// What stands there.
  evaluate::DeviceClock now_on_device() const { return leg_.clock(); }
  /// For what makes steps of its own on the device.
  evaluate::DeviceClock* device() { return device_.data(); }

  /// What `Simulation::advance` has to do. `queue` queues so many steps of the same length, which
  /// is `step()`.
  void advance(std::int64_t max_steps, double until,
               std::function<void(std::int64_t count, double step)> const& queue);
  /// From now on `advance` ends with a leg where the next one might not be done in it. Legs may have
  /// twice as many steps as the one before.
  void keep_legs_whole(bool whole) { keeps_legs_whole_ = whole; }
  /// Queues one step more of the clock in device memory.
  void tick() { evaluate::advance_clock(stream_, device_.data()); }

  /// So many steps are done on the way to `until`, which the device has made of lengths of its own.
  void place(std::int64_t steps, double time, double until);

  void save(CheckpointSink& sink) const;
  void load(CheckpointSource const& source);

 private:
  struct Leg {
    double origin = 0;
    double until = 0;  // what was asked for
    double end = 0;
    double step = 0;
    std::int64_t steps = 0;
    std::int64_t done = 0;
    std::int64_t before = 0;  // of the run

    evaluate::DeviceClock clock() const { return {origin, step, done, before}; }
    double time() const { return done == steps ? end : clock().time(0); }
  };

  void begin_leg(double until);

  Stream stream_;
  StepRule rule_;
  double end_;
  std::int64_t steps_ = 0;
  bool keeps_legs_whole_ = false;
  Leg leg_;
  Buffer<evaluate::DeviceClock> device_;
};

}  // namespace gridstride

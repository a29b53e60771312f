#include "simulations/step_clock.hpp"

#include <algorithm>
#include <cmath>

namespace gridstride {

StepClock::StepClock(Stream& stream, double step, double end)
    : stream_(stream), step_(step), end_(end), device_(stream, MemorySpace::device, 1) {
  evaluate::set_clock(stream_, device_.data(), {0, step_, 0});
}

Clock StepClock::now() const {
  return {steps_, evaluate::DeviceClock{origin_, step_, steps_since_origin_}.time(0)};
}

void StepClock::advance(std::int64_t max_steps, double until,
                        std::function<void(std::int64_t)> const& queue_whole,
                        std::function<void(double)> const& queue_one) {
  until = std::min(until, end_);
  // Within a millionth of a step of `until` counts as there: rounding, not physics.
  constexpr double tolerance = 1e-6;
  double const ahead = (until - now().time) / step_;
  if (ahead <= 0 || max_steps <= 0) return;
  double const whole = std::floor(ahead + tolerance);
  auto const steps = static_cast<std::int64_t>(std::min(whole, static_cast<double>(max_steps)));
  queue_whole(steps);
  steps_ += steps;
  steps_since_origin_ += steps;
  if (static_cast<double>(steps) < whole) return;

  double const rest = until - now().time;
  if (rest > tolerance * step_) {
    if (steps == max_steps) return;
    evaluate::set_clock(stream_, device_.data(), {now().time, rest, 0});
    queue_one(rest);
    ++steps_;
  }
  origin_ = until;
  steps_since_origin_ = 0;
  evaluate::set_clock(stream_, device_.data(), {origin_, step_, 0});
}

void StepClock::save(CheckpointSink& sink) const {
  sink.put_integer("step", steps_);
  sink.put_real("origin", origin_);
  sink.put_integer("steps_since_origin", steps_since_origin_);
}

void StepClock::load(CheckpointSource const& source) {
  steps_ = source.get_integer("step");
  origin_ = source.get_real("origin");
  steps_since_origin_ = source.get_integer("steps_since_origin");
  evaluate::set_clock(stream_, device_.data(), {origin_, step_, steps_since_origin_});
}

}  // namespace gridstride

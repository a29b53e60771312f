#include "model/step_clock.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/error.hpp"

namespace gridstride {

namespace {

std::int64_t to_count(double steps) { return static_cast<std::int64_t>(std::min(steps, 0x1p62)); }

}  // namespace

// A multiple of an interval and the steps on the way to it carry two or three roundings.
double time_rounding(double time) {
  return 4 * std::numeric_limits<double>::epsilon() * std::abs(time);
}

StepRule whole_steps(double step) {
  return [step](double time, double until) -> StepPlan {
    double const left = until - time;
    double const whole = std::floor((left + time_rounding(until)) / step);
    if (whole < 1) return {left, 1};
    return {step, to_count(whole)};
  };
}

StepRule equal_steps(double longest) {
  return [longest](double time, double until) -> StepPlan {
    double const left = until - time, whole = std::round(left / longest);
    // Steps of the same length as others before, where rounding alone is between.
    if (whole >= 1 && std::abs(whole * longest - left) <= time_rounding(until))
      return {longest, to_count(whole)};
    double const steps = std::ceil(left / longest);
    return {left / steps, to_count(steps)};
  };
}

double output_interval(config::RunConfig const& run) {
  auto const& every = run.output.every;
  if (every.count) return run.time.end / static_cast<double>(*every.count);
  return std::min(every.time.value_or(run.time.end), run.time.end);
}

double longest_step(config::RunConfig const& run, bool depends_on_time) {
  constexpr double steps_between_outputs = 10;
  return output_interval(run) / (depends_on_time ? steps_between_outputs : 1);
}

double dividing_step(config::RunConfig const& run, double longest) {
  double const interval = output_interval(run);
  return interval / std::max(1.0, std::ceil(interval / longest * (1 - 1e-12)));
}

double stable_step(config::RunConfig const& run, double limit, bool depends_on_time,
                   std::string const& bound) {
  if (!run.time.step) return std::min(run.time.safety * limit, longest_step(run, depends_on_time));
  if (is_over(*run.time.step, limit)) throw unstable_step(run, *run.time.step, limit, bound);
  return std::min(*run.time.step, output_interval(run));
}

ConfigError unstable_step(config::RunConfig const& run, double step, double limit,
                          std::string const& bound) {
  return ConfigError({run.problem(
      run.time.step_location,
      fmt::format(
          "{} s is over the stability limit of {:.6g} s ({}); 'auto' takes at most {} of the limit",
          step, limit, bound, run.time.safety))});
}

StepClock::StepClock(Stream& stream, StepRule rule, double end)
    : stream_(stream), rule_(std::move(rule)), end_(end), device_(stream, MemorySpace::device, 1) {
  evaluate::set_clock(stream_, device_.data(), leg_.clock());
}

void StepClock::begin_leg(double until) {
  double const now = leg_.time(), rounding = time_rounding(until);
  Leg leg = {.origin = now, .until = until, .end = until, .step = leg_.step, .before = steps_};
  if (until - now > rounding) {
    auto const [step, steps] = rule_(now, until);
    leg.step = step;
    leg.steps = steps;
    double const end = evaluate::DeviceClock{now, step, steps}.time(0);
    if (!(end > now))
      throw NumericalError(
          fmt::format("time stops at {} s: steps of {} s are below its rounding", now, step));
    if (std::abs(end - until) > rounding) leg.end = end;
    evaluate::set_clock(stream_, device_.data(), leg.clock());
  }
  leg_ = leg;
}

void StepClock::advance(std::int64_t max_steps, double until,
                        std::function<void(std::int64_t, double)> const& queue) {
  until = std::min(until, end_);
  for (bool is_first = true; max_steps > 0 && now().time < until; is_first = false) {
    bool const is_new = leg_.done == leg_.steps || leg_.until != until;
    if (keeps_legs_whole_ && is_new && !is_first && max_steps / 2 < leg_.steps) return;
    if (is_new) begin_leg(until);
    std::int64_t const steps = std::min(leg_.steps - leg_.done, max_steps);
    if (steps > 0) queue(steps, leg_.step);
    leg_.done += steps;
    steps_ += steps;
    max_steps -= steps;
  }
}

void StepClock::place(std::int64_t steps, double time, double until) {
  steps_ = steps;
  leg_ = {.origin = time, .until = until, .end = time, .before = steps};
  evaluate::set_clock(stream_, device_.data(), leg_.clock());
}

void StepClock::save(CheckpointSink& sink) const {
  sink.put_integer("step", steps_);
  sink.put_real("leg/origin", leg_.origin);
  sink.put_real("leg/until", leg_.until);
  sink.put_real("leg/end", leg_.end);
  sink.put_real("leg/step", leg_.step);
  sink.put_integer("leg/steps", leg_.steps);
  sink.put_integer("leg/done", leg_.done);
}

void StepClock::load(CheckpointSource const& source) {
  steps_ = source.get_integer("step");
  leg_ = {.origin = source.get_real("leg/origin"),
          .until = source.get_real("leg/until"),
          .end = source.get_real("leg/end"),
          .step = source.get_real("leg/step"),
          .steps = source.get_integer("leg/steps"),
          .done = source.get_integer("leg/done")};
  leg_.before = steps_ - leg_.done;
  evaluate::set_clock(stream_, device_.data(), leg_.clock());
}

}  // namespace gridstride

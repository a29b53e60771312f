#include "driver/schedule.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

namespace gridstride {

namespace {

constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

/// What two roundings of the same time may differ by, as a share of it: an interval that was
/// rounded, times a number, against another one.
constexpr double rounding = 4 * std::numeric_limits<double>::epsilon();

double interval_of(config::Cadence const& cadence, double end) {
  return cadence.count ? end / static_cast<double>(*cadence.count) : cadence.time.value_or(end);
}

}  // namespace

Schedule::Schedule(config::Cadence const& cadence, double end)
    : cadence_(cadence),
      end_(end),
      interval_(interval_of(cadence, end)),
      last_(std::max(1.0, std::ceil(end * (1 - rounding) / interval_))) {}

/// A time among the moments: how many have passed, and whether it is the last of these.
struct Schedule::Place {
  double passed;
  bool at_moment;
};

Schedule::Place Schedule::place_of(double time) const {
  double const nearest = std::round(time / interval_);
  if (std::abs(time - nearest * interval_) <= rounding * time) return {nearest, true};
  return {std::floor(time / interval_), false};
}

Schedule::Moment Schedule::next(Clock const& now) const {
  if (cadence_.steps) return {(now.step / *cadence_.steps + 1) * *cadence_.steps, end_};
  double const number = place_of(now.time).passed + 1;
  return {never, number >= last_ ? end_ : number * interval_};
}

bool Schedule::due(Clock const& now) const {
  if (now.time >= end_) return cadence_.steps || cadence_.time || cadence_.count;
  if (cadence_.steps) return now.step % *cadence_.steps == 0;
  if (!cadence_.time && !cadence_.count) return false;
  return place_of(now.time).at_moment;
}

double Schedule::count(double steps) const {
  return cadence_.steps ? std::ceil(steps / static_cast<double>(*cadence_.steps)) : last_;
}

double Schedule::count_passed(double steps) const {
  if (cadence_.steps) return count(steps);
  double const step = end_ / steps;
  if (interval_ <= step) return std::min(steps, last_);
  bool const is_last_one_at_end =
      last_ > 1 && (last_ - 1) * interval_ > (end_ - step) * (1 + rounding);
  return is_last_one_at_end ? last_ - 1 : last_;
}

bool keeps_steps_equal(config::RunConfig const& run) { return run.time.scheme == "leapfrog"; }

double count_steps(Schedule const& one, Schedule const& other, double end, double time_step) {
  auto const& [fine, coarse] =
      one.interval() <= other.interval() ? std::tie(one, other) : std::tie(other, one);
  auto const steps_of = [=](double duration) {
    return std::max(1.0, std::ceil((duration - rounding * end) / time_step));
  };
  double const each = fine.interval(), whole = fine.moments() - 1;
  double const last_interval = end - whole * each;
  double steps = whole * steps_of(each) + steps_of(last_interval);
  // A moment of the other between two of these cuts their interval in two.
  constexpr double most_counted = 1e6;
  if (coarse.moments() > most_counted) return steps + coarse.moments() - 1;
  for (double k = 1; k < coarse.moments(); ++k) {
    double const time = k * coarse.interval();
    if (fine.due({0, time})) continue;
    double const before = std::floor(time / each);
    double const interval = before < whole ? each : last_interval;
    double const part = time - before * each;
    steps += steps_of(part) + steps_of(interval - part) - steps_of(interval);
  }
  return steps;
}

}  // namespace gridstride

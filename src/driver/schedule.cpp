#include "driver/schedule.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace gridstride {

namespace {

constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

/// Rounding that a multiple of an interval may carry, as a share of the interval.
constexpr double rounding = 1e-9;

}  // namespace

double Schedule::interval() const {
  return cadence_.count ? end_ / static_cast<double>(*cadence_.count)
                        : cadence_.time.value_or(end_);
}

Schedule::Moment Schedule::next(Clock const& now) const {
  if (cadence_.steps) return {(now.step / *cadence_.steps + 1) * *cadence_.steps, end_};
  double const passed = std::floor(now.time / interval() + rounding);
  return {never, std::min((passed + 1) * interval(), end_)};
}

bool Schedule::due(Clock const& now) const {
  if (now.time >= end_) return cadence_.steps || cadence_.time || cadence_.count;
  if (cadence_.steps) return now.step % *cadence_.steps == 0;
  if (!cadence_.time && !cadence_.count) return false;
  double const intervals = now.time / interval();
  return std::abs(intervals - std::round(intervals)) <= rounding * std::max(1.0, intervals);
}

std::int64_t Schedule::count(double time_step) const {
  double const each =
      cadence_.steps ? static_cast<double>(*cadence_.steps) * time_step : interval();
  return static_cast<std::int64_t>(std::ceil(end_ / each - rounding));
}

}  // namespace gridstride

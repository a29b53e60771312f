#pragma once

#include <cstdint>

#include "config/run_config.hpp"
#include "simulations/simulation.hpp"

namespace gridstride {

/// The moments at which something recurs, between time 0 and `end`.
class Schedule {
 public:
  Schedule(config::Cadence const& cadence, double end) : cadence_(cadence), end_(end) {}

  /// The next moment after `now`: whichever of the two comes first. Without a cadence, the end.
  struct Moment {
    std::int64_t step;
    double time;
  };
  Moment next(Clock const& now) const;

  /// Whether `now` is such a moment (the end is one if there is a cadence).
  bool due(Clock const& now) const;

  /// How many moments there will be, given the time step; the one at time 0 left out.
  std::int64_t count(double time_step) const;

 private:
  double interval() const;

  config::Cadence cadence_;
  double end_;
};

}  // namespace gridstride

#pragma once

#include <cstdint>

#include "config/run_config.hpp"
#include "model/simulation.hpp"

namespace gridstride {

/// The moments at which something recurs, between time 0 and `end`: moment k is at k·interval, the
/// last one at the end. A time within a few roundings of a moment is that moment, for `next` and
/// `due` alike, up to 10^14 moments.
class Schedule {
 public:
  Schedule(config::Cadence const& cadence, double end);

  /// The next moment after `now`: whichever of the two comes first. Without a cadence, the end.
  struct Moment {
    std::int64_t step;
    double time;
  };
  Moment next(Clock const& now) const;

  /// Whether `now` is such a moment (the end is one if there is a cadence).
  bool due(Clock const& now) const;

  /// How many moments there will be in a run of so many steps; the one at time 0 left out.
  double count(double steps) const;

  /// The same of equal steps, none of which is shortened for them: each is met by the first step that
  /// comes to it.
  double count_passed(double steps) const;

  /// The time between two moments, and how many there are; the end alone where steps decide.
  double interval() const { return interval_; }
  double moments() const { return last_; }

 private:
  struct Place;
  Place place_of(double time) const;

  config::Cadence cadence_;
  double end_;
  double interval_;
  double last_;  ///< the number of the moment that is the end
};

/// Whether steps are to be of one length, so that outputs and the end alone may shorten them.
bool keeps_steps_equal(config::RunConfig const& run);

/// Steps of `time_step` to the end, those included that are shortened to land on a moment of one of
/// both. An upper bound where each has more than a million moments.
double count_steps(Schedule const& one, Schedule const& other, double end, double time_step);

}  // namespace gridstride

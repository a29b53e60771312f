#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>

#include "core/timer.hpp"
#include "model/simulation.hpp"

namespace gridstride {

/// How fast a run has been of late: over the last half minute, or since its beginning.
class Pace {
 public:
  /// The run is at `clock` now, `seconds` after some moment; neither ever falls.
  void note(double seconds, Clock const& clock);
  double steps_per_second() const;
  /// Seconds that the run still takes at this pace until its time is `end`; nothing before it has
  /// gone on for half a second, and nothing while it stands still.
  std::optional<double> seconds_until(double end) const;

 private:
  struct Moment {
    double seconds;
    Clock clock;
  };
  double span() const;

  std::deque<Moment> moments_;  // the first is where the measurement begins, the last is now
};

/// The line that tells how far a run is: its share of `end`, time, step, rates, and how long it
/// still takes where `pace` knows. Without a width there is no bar in front.
std::string progress_line(Clock const& now, double end, double grid_points, Pace const& pace,
                          int bar_width);

/// The same of a computation without time; its pace has shares as times, and bytes as steps.
std::string progress_line(Headway const& now, Pace const& pace, int bar_width);

/// How far the runs of a sweep are.
struct SweepHeadway {
  std::int64_t runs = 0;
  std::int64_t ended = 0;
  std::int64_t failed = 0;  ///< of those that ended
  double share = 0;         ///< of all that there is to do
};

/// The same of these; its pace has shares as times.
std::string progress_line(SweepHeadway const& now, Pace const& pace, int bar_width);

/// Tells how far a run is, on standard error: a bar that is redrawn on a terminal, a line now and
/// then elsewhere, nothing when quiet.
class Progress {
 public:
  /// With `listener` it tells that alone the run's share.
  Progress(double end, std::int64_t grid_points, bool quiet,
           std::function<void(double)> listener = {});
  ~Progress();

  /// Says where the run is, if it is time to say something again.
  void update(Clock const& now);
  void update(Headway const& now);
  void update(SweepHeadway const& now);
  /// Ends the bar's line, so that other output starts on a new one.
  void finish();

 private:
  /// Says it, if it is time to say something again.
  template <class Line>
  void say(Clock const& now, Line const& line);

  double end_;
  double grid_points_;
  bool quiet_;
  std::function<void(double)> listener_;
  bool terminal_;
  bool drawn_ = false;
  Timer timer_;
  double next_ = 0;  // seconds on the timer at which to speak again
  Pace pace_;
  std::string part_;  // of a computation without time
};

}  // namespace gridstride

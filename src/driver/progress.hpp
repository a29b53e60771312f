#pragma once

#include <cstdint>
#include <string>

#include "core/timer.hpp"
#include "model/simulation.hpp"

namespace gridstride {

/// Tells how far a run is, on standard error: a bar that is redrawn on a terminal, a line now and
/// then elsewhere, nothing when quiet.
class Progress {
 public:
  Progress(double end, std::int64_t grid_points, bool quiet);
  ~Progress();

  /// Says where the run is, if it is time to say something again.
  void update(Clock const& now);
  /// Ends the bar's line, so that other output starts on a new one.
  void finish();

 private:
  std::string line(Clock const& now) const;

  double end_;
  double grid_points_;
  bool quiet_;
  bool terminal_;
  bool drawn_ = false;
  Timer timer_;
  double next_ = 0;  // seconds on the timer at which to speak again
  std::int64_t first_step_ = -1;
  double first_time_ = 0;
};

}  // namespace gridstride

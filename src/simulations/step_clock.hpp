#pragma once

#include <cstdint>
#include <functional>

#include "core/buffer.hpp"
#include "kernels/evaluate/evaluate.hpp"
#include "simulations/simulation.hpp"

namespace gridstride {

/// The time of a simulation whose steps are all equal, but for those that are shortened to land on
/// a given moment: step n after such a moment is at origin + n·step, so that rounding does not add
/// up. It is kept on the host, and in device memory for formulas that depend on time.
class StepClock {
 public:
  /// At time 0, with steps of `step` up to `end` (s).
  StepClock(Stream& stream, double step, double end);

  double step() const { return step_; }
  Clock now() const;
  bool at_end() const { return now().time >= end_; }
  evaluate::DeviceClock const* device() const { return device_.data(); }

  /// What `Simulation::advance` has to do. `queue_whole` queues so many whole steps; `queue_one`
  /// one of the given length.
  void advance(std::int64_t max_steps, double until,
               std::function<void(std::int64_t)> const& queue_whole,
               std::function<void(double)> const& queue_one);
  /// Queues one step more of the clock in device memory.
  void tick() { evaluate::advance_clock(stream_, device_.data()); }

  void save(CheckpointSink& sink) const;
  void load(CheckpointSource const& source);

 private:
  Stream stream_;
  double step_;
  double end_;
  std::int64_t steps_ = 0;
  double origin_ = 0;
  std::int64_t steps_since_origin_ = 0;
  Buffer<evaluate::DeviceClock> device_;
};

}  // namespace gridstride

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/graph.hpp"
#include "core/ranks.hpp"
#include "kernels/support/rank_planes.hpp"
#include "kernels/system/step_control.hpp"
#include "model/step_clock.hpp"

/// Steps that are as long as the error of each allows.
namespace gridstride {

/// What decides on them.
struct ErrorControl {
  config::StepTolerance tolerance;
  double safety;   ///< of the step that the tolerance allows
  double longest;  ///< s
};

/// Adds what is wrong with the tolerance that a run asks for.
void check_tolerance(config::RunConfig const& run, std::vector<Problem>& problems);

/// Queues that all ranks have the worst error of each in `parts`, found of `own`, whose points count
/// from `first` on. That takes so many numbers of `planes`.
void share_worst(Stream& stream, RankPlanes& planes, std::span<system::WorstError const> own,
                 std::int64_t first, std::span<system::WorstError> parts);
std::size_t worst_numbers(int ranks);
/// All ranks call it, each of which has decided on steps by itself. Throws where one has decided
/// otherwise than the first one.
void require_agreement(Ranks& ranks, system::StepControl const& control);

/// Many attempts are queued before the host looks how far they came: step, time and what becomes of
/// an attempt stay on the device, and an attempt after the moment that was asked for does nothing.
/// So the bits do not depend on how many are queued, and `advance` waits for the device once for
/// each batch.
class AdaptiveSteps {
 public:
  /// What a simulation adds: how steps are tried.
  struct Method {
    /// Queues all of a step of the clock's length and its error to `parts()`; does nothing of
    /// influence where that is 0. Whether another one of the same batch went before.
    std::function<void(bool is_next)> attempt;
    /// Queues the new state to the place of the old one where the attempt commits.
    std::function<void(system::StepControl const*)> commit;
    /// Queues the rates of the present state as an error of a step of 1 s.
    std::function<void()> rate;
    /// Whether `attempt` looks how long the step is, and so waits: attempts are queued one by one.
    bool looks = false;
    /// What an attempt, its end and its commit are queued within, where they are not queued by
    /// themselves: attempts are no graph then.
    std::function<void(std::function<void()> const&)> within = {};
    /// Told how far attempts have come, whenever the host looks.
    std::function<void(system::StepControl const&)> look = {};
    /// In how many parts `attempt` finds the error; 0: as `system::worst_error` does.
    std::int64_t parts = 0;
  };

  /// Fields by their names; the estimate of a step's error goes with dt^order.
  AdaptiveSteps(Stream const& stream, Grid const& grid, std::vector<std::string> fields,
                ErrorControl const& errors, int order, double end, Method method);
  /// Device memory that it takes.
  static std::size_t bytes(Grid const& grid, std::size_t fields);

  /// As `Simulation::advance`. Throws `NumericalError` where steps are too short to go on.
  void advance(StepClock& clock, std::int64_t max_steps, double until);
  /// Where errors are found.
  std::span<system::WorstError> parts() { return parts_.span(); }
  config::StepTolerance const& tolerance() const { return errors_.tolerance; }
  std::int64_t rejected() const { return control_.rejected; }
  /// `time_step`: the next one to try (s).
  std::vector<NamedValue> diagnostics() const;

  void save(CheckpointSink& sink) const;
  /// Where the clock was loaded before.
  void load(CheckpointSource const& source, Clock const& now);

 private:
  void queue_attempts(StepClock& clock, std::int64_t attempts);
  double first_step(StepClock& clock);
  std::string failure() const;

  Stream stream_;
  Grid grid_;
  std::vector<std::string> fields_;
  ErrorControl errors_;
  double end_;
  Method method_;
  system::StepControl control_;  // as the host last saw it
  Buffer<system::StepControl> device_control_;
  Buffer<system::WorstError> parts_;
  Graph batch_;
  bool warm_ = false;  // a batch was queued
};

}  // namespace gridstride

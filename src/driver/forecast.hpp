#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "config/run_config.hpp"
#include "core/device.hpp"
#include "core/stream.hpp"
#include "model/simulation.hpp"

namespace gridstride {

/// Where what is on its way to files is kept, so that steps go on meanwhile: device memory aside,
/// which holds a snapshot or a state at a time, or the arrays of a simulation that steps leave alone.
struct OutputRoom {
  bool snapshots = false;  ///< else the simulation waits until they are copied out
  bool states = false;     ///< the same of checkpoints
  bool stays = false;      ///< instead: what lies in the host's memory (`Simulation::keeps_fields`)
  std::size_t bytes = 0;
  std::string lack;  ///< what there is no room for, a sentence; empty when nothing

  /// What an array takes there, with the gap to the next one.
  static constexpr std::size_t of_array(std::size_t bytes) { return (bytes + 255) / 256 * 256; }
};

/// What libraries and kernels take of a GPU's memory beside all that is counted.
inline constexpr double spare_device_bytes = 256 << 20;

/// What a run will take.
struct Forecast {
  double time_step = 0;  ///< s; 0 without time
  double steps = 1;      ///< at most, where outputs and checkpoints cut each other's intervals
  double snapshots = 1;
  double checkpoints = 0;
  std::size_t device_bytes = 0;  ///< in the device's memory
  std::size_t host_bytes = 0;    ///< for what goes to and from the disk
  OutputRoom room;               ///< of the device's memory
  std::size_t rank_bytes = 0;    ///< in that of each rank, where several share the run
  std::string slabs;             ///< how a grid that is too large for it goes there, in words
  double output_bytes = 0;       ///< on the disk
  double checkpoint_bytes = 0;   ///< on the disk, of those that are there at a time
};

/// Throws `ConfigError` as the simulation would, and for what cannot end or has no place: a step
/// that is not a number or that float64 cannot add to the time, more than a thousand million
/// outputs or checkpoints, more memory than there is.
Forecast forecast(config::RunConfig const& run, Device const& device);
/// The same, and in `made` the simulation, where it had to be made to tell its step.
Forecast forecast(config::RunConfig const& run, Stream const& stream, Inputs const& inputs,
                  std::unique_ptr<Simulation>& made);

/// How long the steps will take at least (s), if each goes once through all of the simulation's
/// arrays as fast as the device copies memory, which is measured in a few milliseconds, and is
/// started within 2 µs.
double least_seconds(config::RunConfig const& run, Forecast const& expected, Device const& device);

/// What is short where the results go, with the figures; empty when they have room there. A quota
/// of the user's or the group's counts where the system tells it.
std::string disk_warning(config::RunConfig const& run, Forecast const& expected);

}  // namespace gridstride

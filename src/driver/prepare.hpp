#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "config/run_config.hpp"
#include "core/device.hpp"
#include "simulations/simulation.hpp"

namespace gridstride {

/// The device that a run asks for. Where `auto` finds no GPU, a line in `fallbacks` says why.
/// Throws `ConfigError` when the device asked for is not there.
Device choose_device(config::RunConfig const& run, std::vector<std::string>& fallbacks);

/// The files that a run's config names, for its simulation. `shape` and `read` throw `ConfigError`
/// for what cannot be read, `read` for values that are not finite too.
Inputs inputs_of(config::RunConfig const& run);

/// Throws `ConfigError` for everything that reading the file could not show: kernel variants that
/// the device does not have, datasets that are missing or have another shape than they must.
void check_on_device(config::RunConfig const& run, Device const& device);

/// Throws `ConfigError` for everything that keeps the run from starting, before it is started: also
/// for too little memory, an unstable time step, and initial values that are not finite.
void check_before_run(config::RunConfig const& run);

/// What a run will take.
struct Forecast {
  double time_step = 0;  ///< s; 0 without time
  double steps = 1;
  std::size_t device_bytes = 0;  ///< in the device's memory
  std::size_t host_bytes = 0;    ///< for snapshots on their way to the disk
  double disk_bytes = 0;
  std::int64_t snapshots = 0;
};

/// Throws `ConfigError` as the simulation would.
Forecast forecast(config::RunConfig const& run, Device const& device);

/// Throws `ConfigError` with the numbers when the memory there is does not suffice.
void check_memory(config::RunConfig const& run, Device const& device);

}  // namespace gridstride

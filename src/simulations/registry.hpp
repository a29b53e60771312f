#pragma once

#include <memory>
#include <span>
#include <vector>

#include "simulations/simulation.hpp"

namespace gridstride {

/// One row of the table of simulations.
struct SimulationEntry {
  config::SimulationInfo info;
  /// What only the files can show of the parameters: their shapes. Null: nothing.
  std::vector<Problem> (*problems)(config::RunConfig const& run, Inputs const& inputs);
  MemoryForecast (*memory)(config::RunConfig const& run, Inputs const& inputs, Backend backend);
  /// The step that the run will take; null without time. Throws `ConfigError` for what only the
  /// numbers can show: a diffusivity that is negative somewhere, a step over the stability limit.
  double (*time_step)(config::RunConfig const& run);
  /// Throws as `time_step` does.
  std::unique_ptr<Simulation> (*make)(config::RunConfig const& run, Stream const& stream,
                                      Inputs const& inputs);
  /// Kernel variants that the config names and that do not do its work on a device. Null: nothing.
  std::vector<Problem> (*variant_problems)(config::RunConfig const& run, Inputs const& inputs,
                                           Device const& device) = nullptr;
};

/// Every simulation there is. A new one adds a line to registry.cpp.
std::span<SimulationEntry const> simulation_entries();

/// The descriptions alone, in the same order.
std::span<config::SimulationInfo const> simulation_infos();

/// The entry that a run names.
SimulationEntry const& entry_of(config::RunConfig const& run);

}  // namespace gridstride

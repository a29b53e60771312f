#include "simulations/registry.hpp"

#include <algorithm>
#include <vector>

namespace gridstride {

// One function per simulation, at the end of its file.
SimulationEntry heat_entry();

std::span<SimulationEntry const> simulation_entries() {
  static std::vector<SimulationEntry> const entries = {
      heat_entry(),
  };
  return entries;
}

std::span<config::SimulationInfo const> simulation_infos() {
  static std::vector<config::SimulationInfo> const infos = [] {
    std::vector<config::SimulationInfo> all;
    for (auto const& entry : simulation_entries()) all.push_back(entry.info);
    return all;
  }();
  return infos;
}

SimulationEntry const& entry_of(config::RunConfig const& run) {
  auto const entries = simulation_entries();
  return *std::find_if(entries.begin(), entries.end(),
                       [&](auto const& entry) { return entry.info.name == run.simulation->name; });
}

}  // namespace gridstride

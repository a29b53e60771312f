#include "simulations/registry.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "kernels/families.hpp"

namespace gridstride {

// One function per simulation, at the end of its file.
SimulationEntry advection_entry();
SimulationEntry convolution_entry();
SimulationEntry heat_entry();
SimulationEntry integration_entry();
SimulationEntry linear_system_entry();
SimulationEntry wave_entry();

std::span<SimulationEntry const> simulation_entries() {
  static std::vector<SimulationEntry> const entries = {
      advection_entry(),   convolution_entry(),   heat_entry(),
      integration_entry(), linear_system_entry(), wave_entry(),
  };
  return entries;
}

namespace {

/// Adds the families that the diagnostics of every run go through.
void add_diagnostic_kernels(config::SimulationInfo& info) {
  constexpr std::array<std::string_view, 3> families = {"histogram", "reduce", "scan"};
  for (auto const family : families)
    if (std::ranges::find(info.kernels, family, &config::SimulationInfo::KernelFamily::name) ==
        info.kernels.end())
      info.kernels.push_back({family, variant_names(family), true});
}

}  // namespace

std::span<config::SimulationInfo const> simulation_infos() {
  static std::vector<config::SimulationInfo> const infos = [] {
    std::vector<config::SimulationInfo> all;
    for (auto const& entry : simulation_entries()) {
      all.push_back(entry.info);
      add_diagnostic_kernels(all.back());
    }
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

#include "simulations/registry.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "kernels/families.hpp"

namespace gridstride {

// One row for each simulation; `NAME_entry()` stands at the end of its file.
#define GRIDSTRIDE_SIMULATIONS(ROW) \
  ROW(advection)                    \
  ROW(convolution)                  \
  ROW(heat)                         \
  ROW(integration)                  \
  ROW(linear_system)                \
  ROW(wave)

#define GRIDSTRIDE_DECLARE(NAME) SimulationEntry NAME##_entry();
GRIDSTRIDE_SIMULATIONS(GRIDSTRIDE_DECLARE)

std::span<SimulationEntry const> simulation_entries() {
#define GRIDSTRIDE_CALL(NAME) NAME##_entry(),
  static std::vector<SimulationEntry> const entries = {GRIDSTRIDE_SIMULATIONS(GRIDSTRIDE_CALL)};
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

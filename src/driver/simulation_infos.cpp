#include "driver/simulation_infos.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "driver/diagnostics.hpp"
#include "driver/formats/format.hpp"
#include "kernels/families.hpp"
#include "simulations/registry.hpp"

namespace gridstride {

namespace {

void add_diagnostic_kernels(config::SimulationInfo& info) {
  constexpr std::array<std::string_view, 3> families = {"histogram", "reduce", "scan"};
  for (auto const family : families)
    if (std::ranges::find(info.kernels, family, &config::SimulationInfo::KernelFamily::name) ==
        info.kernels.end())
      info.kernels.push_back({family, variant_names(family), true});
}

}  // namespace

config::SimulationInfo info_of(SimulationEntry const& entry) {
  config::SimulationInfo info = entry.info;
  if (!info.has_own_results) {
    add_diagnostic_kernels(info);
    info.diagnostics = diagnostic_kinds();
  }
  info.formats = output_formats();
  info.entry = &entry;
  return info;
}

std::span<config::SimulationInfo const> simulation_infos() {
  static std::vector<config::SimulationInfo> const infos = [] {
    std::vector<config::SimulationInfo> all;
    for (auto const& entry : simulation_entries()) all.push_back(info_of(entry));
    return all;
  }();
  return infos;
}

}  // namespace gridstride

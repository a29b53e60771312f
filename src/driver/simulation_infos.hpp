#pragma once

#include <span>

#include "config/run_config.hpp"
#include "model/entry.hpp"

namespace gridstride {

/// A simulation as configs know it: with the diagnostics and the formats that every run may have,
/// and the kernel families that diagnostics go through. The entry stays where it is.
config::SimulationInfo info_of(SimulationEntry const& entry);

/// Every simulation there is.
std::span<config::SimulationInfo const> simulation_infos();

}  // namespace gridstride

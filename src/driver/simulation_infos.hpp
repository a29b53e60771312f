#pragma once

#include <span>

#include "config/run_config.hpp"

namespace gridstride {

/// Every simulation there is, as configs know it: with the diagnostics and the formats that every
/// run may have, and the kernel families that diagnostics go through.
std::span<config::SimulationInfo const> simulation_infos();

}  // namespace gridstride

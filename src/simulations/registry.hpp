#pragma once

#include <span>

#include "model/entry.hpp"

namespace gridstride {

/// Every simulation there is. A new one adds a line to registry.cpp.
std::span<SimulationEntry const> simulation_entries();

/// The entry that a run names.
SimulationEntry const& entry_of(config::RunConfig const& run);

}  // namespace gridstride

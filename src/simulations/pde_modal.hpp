#pragma once

#include <memory>

#include "model/simulation.hpp"

namespace gridstride::pde {

/// A run of a system in the modes of its grid (`goes_by_modes`). As `SimulationEntry::make`; throws
/// also for what only first values can show: of what constraints leave open, a mean that is not 0.
std::unique_ptr<Simulation> make_modal(config::RunConfig const& run, Stream const& stream,
                                       Inputs const& inputs);

}  // namespace gridstride::pde

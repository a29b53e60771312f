#pragma once

#include <memory>

#include "model/simulation.hpp"

namespace gridstride::pde {

/// A run of a system in the modes of its grid (`goes_by_modes`). As `SimulationEntry::make`.
std::unique_ptr<Simulation> make_modal(config::RunConfig const& run, Stream const& stream,
                                       Inputs const& inputs);

/// What only first values can show, as `SimulationEntry::time_step` throws it: of what constraints
/// leave open, a mean that is not 0.
void check_modal_start(config::RunConfig const& run, Inputs const& inputs, Device const& device);

}  // namespace gridstride::pde

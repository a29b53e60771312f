#pragma once

#include <memory>

#include "model/simulation.hpp"

/// Integrals of samples from files, for the simulation's own files.
namespace gridstride::integration {

/// As `SimulationEntry` has them, of a run whose files have no problems.
MemoryForecast samples_memory(config::RunConfig const& run, Inputs const& inputs, Backend backend);
std::unique_ptr<Simulation> make_of_samples(config::RunConfig const& run, Stream const& stream,
                                            Inputs const& inputs);

}  // namespace gridstride::integration

#pragma once

#include <memory>

#include "model/simulation.hpp"

/// Sparse systems that are solved by iteration, for `linear_system` alone.
namespace gridstride::linear_system {

MemoryForecast sparse_memory(config::RunConfig const& run, Inputs const& inputs, Backend backend);

std::unique_ptr<Simulation> make_sparse(config::RunConfig const& run, Stream const& stream,
                                        Inputs const& inputs);

}  // namespace gridstride::linear_system

#pragma once

#include <memory>

#include "model/simulation.hpp"

/// Systems with generated matrices of which nothing is stored (`goes_without_rows`), for
/// `linear_system` alone.
namespace gridstride::linear_system {

MemoryForecast stencil_memory(config::RunConfig const& run, Inputs const& inputs, Backend backend);

std::unique_ptr<Simulation> make_stencil(config::RunConfig const& run, Stream const& stream,
                                         Inputs const& inputs);

}  // namespace gridstride::linear_system

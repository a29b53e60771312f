#pragma once

#include <memory>
#include <string>
#include <vector>

#include "model/entry.hpp"

/// Poisson's equation with coefficients or a source that depend on u, by Newton's method.
namespace gridstride::poisson {

std::unique_ptr<Simulation> make_nonlinear(config::RunConfig const& run, Stream const& stream,
                                           Inputs const& inputs);
MemoryForecast nonlinear_memory(config::RunConfig const& run, Backend backend);
/// The equation and its derivative, as they were understood.
std::vector<std::string> nonlinear_report(config::RunConfig const& run);

}  // namespace gridstride::poisson

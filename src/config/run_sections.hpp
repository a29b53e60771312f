#pragma once

#include <span>
#include <string>
#include <vector>

#include "config/run_config.hpp"
#include "config/visitor.hpp"

/// The one declaration of every key of a config.
namespace gridstride::config {

/// A run of `simulation` with every default, as it is before reading. `name` is the file's stem.
RunConfig default_run(SimulationInfo const& simulation, std::string const& name);

/// What a run is written in whose file says nothing of `output.formats`.
std::vector<std::string> default_formats(SimulationInfo const& simulation);

/// The key `simulation`, with the names that there are.
void declare_simulation(Visitor& visitor, std::span<SimulationInfo const> simulations,
                        std::string& name);

/// All other keys. The checks between values stand beside them.
void declare_run(Visitor& visitor, RunOptions& run, ParameterSet& parameters);

}  // namespace gridstride::config

#pragma once

#include <span>
#include <string>
#include <vector>

#include "config/declaration.hpp"
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

/// All other keys in the order of reading: what gives the fields, then what depends on them. The
/// checks between values stand beside them.
void declare_run(Visitor& visitor, RunOptions& run, ParameterSet& parameters);

/// All keys of a run with their present values, in the order of the documentation: `parameters`
/// stand behind `boundary` and `initial`, though they are read before. Checkpoints and references
/// hold text in this order.
Declaration collect_run(RunOptions& run, ParameterSet& parameters);

}  // namespace gridstride::config

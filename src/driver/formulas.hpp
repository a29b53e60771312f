#pragma once

#include <span>
#include <vector>

#include "config/run_config.hpp"
#include "core/error.hpp"
#include "core/stream.hpp"
#include "model/simulation.hpp"

/// Formulas and files of a config that are no numbers of its precision somewhere on the grid.
namespace gridstride {

/// For each formula of a simulation with a grid the first point where its value is not a finite
/// number of the run's precision, in the words of a problem at its key: `initial`, the sides over
/// their faces, `parameters`, all at time 0, and `verify.exact` at the end. What lies on a side
/// with a value of its own is not looked at, since that value replaces it. Evaluates on the
/// stream's device, a piece of the grid at a time. So is a formula of all points, or without
/// time a side's of one value, that the precision does not tell from 0 with all its digits, and is not 0.
std::vector<Problem> formula_problems(config::RunConfig const& run, Stream& stream);

/// The same of files that are read for a grid: those without a number that the precision has with all
/// digits, and not of zeros alone. What is too large is told by who reads them.
std::vector<Problem> file_problems(config::RunConfig const& run,
                                   std::span<config::FieldSource const> sources,
                                   Inputs const& inputs);

/// Throws `ConfigError` at a field's key in `initial` when it begins with a value that is not
/// finite.
void require_finite_start(config::RunConfig const& run, Simulation& simulation, Stream& stream);

}  // namespace gridstride

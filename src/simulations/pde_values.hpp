#pragma once

#include <vector>

#include "config/run_config.hpp"
#include "equations/discretise.hpp"
#include "equations/modal_values.hpp"

/// What a run finds at the points beside its steps: derived fields, what diagnostics look at, events,
/// conditions.
namespace gridstride::pde {

/// Whether derivatives in it are those of modes.
bool has_values_by_modes(config::RunConfig const& run);
/// What all of it needs of modes, in a run that has such.
equations::ValuesByModes values_by_modes(config::RunConfig const& run);

/// What is evaluated for terms of the run's system, of which nothing is carried along: differences, or
/// where derivatives are those of modes, arrays. Throws `Error` for what has neither.
equations::Stencil value_stencil(config::RunConfig const& run, std::vector<equations::Term> terms);

/// The same of all rates, which values by modes have as arrays.
equations::Stencil rate_stencil(config::RunConfig const& run);

}  // namespace gridstride::pde

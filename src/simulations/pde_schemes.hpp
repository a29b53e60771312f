#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "config/run_config.hpp"
#include "core/error.hpp"
#include "equations/discretise.hpp"
#include "equations/stability.hpp"
#include "equations/system.hpp"
#include "model/scheme.hpp"

/// How a run of a system goes through time.
namespace gridstride::pde {

/// The names of schemes in files, the default first.
std::vector<std::string_view> scheme_names();
bool is_leapfrog(config::RunConfig const& run);
/// Where the slopes of stages are kept, for their error or since the scheme knows no other way;
/// else null.
SlopeScheme const* slopes_of(config::RunConfig const& run);
Scheme const& scheme_of(config::RunConfig const& run);
/// The parts of a step that its stages look at the time at.
std::vector<double> stage_times(config::RunConfig const& run);
/// The degree of the polynomial that tells where the scheme is stable.
int degree_of(config::RunConfig const& run);

equations::System const& system_of(config::RunConfig const& run);
equations::Space const& space_of(config::RunConfig const& run);
/// All rates; by `leapfrog` those of rates of fields, which are the second half, and of implicit steps
/// by multigrid what is explicit. What lasts is read from arrays (`LastingArrays`), for any number of ranks: a
/// formula in their place would be rounded otherwise, since what is fused with what follows from all of a
/// program.
equations::Stencil stencil_of(config::RunConfig const& run);
/// All rates linearised, by `leapfrog` the same; found once.
std::shared_ptr<equations::Linearisation const> linearisation_of(config::RunConfig const& run);
/// Those that limit a step: of what is explicit, of implicit steps also each component by itself, since
/// what others do may be damped by what is implicit.
std::vector<std::shared_ptr<equations::Linearisation const>> explicit_linearisations(
    config::RunConfig const& run);
/// What would be linearised of a grid that is finer, `equations::finer_by` times.
equations::Stencil finer_stability_of(config::RunConfig const& run);

/// Adds what leapfrog does not take of a run that goes by it.
void check_leapfrog(config::RunConfig const& run, std::vector<Problem>& problems);

}  // namespace gridstride::pde

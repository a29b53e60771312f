#pragma once

#include <string>
#include <vector>

#include "config/run_config.hpp"
#include "kernels/krylov/krylov.hpp"
#include "kernels/multigrid/multigrid.hpp"
#include "model/simulation.hpp"

/// What is told of methods with iterations, for the simulation's own files.
namespace gridstride::poisson {

/// What was left after how many iterations: the largest |f − A·u|, and the largest change of u since
/// the line before.
Table iterations_table(multigrid::Outcome const& outcome);

/// The same of conjugate gradients: ‖f − A·u‖₂ over ‖f‖₂.
Table iterations_table(krylov::Result const& result);

/// Why iterations have not come to the tolerance, and what may.
std::string shortfall_of(multigrid::Outcome const& outcome, std::string const& method,
                         multigrid::Options const& options);

/// Of conjugate gradients; a residual of the size of roundings is as small as it can be.
std::string shortfall_of(krylov::Result const& result, std::string const& method,
                         double backward_error, double tolerance);

/// How many unknowns the grids have that are gone through, and how relaxation goes.
std::vector<std::string> iteration_parts(config::RunConfig const& run);

}  // namespace gridstride::poisson

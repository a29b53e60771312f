#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/run_config.hpp"
#include "core/stream.hpp"
#include "kernels/krylov/krylov.hpp"
#include "kernels/multigrid/multigrid.hpp"
#include "kernels/poisson/conjugate.hpp"
#include "model/simulation.hpp"

/// What is told of methods with iterations, for the simulation's own files.
namespace gridstride::poisson {

/// What was left after how many iterations: the largest |f − A·u|, and the largest change of u since
/// the line before.
Table iterations_table(multigrid::Outcome const& outcome);

/// The same of conjugate gradients: ‖f − A·u‖₂ over ‖f‖₂.
Table iterations_table(krylov::Result const& result, std::string name = "iterations");

/// Why iterations have not come to the tolerance, and what may.
std::string shortfall_of(multigrid::Outcome const& outcome, std::string const& method,
                         multigrid::Options const& options);

/// Of conjugate gradients.
std::string shortfall_of(krylov::Result const& result, std::string const& method, double tolerance);

/// How `auto` goes on where cycles do not come to the tolerance: by `amg_cg`. Nothing where it has chosen
/// something else, or a file names a method or a number of iterations.
std::optional<ConjugateOptions> spare_of(config::RunConfig const& run);

/// Why there is no way to go on so on a stream's device; empty where there is.
std::string lack_for_spare(Stream const& stream, Grid const& grid);

/// How many unknowns the grids have that are gone through, and how relaxation goes.
std::vector<std::string> iteration_parts(config::RunConfig const& run);

}  // namespace gridstride::poisson

#pragma once

#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "config/run_config.hpp"
#include "equations/modal_split.hpp"
#include "model/entry.hpp"
#include "model/modal_products.hpp"
#include "model/simulation.hpp"
#include "model/state.hpp"

/// Runs of a system in the modes of its grid: what they take, and what they do not.
namespace gridstride::pde {

/// Whether a run goes by modes: by a scheme that takes what is linear by itself, with derivatives
/// of modes, or with constraints.
bool goes_by_modes(config::RunConfig const& run);
/// Whether all sides are of kinds that modes have.
bool has_sides_of_modes(config::RunConfig const& run);

/// The rows of families that it asks for.
ModalVariants modal_variants_of(config::RunConfig const& run);

/// The scheme as `ModalStepper` calls it, and how often it evaluates what is not linear in a step.
std::string_view modal_scheme_of(config::RunConfig const& run);
int modal_evaluations(config::RunConfig const& run);

/// How components of the unknowns, then fields that constraints hold, go on beyond the sides, which
/// are of kinds that modes take.
std::vector<equations::BeyondSides> beyond_sides_of(config::RunConfig const& run);
/// The system of such a run in modes. Throws `equations::ModalError`.
equations::ModalSplit modal_split_of(config::RunConfig const& run);
/// With what is found at the points beside steps, after the fields that constraints hold.
equations::ModalSplit modal_split_with_values(config::RunConfig const& run);

/// Adds what a run in modes does not take; returns whether there is nothing.
bool check_modes(config::RunConfig const& run, std::vector<Problem>& problems);

/// What it takes of memory. Components have a second array where something is made of all of them.
std::vector<Row> modal_rows_of(config::RunConfig const& run);
MemoryForecast modal_memory_of(config::RunConfig const& run, Backend backend);
bool has_second_arrays(config::RunConfig const& run);

/// The step that the file gives. Throws `ConfigError` for one with which an explicit scheme is not
/// stable for what is linear, whatever the rest, or which is too long for an implicit one to follow
/// what grows; and where the shortest waves grow fastest, as no scheme can follow.
double modal_step(config::RunConfig const& run);

/// What L makes of modes.
struct LinearExtremes {
  /// That an explicit scheme may take for L alone (s).
  double longest_step = std::numeric_limits<double>::infinity();
  /// The largest real parts of eigenvalues (1/s): of modes whose wave number along an axis is more
  /// than half of the largest, and of the others.
  double growth_of_short = -std::numeric_limits<double>::infinity();
  double growth_of_long = -std::numeric_limits<double>::infinity();
  double largest = 0;  ///< magnitude of an eigenvalue (1/s)
};
/// `degree` is that of the explicit scheme.
LinearExtremes linear_extremes(equations::ModalSystem const& system, Grid const& grid, int degree);

/// As `SimulationEntry::choose_kernels`.
void choose_modal_kernels(config::RunConfig const& run, Device const& device);

/// How a system was understood, a line each.
std::vector<std::string> modal_report(config::RunConfig const& run);

}  // namespace gridstride::pde

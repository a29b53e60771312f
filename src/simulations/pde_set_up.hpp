#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/run_config.hpp"
#include "equations/system.hpp"
#include "model/entry.hpp"
#include "model/scheme.hpp"
#include "simulations/pde_slopes.hpp"

/// What a run of a system takes: arrays, kernels, control of its steps.
namespace gridstride::pde {

/// The variant of family `system` that steps go by: on a GPU `auto` is `march` where it takes the
/// run, and can be compiled.
std::string_view variant_of(config::RunConfig const& run, Backend backend);
/// That of evaluations by themselves: what the run asks for, but where that takes whole steps.
std::string_view evaluating_variant(config::RunConfig const& run);
/// Whether steps go by passes that have all their stages.
bool goes_by_passes(config::RunConfig const& run, Backend backend);
/// The scheme, with the buffers that it needs where the steps are made; of several ranks with the
/// state's alone.
Scheme const& scheme_of(config::RunConfig const& run, Backend backend);
/// How many buffers of a scheme have what stages leave to later ones.
int scratch_buffers(config::RunConfig const& run, Scheme const& scheme);

/// What the components of an unknown or a name are called: as it is, those of a vector `q_x`, `q_y`.
std::vector<std::string> names_of(config::RunConfig const& run, equations::Unknown const& unknown);
/// The components with their sides; of vectors the array that is written; what stability looks at.
std::vector<Row> rows_of(config::RunConfig const& run, Backend backend);
/// As `SimulationEntry::memory`.
MemoryForecast memory_of(config::RunConfig const& run, Inputs const& inputs, Backend backend);
/// Device memory of passes that find values over the grid.
std::size_t global_pass_bytes(config::RunConfig const& run, Backend backend);
/// Of all else that finds such values, of a process that has the whole of the fields or not.
std::size_t global_finder_bytes(config::RunConfig const& run, Backend backend, bool has_whole);

/// Whether a of some side with ∂u/∂n + a·u = g depends on time.
bool factors_change(config::RunConfig const& run);
/// What decides on steps that follow their error; none where they do not.
std::optional<ErrorControl> errors_of(config::RunConfig const& run);

/// What the table says of the simulation.
config::SimulationInfo info();
/// As `SimulationEntry::choose_kernels`.
void choose_kernels(config::RunConfig const& run, Inputs const& inputs, Device const& device);

}  // namespace gridstride::pde

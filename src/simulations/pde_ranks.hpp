#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/run_config.hpp"
#include "model/out_of_core.hpp"

/// How several ranks share a run of a system.
namespace gridstride::pde {

/// Why they do not, a sentence; empty where they do, and in a run of one process.
std::string refusal_of_ranks(config::RunConfig const& run);
/// Whether ranks share numbers of the whole grid: for equations, how these change with the fields, or a
/// condition that ends the run.
bool shares_numbers(config::RunConfig const& run);
/// Whether all write their parts (`is_written_in_parts`), of derived fields, too: of such that look no farther
/// than a step, and at nothing over the whole grid.
bool is_written_by_all(config::RunConfig const& run, Backend backend);
/// Whether each begins with its planes of all fields, and nobody ever has the whole.
bool begins_with_parts(config::RunConfig const& run, Backend backend);
/// How they share it; none: it is one process. Throws as `plan_slabs` does.
std::optional<SweepPlan> rank_plan(config::RunConfig const& run, Device const& device);
/// The rows of this process.
std::vector<Row> rank_rows(config::RunConfig const& run, Device const& device,
                           std::optional<SweepPlan> const& plan);
MemoryForecast rank_memory(config::RunConfig const& run, Device const& device);

/// The plan of ranks with so much more beside a rank's part that first values can be made of others' there, and a step's
/// limit be found of them.
SweepPlan wide_plan(config::RunConfig const& run, SweepPlan plan);

}  // namespace gridstride::pde

#pragma once

#include "config/run_config.hpp"
#include "config/visitor.hpp"

/// The sections that have to do with space: the grid, and values at its points.
namespace gridstride::config {

/// `grid`; tells the visitor how many axes there are.
void declare_grid(Visitor& visitor, RunOptions& run);
void declare_initial(Visitor& visitor, RunOptions& run, ParameterSet& parameters);

/// A list with one value for each axis of the grid.
ListShape per_axis(RunOptions const& run);

}  // namespace gridstride::config

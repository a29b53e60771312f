#pragma once

#include "config/run_config.hpp"
#include "config/visitor.hpp"

namespace gridstride::config {

/// What holds on the sides for a field of which the file says nothing: the first of its kinds, with
/// the value 0.
Sides default_sides(FieldInfo const& field);

/// Whether the value on such a side follows from a solution that is known, so that `boundary` needs
/// only its word.
bool follows_from_solution(SideKind kind);

/// `boundary`, of all fields together and of each, and `ParameterSet::check_sides`; completes `run.grid`, whose spacing depends on
/// the axes that are periodic.
void declare_boundary(Visitor& visitor, RunOptions& run, ParameterSet& parameters);

}  // namespace gridstride::config

#pragma once

#include "config/run_config.hpp"
#include "config/visitor.hpp"

/// What a file says in the language of its simulation's equations outside of them.
namespace gridstride::config {

/// `output.derived`; the fields come to those of the run.
void declare_derived(Visitor& visitor, RunOptions& run);

/// `verify.manufactured`. What the file says nothing of follows from it: first values, those on
/// sides of which only the kind is given, and the exact solution.
void declare_manufactured(Visitor& visitor, RunOptions& run);

}  // namespace gridstride::config

#pragma once

#include "config/run_config.hpp"
#include "config/visitor.hpp"

namespace gridstride::config {

/// The section `sweep`; the constants are known.
void declare_sweep(Visitor& visitor, RunOptions& run);

/// Notes what cannot stand beside a sweep, once all other sections are read.
void check_beside_sweep(Visitor& visitor, RunOptions const& run);

}  // namespace gridstride::config

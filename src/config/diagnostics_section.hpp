#pragma once

#include <vector>

#include "config/run_config.hpp"
#include "config/visitor.hpp"

namespace gridstride::config {

/// What a run has whose file says nothing of `diagnostics`.
std::vector<DiagnosticEntry> default_diagnostics(SimulationInfo const& simulation);

/// `diagnostics`: a list of what the simulation's kinds of diagnostics declare.
void declare_diagnostics(Visitor& visitor, RunOptions& run);

}  // namespace gridstride::config

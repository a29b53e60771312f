#pragma once

#include "config/run_config.hpp"
#include "config/visitor.hpp"

namespace gridstride::config {

/// The section `time`.
void declare_time(Visitor& visitor, TimeOptions& time, SimulationInfo const& simulation);

}  // namespace gridstride::config

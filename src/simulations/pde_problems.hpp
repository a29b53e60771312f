#pragma once

#include <vector>

#include "config/run_config.hpp"
#include "core/error.hpp"

namespace gridstride::pde {

/// What the equations of a run, and what stands beside them, cannot be on its grid and in its time.
std::vector<Problem> problems_of(config::RunConfig const& run);

}  // namespace gridstride::pde

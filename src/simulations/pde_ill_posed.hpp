#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "config/run_config.hpp"
#include "core/error.hpp"
#include "equations/ill_posed.hpp"

namespace gridstride::pde {

using WaveGrowths = std::vector<equations::Linearisation::WaveGrowth>;

/// Why no scheme can take the equations, with their place, if that shows in how waves grow on the
/// grid and on one that is finer, which is asked for where it matters.
std::optional<Problem> ill_posed_problem(config::RunConfig const& run, WaveGrowths const& here,
                                         std::function<WaveGrowths()> const& on_finer);

}  // namespace gridstride::pde

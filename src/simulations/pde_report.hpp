#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "config/run_config.hpp"
#include "equations/discretise.hpp"
#include "equations/stability.hpp"
#include "equations/system.hpp"
#include "model/scheme.hpp"

namespace gridstride::pde {

/// What an update takes of a scheme that keeps its slopes.
struct SlopeCost {
  std::size_t evaluations;  ///< of the equations
  std::size_t values;       ///< that are read or written
};

/// How a system was understood, a line each: its equations, the scheme, the longest stable step and
/// the eigenvalue that limits it, how far the equations reach, and what an update of one point by
/// all stages of the scheme moves and computes: each stage loads each array once, and a fused
/// multiplication and addition counts as two operations. `names` are the programs of names with
/// sides, `program` that of the rates. Without a limit steps follow their error; `cost` is that of a
/// scheme with slopes. What lasts and is read from arrays is told, too.
std::vector<std::string> report(config::RunConfig const& run, equations::System const& system,
                                equations::Stencil const& stencil,
                                std::span<equations::StencilProgram const> names,
                                equations::StencilProgram const& program, Scheme const& scheme,
                                std::optional<equations::StepLimit> const& limit, bool varies,
                                std::optional<SlopeCost> const& cost);

/// The linear part of each rate that has one, as implicit and exponential schemes take it; none
/// where there is none.
void add_linear_parts(equations::System system, std::vector<std::string>& lines);

}  // namespace gridstride::pde

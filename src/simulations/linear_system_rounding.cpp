#include "simulations/linear_system_rounding.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "simulations/linear_system_parameters.hpp"

namespace gridstride::linear_system {

RoundingLimit::RoundingLimit(config::RunConfig const& run)
    : most_left_(parameters_of(run).tolerance ? 0 : 100 * tolerance_of(run.precision)) {}

bool RoundingLimit::is_reached(krylov::Result const& result, Residual const& left,
                               double roundings) const {
  return result.outcome == krylov::Outcome::stagnated &&
         std::max(left.relative, left.scaled_relative) <= most_left_ &&
         left.scaled_backward_error <= roundings;
}

std::string told_of(Residual const& left) {
  return fmt::format("the residual is {:.2e} of the right-hand side: rounding allows no less",
                     left.relative);
}

}  // namespace gridstride::linear_system

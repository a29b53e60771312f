#include "simulations/heat_parameters.hpp"

#include <cmath>

namespace gridstride::heat {

void Parameters::fields(config::Visitor& visitor, config::RunOptions const&) {
  visitor.visit({.name = "diffusivity",
                 .unit = "m^2/s",
                 .documentation = "how fast u spreads: a number, or a formula of space that is "
                                  "positive everywhere",
                 .minimum = 0,
                 .exclusive_minimum = true,
                 .variables = "xyz"},
                diffusivity);
  visitor.visit({.name = "source",
                 .unit = "1/s",
                 .documentation = "what is added to u per second: a number, or a formula of "
                                  "space and time",
                 .variables = "xyzt"},
                source);
}

std::vector<Row> rows_of(config::RunConfig const& run, int buffers, Scheme const& scheme) {
  auto const& parameters = parameters_as<Parameters>(run);
  std::vector<Row> rows = {evolved(run, "u", buffers),
                           coefficient(run, "diffusivity", source_of(parameters.diffusivity)),
                           term(run, "source", source_of(parameters.source))};
  add_sides(rows, run, "u", scheme);
  return rows;
}

double largest_diffusivity(config::RunConfig const& run, Inputs const& inputs) {
  auto const demand = [](double value) {
    return value > 0 && std::isfinite(value) ? "" : "a diffusivity is positive everywhere";
  };
  auto const diffusivity = source_of(parameters_as<Parameters>(run).diffusivity);
  return largest_magnitude(run, diffusivity, inputs, run.grid, 0, demand);
}

}  // namespace gridstride::heat

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
  constexpr config::Choice solvers[] = {
      {"splitting", "tridiagonal systems along one axis after the other"},
      {"multigrid",
       "all axes at once, as the scheme has it, by cycles through coarser and coarser grids"}};
  visitor.choice({.name = "solver", .documentation = "What solves for an implicit step."}, solvers,
                 solver);
  visitor.visit(
      {.name = "tolerance",
       .documentation = "Cycles of a step end where the error that is left to be expected "
                        "in u is at most so much of it; `auto` is 1e-12, in float32 "
                        "1e-7, and of adaptive steps at most a hundredth of theirs.",
       .minimum = 1e-15,
       .maximum = 0.1},
      tolerance, "auto");
}

std::vector<Row> rows_of(config::RunConfig const& run, int buffers, Scheme const& scheme) {
  auto const& parameters = parameters_as<Parameters>(run);
  std::vector<Row> rows = {evolved(run, "u", buffers),
                           coefficient(run, "diffusivity", source_of(parameters.diffusivity)),
                           term(run, "source", source_of(parameters.source))};
  add_sides(rows, run, "u", scheme);
  return rows;
}

bool has_field(config::RunConfig const& run) {
  return !is_constant(source_of(parameters_as<Parameters>(run).diffusivity));
}

double largest_diffusivity(config::RunConfig const& run, Inputs const& inputs) {
  auto const demand = [](double value) {
    return value > 0 && std::isfinite(value) ? "" : "a diffusivity is positive everywhere";
  };
  auto const diffusivity = source_of(parameters_as<Parameters>(run).diffusivity);
  return largest_magnitude(run, diffusivity, inputs, run.grid, 0, demand);
}

}  // namespace gridstride::heat

#include "simulations/heat_parameters.hpp"

#include <cmath>
#include <string_view>

#include "config/file_source.hpp"

namespace gridstride::heat {

void Parameters::fields(config::Visitor& visitor, config::RunOptions const& run) {
  auto const folder = run.file.parent_path();
  config::declare_formula_or_field(
      visitor,
      {.name = "diffusivity",
       .unit = "m^2/s",
       .documentation = "How fast u spreads, α (m²/s), which is positive everywhere.",
       .minimum = 0,
       .exclusive_minimum = true},
      config::Presence::required, folder, diffusivity);
  config::declare_formula_or_field(visitor,
                                   {.name = "source",
                                    .unit = "1/s",
                                    .documentation = "What is added to u per second.",
                                    .variables = "xyzt"},
                                   config::Presence::optional, folder, source);
  constexpr config::Choice solvers[] = {
      {"auto", "`multigrid` for a diffusivity in 3D that is no number, else `splitting`"},
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
                           coefficient(run, "diffusivity", parameters.diffusivity),
                           term(run, "source", parameters.source)};
  add_sides(rows, run, "u", scheme);
  return rows;
}

bool has_field(config::RunConfig const& run) {
  return !is_constant(parameters_as<Parameters>(run).diffusivity);
}

double largest_diffusivity(config::RunConfig const& run, Inputs const& inputs) {
  auto const& parameters = parameters_as<Parameters>(run);
  return parameters.surveyed_diffusivity.largest(
      run, parameters.diffusivity, inputs, [](double value) -> std::string_view {
        return value > 0 && std::isfinite(value) ? "" : "a diffusivity is positive everywhere";
      });
}

std::vector<Problem> file_problems(config::RunConfig const& run, Inputs const& inputs) {
  auto const& parameters = parameters_as<Parameters>(run);
  auto found =
      problems_of(run, parameters.diffusivity, inputs, [&] { largest_diffusivity(run, inputs); });
  auto const of_source = problems_of(run, parameters.source, inputs, [&] {
    auto const any = [](double) { return std::string_view(); };
    if (!parameters.source.file.empty())
      parameters.surveyed_source.largest(run, parameters.source, inputs, any);
  });
  found.insert(found.end(), of_source.begin(), of_source.end());
  return found;
}

void save_files(config::RunConfig const& run, CheckpointSink& sink) {
  auto const& parameters = parameters_as<Parameters>(run);
  parameters.surveyed_diffusivity.save("diffusivity", sink);
  parameters.surveyed_source.save("source", sink);
}

void require_same_files(config::RunConfig const& run, CheckpointSource const& source) {
  auto const& parameters = parameters_as<Parameters>(run);
  parameters.surveyed_diffusivity.require_same(run, parameters.diffusivity, "diffusivity", source);
  parameters.surveyed_source.require_same(run, parameters.source, "source", source);
}

}  // namespace gridstride::heat

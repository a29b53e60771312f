#include "simulations/pde_problems.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <set>
#include <utility>

#include "equations/convection.hpp"
#include "equations/stability.hpp"
#include "kernels/system/system.hpp"
#include "model/adaptive_steps.hpp"
#include "simulations/pde_events.hpp"
#include "simulations/pde_globals.hpp"
#include "simulations/pde_ill_posed.hpp"
#include "simulations/pde_implicit.hpp"
#include "simulations/pde_initial.hpp"
#include "simulations/pde_modes.hpp"
#include "simulations/pde_parameters.hpp"
#include "simulations/pde_quantities.hpp"
#include "simulations/pde_ranks.hpp"
#include "simulations/pde_schemes.hpp"
#include "simulations/pde_side_values.hpp"
#include "simulations/pde_stop.hpp"

namespace gridstride::pde {
namespace {

/// Notes where the grid has too few points for what reaches so far.
void check_reach(config::RunConfig const& run, equations::StencilProgram const& program,
                 std::string_view what, std::vector<Problem>& problems) {
  Wraps const wraps = wraps_of(run);
  for (int axis = 0; axis < run.grid.dims; ++axis) {
    auto const a = static_cast<std::size_t>(axis);
    int const fewest = system::fewest_points(program.reach[a], wraps[a]);
    if (run.grid.points[a] < fewest)
      problems.push_back(run.problem(
          run.location("grid.points"),
          fmt::format("{} points along {} are too few ({} {} points to each side; {} "
                      "are the least)",
                      run.grid.points[a], axis_names[a], what, program.reach[a], fewest)));
  }
}

/// In float32: what of a number is lost.
std::string_view loss_of(double number) {
  if (std::abs(number) > double{std::numeric_limits<float>::max()}) return "beyond all numbers";
  return static_cast<float>(number) == 0 ? "0" : "a number of few digits";
}

/// Notes numbers of a program that float32 does not hold with all digits, and coordinates that it does
/// not tell apart well enough: their rounding, 2^-24 of them, is to be a 16th of the spacing at most.
/// Returns whether there is none.
bool check_precision(config::RunConfig const& run, equations::StencilProgram const& program,
                     config::Location const& location, std::vector<Problem>& problems) {
  if (run.precision != Precision::float32) return true;
  auto const refuse = [&](std::string const& why) {
    problems.push_back(run.problem(location, why));
    return false;
  };
  for (equations::Node const& node : program.code) {
    bool const is_number = node.kind == equations::Kind::number && node.value != 0;
    if (is_number && !std::isnormal(static_cast<float>(node.value)))
      return refuse(fmt::format(
          "the number {:.6g} comes up in it, which is {} in float32 (units in which numbers lie "
          "between 1.2e-38 and 3.4e+38 help, and 'precision: float64')",
          node.value, loss_of(node.value)));
    if (node.kind != equations::Kind::coordinate) continue;
    int const axis = node.index;
    auto const a = static_cast<std::size_t>(axis);
    double const spacing = run.grid.spacing[a];
    double const largest = std::max(std::abs(run.grid.coordinate(axis, 0)),
                                    std::abs(run.grid.coordinate(axis, run.grid.points[a] - 1)));
    double const rounding = largest * std::exp2(-24);
    if (rounding > spacing / 16)
      return refuse(fmt::format(
          "{} comes up in it, which float32 rounds by up to {:.2g} m where it is {:.6g} m, and "
          "points are {:.4g} m apart (a grid that begins nearer to 0 helps, and 'precision: "
          "float64')",
          axis_names[a], rounding, largest, spacing));
  }
  return true;
}

void check_precision(config::RunConfig const& run, equations::Stencil const& stencil,
                     std::string const& key, std::vector<Problem>& problems) {
  int const dims = run.grid.dims;
  auto const location = run.location(key);
  if (check_precision(run, equations::whole_program(stencil, dims), location, problems))
    check_precision(run, equations::program_of(stencil.terms, stencil.lasting, dims), location,
                    problems);
}

/// The same of first values that are no formulas of space.
void check_precision_of_first(config::RunConfig const& run, std::vector<Problem>& problems) {
  auto const& initial = parameters_of(run).initial;
  if (!initial) return;
  for (equations::Unknown const& field : in_order(run, *initial))
    check_precision(run, first_stencil(run, field), "initial." + field.name, problems);
}

/// Where the file says what follows from fields on a side.
config::Location const& location_of(config::RunConfig const& run, equations::SideValue const& side,
                                    bool is_factor) {
  auto const& unknowns = system_of(run).unknowns;
  auto const field =
      std::prev(std::ranges::upper_bound(unknowns, side.component, {}, &equations::Unknown::first));
  auto const c = static_cast<std::size_t>(side.component - field->first);
  auto const& condition = run.sides_of(
      field->name)[static_cast<std::size_t>(side.axis)][static_cast<std::size_t>(side.end)];
  if (is_factor) return condition.factors[c].location;
  return condition.components.empty() ? condition.value.location : condition.components[c].location;
}

/// The same of what follows from fields on sides. What is said for several at once is told once.
void check_precision_of_sides(config::RunConfig const& run, std::vector<Problem>& problems) {
  std::set<std::string> told;
  for (equations::SideValue const& side : system_of(run).sides)
    for (bool const is_factor : {false, true}) {
      equations::Term const value = is_factor ? side.factor : side.value;
      if (value < 0) continue;
      auto const stencil = side_stencil(run, {value});
      auto const& location = location_of(run, side, is_factor);
      if (told.contains(location.path)) continue;
      if (!check_precision(run, equations::program_of(stencil.terms, stencil.rates, run.grid.dims),
                           location, problems))
        told.insert(location.path);
    }
}

bool has_given_flux(config::RunConfig const& run) {
  for (config::Sides const& sides : run.boundary)
    for (auto const& ends : sides)
      if (std::ranges::count(ends, SideKind::flux, &config::SideCondition::kind) > 0) return true;
  return false;
}

/// Notes what differences beside those of the equations, which `make` makes, cannot be.
template <class Make>
void check_others(config::RunConfig const& run, std::string const& key, std::string const& what,
                  Make const& make, std::vector<Problem>& problems) {
  try {
    auto const stencil = make();
    auto const program = equations::whole_program(stencil, run.grid.dims);
    check_reach(run, program, what, problems);
    check_precision(run, stencil, key, problems);
    if (program.has_noise())
      problems.push_back(run.problem(run.location(key), "has noise in it, which only steps make"));
  } catch (Error const& error) {
    problems.push_back(run.problem(run.location(key), error.what()));
  }
}

/// Notes equations that no scheme can take.
void check_waves(config::RunConfig const& run, std::vector<Problem>& problems) {
  auto const fault = ill_posed_problem(run, linearisation_of(run)->constant_wave_growths(), [&] {
    return equations::Linearisation(finer_stability_of(run)).constant_wave_growths();
  });
  if (fault) problems.push_back(*fault);
}

/// What events and the condition that ends a run cannot be.
void check_sections(config::RunConfig const& run, std::vector<Problem>& problems) {
  auto const& sections = parameters_of(run).sections;
  for (std::size_t i = 0; i < sections.events.size(); ++i) {
    std::string const key = sections.key_of_event(i);
    check_others(
        run, key + ".set", key + " reaches", [&] { return event_stencil(run, i); }, problems);
    for (double const at : sections.events[i].at)
      if (at > run.time.end)
        problems.push_back(
            run.problem(run.location(key + ".at"),
                        fmt::format("{} s is after the end of the run ({} s, see time.end)", at,
                                    run.time.end)));
  }
  if (sections.stop.condition >= 0)
    check_others(
        run, "stop.when", "stop.when reaches", [&] { return condition_stencil(run); }, problems);
}

/// What differences at the points do not take; returns whether it is worth looking further.
bool check_differences(config::RunConfig const& run, std::vector<Problem>& problems) {
  try {
    check_leapfrog(run, problems);
    if (!problems.empty()) return false;
    auto const stencil = stencil_of(run);
    auto const program = equations::whole_program(stencil, run.grid.dims);
    check_reach(run, program, "the equations reach", problems);
    check_precision(run, stencil, "equations", problems);
    if (space_of(run).convection != equations::Convection::central &&
        !equations::has_convection(system_of(run)))
      problems.push_back(run.problem(
          run.location("space.convection"),
          "nothing is carried along in these equations (no 'div' of a flux without derivatives and "
          "no 'advect' of a field by itself is a term of a rate)"));
    if (space_of(run).convection != equations::Convection::central && has_given_flux(run))
      problems.push_back(run.problem(
          run.location("space.convection"),
          "a side has a 'flux', which central differences take alone (did you mean 'neumann', or "
          "'dirichlet' where it flows in and 'outflow' where it leaves?)"));
    if (program.has_noise() && run.time.adaptive)
      problems.push_back(run.problem(
          run.location("time.step"),
          "adaptive steps take no noise (a step that is tried again would have other numbers); "
          "did you mean 'auto'?"));
    if (program.has_noise() && run.time.scheme != "euler")
      problems.push_back(run.problem(
          run.location("time.scheme"),
          fmt::format("{} takes no noise (its order needs rates that are smooth in time); did you "
                      "mean 'euler'?",
                      run.time.scheme)));
    if (program.has_noise() && parameters_of(run).sections.stop.steady)
      problems.push_back(run.problem(run.location("stop.steady"),
                                     "the equations have noise, and are never steady"));
    for (std::size_t i = 0; i < stencil.names.size(); ++i)
      if (equations::program_of(stencil.terms, stencil.names[i], run.grid.dims).found > 0)
        problems.push_back(run.problem(
            run.location("let." + parameters_of(run).system->names[i].name.name),
            "a name with sides of its own has a value over the whole grid in it (which is found "
            "from arrays that this one comes before)"));
    check_waves(run, problems);
  } catch (Error const& error) {
    problems.push_back(run.problem(run.location("equations"), error.what()));
  }
  return true;
}

}  // namespace

std::vector<Problem> problems_of(config::RunConfig const& run) {
  std::vector<Problem> problems;
  if (auto const refusal = refusal_of_ranks(run); !refusal.empty())
    return {run.problem(run.location("simulation"),
                        fmt::format("{} (there are {})", refusal, run.ranks))};
  check_tolerance(run, problems);
  if (!check_implicit(run, problems)) return problems;
  for (std::string const family : {"fft", "modes"})
    if (run.kernels.at(family) != "auto" && !goes_by_modes(run))
      problems.push_back(run.problem(run.location("kernels." + family),
                                     "is for runs in modes (here derivatives are differences, and "
                                     "no step or constraint takes modes)"));
  bool const goes_on =
      goes_by_modes(run) ? check_modes(run, problems) : check_differences(run, problems);
  if (goes_on && goes_by_modes(run))
    for (auto const& level : modal_split_of(run).system.levels)
      check_precision(run, level.program, run.location("equations"), problems);
  if (!goes_on) return problems;
  auto const initial = initial_problems(run, parameters_of(run).initial, wraps_of(run));
  problems.insert(problems.end(), initial.begin(), initial.end());
  if (initial.empty()) check_precision_of_first(run, problems);
  check_precision_of_sides(run, problems);
  for (Quantity const& quantity : parameters_of(run).quantities)
    check_others(
        run, quantity.key, quantity.key + " reaches", [&] { return stencil_of(run, quantity); },
        problems);
  check_sections(run, problems);
  return problems;
}

}  // namespace gridstride::pde

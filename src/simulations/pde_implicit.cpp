#include "simulations/pde_implicit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <string>

#include "equations/manufactured.hpp"
#include "equations/text.hpp"
#include "kernels/stencil/stencil.hpp"
#include "model/modal_scheme.hpp"
#include "model/values.hpp"
#include "simulations/pde_additive_steps.hpp"
#include "simulations/pde_modes.hpp"
#include "simulations/pde_parameters.hpp"
#include "simulations/pde_schemes.hpp"
#include "simulations/pde_set_up.hpp"

namespace gridstride::pde {

using equations::DiffusionSplit;
using equations::OwnDiffusion;
using equations::Unknown;

namespace {

struct ByMultigrid {
  Scheme scheme;
  ExplicitRegion region;
  int error_order = 0;
};

std::vector<Stage> stages_of_ark3() {
  std::vector<Stage> stages;
  for (double const time : ark3_table().times)
    stages.push_back({.time = time, .sides_at_time = true});
  return stages;
}

// Buffers: 0 u, 1 the rates of what is explicit; of imex_bdf2 2 u and 3 these rates of the step before.
std::vector<ByMultigrid> const& schemes_by_multigrid() {
  static std::vector<ByMultigrid> const all = {
      {{"imex_euler", 2, false, 2, {{.sides_at_time = true}}}, {1, 1}},
      {{"imex_bdf2", 4, false, 4.0 / 3, {{.sides_at_time = true}}}, {1, 2.0 / 3}},
      {{"ark3", AdditiveSteps<double>::buffers, false, 3, stages_of_ark3()}, {3, 1.2}, 3},
  };
  return all;
}

ByMultigrid const* find_multigrid_scheme(std::string_view name) {
  auto const& all = schemes_by_multigrid();
  auto const found =
      std::ranges::find_if(all, [&](ByMultigrid const& one) { return one.scheme.name == name; });
  return found == all.end() ? nullptr : &*found;
}

double default_tolerance(config::RunConfig const& run) {
  double const plain = run.precision == Precision::float32 ? 1e-7 : 1e-12;
  if (!run.time.adaptive) return plain;
  double const of_steps = run.time.tolerance.value_or(config::StepTolerance{}).relative / 100;
  return std::min(plain, std::max(of_steps, 1e-14));
}

bool is_wanted(config::RunConfig const& run) {
  return parameters_of(run).implicit.solver == "multigrid";
}

Unknown const& unknown_of(config::RunConfig const& run, int component) {
  auto const& unknowns = system_of(run).unknowns;
  return *std::prev(std::ranges::upper_bound(unknowns, component, {}, &Unknown::first));
}

config::FieldSource source_of(config::RunConfig const& run, DiffusionSplit& split, int component,
                              equations::Term term) {
  return gridstride::source_of(
      config::Formula{.text = equations::to_text(split.rest, term),
                      .expression = equations::to_expression(split.rest.terms, term),
                      .location = run.location("equations." + unknown_of(run, component).name)});
}

config::Location place_of_sides(config::RunConfig const& run, std::string const& field, int axis) {
  auto const name = axis_names[static_cast<std::size_t>(axis)];
  auto const own = fmt::format("boundary.{}.{}", field, name);
  return run.location(run.locations.contains(own) ? own : fmt::format("boundary.{}", name));
}

/// As multigrid has a side of a component.
SideKind kind_of(SideKind kind, bool is_normal) {
  if (kind == SideKind::robin || kind == SideKind::flux) return SideKind::neumann;
  if (kind == SideKind::wall) return is_normal ? SideKind::dirichlet : SideKind::neumann;
  return kind;
}

poisson::Sides kinds_of(config::RunConfig const& run, int component) {
  Unknown const& unknown = unknown_of(run, component);
  auto const& sides = run.sides_of(unknown.name);
  poisson::Sides kinds{};
  for (std::size_t axis = 0; axis < 3; ++axis)
    for (std::size_t end = 0; end < 2; ++end)
      kinds[axis][end] =
          kind_of(sides[axis][end].kind,
                  unknown.is_vector && component - unknown.first == static_cast<int>(axis));
  return kinds;
}

bool has_factors(config::RunConfig const& run, int component) {
  auto const& sides = run.sides_of(unknown_of(run, component).name);
  for (std::size_t axis = 0; axis < static_cast<std::size_t>(run.grid.dims); ++axis)
    if (std::ranges::count(sides[axis], SideKind::robin, &config::SideCondition::kind) > 0)
      return true;
  return false;
}

/// What multigrid does not take of the sides of a field; empty: nothing.
std::string side_fault(config::SideCondition const& side) {
  auto const is_timed = [](config::Formula const& factor) {
    return factor.expression.depends_on(expression::time_variable);
  };
  if (std::ranges::any_of(side.factors, is_timed)) return "a of 'robin: [a, g]' depends on time";
  switch (side.kind) {
    case SideKind::antiperiodic:
      return "they are antiperiodic";
    case SideKind::outflow:
      return "there is an 'outflow'";
    default:
      return {};
  }
}

/// Notes the sides of fields with a diffusion that multigrid does not take.
void check_sides(config::RunConfig const& run, DiffusionSplit const& split,
                 std::vector<Problem>& problems) {
  auto const refuse = [&](std::string const& field, int axis, std::string const& why) {
    problems.push_back(run.problem(
        place_of_sides(run, field, axis),
        fmt::format("implicit steps by multigrid take sides that are periodic, 'wall', or have "
                    "'dirichlet', 'neumann' or 'robin' with formulas of space and time, a of "
                    "'robin' of space alone, or a 'flux' (for {} along {} {})",
                    field, axis_names[static_cast<std::size_t>(axis)], why)));
  };
  for (Unknown const& unknown : system_of(run).unknowns) {
    auto const diffuses = [&](int component) {
      return split.own[static_cast<std::size_t>(component)].is_there();
    };
    if (!diffuses(unknown.first) && !diffuses(unknown.first + unknown.components - 1)) continue;
    for (int axis = 0; axis < run.grid.dims; ++axis)
      for (auto const& side : run.sides_of(unknown.name)[static_cast<std::size_t>(axis)])
        if (auto const why = side_fault(side); !why.empty()) {
          refuse(unknown.name, axis, why);
          break;
        }
    for (equations::SideValue const& side : system_of(run).sides)
      if (side.component >= unknown.first && side.component < unknown.first + unknown.components)
        return refuse(unknown.name, side.axis, "a value is made of fields");
  }
}

void check_grid(config::RunConfig const& run, std::vector<Problem>& problems) {
  constexpr std::int64_t fewest = 3;
  for (std::size_t axis = 0; axis < static_cast<std::size_t>(run.grid.dims); ++axis) {
    std::int64_t const points = run.grid.points[axis];
    if (points < fewest || points > multigrid::most_points_of_axis)
      problems.push_back(run.problem(
          run.location("grid.points"),
          fmt::format("implicit steps by multigrid take from {} to {} points along an axis, here "
                      "are {} along {}",
                      fewest, multigrid::most_points_of_axis, points, axis_names[axis])));
  }
}

/// What of the sections a run by multigrid does not take.
void check_sections(config::RunConfig const& run, std::vector<Problem>& problems) {
  auto const refuse = [&](config::Location const& location, std::string const& why) {
    problems.push_back(run.problem(location, why));
  };
  auto const& [solver, tolerance] = parameters_of(run).implicit;
  double const allowed = run.time.tolerance.value_or(config::StepTolerance{}).relative;
  if (run.time.adaptive && multigrid_error_order(run.time.scheme) == 0)
    refuse(run.location("time.step"),
           fmt::format("steps of {} are of one length (it has no estimate of their error, as ark3 "
                       "has); give a number",
                       run.time.scheme));
  else if (run.time.adaptive && tolerance && *tolerance > 0.1 * allowed)
    refuse(run.location("implicit.tolerance"),
           fmt::format("{:g} is more than a tenth of what a step may be off by, {:g} "
                       "(time.tolerance; what cycles leave would count as an error of the step)",
                       *tolerance, allowed));
  else if (!run.time.adaptive && !run.time.step)
    refuse(run.location("time.step"),
           fmt::format("'auto' is not known with {} (what is implicit limits no step: how long it "
                       "may be is a matter of accuracy); give a number{}",
                       run.time.scheme,
                       multigrid_error_order(run.time.scheme) > 0 ? ", or 'adaptive'" : ""));
  if (space_of(run).order != 2)
    refuse(run.location("space.order"),
           fmt::format("implicit steps by multigrid have differences of order 2, not {}",
                       space_of(run).order));
  if (parameters_of(run).sections.stop.steady)
    refuse(run.location("stop.steady"),
           "rates of change are not known so well as this asks for where steps go by multigrid, "
           "whose cycles end at a tolerance ('stop: {when: ...}' takes a condition)");
}

/// Notes what equations cannot be split.
void check_equations(config::RunConfig const& run, DiffusionSplit split,
                     std::vector<Problem>& problems) {
  for (std::size_t c = 0; c < split.faults.size(); ++c) {
    auto const place = run.location("equations." + unknown_of(run, static_cast<int>(c)).name);
    if (!split.faults[c].empty())
      problems.push_back(run.problem(
          place, fmt::format("implicit steps by multigrid: {}; explicit schemes, as rk4, take it "
                             "in short steps",
                             split.faults[c])));
    auto const& [coefficient, decay] = split.own[c];
    try {
      for (equations::Term const term : {coefficient, decay})
        if (term >= 0) (void)equations::to_expression(split.rest.terms, term);
    } catch (Error const& error) {
      problems.push_back(run.problem(place, error.what()));
    }
  }
  if (problems.empty() && !split.has_diffusion())
    problems.push_back(run.problem(
        run.location("implicit.solver"),
        "multigrid takes the diffusion of a field by itself implicitly, div(D*grad(u)) in the "
        "equation of u, and no equation has one"));
}

void check_section(config::RunConfig const& run, std::vector<Problem>& problems) {
  auto const refuse = [&](std::string_view key, std::string const& why) {
    problems.push_back(run.problem(run.location(key), why));
  };
  auto const& [solver, tolerance] = parameters_of(run).implicit;
  bool const is_implicit = is_implicit_in_modes(run.time.scheme);
  if (solver != "auto" && !is_implicit)
    return refuse("implicit.solver",
                  fmt::format("is for implicit steps (the scheme is {})", run.time.scheme));
  if (solver == "multigrid" && find_multigrid_scheme(run.time.scheme) == nullptr)
    return refuse("implicit.solver",
                  fmt::format("multigrid is for imex_euler, imex_bdf2 and ark3 (the scheme is {}, "
                              "which takes modes)",
                              run.time.scheme));
  if (solver == "multigrid" && needs_modes(run))
    return refuse(
        "implicit.solver",
        fmt::format("{} makes the run go by modes",
                    parameters_of(run).is_spectral ? "'derivatives: spectral'" : "a constraint"));
  if (goes_by_multigrid(run)) return;
  if (tolerance)
    refuse("implicit.tolerance", "is of multigrid, which solves for no step of this run");
  if (run.kernels.at("multigrid") != "auto")
    refuse("kernels.multigrid", "is for implicit steps by multigrid");
}

}  // namespace

bool needs_modes(config::RunConfig const& run) {
  return parameters_of(run).is_spectral || !system_of(run).constraints.empty();
}

bool goes_by_multigrid(config::RunConfig const& run) {
  std::string const& solver = parameters_of(run).implicit.solver;
  if (find_multigrid_scheme(run.time.scheme) == nullptr || solver == "modes" || needs_modes(run))
    return false;
  if (is_wanted(run)) return true;
  // What modes have no sides for is told what multigrid takes, also where there is nothing for it.
  auto const has_sides = [](auto const& name) { return !name.terms.empty(); };
  if (!has_sides_of_modes(run) || space_of(run).convection != equations::Convection::central ||
      std::ranges::any_of(system_of(run).names, has_sides))
    return true;
  auto const split = diffusion_split_of(run);
  if (!split.has_diffusion()) return false;
  if (run.time.adaptive && multigrid_error_order(run.time.scheme) > 0) return true;
  // Modes take it, but for what has no number as its coefficient.
  auto const is_field = [&](OwnDiffusion const& one) {
    return one.is_there() && !split.rest.terms.is_number(one.coefficient);
  };
  return std::ranges::any_of(split.own, is_field) && space_of(run).order == 2 &&
         !parameters_of(run).sections.stop.steady &&
         std::ranges::all_of(split.faults, &std::string::empty);
}

Scheme const& multigrid_scheme(std::string_view name) {
  return find_multigrid_scheme(name)->scheme;
}

int multigrid_error_order(std::string_view name) {
  auto const* const found = find_multigrid_scheme(name);
  return found == nullptr ? 0 : found->error_order;
}

ExplicitRegion explicit_region(config::RunConfig const& run) {
  if (goes_by_multigrid(run)) return find_multigrid_scheme(run.time.scheme)->region;
  auto const* const slopes = slopes_of(run);
  return {slopes ? slopes->degree : static_cast<int>(scheme_of(run).stages.size()), 1};
}

DiffusionSplit diffusion_split_of(config::RunConfig const& run) {
  return equations::split_diffusion(system_of(run));
}

bool ImplicitGroup::has_fields() const {
  return has_factors || !is_constant(diffusivity) || !is_constant(decay);
}

std::vector<ImplicitGroup> implicit_groups(config::RunConfig const& run) {
  auto split = diffusion_split_of(run);
  std::vector<ImplicitGroup> groups;
  for (int c = 0; c < system_of(run).component_count(); ++c) {
    OwnDiffusion const& one = split.own[static_cast<std::size_t>(c)];
    if (!one.is_there()) continue;
    ImplicitGroup group = {.components = {c},
                           .kinds = kinds_of(run, c),
                           .has_factors = has_factors(run, c),
                           .diffusivity = source_of(run, split, c, one.coefficient),
                           .decay = source_of(run, split, c, one.decay),
                           .name = "implicit." + equations::component_name(split.rest, c)};
    auto const same = std::ranges::find_if(groups, [&](ImplicitGroup const& other) {
      OwnDiffusion const& theirs = split.own[static_cast<std::size_t>(other.components.front())];
      return !group.has_factors && !other.has_factors && group.kinds == other.kinds &&
             one.coefficient == theirs.coefficient && one.decay == theirs.decay;
    });
    if (same == groups.end())
      groups.push_back(std::move(group));
    else
      same->components.push_back(c);
  }
  return groups;
}

void add_implicit_rows(std::vector<Row>& rows, config::RunConfig const& run) {
  for (ImplicitGroup const& group : implicit_groups(run)) {
    rows.push_back(coefficient(run, group.name + ".diffusivity", group.diffusivity));
    rows.push_back(coefficient(run, group.name + ".decay", group.decay));
    if (group.has_factors || !is_constant(group.decay))
      rows.push_back(scratch(run, group.name + ".reaction", 1));
  }
}

bool is_implicit_row(Row const& row) { return row.name.starts_with("implicit."); }

multigrid::Options implicit_options(config::RunConfig const& run, ImplicitGroup const& group) {
  multigrid::Options options;
  options.cycle = multigrid::Cycle::v;
  options.conjugates = group.has_fields();
  options.tolerance = parameters_of(run).implicit.tolerance.value_or(default_tolerance(run));
  return options;
}

void add_implicit_memory(MemoryForecast& memory, config::RunConfig const& run, Backend backend) {
  memory.other_bytes += solver_bytes(run, backend);
  add_kept_memory(memory, run);
}

std::size_t add_kept_memory(MemoryForecast& memory, config::RunConfig const& run) {
  if (run.time.scheme != "imex_bdf2") return 0;
  std::size_t const kept = 2 * static_cast<std::size_t>(system_of(run).component_count());
  std::size_t const bytes =
      kept * static_cast<std::size_t>(run.grid.size()) * size_of(run.precision);
  memory.saved_arrays += static_cast<int>(kept);
  memory.saved_bytes += bytes;
  return bytes;
}

std::size_t solver_bytes(config::RunConfig const& run, Backend backend, RankCuts const& cuts) {
  std::size_t bytes = 0;
  for (ImplicitGroup const& group : implicit_groups(run))
    bytes += multigrid::solver_bytes(backend, run.grid, group.kinds, group.has_fields(),
                                     run.precision, implicit_options(run, group), cuts);
  return bytes;
}

std::int64_t planes_together(config::RunConfig const& run, Backend backend) {
  std::int64_t together = 1;
  for (ImplicitGroup const& group : implicit_groups(run))
    if (implicit_options(run, group).conjugates)
      together = std::lcm(
          together, multigrid::planes_together(backend, run.grid, group.kinds, group.has_fields()));
  return together;
}

bool check_implicit(config::RunConfig const& run, std::vector<Problem>& problems) {
  std::size_t const before = problems.size();
  check_section(run, problems);
  if (problems.size() == before && goes_by_multigrid(run)) {
    check_sections(run, problems);
    check_grid(run, problems);
    auto const split = diffusion_split_of(run);
    check_sides(run, split, problems);
    if (problems.size() == before) check_equations(run, split, problems);
  }
  return problems.size() == before;
}

namespace {

/// Multigrid has u in float64, whatever the precision of the run.
void check_longest_step(config::RunConfig const& run, double diffusivity, std::string const& name) {
  double const limit = stencil::euler_limit(run.grid, diffusivity),
               most = stencil::most_multiple(Precision::float64);
  if (!run.time.step || *run.time.step <= most * limit) return;
  throw ConfigError({run.problem(
      run.time.step_location,
      fmt::format("{} s is {:.3g} times what euler could take for the diffusion of {} (float64 has "
                  "digits for {:.3g} times)",
                  *run.time.step, *run.time.step / limit, name, most))});
}

}  // namespace

void check_implicit_values(config::RunConfig const& run, Inputs const& inputs) {
  auto const positive = [](double value) {
    return value > 0 && std::isfinite(value)
               ? ""
               : "D of div(D*grad(u)) has to be positive everywhere for an implicit step";
  };
  auto const not_negative = [](double value) {
    return value >= 0 && std::isfinite(value)
               ? ""
               : "a of 'robin: [a, g]' has to be 0 or more for an implicit step";
  };
  auto const finite = [](double value) {
    return std::isfinite(value) ? "" : "what a field decays by is not finite";
  };
  for (ImplicitGroup const& group : implicit_groups(run)) {
    auto const& unknown = unknown_of(run, group.components.front());
    check_longest_step(run,
                       largest_magnitude(run, group.diffusivity, inputs, run.grid, 0, positive),
                       unknown.name);
    (void)largest_magnitude(run, group.decay, inputs, run.grid, 0, finite);
    auto const& sides = run.sides_of(unknown.name);
    for (int axis = 0; axis < run.grid.dims; ++axis)
      for (int end = 0; end < 2; ++end)
        for (config::Formula const& factor :
             sides[static_cast<std::size_t>(axis)][static_cast<std::size_t>(end)].factors)
          (void)largest_magnitude(run, gridstride::source_of(factor), inputs,
                                  face_of(run.grid, axis, end), 0, not_negative);
  }
}

std::vector<std::string> implicit_lines(config::RunConfig const& run) {
  std::vector<std::string> lines = {"implicit, by multigrid:"};
  auto const split = diffusion_split_of(run);
  auto const& system = split.rest;
  for (std::size_t c = 0; c < split.own.size(); ++c) {
    auto const& [coefficient, decay] = split.own[c];
    auto const name = equations::component_name(system, static_cast<int>(c));
    auto const rest = equations::to_text(system, system.rates[c]);
    if (coefficient < 0) {
      lines.push_back(fmt::format("  of dt({}): nothing", name));
      continue;
    }
    auto const decays = system.terms.is_number(decay) && system.terms[decay].value == 0
                            ? ""
                            : fmt::format(" - ({})*{}", equations::to_text(system, decay), name);
    lines.push_back(fmt::format("  of dt({0}): div(({1})*grad({0})){2}, beside {3}", name,
                                equations::to_text(system, coefficient), decays, rest));
  }
  return lines;
}

}  // namespace gridstride::pde

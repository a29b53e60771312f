#include "simulations/pde_modes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <stdexcept>

#include "equations/text.hpp"
#include "kernels/families.hpp"
#include "kernels/modes/modes.hpp"
#include "kernels/system/system.hpp"
#include "model/modal_scheme.hpp"
#include "model/modal_stepper.hpp"
#include "model/values.hpp"
#include "simulations/pde_balance.hpp"
#include "simulations/pde_implicit.hpp"
#include "simulations/pde_parameters.hpp"
#include "simulations/pde_quantities.hpp"
#include "simulations/pde_schemes.hpp"
#include "simulations/pde_set_up.hpp"
#include "simulations/pde_values.hpp"

namespace gridstride::pde {

using equations::Beyond;
using equations::BeyondSides;
using equations::ModalError;
using equations::Unknown;

bool goes_by_modes(config::RunConfig const& run) {
  return needs_modes(run) || (is_implicit_in_modes(run.time.scheme) && !goes_by_multigrid(run));
}

std::string_view modal_scheme_of(config::RunConfig const& run) {
  return is_implicit_in_modes(run.time.scheme) ? std::string_view(run.time.scheme)
                                               : scheme_of(run).name;
}

int modal_evaluations(config::RunConfig const& run) {
  return static_cast<int>(modal_scheme(modal_scheme_of(run)).stages.size());
}

namespace {

bool is_zero(config::SideCondition const& side, std::size_t component) {
  config::Formula const& value =
      side.components.empty() ? side.value : side.components.at(component);
  if (value.is_foreign || !value.expression.is_constant()) return false;
  return value.expression.evaluate(std::span<double const>()) == 0;
}

/// Whether modes go on as this side has it.
bool is_of_modes(config::SideCondition const& side, std::size_t component) {
  if (side.kind == SideKind::periodic || side.kind == SideKind::wall) return true;
  bool const has_value = side.kind == SideKind::dirichlet || side.kind == SideKind::neumann;
  return has_value && is_zero(side, component);
}

Beyond beyond(SideKind kind, bool is_normal) {
  if (kind == SideKind::periodic) return Beyond::periodic;
  bool const is_odd = kind == SideKind::dirichlet || (kind == SideKind::wall && is_normal);
  return is_odd ? Beyond::odd : Beyond::even;
}

BeyondSides beyond_sides(config::RunConfig const& run, Unknown const& unknown, int component) {
  BeyondSides result = {};
  auto const& sides = run.sides_of(unknown.name);
  for (int axis = 0; axis < run.grid.dims; ++axis)
    for (std::size_t end = 0; end < 2; ++end)
      result[static_cast<std::size_t>(axis)][end] = beyond(
          sides[static_cast<std::size_t>(axis)][end].kind, unknown.is_vector && component == axis);
  return result;
}

/// Notes sides that modes have not; returns whether there are none.
bool check_sides(config::RunConfig const& run, std::vector<Problem>& problems) {
  std::size_t const before = problems.size();
  auto const check = [&](Unknown const& unknown) {
    auto const& sides = run.sides_of(unknown.name);
    for (int axis = 0; axis < run.grid.dims; ++axis)
      for (std::size_t end = 0; end < 2; ++end)
        for (int c = 0; c < unknown.components; ++c) {
          auto const& side = sides[static_cast<std::size_t>(axis)][end];
          if (is_of_modes(side, static_cast<std::size_t>(c))) continue;
          auto const name = axis_names[static_cast<std::size_t>(axis)];
          std::string const own = fmt::format("boundary.{}.{}", unknown.name, name);
          auto problem = run.problem(
              run.location(run.locations.contains(own) ? own : fmt::format("boundary.{}", name)),
              fmt::format("runs in modes take sides that are periodic, 'dirichlet: 0', "
                          "'neumann: 0' or 'wall' (waves, sines and cosines have no others; here "
                          "{} along {} for {})",
                          end == 0 ? "the lower one" : "the upper one", name, unknown.name));
          if (std::ranges::none_of(
                  problems, [&](Problem const& other) { return other.message == problem.message; }))
            problems.push_back(std::move(problem));
          return;
        }
  };
  for (Unknown const& unknown : system_of(run).unknowns) check(unknown);
  for (auto const& one : system_of(run).names) check(one.name);
  return problems.size() == before;
}

/// `derivatives: spectral`, ... : what makes the run go by modes.
std::string reason_of(config::RunConfig const& run) {
  if (is_implicit_in_modes(run.time.scheme)) return run.time.scheme;
  return parameters_of(run).is_spectral ? "'derivatives: spectral'" : "a constraint";
}

/// What of the time section a run in modes does not take.
void check_time(config::RunConfig const& run, std::vector<Problem>& problems) {
  auto const refuse = [&](std::string_view key, std::string const& why) {
    problems.push_back(run.problem(run.location(key), why));
  };
  if (run.time.scheme == "rk45" || run.time.scheme == "leapfrog")
    return refuse("time.scheme",
                  fmt::format("{} makes the run go by modes, where {} is not among the schemes "
                              "(euler, ssprk2, ssprk3, rk4, imex_euler, imex_bdf2, ark3 and etdrk4 "
                              "are)",
                              reason_of(run), run.time.scheme));
  if (run.time.adaptive)
    return refuse("time.step",
                  fmt::format("{} makes the run go by modes, where steps are of one length (what "
                              "a step is made of is tabulated for it); give a number",
                              reason_of(run)));
  if (!run.time.step)
    refuse("time.step",
           fmt::format("'auto' is not known with {} (no limit of what is not linear is known, and "
                       "what is linear has none by implicit and exponential schemes: how long a "
                       "step may be is a matter of accuracy); give a number",
                       reason_of(run)));
}

void check_split(config::RunConfig const& run, std::vector<Problem>& problems) {
  try {
    auto const split = modal_split_of(run);
    auto const why = ModalStepper<double>::refusal(run.grid, split.system, modal_scheme_of(run));
    if (!why.empty()) problems.push_back(run.problem(run.location("equations"), why));
  } catch (ModalError const& error) {
    std::string key = "equations";
    if (error.in == ModalError::In::constraint)
      key = parameters_of(run).key_of_constraint(static_cast<std::size_t>(error.index));
    else
      for (Unknown const& unknown : system_of(run).unknowns)
        if (error.index >= unknown.first && error.index < unknown.first + unknown.components)
          key = "equations." + unknown.name;
    problems.push_back(run.problem(run.location(key), fmt::format("the run goes by modes ({}): {}",
                                                                  reason_of(run), error.what())));
  }
}

}  // namespace

bool has_sides_of_modes(config::RunConfig const& run) {
  auto const are_of_modes = [&](Unknown const& unknown) {
    auto const& sides = run.sides_of(unknown.name);
    for (std::size_t axis = 0; axis < static_cast<std::size_t>(run.grid.dims); ++axis)
      for (auto const& side : sides[axis])
        for (int c = 0; c < unknown.components; ++c)
          if (!is_of_modes(side, static_cast<std::size_t>(c))) return false;
    return true;
  };
  return std::ranges::all_of(system_of(run).unknowns, are_of_modes);
}

std::vector<BeyondSides> beyond_sides_of(config::RunConfig const& run) {
  std::vector<BeyondSides> sides;
  for (Unknown const& unknown : system_of(run).unknowns)
    for (int c = 0; c < unknown.components; ++c) sides.push_back(beyond_sides(run, unknown, c));
  for (auto const& one : system_of(run).names) sides.push_back(beyond_sides(run, one.name, 0));
  return sides;
}

equations::ModalSplit modal_split_of(config::RunConfig const& run) {
  Parameters const& parameters = parameters_of(run);
  equations::ModalSpace const space = {.symbols = parameters.is_spectral
                                                      ? equations::Symbols::exact
                                                      : equations::Symbols::differences,
                                       .order = parameters.space.order};
  auto split = equations::split_into_modes(system_of(run), run.grid, space, beyond_sides_of(run));
  constexpr double of_products = 2.0 / 3;
  // What is made of space and time alone has no product of fields.
  bool const has_products = std::ranges::any_of(
      split.system.levels, [](auto const& level) { return !level.arrays.empty(); });
  double const keep = !parameters.is_spectral ? 1
                      : parameters.dealias    ? *parameters.dealias
                      : has_products          ? of_products
                                              : 1;
  for (int axis = 0; axis < run.grid.dims; ++axis)
    split.system.dealias[static_cast<std::size_t>(axis)] = keep;
  return split;
}

equations::ModalSplit modal_split_with_values(config::RunConfig const& run) {
  auto split = modal_split_of(run);
  if (has_values_by_modes(run)) values_by_modes(run).add_to(split.system);
  return split;
}

bool check_modes(config::RunConfig const& run, std::vector<Problem>& problems) {
  auto const refuse = [&](std::string_view key, std::string const& why) {
    problems.push_back(run.problem(run.location(key), why));
  };
  if (space_of(run).convection != equations::Convection::central)
    refuse("space.convection",
           fmt::format("{} makes the run go by modes, which take nothing from upwind",
                       reason_of(run)));
  for (auto const& one : system_of(run).names)
    if (!one.terms.empty())
      refuse(
          "boundary." + one.name.name,
          fmt::format("{} makes the run go by modes, which take no names with sides of their own",
                      reason_of(run)));
  check_time(run, problems);
  if (!problems.empty() || !check_sides(run, problems)) return false;
  check_split(run, problems);
  if (parameters_of(run).sections.stop.steady) try {
      rate_stencil(run);
    } catch (Error const& error) {
      refuse("stop.steady", error.what());
    }
  return problems.empty();
}

bool has_second_arrays(config::RunConfig const& run) {
  Parameters const& parameters = parameters_of(run);
  return parameters.initial || !parameters.sections.events.empty() ||
         parameters.sections.stop.steady || parameters.sections.stop.condition >= 0;
}

std::vector<Row> modal_rows_of(config::RunConfig const& run) {
  std::vector<Row> rows;
  auto const& system = system_of(run);
  for (Unknown const& unknown : system.unknowns)
    for (auto const& name : names_of(run, unknown)) {
      rows.push_back(evolved(run, name, has_second_arrays(run) ? 2 : 1));
      rows.back().saved = false;  // its modes are
    }
  auto const& euler = find_scheme("euler");
  auto const add_all_sides = [&](Unknown const& unknown) {
    if (!unknown.is_vector) return add_sides(rows, run, unknown.name, euler);
    for (std::size_t c = 0; c < static_cast<std::size_t>(unknown.components); ++c)
      add_sides(rows, run, unknown.name, euler, c);
  };
  for (Unknown const& unknown : system.unknowns) {
    add_all_sides(unknown);
    if (unknown.components > 1) rows.push_back(scratch(run, unknown.name, unknown.components));
  }
  for (auto const& one : system.names) {
    add_all_sides(one.name);
    rows.push_back(scratch(run, one.name.name, 1));
  }
  if (has_values_by_modes(run))
    for (int i = 0; i < values_by_modes(run).size(); ++i)
      rows.push_back(scratch(run, "derivative", 1));
  add_quantities(rows, run);
  return rows;
}

ModalVariants modal_variants_of(config::RunConfig const& run) {
  return {.fft = run.kernels.at("fft"),
          .modes = run.kernels.at("modes"),
          .system = run.kernels.at("system")};
}

MemoryForecast modal_memory_of(config::RunConfig const& run, Backend backend) {
  auto const split = modal_split_with_values(run);
  auto memory = forecast(run, modal_rows_of(run));
  with_zero_of(run.precision, [&](auto zero) {
    using Stepper = ModalStepper<decltype(zero)>;
    memory.other_bytes += Stepper::bytes(backend, run.grid, split.system, modal_scheme_of(run),
                                         modal_variants_of(run));
    memory.other_bytes += Balances<decltype(zero)>::bytes(run, split, backend);
    memory.saved_bytes += Stepper::saved_bytes(run.grid, split.system, modal_scheme_of(run));
  });
  memory.other_bytes += global_finder_bytes(run, backend, true);
  memory.saved_arrays += run.time.scheme == "imex_bdf2" ? 3 : 1;  // all components together
  return memory;
}

void choose_modal_kernels(config::RunConfig const& run, Device const& device) {
  with_zero_of(run.precision, [&](auto zero) {
    using T = decltype(zero);
    auto const check = [&](std::string_view family, auto variants, std::string_view standard) {
      std::string_view const wanted = run.kernels.at(std::string(family));
      find_variant(family, variants, device, wanted == "auto" ? standard : wanted);
    };
    check("fft", fft::variants<T>(), fft::default_variant(device.backend()));
    check("modes", modes::variants<T>(), modes::default_variant(device.backend()));
    check("system", system::variants<T>(),
          system::default_variant(device.backend(), run.grid.dims));
  });
  if (run.kernels.at("system") == "march")
    throw std::invalid_argument(
        "system: 'march' makes whole steps of differences, and this run goes by modes");
}

}  // namespace gridstride::pde

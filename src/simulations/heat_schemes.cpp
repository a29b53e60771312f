#include "simulations/heat_schemes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "core/error.hpp"
#include "core/ranks.hpp"
#include "kernels/stencil/alternating.hpp"
#include "kernels/stencil/implicit.hpp"
#include "model/adaptive_steps.hpp"
#include "model/out_of_core.hpp"
#include "simulations/heat_implicit.hpp"
#include "simulations/heat_implicit_ranks.hpp"
#include "simulations/heat_multigrid.hpp"
#include "simulations/heat_parameters.hpp"

namespace gridstride::heat {

namespace {

/// `tr_bdf2` (Bank and others, IEEE Trans. Electron Devices 32, 1985): with γ = 2 − √2 both stages
/// have the same θ, and the second one, (1 − γ/2·dt·L) u' = a·u_γ − (a − 1)·u with a = 1/(γ(2 − γ)),
/// begins with u + a·δ. Its second estimate is of order 3 (M. E. Hosea and L. F. Shampine, Appl.
/// Numer. Math. 20, 1996), and W⁻¹ of the difference is the error, or what is stiff would count.
constexpr double root = 1.4142135623730951, gamma = 2 - root;
constexpr ImplicitScheme table[] = {
    {.name = "backward_euler", .backward = 1},
    {.name = "crank_nicolson", .part = 1},
    {.name = "tr_bdf2",
     .part = gamma,
     .multiple = 1 / (gamma * (2 - gamma)),
     .backward = gamma / 2,
     .rates = {(1 - root / 4) / 3, (1 + 0.75 * root) / 3, gamma / 6}},
};

ImplicitScheme const* find(std::string_view name) {
  auto const* const found = std::ranges::find(table, name, &ImplicitScheme::name);
  return found == std::end(table) ? nullptr : found;
}

}  // namespace

ImplicitScheme const& implicit_scheme(config::RunConfig const& run) {
  return *find(run.time.scheme);
}

config::StepTolerance step_tolerance(config::RunConfig const& run) {
  return run.time.tolerance.value_or(config::StepTolerance{});
}

bool is_bounded(config::RunConfig const& run) { return run.grid.dims == 3 && has_field(run); }

bool has_rows(config::RunConfig const& run) {
  return has_field(run) && !is_bounded(run) && !takes_multigrid(run);
}

template <class T>
stencil::Diffusion<T> constant_diffusion(config::RunConfig const& run) {
  stencil::Diffusion<T> diffusion;
  diffusion.grid = run.grid;
  diffusion.diffusivity = parameters_as<Parameters>(run).diffusivity.formula.expression.evaluate(0);
  diffusion.known_step = std::min(*run.time.step, output_interval(run));
  for (int axis = 0; axis < run.grid.dims; ++axis)
    for (std::size_t side = 0; side < 2; ++side)
      diffusion.sides[static_cast<std::size_t>(axis)][side].kind =
          run.sides_of("u")[axis][side].kind;
  return diffusion;
}

template stencil::Diffusion<float> constant_diffusion(config::RunConfig const&);
template stencil::Diffusion<double> constant_diffusion(config::RunConfig const&);

bool alternates(config::RunConfig const& run, Device const& device) {
  auto const& scheme = implicit_scheme(run);
  auto const rows = rows_of(run, 1, find_scheme("euler"));
  if (scheme.part != 1 || scheme.backward > 0 || !run.time.step || run.grid.dims != 2 ||
      takes_multigrid(run) || has_field(run) || has_array(rows, "source") || depends_on_time(rows))
    return false;
  return with_zero_of(run.precision, [&](auto zero) {
    auto const diffusion = constant_diffusion<decltype(zero)>(run);
    stencil::AlternatingStep<decltype(zero)> step;
    step.grid = run.grid;
    step.diffusivity = diffusion.diffusivity;
    step.step = diffusion.known_step;
    step.sides = diffusion.sides;
    return stencil::takes_alternating(device, step);
  });
}

Work::Work(config::RunConfig const& run)
    : given(is_bounded(run) || takes_multigrid(run) ||
            (implicit_scheme(run).backward > 0 && run.grid.dims > 1)),
      base((is_bounded(run) || takes_multigrid(run)) && implicit_scheme(run).multiple != 1 &&
           !run.time.adaptive && run.ranks == 1),
      adaptive(run.time.adaptive) {}

std::vector<Row> implicit_rows(config::RunConfig const& run) {
  auto rows = rows_of(run, 1, find_scheme("euler"));
  rows.push_back(scratch(run, "right-hand sides", Work(run).arrays()));
  rows.push_back(
      scratch(run, "rows", static_cast<int>(stencil::AxisSystems<double>::arrays(has_rows(run)))));
  return rows;
}

Steps choose_steps(config::RunConfig const& run, Inputs const& inputs) {
  double const alpha = largest_diffusivity(run, inputs);
  double const limit = stencil::euler_limit(run.grid, alpha);
  double const longest = limit * stencil::most_multiple(run.precision);
  if (run.time.step && *run.time.step > longest)
    throw ConfigError({run.problem(
        run.time.step_location,
        fmt::format("{} s is {:.3g} times what ftcs could take ({} has digits for {:.3g} times)",
                    *run.time.step, *run.time.step / limit, name_of(run.precision),
                    stencil::most_multiple(run.precision)))});
  if (run.time.adaptive)
    return {std::min(longest_step(run, depends_on_time(implicit_rows(run))), longest), alpha,
            limit};
  if (run.time.step) return {std::min(*run.time.step, output_interval(run)), alpha, limit};
  throw ConfigError({run.problem(
      run.time.step_location,
      fmt::format("has to be given with {}{} (it is stable for any step, so that the accuracy that "
                  "you want decides; 100 times what ftcs could take are {:.3g} s)",
                  run.time.scheme, implicit_scheme(run).has_error() ? ", or be 'adaptive'" : "",
                  100 * limit))});
}

Steps shared_steps(config::RunConfig const& run, Inputs const& inputs) {
  Steps steps{};
  if (keeps_state(run)) steps = choose_steps(run, inputs);
  if (run.ranks > 1) ranks().broadcast(std::as_writable_bytes(std::span(&steps, 1)));
  return steps;
}

std::vector<std::string_view> implicit_schemes() {
  std::vector<std::string_view> names;
  for (auto const& scheme : table) names.push_back(scheme.name);
  return names;
}

bool has_error(config::RunConfig const& run) {
  auto const* const scheme = find(run.time.scheme);
  return scheme != nullptr && scheme->has_error();
}

bool is_implicit(config::RunConfig const& run) { return find(run.time.scheme) != nullptr; }

double implicit_step(config::RunConfig const& run, Inputs const& inputs) {
  return choose_steps(run, inputs).longest;
}

MemoryForecast implicit_memory(config::RunConfig const& run, Backend backend) {
  auto const rows = implicit_rows(run);
  Device const device = Device::open(backend, run.device.ordinal);
  auto const slabs = implicit_slabs(run, device, rows);
  auto memory = forecast_slabs(run, device, rows, slabs, plan_slabs(run, device, rows, slabs));
  if (run.ranks == 1)
    memory.other_bytes += with_zero_of(run.precision, [&](auto zero) {
      if (takes_multigrid(run)) return WholeSystem<decltype(zero)>::bytes(run, backend);
      return stencil::AxisSystems<decltype(zero)>::bytes(run.grid, has_rows(run));
    });
  if (run.time.adaptive)
    memory.other_bytes += AdaptiveSteps::bytes(run.grid, 1) + sizeof(evaluate::DeviceClock);
  return memory;
}

std::vector<Problem> implicit_problems(config::RunConfig const& run) {
  std::vector<Problem> problems;
  auto const refuse = [&](std::string_view key) {
    problems.push_back(
        run.problem(run.location(fmt::format("kernels.{}", key)),
                    fmt::format("is for explicit steps (the scheme is {})", run.time.scheme)));
  };
  if (run.kernels.at("stencil") != "auto") refuse("stencil");
  if (run.fused_steps) refuse("fused_steps");
  auto const tolerance = parameters_as<Parameters>(run).tolerance;
  if (double const allowed = step_tolerance(run).relative;
      takes_multigrid(run) && run.time.adaptive && tolerance && *tolerance > 0.1 * allowed)
    problems.push_back(run.problem(
        run.location("parameters.tolerance"),
        fmt::format("{:g} is more than a tenth of what a step may be off by, {:g} (time.tolerance; "
                    "what cycles leave would count as an error of the step)",
                    *tolerance, allowed)));
  if (!takes_multigrid(run) && tolerance)
    problems.push_back(run.problem(run.location("parameters.tolerance"),
                                   "is of multigrid (the solver is splitting, which has none)"));
  check_tolerance(run, problems);
  return problems;
}

std::vector<std::string> implicit_report(config::RunConfig const& run, Inputs const& inputs) {
  auto const steps = choose_steps(run, inputs);
  return {fmt::format("steps: {} {:.6g} s, {:.3g} times what ftcs could take{}",
                      run.time.adaptive ? "as their error allows, at most" : "of", steps.longest,
                      steps.longest / steps.explicit_limit,
                      takes_multigrid(run) ? ", by multigrid" : "")};
}

}  // namespace gridstride::heat

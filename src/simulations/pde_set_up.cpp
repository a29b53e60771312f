#include "simulations/pde_set_up.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>
#include <stdexcept>

#include "config/run_fields.hpp"
#include "equations/stability.hpp"
#include "kernels/families.hpp"
#include "kernels/multigrid/multigrid.hpp"
#include "kernels/support/runtime_compiler.hpp"
#include "kernels/system/planes.hpp"
#include "kernels/system/system.hpp"
#include "model/values.hpp"
#include "simulations/pde_events.hpp"
#include "simulations/pde_globals.hpp"
#include "simulations/pde_implicit.hpp"
#include "simulations/pde_initial.hpp"
#include "simulations/pde_lasting.hpp"
#include "simulations/pde_march.hpp"
#include "simulations/pde_modes.hpp"
#include "simulations/pde_parameters.hpp"
#include "simulations/pde_quantities.hpp"
#include "simulations/pde_ranks.hpp"
#include "simulations/pde_schemes.hpp"
#include "simulations/pde_side_values.hpp"
#include "simulations/pde_stop.hpp"

namespace gridstride::pde {

using equations::Unknown;

namespace {

/// What passes of a run would advance, with its program.
struct Passing {
  equations::Stencil stencil;
  equations::StencilProgram program;
  PassSystem passes;

  explicit Passing(config::RunConfig const& run) : stencil(stencil_of(run)) {
    program = equations::program_of(stencil.terms, stencil.rates, run.grid.dims);
    passes = pass_system(run, program, scheme_of(run));
  }
  Passing(Passing const&) = delete;
  Passing& operator=(Passing const&) = delete;

  bool has_globals() const { return !passes.operands.empty(); }
  GlobalPassPlan globals() const { return {passes.what, passes.operands}; }
  std::string refusal() const {
    return has_globals() ? globals().refusal() : system::march_refusal(passes.what);
  }
  bool is_default(config::RunConfig const& run) const {
    if (!has_globals()) return system::marches_by_default(passes.what);
    auto const plan = globals();
    int const bytes = static_cast<int>(size_of(run.precision));
    return plan.refusal().empty() && plan.cost(bytes) < cost_of_points(run, bytes);
  }

 private:
  /// What a step takes that goes by stages, and by kernels of their own for values over the grid.
  double cost_of_points(config::RunConfig const& run, int bytes) const {
    constexpr double of_the_roof = 0.65;  // of memory
    double const points = static_cast<double>(run.grid.size()) * bytes / of_the_roof;
    auto const stages = static_cast<double>(passes.what.stages.size());
    double cost = 0;
    for (int number = 0; auto const& stage : passes.what.stages) {
      auto const arrays = 2 + (stage.base != number++) + static_cast<double>(stage.addends.size());
      cost += system::copy_cost(points * arrays * static_cast<double>(program.results.size()));
    }
    for (auto const& operand : passes.operands)
      cost += stages * (operand.code.size() == 1 ? system::copy_cost(points)
                                                 : 2 * system::copy_cost(1.5 * points));
    return cost;
  }
};

}  // namespace

std::string_view variant_of(config::RunConfig const& run, Backend backend) {
  std::string_view const wanted = run.kernels.at("system");
  if (wanted != "auto") return wanted;
  bool const marches = backend == Backend::cuda && slopes_of(run) == nullptr &&
                       !goes_by_multigrid(run) && system_of(run).sides.empty() &&
                       has_runtime_compiler() && Passing(run).is_default(run);
  return marches ? "march" : system::default_variant(backend, run.grid.dims);
}

std::string_view evaluating_variant(config::RunConfig const& run) {
  std::string_view const wanted = run.kernels.at("system");
  return wanted == "march" ? "points" : wanted;
}

bool goes_by_passes(config::RunConfig const& run, Backend backend) {
  return backend == Backend::cuda && variant_of(run, backend) == "march";
}

Scheme const& scheme_of(config::RunConfig const& run, Backend backend) {
  using Schemes = std::map<std::string_view, Scheme>;
  static Schemes const in_passes = [] {
    Schemes all;
    for (Scheme const& scheme : schemes()) all.emplace(scheme.name, in_one_pass(scheme));
    return all;
  }();
  static Schemes const in_parts = [] {
    Schemes all;
    for (Scheme const& scheme : schemes()) all.emplace(scheme.name, scheme);
    for (auto& [name, scheme] : all) {
      scheme.buffers = 1;
      scheme.alternates = false;
    }
    return all;
  }();
  Scheme const& scheme = scheme_of(run);
  if (slopes_of(run) != nullptr || goes_by_multigrid(run)) return scheme;
  if (run.ranks > 1) return in_parts.at(scheme.name);
  return goes_by_passes(run, backend) ? in_passes.at(scheme.name) : scheme;
}

int scratch_buffers(config::RunConfig const& run, Scheme const& scheme) {
  if (slopes_of(run) != nullptr || goes_by_multigrid(run)) return scheme.buffers - 1;
  int most = 0;
  for (Stage const& stage : std::span(scheme.stages).first(scheme.stages.size() - 1))
    most = std::max(most, stage.out);
  return most;
}

std::vector<std::string> names_of(config::RunConfig const& run, Unknown const& unknown) {
  bool const evolves = std::ranges::count(run.fields, unknown.name, &config::FieldInfo::name) > 0;
  auto const& info =
      *std::ranges::find(evolves ? run.fields : run.names, unknown.name, &config::FieldInfo::name);
  if (info.components.empty()) return {unknown.name};
  std::vector<std::string> names;
  for (auto const& component : info.components)
    names.push_back(config::component_variable(unknown.name, component));
  return names;
}

std::vector<Row> rows_of(config::RunConfig const& run, Backend backend) {
  Scheme const& scheme = scheme_of(run, backend);
  std::vector<Row> rows;
  // By leapfrog only rates have a slope.
  int const fields = is_leapfrog(run) ? system_of(run).component_count() / 2 : 0;
  for (Unknown const& unknown : system_of(run).unknowns)
    for (auto const& name : names_of(run, unknown))
      rows.push_back(evolved(run, name, scheme.buffers - (std::ssize(rows) < fields ? 1 : 0)));
  auto const add_all_sides = [&](Unknown const& unknown) {
    if (!unknown.is_vector) return add_sides(rows, run, unknown.name, scheme);
    for (std::size_t c = 0; c < static_cast<std::size_t>(unknown.components); ++c)
      add_sides(rows, run, unknown.name, scheme, c);
  };
  for (Unknown const& unknown : system_of(run).unknowns) {
    add_all_sides(unknown);
    if (unknown.components > 1) rows.push_back(scratch(run, unknown.name, unknown.components));
  }
  for (auto const& [name, terms] : system_of(run).names) {
    add_all_sides(name);
    rows.push_back(scratch(run, name.name, name.components));
  }
  auto const stencil = stencil_of(run);
  if (GlobalFinder<float>::needs_scratch(stencil.terms, stencil.operands))
    rows.push_back(scratch(run, "operand", 1));
  bool const by_multigrid = goes_by_multigrid(run);
  if (!run.time.adaptive && (by_multigrid || !linearisation_of(run)->coefficients().empty()))
    rows.push_back(
        scratch(run, "coefficient", by_multigrid ? 1 + static_cast<int>(stencil.rates.size()) : 1));
  if (by_multigrid) add_implicit_rows(rows, run);
  add_lasting(rows, run, stencil);
  add_side_values(rows, run);
  add_quantities(rows, run);
  return rows;
}

bool factors_change(config::RunConfig const& run) {
  equations::System const& system = system_of(run);
  if (std::ranges::any_of(system.sides, [&](equations::SideValue const& side) {
        return side.factor >= 0 && system.terms.contains(side.factor, equations::Kind::time);
      }))
    return true;
  for (config::Sides const& sides : run.boundary)
    for (auto const& ends : sides)
      for (config::SideCondition const& side : ends)
        if (std::ranges::any_of(side.factors, [](config::Formula const& factor) {
              return factor.expression.depends_on(expression::time_variable);
            }))
          return true;
  return false;
}

namespace {

bool changes_in_time(config::RunConfig const& run) {
  return equations::whole_program(stencil_of(run), run.grid.dims).depends_on_time() ||
         depends_on_time(rows_of(run, Backend::cpu)) || field_sides_depend_on_time(run);
}

}  // namespace

std::optional<ErrorControl> errors_of(config::RunConfig const& run) {
  if (!run.time.adaptive) return {};
  return ErrorControl{run.time.tolerance.value_or(config::StepTolerance{}), run.time.safety,
                      longest_step(run, changes_in_time(run))};
}

std::size_t global_pass_bytes(config::RunConfig const& run, Backend backend) {
  if (stencil_of(run).operands.empty() || !goes_by_passes(run, backend)) return 0;
  return GlobalPasses<double>::bytes(run.grid, Passing(run).globals());
}

namespace {

std::size_t finder_bytes(config::RunConfig const& run, Backend backend, std::size_t operands) {
  return with_zero_of(run.precision, [&](auto zero) {
    return GlobalFinder<decltype(zero)>::bytes(backend, run.grid, operands);
  });
}

/// What is explicit, and all equations for a look before the first step.
std::size_t limit_bytes(config::RunConfig const& run, Backend backend, bool has_explicit) {
  if (run.time.adaptive) return 0;
  std::size_t bytes = 0;
  auto const add = [&](auto const& linearisation) {
    bytes += finder_bytes(run, backend, linearisation->operands().size());
  };
  if (has_explicit) std::ranges::for_each(explicit_linearisations(run), add);
  if (goes_by_multigrid(run)) add(linearisation_of(run));
  return bytes;
}

}  // namespace

std::size_t global_finder_bytes(config::RunConfig const& run, Backend backend, bool has_whole) {
  Parameters const& parameters = parameters_of(run);
  std::size_t bytes = 0;
  auto const add = [&](equations::Stencil const& stencil) {
    bytes += finder_bytes(run, backend, stencil.operands.size());
  };
  for (std::size_t event = 0; event < parameters.sections.events.size(); ++event)
    add(event_stencil(run, event));
  if (parameters.sections.stop.condition >= 0) add(condition_stencil(run));
  // What first values are found by is gone when steps are chosen.
  std::size_t first = 0, limits = 0;
  if (has_whole) {
    for (Quantity const& quantity : parameters.quantities) add(stencil_of(run, quantity));
    for (FirstValues const& values : first_values(run))
      first = std::max(first, finder_bytes(run, backend, values.operands));
  }
  if (!goes_by_modes(run)) {
    auto const stencil = stencil_of(run);
    add(stencil);
    limits = limit_bytes(run, backend, !stencil.operands.empty());
  }
  return bytes + std::max(first, limits);
}

MemoryForecast memory_of(config::RunConfig const& run, Inputs const&, Backend backend) {
  if (run.ranks > 1) return rank_memory(run, Device::open(backend, run.device.ordinal));
  if (goes_by_modes(run)) return modal_memory_of(run, backend);
  auto memory = forecast(run, rows_of(run, backend));
  memory.other_bytes += global_pass_bytes(run, backend) + global_finder_bytes(run, backend, true);
  if (run.time.adaptive)
    memory.other_bytes += AdaptiveSteps::bytes(run.grid, stencil_of(run).rates.size());
  if (goes_by_multigrid(run)) add_implicit_memory(memory, run, backend);
  return memory;
}

config::SimulationInfo info() {
  config::SimulationInfo info;
  info.name = "pde";
  info.takes_ranks = true;
  info.summary = "your own equations: u_t = f(u, grad u, laplace u, ..., x, t) for any fields";
  info.fields = {{.name = "NAME", .documentation = "a field of the equations", .any_name = true}};
  info.schemes = scheme_names();
  for (auto const family : {"system", "evaluate", "fft", "modes", "multigrid"})
    info.kernels.push_back({family, variant_names(family)});
  info.sides = {SideKind::periodic, SideKind::antiperiodic, SideKind::dirichlet, SideKind::neumann,
                SideKind::robin,    SideKind::flux,         SideKind::wall,      SideKind::outflow};
  info.has_own_sections = true;
  info.adapts_steps = true;
  return info;
}

void choose_kernels(config::RunConfig const& run, Inputs const&, Device const& device) {
  if (goes_by_modes(run)) return choose_modal_kernels(run, device);
  with_zero_of(run.precision, [&](auto zero) {
    find_variant("system", system::variants<decltype(zero)>(), device,
                 variant_of(run, device.backend()));
    if (goes_by_multigrid(run) && run.kernels.at("multigrid") != "auto")
      find_variant("multigrid", multigrid::variants<decltype(zero)>(), device,
                   run.kernels.at("multigrid"));
  });
  if (run.kernels.at("system") == "planes")
    if (auto const why = system::planes_refusal(run.grid); !why.empty())
      throw std::invalid_argument("system: " + why);
  if (run.kernels.at("system") != "march") return;
  if (goes_by_multigrid(run))
    throw std::invalid_argument("system: 'march' takes no implicit steps (it has stages alone)");
  if (slopes_of(run) != nullptr)
    throw std::invalid_argument(
        fmt::format("system: 'march' takes no {} (it has stages alone)",
                    run.time.adaptive ? "adaptive steps" : run.time.scheme));
  if (!system_of(run).sides.empty())
    throw std::invalid_argument(
        "system: 'march' takes no values on sides that follow from fields ('points' does)");
  auto const why = Passing(run).refusal();
  if (!why.empty()) throw std::invalid_argument("system: " + why);
}

}  // namespace gridstride::pde

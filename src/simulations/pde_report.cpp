#include "simulations/pde_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <set>

#include "equations/linear_part.hpp"
#include "equations/text.hpp"
#include "grid/grid.hpp"
#include "simulations/pde_implicit.hpp"
#include "simulations/pde_lasting.hpp"

namespace gridstride::pde {
namespace {

/// `1 stage`
std::string counted(std::size_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

/// The parts of λ that are more than rounding beside the other one.
std::string eigenvalue(equations::StepLimit const& limit) {
  constexpr double rounding = 1e-12;
  double const real = std::abs(limit.real), imaginary = limit.imaginary;
  if (imaginary <= rounding * real) return fmt::format("{:.6g}", limit.real);
  if (real <= rounding * imaginary) return fmt::format("±{:.6g}i", imaginary);
  return fmt::format("{:.6g} ± {:.6g}i", limit.real, imaginary);
}

/// λ, and what is carried along.
std::string cause(equations::StepLimit const& limit) {
  bool const turns = limit.real != 0 || limit.imaginary != 0;
  std::string text =
      turns || limit.carried == 0 ? fmt::format("λ = {} 1/s", eigenvalue(limit)) : "";
  if (limit.carried > 0)
    text += fmt::format("{}transport over {:.6g} points/s", turns ? " and " : "", limit.carried);
  return text;
}

/// The phase from point to point of the wave that limits the step, along each axis.
std::string phases(equations::StepLimit const& limit, int dims) {
  std::vector<std::string> all;
  for (std::size_t axis = 0; axis < static_cast<std::size_t>(dims); ++axis) {
    double const share = limit.wave[axis] / std::numbers::pi;
    all.push_back(share == 0    ? "0"
                  : share == 1  ? "π"
                  : share == -1 ? "-π"
                                : fmt::format("{:g}π", share));
  }
  return dims == 1 ? all.front() : fmt::format("({})", fmt::join(all, ", "));
}

/// What the run takes of a limit.
std::string taken(config::RunConfig const& run, equations::StepLimit const& limit) {
  std::string const edges = fmt::format("{:.6g} s, up to which edges stay sharp", limit.sharp);
  if (run.time.step && *run.time.step > limit.sharp)
    return fmt::format("the file gives a shorter one, but more than {}", edges);
  if (run.time.step) return "the file gives a shorter one";
  return fmt::format("auto takes {:g} of {}", run.time.safety,
                     limit.sharp < limit.step ? edges : "it");
}

std::string step_line(config::RunConfig const& run, equations::System const& system,
                      equations::StepLimit const& limit, bool varies) {
  if (std::isinf(limit.step)) return "step: nothing in the equations limits it";
  std::vector<std::string> names;
  for (std::size_t const component : limit.components)
    names.push_back(equations::component_name(system, static_cast<int>(component)));
  return fmt::format("step: {:.6g} s is the longest that is stable{}, set by {} of {}{}; {}",
                     limit.step, varies ? " for the first values" : "", cause(limit),
                     fmt::join(names, ", "),
                     limit.real == 0 && limit.imaginary == 0
                         ? ""
                         : fmt::format(" for waves of θ = {}", phases(limit, run.grid.dims)),
                     taken(run, limit));
}

using Programs = std::span<equations::StencilProgram const>;

std::string reach_line(Programs names, equations::StencilProgram const& program) {
  std::vector<std::string> axes;
  for (std::size_t axis = 0; axis < static_cast<std::size_t>(program.dims); ++axis) {
    int reach = program.reach[axis];
    for (auto const& one : names) reach = std::max(reach, one.reach[axis]);
    axes.push_back(fmt::format("{} along {}", counted(static_cast<std::size_t>(reach), "point"),
                               axis_names[axis]));
  }
  return fmt::format("reach: {}", fmt::join(axes, ", "));
}

std::size_t operations_of(equations::StencilProgram const& program) {
  return static_cast<std::size_t>(
      std::ranges::count(program.code, equations::Kind::operation, &equations::Node::kind));
}

/// How many arrays a program reads.
std::size_t arrays_of(equations::StencilProgram const& program) {
  std::set<std::int32_t> arrays;
  for (equations::Node const& node : program.code)
    if (node.kind == equations::Kind::unknown) arrays.insert(node.index);
  return arrays.size();
}

std::string lasting_line(equations::System const& system, equations::Stencil const& stencil) {
  equations::System shown = system;
  shown.terms = stencil.terms;
  std::vector<std::string> formulas;
  for (equations::Term const term : stencil.lasting)
    formulas.push_back(equations::to_text(shown, term));
  return fmt::format("made once, and read from {}: {}",
                     formulas.size() == 1 ? "an array" : "arrays", fmt::join(formulas, "; "));
}

std::string cost_line(config::RunConfig const& run, equations::System const& system, Programs names,
                      equations::StencilProgram const& program, Scheme const& scheme) {
  auto const components = static_cast<std::size_t>(system.component_count());
  std::size_t loads = 0;
  for (Stage const& stage : scheme.stages)
    loads += components * (1 + (stage.base != stage.in ? 1 : 0) + stage.terms.size());
  auto const made = static_cast<std::size_t>(system.name_count());
  std::size_t const stages = scheme.stages.size(), stores = (components + made) * stages;
  std::size_t flops = operations_of(program);
  loads += stages * (made + lasting_read(run, program));
  for (auto const& one : names) {
    loads += stages * arrays_of(one);
    flops += operations_of(one);
  }
  return fmt::format(
      "update of a point: {}, {} ({} and {} of {}), {} for the rates", counted(stages, "stage"),
      counted((loads + stores) * size_of(run.precision), "byte"), counted(loads, "load"),
      counted(stores, "store"), name_of(run.precision), counted(stages * flops, "flop"));
}

std::string cost_line(config::RunConfig const& run, equations::System const& system, Programs names,
                      equations::StencilProgram const& program, SlopeCost const& cost) {
  std::size_t flops = operations_of(program);
  auto of_names = 2 * static_cast<std::size_t>(system.name_count());  // made, and read by the rates
  for (auto const& one : names) {
    of_names += arrays_of(one);
    flops += operations_of(one);
  }
  std::size_t const values = cost.values + cost.evaluations * of_names;
  return fmt::format("update of a point: {}, {} ({} of {} read or written), {} for the rates",
                     counted(cost.evaluations, "evaluation"),
                     counted(values * size_of(run.precision), "byte"), counted(values, "value"),
                     name_of(run.precision), counted(cost.evaluations * flops, "flop"));
}

}  // namespace

void add_linear_parts(equations::System system, std::vector<std::string>& lines) {
  std::vector<std::string> parts;
  for (int component = 0; component < system.component_count(); ++component) {
    auto const split =
        equations::split_linear(system.terms, system.rates[static_cast<std::size_t>(component)]);
    if (split.linear.empty()) continue;
    auto const linear = equations::linear_part(system.terms, split);
    parts.push_back(
        fmt::format("  of dt({}): {}, beside {}", equations::component_name(system, component),
                    equations::to_text(system, linear), equations::to_text(system, split.rest)));
  }
  if (parts.empty()) return;
  lines.push_back("linear with constant coefficients:");
  lines.insert(lines.end(), parts.begin(), parts.end());
}

std::vector<std::string> report(config::RunConfig const& run, equations::System const& system,
                                equations::Stencil const& stencil, Programs names,
                                equations::StencilProgram const& program, Scheme const& scheme,
                                std::optional<equations::StepLimit> const& limit, bool varies,
                                std::optional<SlopeCost> const& cost) {
  std::vector<std::string> lines = {"equations as understood:"};
  for (auto const& equation : equations::to_text(system)) lines.push_back("  " + equation);
  lines.push_back(fmt::format("scheme: {}", run.time.scheme));
  bool const is_implicit = goes_by_multigrid(run);
  if (is_implicit) {
    auto const implicit = implicit_lines(run);
    lines.insert(lines.end(), implicit.begin(), implicit.end());
  }
  lines.push_back(limit ? step_line(run, system, *limit, varies)
                        : std::string("step: follows its error"));
  lines.push_back(reach_line(names, program));
  if (!stencil.lasting.empty()) lines.push_back(lasting_line(system, stencil));
  if (is_implicit) return lines;
  lines.push_back(cost ? cost_line(run, system, names, program, *cost)
                       : cost_line(run, system, names, program, scheme));
  add_linear_parts(system, lines);
  return lines;
}

}  // namespace gridstride::pde

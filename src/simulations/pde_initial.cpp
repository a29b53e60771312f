#include "simulations/pde_initial.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <string_view>
#include <utility>

#include "core/error.hpp"
#include "equations/discretise.hpp"
#include "simulations/pde_parameters.hpp"

namespace gridstride::pde {

using config::FieldSource;
using config::Formula;
using equations::Kind;
using equations::Stencil;
using equations::System;
using equations::Term;
using equations::Unknown;
using expression::ParseError;

namespace {

bool is_read(FieldSource const& source) {
  return source.formula.is_foreign || std::ranges::any_of(source.components, &Formula::is_foreign);
}

/// Beside the equations of a system, its first values are read as those of fields that nobody can
/// name, since names have no dots.
std::string name_of(std::string const& field) { return "initial." + field; }

equations::Equation as_equation(equations::Equation const& field, FieldSource const& source) {
  equations::Equation equation = {{name_of(field.name), {}}, field.is_vector};
  equation.listed = !source.components.empty();
  for (Formula const& component : source.components) equation.texts.push_back(component.text);
  if (!equation.listed) equation.texts = {source.formula.text};
  return equation;
}

/// The terms of a field's components.
std::span<Term const> terms_of(System const& initial, Unknown const& field) {
  return std::span(initial.rates)
      .subspan(static_cast<std::size_t>(field.first), static_cast<std::size_t>(field.components));
}

bool contains(System const& initial, Unknown const& field, Kind kind, int index = -1) {
  return std::ranges::any_of(terms_of(initial, field),
                             [&](Term term) { return initial.terms.contains(term, kind, index); });
}

bool needs(System const& initial, Unknown const& field, Unknown const& other) {
  for (int c = 0; c < other.components; ++c)
    if (contains(initial, field, Kind::unknown, other.first + c)) return true;
  return false;
}

/// A chain of fields each of which needs the next, back to the first; empty: there is none.
std::vector<std::string> cycle_of(System const& initial, std::vector<Unknown> const& read) {
  std::vector<Unknown> left = read;
  auto const has_need = [&](Unknown const& field) {
    return std::ranges::any_of(left,
                               [&](Unknown const& other) { return needs(initial, field, other); });
  };
  while (std::erase_if(left, [&](Unknown const& field) { return !has_need(field); }) > 0) {
  }
  if (left.empty()) return {};
  // Each that is left needs another one: the walk comes back to where it was.
  std::vector<std::string> chain;
  auto const* at = &left.front();
  while (std::ranges::find(chain, at->name) == chain.end()) {
    chain.push_back(at->name);
    at = &*std::ranges::find_if(left,
                                [&](Unknown const& other) { return needs(initial, *at, other); });
  }
  chain.erase(chain.begin(), std::ranges::find(chain, at->name));
  chain.push_back(at->name);
  return chain;
}

/// What no first value may be made of.
struct Refused {
  Kind kind;
  std::string_view why;
};
constexpr Refused refused_kinds[] = {
    {Kind::time, "depends on t (first values are those at time 0)"},
    {Kind::noise, "has noise in it (it is of steps in time); did you mean 'normal'?"},
    {Kind::name, "has a field in it that a constraint holds (which follows from the first values)"},
};

Stencil stencil_of(System const& initial, Unknown const& field, Grid const& grid,
                   equations::Space const& space) {
  System one = {.dims = initial.dims, .terms = initial.terms, .unknowns = {}, .rates = {}};
  auto const terms = terms_of(initial, field);
  one.rates.assign(terms.begin(), terms.end());
  return equations::discretise(one, grid, space);
}

}  // namespace

bool is_read(config::RunOptions const& run, std::string const& field) {
  auto const source = run.initial.find(field);
  return source != run.initial.end() && is_read(source->second);
}

std::optional<System> read_initial(config::Visitor& visitor, config::RunOptions const& run,
                                   equations::SystemText text) {
  auto const fields = text.equations;
  std::vector<equations::Equation> read;
  for (equations::Equation const& field : fields)
    if (is_read(run, field.name)) {
      read.push_back(field);
      text.equations.push_back(as_equation(field, run.initial.find(field.name)->second));
    }
  if (read.empty()) return std::nullopt;
  std::vector<equations::SystemFault> faults;
  auto system = equations::read_system(text, faults);
  for (auto const& fault : faults) {
    equations::Equation const& equation = text.equations[fault.definition];
    std::string key = equation.name;
    if (equation.listed && fault.text) key += fmt::format(".{}", axis_names[*fault.text]);
    visitor.fault(key, fault.error);
  }
  if (!system) return std::nullopt;
  // Of the rates, those of the names with a dot are the values.
  auto value = system->unknowns.begin() + std::ssize(fields);
  System initial = {system->dims, system->terms, {system->unknowns.begin(), value}, {}};
  initial.rates.resize(static_cast<std::size_t>(initial.component_count()));
  std::vector<Unknown> known;
  for (Unknown const& field : initial.unknowns) {
    if (!is_read(run, field.name)) continue;
    known.push_back(field);
    for (int c = 0; c < field.components; ++c)
      initial.rates[static_cast<std::size_t>(field.first + c)] =
          system->rates[static_cast<std::size_t>(value->first + c)];
    ++value;
  }
  bool right = true;
  for (Unknown const& field : known)
    for (auto const& [kind, why] : refused_kinds)
      if (contains(initial, field, kind)) {
        visitor.fault(name_of(field.name), fmt::format("the first value {}", why));
        right = false;
      }
  auto const cycle = cycle_of(initial, known);
  if (!cycle.empty()) {
    visitor.fault(name_of(cycle.front()),
                  fmt::format("the first value of '{}' is made of itself ({})", cycle.front(),
                              fmt::join(cycle, " needs ")));
    right = false;
  }
  return right ? std::optional(std::move(initial)) : std::nullopt;
}

std::vector<Unknown> in_order(config::RunOptions const& run, System const& initial) {
  std::vector<Unknown> left, result;
  for (Unknown const& field : initial.unknowns)
    if (is_read(run, field.name)) left.push_back(field);
  while (!left.empty()) {
    auto const next = std::ranges::find_if(left, [&](Unknown const& field) {
      return std::ranges::none_of(
          left, [&](Unknown const& other) { return needs(initial, field, other); });
    });
    result.push_back(*next);
    left.erase(next);
  }
  return result;
}

std::vector<Problem> initial_problems(config::RunConfig const& run,
                                      std::optional<System> const& initial, Wraps const& wraps) {
  std::vector<Problem> problems;
  if (!initial) return problems;
  for (Unknown const& field : in_order(run, *initial)) {
    auto const location = run.location(name_of(field.name));
    try {
      auto const stencil = first_stencil(run, field);
      auto const program = whole_program(stencil, run.grid.dims);
      for (std::size_t axis = 0; axis < static_cast<std::size_t>(run.grid.dims); ++axis) {
        int const fewest = system::fewest_points(program.reach[axis], wraps[axis]);
        if (run.grid.points[axis] < fewest)
          problems.push_back(run.problem(
              location,
              fmt::format("reaches {} points to each side along {}, which has {} ({} are "
                          "the least)",
                          program.reach[axis], axis_names[axis], run.grid.points[axis], fewest)));
      }
    } catch (Error const& error) {
      problems.push_back(run.problem(location, error.what()));
    }
  }
  return problems;
}

Stencil first_stencil(config::RunConfig const& run, Unknown const& field) {
  return stencil_of(*parameters_of(run).initial, field, run.grid, space_of_values(run));
}

std::vector<std::size_t> FirstValues::components() const {
  std::vector<std::size_t> components(static_cast<std::size_t>(field.components));
  std::iota(components.begin(), components.end(), static_cast<std::size_t>(field.first));
  return components;
}

std::vector<FirstValues> first_values(config::RunConfig const& run) {
  std::vector<FirstValues> values;
  auto const& initial = parameters_of(run).initial;
  if (!initial) return values;
  for (Unknown const& field : in_order(run, *initial)) {
    auto const stencil = first_stencil(run, field);
    values.push_back({field, equations::program_of(stencil.terms, stencil.rates, run.grid.dims),
                      stencil.operands.size()});
  }
  return values;
}

bool first_values_are_nearby(config::RunConfig const& run) {
  return std::ranges::all_of(first_values(run),
                             [](FirstValues const& values) { return values.operands == 0; });
}

std::int64_t reach_of_first_values(config::RunConfig const& run, int axis) {
  std::int64_t reach = 0;
  for (FirstValues const& values : first_values(run))
    reach += values.program.reach[static_cast<std::size_t>(axis)];
  return reach;
}

template <class T>
void fill_initial(Stream const& stream, Grid const& grid, equations::Space const& space,
                  Wraps const& wraps, System const& initial, Unknown const& field,
                  std::vector<system::Input<T>> const& inputs, evaluate::DeviceClock const* clock,
                  std::span<T* const> targets, std::string_view variant) {
  Stream queue = stream;
  auto const stencil = stencil_of(initial, field, grid, space);
  auto const program = equations::program_of(stencil.terms, stencil.rates, grid.dims);
  GlobalFinder<T> globals(stream, grid, wraps, stencil.terms, stencil.operands);
  // The last target is free until everything is known that it is made of.
  globals.find(inputs, clock, 0, std::span(targets.back(), static_cast<std::size_t>(grid.size())),
               variant);
  system::Step<T> step;
  step.program = &program;
  step.grid = grid;
  step.inputs = inputs;
  for (T* const target : targets) step.outputs.push_back({.values = target});
  step.is_stage = false;
  step.clock = clock;
  step.found = globals.values();
  system::advance(queue, step, variant);
}

#define GRIDSTRIDE_INSTANTIATE(T)                                                                 \
  template void fill_initial(Stream const&, Grid const&, equations::Space const&, Wraps const&,   \
                             System const&, Unknown const&, std::vector<system::Input<T>> const&, \
                             evaluate::DeviceClock const*, std::span<T* const>, std::string_view);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)
#undef GRIDSTRIDE_INSTANTIATE

}  // namespace gridstride::pde

#include "config/derived_sections.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/boundary_section.hpp"
#include "config/faults.hpp"
#include "config/language.hpp"
#include "config/run_fields.hpp"
#include "core/text.hpp"
#include "expression/transform.hpp"

namespace gridstride::config {
namespace {

using expression::Expression;

/// What formulas call a field, or the components of a vector.
std::vector<std::string> variables_of(FieldInfo const& field) {
  std::vector<std::string> names = {field.name};
  for (std::string const& component : field.components)
    names.push_back(component_variable(field.name, component));
  return names;
}

/// Why a field cannot be called so beside the others; empty when it can.
std::string name_problem(RunOptions const& run, std::string const& name) {
  for (FieldInfo const& field : run.fields) {
    if (field.name == name) return fmt::format("the name '{}' is taken (it is a field)", name);
    if (std::ranges::count(variables_of(field), name) > 0)
      return fmt::format("the name '{}' is taken (so formulas call a component of {})", name,
                         field.name);
  }
  if (run.constants.contains(name))
    return fmt::format("the name '{}' is taken (it is a constant)", name);
  return run.language->name_problem(run, name);
}

/// That of the components of a vector.
std::string component_problem(RunOptions const& run, FieldInfo const& vector) {
  auto const variables = variables_of(vector);
  for (FieldInfo const& field : run.fields)
    if (std::ranges::count(variables, field.name) > 0)
      return fmt::format(
          "its components have the name of the field '{}' in formulas (give it "
          "another name)",
          field.name);
  for (std::string const& component : vector.components) {
    std::string const variable = component_variable(vector.name, component);
    std::string const problem =
        run.constants.contains(variable)
            ? fmt::format("the name '{}' is taken (it is a constant)", variable)
            : run.language->name_problem(run, variable);
    if (!problem.empty())
      return fmt::format("{}, and so formulas would call component {} (give it another name)",
                         problem, component);
  }
  return {};
}

Formula formula_of(Expression const& expression, Location const& location) {
  Expression const simple = expression::simplified(expression);
  return {simple.to_string(), simple, location};
}

/// The solution of one field, number by number.
using Solution = std::span<MadeSolution const>;

/// The formula of a field, or those of its components, by what `formula` makes of each.
template <class Make>
void put(FieldInfo const& field, Solution solution, Make const& make, Formula& value,
         std::vector<Formula>& components) {
  if (field.components.empty()) {
    value = formula_of(make(solution.front()), solution.front().location);
    return;
  }
  components.clear();
  for (MadeSolution const& one : solution)
    components.push_back(formula_of(make(one), one.location));
}

void complete_initial(RunOptions& run, FieldInfo const& field, Solution solution) {
  if (run.locations.contains("initial." + field.name)) return;
  FieldSource& source = run.initial[field.name];
  auto const at_start = [](MadeSolution const& one) {
    return expression::substitute(one.value, expression::time_variable, Expression(0.0));
  };
  put(field, solution, at_start, source.formula, source.components);
  source.location = solution.front().location;
}

void complete_side(FieldInfo const& field, Solution solution, int axis, int side,
                   SideCondition& condition) {
  if (!condition.value.text.empty() || !condition.components.empty()) return;
  auto const value = [&](MadeSolution const& one) {
    if (condition.kind == SideKind::dirichlet) return one.value;
    Expression const& slope = one.slopes[static_cast<std::size_t>(axis)];
    return side == 0 ? -slope : slope;  // along the outward normal
  };
  put(field, solution, value, condition.value, condition.components);
}

void complete_sides(FieldInfo const& field, Solution solution, int dims, Sides& sides) {
  for (int axis = 0; axis < dims; ++axis)
    for (int side = 0; side < 2; ++side) {
      auto& condition = sides[static_cast<std::size_t>(axis)][static_cast<std::size_t>(side)];
      if (follows_from_solution(condition.kind))
        complete_side(field, solution, axis, side, condition);
    }
}

/// Notes what is wrong with the names of the fields; returns whether each has a solution.
bool check_fields(Visitor& v, RunOptions const& run) {
  auto const& given = run.verify.manufactured;
  auto const is_solved = [&](FieldInfo const& field) {
    return std::ranges::any_of(given, [&](auto const& one) { return one.first == field.name; });
  };
  bool right = true;
  std::vector<std::string_view> evolved;
  for (FieldInfo const& field : run.fields) {
    if (field.derived || !field.rate_of.empty()) continue;  // these follow
    evolved.push_back(field.name);
    if (is_solved(field)) continue;
    v.fault("manufactured",
            fmt::format("'{}' is missing (each field needs a solution)", field.name));
    right = false;
  }
  for (auto const& [name, text] : given) {
    right &= !text.texts.empty();
    if (std::ranges::count(evolved, name) > 0) continue;
    v.fault("manufactured." + name,
            fmt::format("there is no field '{}'{}", name, suggestion(name, evolved)));
    right = false;
  }
  return right;
}

}  // namespace

void declare_derived(Visitor& visitor, RunOptions& run) {
  if (run.language == nullptr) return;
  for (FieldInfo const& field : run.language->held_fields()) {
    if (std::ranges::count(run.fields, field.name, &FieldInfo::name) > 0) continue;
    run.output.fields.push_back(field.name);
    run.fields.push_back(field);
  }
  auto& derived = run.output.derived;
  visitor.named<SourceText>(
      {.name = "derived",
       .documentation = "Fields that follow from those of the equations, found for each output, "
                        "by names of their own: a formula as in `equations`, with a scalar's or a "
                        "vector's value."},
      Presence::optional, derived, [&](Spec const& spec, SourceText& text) {
        visitor.source({.name = spec.name, .documentation = "What the field is."}, text);
      });
  if (!visitor.given("derived")) return;
  for (auto const& [name, text] : derived) {
    if (text.texts.empty()) continue;  // reported
    std::string const key = "derived." + name;
    if (std::string const problem = name_problem(run, name); !problem.empty()) {
      visitor.fault(key, problem);
      continue;
    }
    auto field = run.language->take_quantity(visitor, key, name, text, true);
    if (!field) continue;
    if (std::string const problem = component_problem(run, *field); !problem.empty()) {
      visitor.fault(key, problem);
      continue;
    }
    run.fields.push_back(*std::move(field));
    run.output.fields.push_back(name);
  }
}

void declare_manufactured(Visitor& visitor, RunOptions& run) {
  if (run.language == nullptr) return;
  visitor.named<SourceText>(
      {.name = "manufactured",
       .documentation = "A solution of your choice for each field, a formula of space and time, of "
                        "a vector a list: each equation gets the source that it lacks. `initial`, "
                        "and values on sides of which only the kind is given, may be left out."},
      Presence::optional, run.verify.manufactured, [&](Spec const& spec, SourceText& text) {
        visitor.source({.name = spec.name, .documentation = "The solution."}, text);
      });
  if (!visitor.given("manufactured") || !check_fields(visitor, run)) return;
  auto const solutions =
      run.language->manufacture(visitor, "manufactured", run.verify.manufactured);
  auto& exact = run.verify.exact;
  for (auto first = solutions.begin(); first != solutions.end();) {
    auto const last = std::find_if(
        first, solutions.end(), [&](MadeSolution const& one) { return one.field != first->field; });
    auto const place = std::ranges::find(run.fields, first->field, &FieldInfo::name);
    complete_initial(run, *place, {first, last});
    complete_sides(*place, {first, last}, static_cast<int>(run.grid_options.points.size()),
                   run.boundary[static_cast<std::size_t>(place - run.fields.begin())]);
    for (auto const& number : numbers_of(std::span(&*place, 1))) {
      exact.emplace_back(number.name, formula_of(first->value, first->location));
      ++first;
    }
  }
}

}  // namespace gridstride::config

#include "config/run_fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "config/boundary_section.hpp"

namespace gridstride::config {
namespace {

/// With what `SimulationInfo` says of the sides of those that do not say it.
std::vector<FieldInfo> completed(std::vector<FieldInfo> fields, SimulationInfo const& simulation) {
  for (FieldInfo& field : fields) {
    if (field.own_grid) field.sides.emplace();
    if (!field.sides) field.sides = simulation.sides;
  }
  return fields;
}

/// Formulas of diagnostics know components as variables.
void check_variables(Visitor& visitor, RunOptions const& run) {
  for (FieldInfo const& field : run.fields)
    for (FieldInfo const& vector : run.fields)
      for (std::string const& component : vector.components)
        if (field.name == component_variable(vector.name, component))
          visitor.fault("parameters",
                        fmt::format("a field cannot be called '{}' (so formulas call component {} "
                                    "of {})",
                                    field.name, component, vector.name));
}

void check_names(Visitor& visitor, RunOptions const& run) {
  for (auto field = run.fields.begin(); field != run.fields.end(); ++field) {
    auto const is_same = [&](FieldInfo const& other) { return other.name == field->name; };
    if (std::any_of(run.fields.begin(), field, is_same))
      visitor.fault("parameters", fmt::format("two fields are called '{}'", field->name));
    if (run.has_grid && std::ranges::count(axis_names, field->name) > 0)
      visitor.fault("parameters",
                    fmt::format("a field cannot be called '{0}' (it is an axis: 'boundary.{0}' "
                                "would have two meanings)",
                                field->name));
  }
}

}  // namespace

void take_fields(RunOptions& run, std::vector<FieldInfo> fields) {
  run.fields = completed(std::move(fields), *run.simulation);
  run.boundary.clear();
  run.names.clear();
  run.output.fields.clear();
  for (FieldInfo const& field : run.fields) {
    run.boundary.push_back(default_sides(field));
    run.output.fields.push_back(field.name);
  }
}

void declare_fields(Visitor& visitor, RunOptions& run, ParameterSet const& parameters) {
  std::vector<FieldInfo> fields = completed(parameters.fields_of(run), *run.simulation);
  auto const derived = std::ranges::find(run.fields, true, &FieldInfo::derived);
  if (!fields.empty() && !std::ranges::equal(fields, std::span(run.fields.begin(), derived)))
    take_fields(run, std::move(fields));
  if (std::vector<FieldInfo> names = parameters.names_of(run); names != run.names) {
    run.boundary.resize(run.boundary.size() - run.names.size());
    run.names = std::move(names);
    for (FieldInfo const& name : run.names) run.boundary.push_back(default_sides(name));
  }
  check_names(visitor, run);
  check_variables(visitor, run);
}

std::string component_variable(std::string_view vector, std::string_view component) {
  return fmt::format("{}_{}", vector, component);
}

std::vector<FieldInfo> numbers_of(std::span<FieldInfo const> fields) {
  std::vector<FieldInfo> numbers;
  for (FieldInfo const& field : fields) {
    if (field.components.empty()) numbers.push_back(field);
    for (std::string const& component : field.components)
      numbers.push_back({.name = field.name + '.' + component,
                         .unit = field.unit,
                         .documentation = field.documentation,
                         .own_grid = field.own_grid,
                         .any_name = field.any_name});
  }
  return numbers;
}

std::string magnitude_name(FieldInfo const& field) {
  if (field.components.empty() || std::ranges::count(field.components, magnitude_word) > 0)
    return {};
  return fmt::format("{}.{}", field.name, magnitude_word);
}

void describe_any_value(Visitor& visitor, Spec const& spec,
                        std::function<void(Visitor&, Spec const&, bool)> const& one) {
  auto const by_component = [&](Visitor& v) {
    for (std::string_view const axis : axis_names) {
      Spec component = spec;
      component.name = axis;
      component.any_name = false;
      one(v, component, true);
    }
  };
  Form const forms[] = {
      {.kind = Form::Kind::scalar, .body = [&](Visitor& v) { one(v, spec, false); }},
      {.kind = Form::Kind::mapping, .documentation = "Of a vector.", .body = by_component}};
  int chosen = -1;
  visitor.forms(spec, Presence::required, forms, chosen);
}

void declare_value(Visitor& visitor, Spec const& spec, std::vector<std::string> const& components,
                   Formula& value, std::vector<Formula>& values) {
  if (components.empty()) return visitor.visit(spec, value);
  values.resize(components.size());
  visitor.section({.name = spec.name, .documentation = spec.documentation}, [&](Visitor& v) {
    for (std::size_t i = 0; i < components.size(); ++i) {
      Spec component = spec;
      component.name = components[i];
      v.visit(component, values[i]);
    }
  });
}

}  // namespace gridstride::config

// What a file says in the language of its equations outside of them: derived fields, formulas of
// diagnostics, and solutions that are made up.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <utility>

#include "config/visitor.hpp"
#include "core/error.hpp"
#include "equations/manufactured.hpp"
#include "equations/operators.hpp"
#include "grid/grid.hpp"
#include "simulations/pde_parameters.hpp"

namespace gridstride::pde {
namespace {

using config::FieldInfo;
using config::SourceText;
using config::Visitor;
using gridstride::equations::Definition;
using gridstride::equations::Ranked;
using gridstride::equations::Term;
using gridstride::equations::Unknown;

FieldInfo info_of(Quantity const& quantity, int dims) {
  FieldInfo info;
  info.name = quantity.name();
  info.sides.emplace();
  info.derived = true;
  if (quantity.value.rank == 1)
    info.components.assign(axis_names.begin(), axis_names.begin() + dims);
  return info;
}

bool has_name(Named<SourceText> const& entries, std::string const& name) {
  return std::ranges::find(entries, name, &Named<SourceText>::value_type::first) != entries.end();
}

/// Why a value cannot solve the equation of a field; empty when it can.
std::string solution_problem(Unknown const& field, Ranked const& value, bool is_formula) {
  int const rank = field.is_vector ? 1 : 0;
  if (value.rank != rank)
    return fmt::format("'{}' is {}, but its solution is {}{}", field.name,
                       gridstride::equations::noun_of_rank(rank),
                       gridstride::equations::noun_of_rank(value.rank),
                       field.is_vector ? " (a vector of components is written [a, b])" : "");
  return is_formula ? ""
                    : "a solution is a formula of space and time (it has fields or random numbers "
                      "in it)";
}

}  // namespace

std::string Parameters::name_problem(config::RunOptions const&, std::string const& name) const {
  auto const is_name = [&](auto const& let) { return let.first == name; };
  if (std::ranges::any_of(lets, is_name))
    return fmt::format("the name '{}' is taken (it stands under 'let')", name);
  return gridstride::equations::name_problem(name);
}

std::optional<Ranked> Parameters::read(Visitor& visitor, std::string const& key,
                                       Definition const& text) {
  std::optional<gridstride::equations::SystemFault> fault;
  auto const value = gridstride::equations::read_quantity(text_, text, *system, fault);
  if (fault) {
    bool const in_list = text.listed && fault->text;
    visitor.fault(in_list ? fmt::format("{}.{}", key, *fault->text) : key, fault->error);
  }
  return value;
}

std::optional<FieldInfo> Parameters::take_quantity(Visitor& visitor, std::string const& key,
                                                   std::string const& name, SourceText const& text,
                                                   bool written) {
  if (!system) return std::nullopt;  // its faults are told
  auto const known = std::ranges::find(quantities, name, &Quantity::name);
  if (known != quantities.end()) return info_of(*known, text_.dims);
  Quantity quantity = {{name, text.texts, text.listed}, visitor.locate(key).path, written};
  auto const value = read(visitor, key, quantity.definition);
  if (!value) return std::nullopt;
  if (value->rank > 0 && !written) {
    visitor.fault(key, expression::ParseError("a scalar expected, here is a vector (norm(...) and "
                                              "components as q.x are scalars)",
                                              value->begin));
    return std::nullopt;
  }
  quantity.value = *value;
  quantities.push_back(std::move(quantity));
  return info_of(quantities.back(), text_.dims);
}

std::vector<config::MadeSolution> Parameters::manufacture(Visitor& visitor, std::string const& key,
                                                          Named<SourceText> const& solutions) {
  if (!system) return {};
  if (!system->constraints.empty()) {
    visitor.fault(key,
                  "equations with constraints take no solution that is made up ('exact' "
                  "compares with one that they have)");
    return {};
  }
  auto& terms = system->terms;
  std::vector<Term> values;  // of the components
  std::vector<config::MadeSolution> made;
  auto const add = [&](Unknown const& field, int component, Term term, std::string const& path) {
    values.push_back(term);
    auto& one = made.emplace_back();
    one.field = field.name;
    one.component = component;
    one.value = gridstride::equations::to_expression(terms, term);
    for (int axis = 0; axis < text_.dims; ++axis)
      one.slopes[static_cast<std::size_t>(axis)] =
          gridstride::equations::to_expression(terms, terms.partial(term, terms.coordinate(axis)));
    one.location = visitor.locate(path);
  };
  std::map<std::string, std::vector<Term>> solved;
  for (Unknown const& field : system->unknowns) {
    auto const given =
        std::ranges::find(solutions, field.name, &Named<SourceText>::value_type::first);
    if (given == solutions.end()) continue;  // a rate
    std::string const path = fmt::format("{}.{}", key, field.name);
    auto const& text = given->second;
    auto const value = read(visitor, path, {field.name, text.texts, text.listed});
    if (!value) continue;
    std::span const components(value->terms.begin(), static_cast<std::size_t>(field.components));
    bool const is_formula = std::ranges::all_of(
        components, [&](Term term) { return term >= 0 && terms.is_formula(term); });
    if (auto const problem = solution_problem(field, *value, is_formula); !problem.empty()) {
      visitor.fault(path, expression::ParseError(problem, value->begin));
      continue;
    }
    try {
      for (int c = 0; c < field.components; ++c) {
        Term const term = terms.analytic(components[static_cast<std::size_t>(c)]);
        solved[rate_name(field.name)].push_back(terms.partial(term, terms.time()));
        add(field, c, term, path);
      }
    } catch (Error const& error) {
      visitor.fault(path, error.what());
    }
  }
  // Rates come after all fields.
  for (Unknown const& field : system->unknowns) {
    if (has_name(solutions, field.name) || values.size() != static_cast<std::size_t>(field.first))
      continue;
    auto const& of = std::ranges::find_if(equations, [&](auto const& equation) {
                       return rate_name(equation.first) == field.name;
                     })->first;
    std::string const path = fmt::format("{}.{}", key, of);
    try {
      for (int c = 0; c < field.components; ++c)
        add(field, c, solved.at(field.name)[static_cast<std::size_t>(c)], path);
    } catch (Error const& error) {
      visitor.fault(path, error.what());
    }
  }
  if (values.size() != system->rates.size()) return {};
  try {
    gridstride::equations::manufacture(*system, values);
  } catch (Error const& error) {
    visitor.fault(key, error.what());
    return {};
  }
  // dt(u) has the source, too.
  for (Quantity& quantity : quantities)
    if (auto const value = read(visitor, key, quantity.definition)) quantity.value = *value;
  return made;
}

}  // namespace gridstride::pde

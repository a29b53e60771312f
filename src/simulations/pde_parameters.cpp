#include "simulations/pde_parameters.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <span>
#include <string>

#include "config/run_fields.hpp"
#include "equations/language.hpp"
#include "grid/grid.hpp"
#include "simulations/pde_initial.hpp"

namespace gridstride::pde {
namespace {

using config::SourceText;
using config::Spec;
using config::Visitor;

template <class T>
bool has_name(Named<T> const& entries, std::string const& name) {
  return std::ranges::find(entries, name, &std::pair<std::string, T>::first) != entries.end();
}

equations::Definition definition_of(std::pair<std::string, SourceText> const& entry) {
  return {entry.first, entry.second.texts, entry.second.listed};
}

/// `vector`, or `{kind: vector, order: 2}`.
std::function<void(Spec const&, FieldKind&)> declare_kind(Visitor& visitor) {
  return [&visitor](Spec const& spec, FieldKind& field) {
    static constexpr config::Choice choices[] = {{"scalar", "a number at each point"},
                                                 {"vector", "a component for each axis"}};
    auto const mapping = [&](Visitor& v) {
      v.choice({.name = "kind", .documentation = "What the field is."}, choices, field.kind);
      v.visit({.name = "order",
               .documentation = "The order in time of its equation: with 2 that is the rate of "
                                "change of NAME_t, a field which is that of NAME.",
               .minimum = 1,
               .maximum = 2},
              field.order);
    };
    config::Form const forms[] = {
        {.word = choices[0].name, .documentation = choices[0].documentation},
        {.word = choices[1].name, .documentation = choices[1].documentation},
        {.kind = config::Form::Kind::mapping, .body = mapping}};
    enum { scalar, vector, each };
    int chosen = field.order == 2 ? each : field.kind == "vector" ? vector : scalar;
    visitor.forms({.name = spec.name, .documentation = "What the field is."},
                  config::Presence::optional, forms, chosen);
    if (chosen != each) field = {.kind = chosen == vector ? "vector" : "scalar"};
  };
}

/// The key of constraints.
constexpr char const* zero = "0";

}  // namespace

std::string rate_name(std::string const& field) { return field + "_t"; }

/// Constraints stand among the equations, under `0`.
void Parameters::declare_equations(Visitor& visitor) {
  Named<SourceText> all = equations;
  if (!constraints.texts.empty()) all.emplace_back(zero, constraints);
  visitor.named<SourceText>(
      {.name = "equations",
       .documentation =
           "The rate of change of each field, du/dt, by the field's name: a formula "
           "of the fields, of space and time, with operators as laplace(u) "
           "(`gridstride list functions`); of a vector a formula with a vector's "
           "value, or a list of its components'. Under `0` what is 0 at every moment, or a list of "
           "it: a formula that holds a field of its own, as `laplace(psi) + w` does psi.",
       .beside = zero},
      config::Presence::required, all, [&](Spec const& spec, SourceText& text) {
        visitor.source({.name = spec.name, .documentation = "The equation's right-hand side."},
                       text);
      });
  equations.clear();
  constraints = {};
  for (auto& [name, text] : all)
    if (name == zero)
      constraints = std::move(text);
    else
      equations.emplace_back(name, std::move(text));
}

void Parameters::declare(Visitor& visitor) {
  declare_equations(visitor);
  visitor.named<SourceText>(
      {.name = "let",
       .documentation =
           "Names for parts of equations and of each other, in any order. One that has "
           "sides under `boundary`, as a field has them, becomes an array that is "
           "made before the equations."},
      config::Presence::optional, lets, [&](Spec const& spec, SourceText& text) {
        visitor.source({.name = spec.name, .documentation = "What the name stands for."}, text);
      });
  visitor.named<FieldKind>(
      {.name = "fields",
       .documentation = "What fields are; those that are not named here are scalars with equations "
                        "of first order in time."},
      config::Presence::optional, kinds, declare_kind(visitor));
  declare_space(visitor);
  declare_implicit(visitor);
  sections.declare(visitor);
}

void Parameters::declare_space(Visitor& visitor) {
  static constexpr config::Choice derivatives[] = {
      {"differences", "of points nearby"},
      {"spectral",
       "those of the modes of the grid: waves along periodic axes, sines between "
       "`dirichlet: 0`, cosines between `neumann: 0`"}};
  constexpr std::int64_t highest = 6;
  visitor.section(
      {.name = "space", .documentation = "What takes the place of derivatives in space."},
      [&](Visitor& v) {
        std::string chosen(derivatives[is_spectral ? 1 : 0].name);
        v.choice({.name = "derivatives", .documentation = "How derivatives are found."},
                 derivatives, chosen);
        is_spectral = chosen == derivatives[1].name;
        std::int64_t order = is_spectral && !v.given("order") ? highest : space.order;
        v.visit({.name = "order",
                 .documentation = "The order of central differences: 2, 4 or 6. Beside `spectral`, "
                                  "6 where nothing is said, of those in first values.",
                 .minimum = 2,
                 .maximum = highest},
                order);
        if (order % 2 != 0)
          v.fault("order", fmt::format("{} is no order of central differences (2, 4 or 6)", order));
        else
          space.order = static_cast<int>(order);
        v.visit({.name = "dealias",
                 .documentation = "Of `spectral` derivatives: what part of the frequencies along "
                                  "each axis the fields keep, so that products of two of them make "
                                  "no false ones with 2/3; that is the default where the equations "
                                  "have products, else 1.",
                 .minimum = 0,
                 .maximum = 1,
                 .exclusive_minimum = true},
                dealias, "");
        if (dealias && !is_spectral)
          v.fault("dealias", "is that of spectral derivatives (see space.derivatives)");
        declare_convection(v);
      });
}

void Parameters::declare_convection(Visitor& v) {
  using gridstride::equations::Convection;
  struct Named {
    config::Choice choice;
    Convection convection;
  };
  static constexpr Named kinds_of_convection[] = {
      {{"central", "as all else, by central differences"}, Convection::central},
      {{"upwind", "of first order, from where it comes"}, Convection::upwind},
      {{"weno5", "of fifth order, from where it comes and past shocks, with shorter `auto` steps"},
       Convection::weno5}};
  std::vector<config::Choice> choices;
  for (Named const& one : kinds_of_convection) choices.push_back(one.choice);
  std::string convection(
      std::ranges::find(kinds_of_convection, space.convection, &Named::convection)->choice.name);
  v.choice({.name = "convection",
            .documentation = "How what is carried along is differenced: fluxes `div(F)` "
                             "without derivatives in F, and `advect`."},
           choices, convection);
  auto const found = std::ranges::find(kinds_of_convection, convection,
                                       [](Named const& one) { return one.choice.name; });
  if (found != std::end(kinds_of_convection)) space.convection = found->convection;
}

void Parameters::declare_implicit(Visitor& visitor) {
  static constexpr config::Choice solvers[] = {
      {"auto", "modes where these take what is stiff, else multigrid"},
      {"modes", "those of the grid, in which what is linear with constant coefficients is solved"},
      {"multigrid",
       "cycles through coarser and coarser grids, for the diffusion and the decay of each field "
       "by itself, with coefficients that are formulas of space, and of time"}};
  visitor.section(
      {.name = "implicit",
       .documentation =
           "How implicit steps are solved (`time.scheme`: imex_euler, imex_bdf2, ark3)."},
      [&](Visitor& v) {
        v.choice({.name = "solver", .documentation = "What solves for an implicit step."}, solvers,
                 implicit.solver);
        v.visit({.name = "tolerance",
                 .documentation =
                     "Cycles of a step end where the error that is left to be expected in a field "
                     "is at most so much of it; `auto` is 1e-12, in float32 1e-7, and of adaptive "
                     "steps at most a hundredth of `time.tolerance`.",
                 .minimum = 1e-15,
                 .maximum = 0.1},
                implicit.tolerance, "auto");
      });
}

namespace {

/// Formulas of diagnostics know the components of vectors by names, which nothing else may have; returns whether
/// that is so.
bool check_components(Visitor& visitor, std::span<config::FieldInfo const> fields,
                      std::function<std::string(std::string const&)> const& key_of) {
  bool right = true;
  for (config::FieldInfo const& vector : fields)
    for (std::string const& component : vector.components) {
      std::string const name = config::component_variable(vector.name, component);
      std::string const key = key_of(name);
      if (key.empty()) continue;
      visitor.fault(key, fmt::format("the name '{}' is taken (so formulas call component {} of {})",
                                     name, component, vector.name));
      right = false;
    }
  return right;
}

}  // namespace

/// Notes faults between the sections; returns whether the equations can be read.
bool Parameters::check(Visitor& visitor, config::RunOptions const& run) const {
  auto const check_name = [&](std::string_view section, std::string const& name) {
    std::string const problem = gridstride::equations::name_problem(name);
    if (!problem.empty()) visitor.fault(fmt::format("{}.{}", section, name), problem);
    return problem.empty();
  };
  bool right = true;
  for (auto const& constant : run.constants) right &= check_name("constants", constant.first);
  for (auto const& [name, text] : equations)
    right &= check_name("equations", name) && !text.texts.empty();
  for (auto const& [name, text] : lets) {
    right &= check_name("let", name) && !text.texts.empty();
    if (!has_name(equations, name)) continue;
    visitor.fault(fmt::format("let.{}", name),
                  fmt::format("the name '{}' is taken (it is a field)", name));
    right = false;
  }
  right &= check_components(visitor, fields_of(run), [&](std::string const& name) {
    if (has_name(lets, name)) return "let." + name;
    return run.constants.contains(name) ? "constants." + name : std::string();
  });
  for (auto const& [name, kind] : kinds) {
    std::string const rate = rate_name(name);
    bool const taken =
        has_name(equations, rate) || has_name(lets, rate) || run.constants.contains(rate);
    if (kind.order == 2 && taken) {
      visitor.fault(fmt::format("fields.{}", name),
                    fmt::format("the name '{}' is taken (a field of order 2 has its rate of change "
                                "under that name)",
                                rate));
      right = false;
    }
    if (!has_name(equations, name))
      visitor.fault(fmt::format("fields.{}", name),
                    fmt::format("there is no field '{0}' (a field has an equation, 'equations: "
                                "{{{0}: ...}}')",
                                name));
  }
  right &= sections.check(visitor, [this](auto const& name) { return is_field(name); });
  if (lets.size() > most_lets) {
    visitor.fault("let", fmt::format("{} names are more than the {} that there may be", lets.size(),
                                     most_lets));
    right = false;
  }
  std::size_t const dims = run.grid_options.points.size();
  std::size_t components = 0;
  for (auto const& equation : equations)
    components += (is_vector(equation.first) ? dims : 1) * (has_rate(equation.first) ? 2 : 1);
  if (components > static_cast<std::size_t>(gridstride::equations::max_components)) {
    visitor.fault("equations", fmt::format("the fields have {} components (at most {})", components,
                                           gridstride::equations::max_components));
    right = false;
  }
  return right && dims >= 1 && dims <= 3 && !equations.empty();
}

gridstride::equations::SystemText Parameters::text_of(config::RunOptions const& run) const {
  gridstride::equations::SystemText text;
  text.dims = static_cast<int>(run.grid_options.points.size());
  text.constants = run.constants;
  for (auto const& entry : lets) {
    text.lets.push_back(definition_of(entry));
    text.lets.back().has_sides = std::ranges::count(sided_, entry.first) > 0;
  }
  // u_tt = f as u_t = the field of that name, whose rate is f; the rates come after all fields.
  for (auto const& entry : equations) {
    auto definition = definition_of(entry);
    if (has_rate(entry.first)) definition = {entry.first, {rate_name(entry.first)}, false};
    text.equations.push_back({definition, is_vector(entry.first)});
  }
  for (auto const& entry : equations) {
    if (!has_rate(entry.first)) continue;
    auto definition = definition_of(entry);
    definition.name = rate_name(entry.first);
    text.equations.push_back({definition, is_vector(entry.first)});
  }
  for (std::string const& constraint : constraints.texts)
    text.constraints.push_back({zero, {constraint}});
  text.held = gridstride::equations::held_names(text);
  return text;
}

std::string Parameters::key_of_constraint(std::size_t constraint) const {
  return constraints.listed ? fmt::format("equations.0.{}", constraint) : "equations.0";
}

/// Whether constraints hold as many fields as there are of them.
bool Parameters::read_constraints(Visitor& visitor) {
  std::size_t const held = text_.held.size(), count = text_.constraints.size();
  if (held == count) return true;
  if (held < count)
    visitor.fault("equations.0",
                  held == 0 ? "holds no field of its own (a constraint has a name in it that "
                              "nothing else has, of the field that makes it hold: 'laplace(psi) + "
                              "w' holds psi)"
                            : fmt::format("{} constraints hold {} field{} of their own ({})", count,
                                          held, held == 1 ? "" : "s", fmt::join(text_.held, ", ")));
  else
    visitor.fault("equations.0",
                  fmt::format("{} constraint{} cannot hold {} fields: {} are known from nothing "
                              "else (is one of them spelt wrong?)",
                              count, count == 1 ? "" : "s", held, fmt::join(text_.held, ", ")));
  return false;
}

std::vector<config::FieldInfo> Parameters::held_fields() const {
  std::vector<config::FieldInfo> fields;
  for (std::string const& name : text_.held) {
    config::FieldInfo& field = fields.emplace_back();
    field.name = name;
    field.sides.emplace();
    field.derived = true;
  }
  return fields;
}

void Parameters::check_initial(Visitor& visitor, config::RunOptions const& run) {
  // Names have no sides yet.
  auto text = text_of(run);
  for (auto& let : text.lets) let.has_sides = false;
  initial = system ? read_initial(visitor, run, std::move(text)) : std::nullopt;
  if (initial) check_initial_fluxes(visitor, run);
}

/// First values are read from the equations by themselves.
void Parameters::check_initial_fluxes(Visitor& visitor, config::RunOptions const& run) {
  bool const has_sides = std::ranges::any_of(run.boundary, [](config::Sides const& sides) {
    return std::ranges::any_of(sides, [](auto const& ends) {
      return std::ranges::count(ends, SideKind::flux, &config::SideCondition::kind) > 0;
    });
  });
  if (!has_sides) return;
  for (gridstride::equations::Unknown const& field : initial->unknowns)
    for (int c = field.first; c < field.first + field.components; ++c)
      if (is_read(run, field.name) &&
          initial->terms.contains(initial->rates[static_cast<std::size_t>(c)],
                                  gridstride::equations::Kind::flux)) {
        visitor.fault("initial." + field.name,
                      "has 'div' or 'dt' in it, which do not know here what flows through the "
                      "sides (see boundary; 'd_dx(F)' asks for no flux)");
        break;
      }
}

void Parameters::fields(Visitor& visitor, config::RunOptions const& run) {
  declare(visitor);
  if (run.precision == Precision::float32) space.least_normal = std::numeric_limits<float>::min();
  if (!visitor.given("equations")) return;
  sided_.clear();
  for (auto const& [name, text] : lets)
    if (visitor.given(fmt::format("boundary.{}", name))) sided_.push_back(name);
  if (!check(visitor, run)) return;
  text_ = text_of(run);
  if (!read_constraints(visitor)) return;
  bool const has_names = check_components(visitor, fields_of(run), [&](std::string const& name) {
    return std::ranges::count(text_.held, name) > 0 ? std::string("equations.0") : std::string();
  });
  if (!has_names) return;
  gridstride::equations::SystemText const& text = text_;
  std::vector<std::string> given_in;  // of each equation the key
  for (auto const& entry : equations) given_in.push_back(entry.first);
  for (auto const& entry : equations)
    if (has_rate(entry.first)) given_in.push_back(entry.first);
  std::vector<gridstride::equations::SystemFault> faults;
  system = gridstride::equations::read_system(text, faults);
  for (auto const& fault : faults) {
    gridstride::equations::Definition const& definition =
        fault.in_equation     ? text.equations[fault.definition]
        : fault.in_constraint ? text.constraints[fault.definition]
                              : text.lets[fault.definition];
    std::string key =
        fault.in_equation ? "equations." + given_in[fault.definition] : "let." + definition.name;
    if (fault.in_constraint) key = key_of_constraint(fault.definition);
    if (definition.listed && fault.text) key += fmt::format(".{}", *fault.text);
    visitor.fault(key, fault.error);
  }
  if (!system) return;
  sections.understand(visitor, *system, [&](std::string const& key, auto const& formula) {
    return read(visitor, key, formula);
  });
}

FieldKind Parameters::kind_of(std::string const& field) const {
  auto const kind = std::ranges::find(kinds, field, &std::pair<std::string, FieldKind>::first);
  return kind == kinds.end() ? FieldKind{} : kind->second;
}

bool Parameters::is_vector(std::string const& field) const {
  return kind_of(field).kind == "vector";
}

bool Parameters::has_rate(std::string const& field) const { return kind_of(field).order == 2; }

/// Whether a field, or the rate of one of order 2, is called so.
bool Parameters::is_field(std::string const& name) const {
  return std::ranges::any_of(equations, [&](auto const& equation) {
    return equation.first == name ||
           (has_rate(equation.first) && rate_name(equation.first) == name);
  });
}

bool Parameters::is_of_order_2() const {
  return std::ranges::all_of(equations,
                             [&](auto const& equation) { return has_rate(equation.first); });
}

std::vector<config::FieldInfo> Parameters::fields_of(config::RunOptions const& run) const {
  std::vector<config::FieldInfo> fields;
  for (auto const& equation : equations) {
    config::FieldInfo field;
    field.name = equation.first;
    std::size_t const dims = std::min(run.grid_options.points.size(), axis_names.size());
    if (is_vector(equation.first))
      field.components.assign(axis_names.begin(), axis_names.begin() + static_cast<long>(dims));
    fields.push_back(field);
  }
  std::size_t const given = fields.size();
  for (std::size_t i = 0; i < given; ++i) {
    if (!has_rate(fields[i].name)) continue;
    config::FieldInfo rate = fields[i];
    rate.name = rate_name(fields[i].name);
    rate.sides.emplace();  // that of the field tells
    rate.rate_of = fields[i].name;
    fields.push_back(rate);
  }
  return fields;
}

std::vector<config::FieldInfo> Parameters::names_of(config::RunOptions const&) const {
  std::vector<config::FieldInfo> names;
  for (std::string const& name : text_.held) {
    config::FieldInfo& info = names.emplace_back();
    info.name = name;
    info.any_name = !system;
    info.sides = {SideKind::periodic, SideKind::dirichlet, SideKind::neumann, SideKind::wall};
  }
  for (std::string const& name : sided_) {
    config::FieldInfo& info = names.emplace_back();
    info.name = name;
    info.any_name = !system;
    info.sides = {SideKind::periodic, SideKind::antiperiodic, SideKind::dirichlet,
                  SideKind::neumann,  SideKind::wall,         SideKind::outflow};
    auto const is_this = [&](gridstride::equations::SidedName const& one) {
      return one.name.name == name && one.name.is_vector;
    };
    if (system && std::ranges::any_of(system->names, is_this))
      info.components.assign(axis_names.begin(), axis_names.begin() + system->dims);
  }
  return names;
}

}  // namespace gridstride::pde

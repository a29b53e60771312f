#include "config/boundary_section.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/run_fields.hpp"
#include "expression/transform.hpp"

namespace gridstride::config {
namespace {

using AxisSides = std::array<SideCondition, 2>;

/// How a file names a kind of side.
struct SideWord {
  SideKind kind;
  std::string_view word;
  int values;  // that it takes
  std::string_view documentation;
};

constexpr SideWord side_words[] = {
    {SideKind::periodic, "periodic", 0, "What leaves one side enters the other."},
    {SideKind::antiperiodic, "antiperiodic", 0, "The same with the other sign."},
    {SideKind::dirichlet, "dirichlet", 1, "The value on the side."},
    {SideKind::neumann, "neumann", 1, "The derivative along the outward normal on the side."},
    {SideKind::robin, "robin", 2,
     "a and g on the side, where du/dn + a u = g with the outward normal n."},
    {SideKind::flux, "flux", 1,
     "What flows out through the side: n F of the term div(F) of the field's equation, with the "
     "outward normal n."},
    {SideKind::fixed, "fixed", 0, "Held at zero."},
    {SideKind::free, "free", 0, "Without a derivative along the normal."},
    {SideKind::wall, "wall", 0,
     "Of a vector nothing along the normal, all else without a derivative along it."},
    {SideKind::absorbing, "absorbing", 0, "Waves leave and do not come back."},
    {SideKind::outflow, "outflow", 0, "What flows out leaves; nothing flows in."},
};

/// What an entry may say of sides.
struct Terms {
  std::vector<SideWord> words;
  std::string value_unit;
  std::string derivative_unit;
  std::vector<std::string> components;  // of the values; none for plain numbers
  std::vector<std::pair<std::string_view, std::string>> refused;  // words, and why
  bool of_fields = false;                                         // values may be made of these
  bool any_components = false;                                    // nobody knows which there are
};

bool takes(FieldInfo const& field, SideKind kind) {
  return std::ranges::count(*field.sides, kind) > 0;
}

/// Of some fields at once: what each of them takes. A value of fields with different units is a
/// number without one. Where the solution is known, mere words of some kinds will do, too.
Terms terms_of(std::vector<FieldInfo> const& fields, bool is_solved) {
  FieldInfo const& first = fields.front();
  Terms terms{{}, first.unit, first.unit + "/m", first.components, {}};
  bool const same_unit =
      std::ranges::all_of(fields, [&](FieldInfo const& f) { return f.unit == first.unit; });
  if (!same_unit) terms.value_unit = terms.derivative_unit = "1";
  terms.any_components = first.any_name;
  auto const other_shape = std::ranges::find_if(
      fields, [&](FieldInfo const& f) { return f.components != first.components; });
  for (SideWord const& one : side_words) {
    auto const does_not = [&](FieldInfo const& field) { return !takes(field, one.kind); };
    auto const without = std::ranges::find_if(fields, does_not);
    std::string why;
    if (without != fields.end())
      why = fmt::format("{} does not take it", without->name);
    else if (one.values > 0 && other_shape != fields.end())
      why = fmt::format("{} and {} have different components", first.name, other_shape->name);
    if (why.empty())
      terms.words.push_back(one);
    else if (!std::ranges::all_of(fields, does_not))
      terms.refused.emplace_back(one.word, why + "; say it by field, as " + first.name + ": {...}");
  }
  if (!is_solved) return terms;
  for (SideWord const& one : side_words)
    if (follows_from_solution(one.kind) &&
        std::ranges::none_of(fields,
                             [&](FieldInfo const& field) { return !takes(field, one.kind); }))
      terms.words.push_back({one.kind, one.word, 0, "The same, as `verify.manufactured` is."});
  return terms;
}

/// `[a, g]`, of a vector for each component.
void declare_pair(Visitor& visitor, Spec const& spec, Terms const& terms,
                  SideCondition& condition) {
  bool const is_vector = !terms.components.empty();
  std::size_t const count = is_vector ? terms.components.size() : 1;
  condition.factors.resize(count);
  condition.components.resize(is_vector ? count : 0);
  auto const declare_one = [&](Visitor& v, std::string_view key, std::size_t c) {
    Formula& factor = condition.factors[c];
    Formula& value = is_vector ? condition.components[c] : condition.value;
    Spec pair = spec;
    pair.name = key;
    pair.length = 2;
    std::vector<Formula> both;
    if (!factor.text.empty()) both = {factor, value};
    v.items<Formula>(pair, both, [&](Spec const& item, Formula& formula) {
      Spec one = item;
      one.unit = item.name == "0" ? std::string_view("1/m") : terms.derivative_unit;
      one.variables = spec.variables;
      one.is_foreign = spec.is_foreign;
      v.visit(one, formula);
    });
    if (both.size() != 2) return;
    factor = both.front();
    value = both.back();
  };
  if (!is_vector) return declare_one(visitor, spec.name, 0);
  visitor.section({.name = spec.name, .documentation = spec.documentation}, [&](Visitor& v) {
    for (std::size_t c = 0; c < count; ++c) declare_one(v, terms.components[c], c);
  });
}

/// A value, or two of them in a list, of fields whose components nobody knows; those that there are not
/// are left out.
void describe_side(Visitor& visitor, Spec const& spec, int values) {
  describe_any_value(visitor, spec, [&](Visitor& v, Spec const& one, bool is_component) {
    Formula formula;
    if (values == 1) return is_component ? v.optional_formula(one, formula) : v.visit(one, formula);
    auto const pair = [&](Visitor& inner) {
      Spec list = one;
      list.length = 2;
      std::vector<Formula> none;
      inner.items<Formula>(list, none, [&](Spec const& item, Formula& element) {
        Spec number = item;
        number.variables = spec.variables;
        number.is_foreign = spec.is_foreign;
        inner.visit(number, element);
      });
    };
    if (!is_component) return pair(v);
    Form const forms[] = {{.kind = Form::Kind::items, .body = pair}};
    int chosen = -1;
    v.forms(one, Presence::optional, forms, chosen);
  });
}

/// A form for each word; what is read comes into the condition of the same place.
std::vector<Form> forms_of(Terms const& terms, std::vector<SideCondition>& conditions) {
  std::vector<Form> forms;
  for (std::size_t i = 0; i < terms.words.size(); ++i) {
    SideWord const one = terms.words[i];
    if (one.values == 0) {
      forms.push_back({.word = one.word, .documentation = one.documentation});
      continue;
    }
    auto const body = [&terms, &conditions, i, one](Visitor& v) {
      Spec const spec{
          .name = one.word,
          .unit = one.kind == SideKind::neumann ? terms.derivative_unit : terms.value_unit,
          .documentation = one.documentation,
          .variables = "xyzt",
          .is_foreign = terms.of_fields};
      if (terms.any_components)
        describe_side(v, spec, one.values);
      else if (one.values == 2)
        declare_pair(v, spec, terms, conditions[i]);
      else
        declare_value(v, spec, terms.components, conditions[i].value, conditions[i].components);
    };
    forms.push_back({.kind = Form::Kind::mapping, .body = body});
  }
  for (auto const& [word, why] : terms.refused)
    forms.push_back({.kind = Form::Kind::refused, .word = word, .documentation = why});
  return forms;
}

/// A condition for each word; that of the present kind is the present one.
std::vector<SideCondition> conditions_of(Terms const& terms, SideCondition const* present) {
  std::vector<SideCondition> conditions;
  for (SideWord const& one : terms.words)
    conditions.push_back(present && present->kind == one.kind ? *present : SideCondition{one.kind});
  return conditions;
}

int place_of(Terms const& terms, SideKind kind) {
  auto const place = std::ranges::find(terms.words, kind, &SideWord::kind);
  return static_cast<int>(place - terms.words.begin());
}

/// The terms of one end of an axis, which is periodic as a whole.
Terms terms_of_side(Terms terms) {
  for (SideWord const& one : side_words)
    if (wraps(one.kind) &&
        std::erase_if(terms.words, [&](SideWord const& word) { return word.kind == one.kind; }) > 0)
      terms.refused.emplace_back(one.word, fmt::format("an axis is {} as a whole", one.word));
  return terms;
}

/// `present` is what holds so far; empty: nothing, and nothing is returned when the file has none.
std::optional<SideCondition> declare_side(Visitor& visitor, Spec const& spec, Terms const& terms,
                                          SideCondition const* present) {
  auto conditions = conditions_of(terms, present);
  int chosen = present ? place_of(terms, present->kind) : -1;
  visitor.forms(spec, Presence::required, forms_of(terms, conditions), chosen);
  if (chosen < 0) return std::nullopt;
  return conditions[static_cast<std::size_t>(chosen)];
}

bool is_same(SideCondition const& a, SideCondition const& b) {
  return a.kind == b.kind && a.value.text == b.value.text &&
         std::ranges::equal(a.components, b.components, {}, &Formula::text, &Formula::text) &&
         std::ranges::equal(a.factors, b.factors, {}, &Formula::text, &Formula::text);
}

/// The same for an axis, whose two sides are said at once or each.
std::optional<AxisSides> declare_axis(Visitor& visitor, std::string_view axis, Terms const& terms,
                                      std::optional<AxisSides> const& present) {
  bool const same = present && is_same(present->front(), present->back());
  auto conditions = conditions_of(terms, present ? &present->front() : nullptr);
  auto forms = forms_of(terms, conditions);
  Terms const side_terms = terms_of_side(terms);
  AxisSides each = present.value_or(AxisSides{});
  auto const separately = [&](Visitor& v) {
    constexpr std::string_view names[] = {"lower", "upper"};
    for (std::size_t side = 0; side < 2; ++side) {
      Spec const spec{.name = names[side], .documentation = "The side at this end."};
      auto const read = declare_side(v, spec, side_terms, present && !same ? &each[side] : nullptr);
      if (read) each[side] = *read;
    }
  };
  int const separate = static_cast<int>(forms.size());
  forms.push_back({.kind = Form::Kind::mapping, .body = separately});
  int chosen = !present ? -1 : same ? place_of(terms, present->front().kind) : separate;
  visitor.forms({.name = axis, .documentation = "The sides of this axis."}, Presence::optional,
                forms, chosen);
  if (chosen < 0) return std::nullopt;
  if (chosen == separate) return each;
  SideCondition const& both = conditions[static_cast<std::size_t>(chosen)];
  return AxisSides{both, both};
}

/// Calls `declare` for each axis of the grid; keys for others are refused.
void for_each_axis(Visitor& v, RunOptions const& run, std::function<void(int)> const& declare) {
  auto const given = static_cast<int>(run.grid_options.points.size());
  int const axes = given == 0 ? most_axes : given;
  for (int a = 0; a < axes; ++a) declare(a);
  for (int a = axes; a < most_axes; ++a)
    v.refuse(axis_names[a], fmt::format("the grid has no axis {} (grid.points has {} {})",
                                        axis_names[a], axes, axes == 1 ? "entry" : "entries"));
}

bool is_periodic(Sides const& sides, int axis) { return wraps(sides[axis][0].kind); }

/// The section `boundary` as it is met.
class BoundarySection {
 public:
  BoundarySection(RunOptions& run, bool is_solved) : run_(run), is_solved_(is_solved) {
    for (std::size_t i = 0; i < run.boundary.size(); ++i)
      if (!run.sided(i).sides->empty() && !is_unclear(i)) places_.push_back(i);
  }

  bool empty() const { return places_.empty(); }

  void declare(Visitor& v) {
    declare_all(v);
    for (std::size_t const i : places_) {
      FieldInfo const& field = run_.sided(i);
      v.section({.name = field.name,
                 .documentation = "The sides for this field alone. For an axis that is here, what "
                                  "is said for all fields does not count.",
                 .any_name = field.any_name},
                [&](Visitor& own) { declare_one(own, i); });
    }
    for (std::size_t i = 0; i < run_.boundary.size(); ++i)
      if (is_unclear(i)) v.section({.name = run_.sided(i).name, .any_name = true}, [](Visitor&) {});
    for (int a = 0; a < most_axes; ++a)
      if (!unclear_[a]) check_periodic(v, a);
  }

 private:
  /// Whether there is one field only: what holds for it is then said where all are meant.
  bool is_single() const { return places_.size() == 1 && !run_.sided(places_[0]).any_name; }

  /// Whether nothing is known of a name but that it has faults, which are told elsewhere.
  bool is_unclear(std::size_t place) const {
    return run_.is_name(place) && run_.sided(place).any_name;
  }

  void declare_all(Visitor& v) {
    std::vector<FieldInfo> fields;
    for (std::size_t const i : places_) fields.push_back(run_.sided(i));
    Terms terms = terms_of(fields, is_solved_ && run_.names.empty());
    terms.of_fields = run_.language != nullptr;
    for_each_axis(v, run_, [&](int a) {
      if (terms.words.empty())
        return v.refuse(axis_names[a],
                        fmt::format("no kind of side is one of all fields (say it by field, as "
                                    "{}: {{...}})",
                                    fields.front().name));
      auto const sides =
          read(v, a, terms, is_single() ? &run_.boundary[places_.front()][a] : nullptr);
      for (std::size_t const i : places_)
        if (sides) run_.boundary[i][a] = *sides;
    });
  }

  void declare_one(Visitor& v, std::size_t i) {
    Terms terms = terms_of({run_.sided(i)}, is_solved_ && !run_.is_name(i));
    terms.of_fields = run_.language != nullptr;
    for (SideWord const& one : side_words)
      if (run_.is_name(i) && !takes(run_.sided(i), one.kind) &&
          std::ranges::count(run_.simulation->sides, one.kind) > 0)
        terms.refused.emplace_back(one.word, "fields alone take it");
    for_each_axis(v, run_, [&](int a) {
      auto const sides = read(v, a, terms, is_single() ? nullptr : &run_.boundary[i][a]);
      if (sides) run_.boundary[i][a] = *sides;
    });
  }

  /// What a file gives takes nothing from what holds so far.
  std::optional<AxisSides> read(Visitor& v, int a, Terms const& terms, AxisSides const* present) {
    bool const given = v.given(axis_names[a]);
    auto sides = declare_axis(v, axis_names[a], terms,
                              given || !present ? std::nullopt : std::optional(*present));
    if (given && !sides) unclear_[a] = true;
    return sides;
  }

  /// The grid leaves out the last point of a periodic axis, for all fields.
  void check_periodic(Visitor& v, int a) const {
    std::size_t const first = places_.front();
    for (std::size_t const i : places_) {
      bool const periodic = is_periodic(run_.boundary[i], a);
      if (periodic == is_periodic(run_.boundary[first], a)) continue;
      std::string key;
      for (std::size_t const place : {first, i}) {
        std::string const own = fmt::format("{}.{}", run_.sided(place).name, axis_names[a]);
        if (v.given(own)) key = own;
      }
      return v.fault(key, fmt::format("{} is periodic along {} and {} is not (an axis is periodic "
                                      "for all fields or for none)",
                                      run_.sided(periodic ? i : first).name, axis_names[a],
                                      run_.sided(periodic ? first : i).name));
    }
  }

  RunOptions& run_;
  bool is_solved_;                            // by a solution that is made up
  std::vector<std::size_t> places_;           // of the fields that have sides
  std::array<bool, most_axes> unclear_ = {};  // axes with faults
};

/// That of a value which a made-up solution gives later is given with it.
Formula rate_of(Formula const& formula) {
  if (formula.text.empty()) return formula;
  auto const rate =
      expression::simplified(expression::derivative(formula.expression, expression::time_variable));
  return {rate.to_string(), rate, formula.location};
}

/// Whether a of ∂u/∂n + a·u = g depends on time.
bool has_changing_factor(SideCondition const& side) {
  return std::ranges::any_of(side.factors, [](Formula const& factor) {
    return factor.expression.depends_on(expression::time_variable);
  });
}

/// On sides a field that is the rate of another has the rates of that one's values.
void follow_rates(Visitor& visitor, RunOptions& run) {
  for (std::size_t i = 0; i < run.fields.size(); ++i) {
    if (run.fields[i].rate_of.empty()) continue;
    std::string const& name = run.fields[i].rate_of;
    auto const of = std::ranges::find(run.fields, name, &FieldInfo::name);
    run.boundary[i] = run.boundary[static_cast<std::size_t>(of - run.fields.begin())];
    for (auto& sides : run.boundary[i]) {
      if (std::ranges::any_of(sides, has_changing_factor)) {
        auto const axis = axis_names[static_cast<std::size_t>(&sides - run.boundary[i].data())];
        std::string const own = fmt::format("boundary.{}.{}", name, axis);
        visitor.fault(visitor.given(own) ? own : fmt::format("boundary.{}", axis),
                      fmt::format("a of 'robin: [a, g]' depends on t (on sides {} has the rate of "
                                  "what {} has there, which takes an a that does not change)",
                                  run.fields[i].name, name));
      }
      for (SideCondition& side : sides) {
        side.value = rate_of(side.value);
        for (Formula& component : side.components) component = rate_of(component);
      }
    }
  }
}

/// `run.grid` from what the file says; an axis that is periodic leaves out the last point.
void complete_grid(RunOptions& run) {
  GridOptions const& options = run.grid_options;
  if (options.lower.size() != options.points.size() ||
      options.upper.size() != options.points.size())
    return;  // reported
  auto const axes = static_cast<int>(options.points.size());
  run.grid = Grid{};
  run.grid.dims = std::max(axes, 1);
  for (int a = 0; a < axes; ++a) {
    auto const n = options.points[static_cast<std::size_t>(a)];
    double const lower = options.lower[static_cast<std::size_t>(a)];
    double const upper = options.upper[static_cast<std::size_t>(a)];
    bool const periodic = std::ranges::any_of(
        run.boundary, [&](Sides const& sides) { return is_periodic(sides, a); });
    run.grid.points[a] = n;
    run.grid.origin[a] = lower;
    run.grid.spacing[a] = (upper - lower) / static_cast<double>(periodic ? n : n - 1);
  }
}

}  // namespace

bool follows_from_solution(SideKind kind) {
  return kind == SideKind::dirichlet || kind == SideKind::neumann;
}

Sides default_sides(FieldInfo const& field) {
  Formula const zero{"0", expression::Expression(0.0), {}};
  SideCondition const side{field.sides->empty() ? SideKind::free : field.sides->front(), zero,
                           std::vector<Formula>(field.components.size(), zero)};
  Sides sides;
  sides.fill({side, side});
  return sides;
}

void declare_boundary(Visitor& visitor, RunOptions& run, ParameterSet& parameters) {
  BoundarySection section(run, run.language != nullptr && visitor.given("verify.manufactured"));
  if (section.empty()) {
    visitor.refuse("boundary", fmt::format("{} has no conditions on the sides of its grid",
                                           run.simulation->name));
  } else {
    visitor.section(
        {.name = "boundary",
         .documentation = run.language != nullptr
                              ? "What holds on the two sides of each axis. Values are formulas of "
                                "space and time, of fields and of names under `let`."
                              : "What holds on the two sides of each axis."},
        [&](Visitor& v) { section.declare(v); });
  }
  parameters.check_sides(visitor, run);
  follow_rates(visitor, run);
  complete_grid(run);
}

}  // namespace gridstride::config

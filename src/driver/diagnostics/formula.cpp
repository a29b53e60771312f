#include "driver/diagnostics/formula.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "config/language.hpp"
#include "config/run_fields.hpp"
#include "core/error.hpp"
#include "kernels/evaluate/evaluate.hpp"
#include "model/out_of_core.hpp"

namespace gridstride::formula {

using config::Form;
using config::Visitor;

std::vector<Variable> arrays_of(config::RunOptions const& run) {
  std::vector<Variable> all;
  for (config::FieldInfo const& field : run.fields) {
    if (field.components.empty()) all.push_back({field.name, field.name, 0, field.own_grid});
    for (std::size_t c = 0; c < field.components.size(); ++c)
      all.push_back({config::component_variable(field.name, field.components[c]), field.name,
                     static_cast<int>(c), field.own_grid});
  }
  std::ranges::stable_partition(all, [](Variable const& one) { return !one.own_grid; });
  if (all.size() >= evaluate::Arrays::most) all.resize(evaluate::Arrays::most - 1);
  return all;
}

std::vector<bool> reads(Expression const& formula, std::size_t arrays) {
  std::vector<bool> read(arrays);
  for (std::size_t i = 0; i < arrays; ++i)
    read[i] = formula.depends_on(expression::first_array + static_cast<int>(i));
  return read;
}

std::string evaluate_variant(config::RunOptions const& run, Backend backend) {
  auto const wanted = variant_of(run, "evaluate");
  return wanted == "auto" ? std::string(evaluate::default_variant(backend)) : wanted;
}

namespace {

constexpr std::string_view words[] = {"integral", "minimum", "maximum"};

/// What formulas here may depend on: what those of the simulation may, and its fields.
std::vector<expression::Variable> variables_of(config::RunOptions const& run,
                                               std::span<Variable const> arrays) {
  auto const& known = run.variables;
  std::vector<expression::Variable> all(known.begin(), known.end());
  int index = expression::first_array;
  for (Variable const& array : arrays) all.push_back({array.name, index++});
  return all;
}

bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/// Whether the names of files' parts, which the numbers get, can hold it.
bool can_be_in_name(std::string_view text) {
  constexpr std::size_t longest = 100;
  return text.size() <= longest &&
         std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~' && c != '/'; });
}

}  // namespace

std::string Entry::name() const {
  if (!name_.empty()) return name_;
  return fmt::format("{}({})", words[static_cast<int>(find_)], formula_.text);
}

void Entry::declare(Visitor& visitor, config::Spec const& self, config::RunOptions const& run) {
  Form const forms[] = {
      {.kind = Form::Kind::scalar,
       .body = [&](Visitor& v) { declare_formula(v, self.name, self.documentation, run); }},
      {.kind = Form::Kind::mapping, .body = [&](Visitor& v) { declare_keys(v, run); }}};
  int chosen = formula_.text.empty() ? -1 : name_.empty() && !where_ ? 0 : 1;
  visitor.forms(self, config::Presence::required, forms, chosen);
  if (!formula_.text.empty()) check(visitor, std::string(self.name), run);
}

std::vector<std::string> Entry::gives() const {
  if (formula_.text.empty()) return {};
  return {name()};
}

bool Entry::is_found_by_parts(config::RunOptions const& run, Backend backend) const {
  if (!quantity_.empty()) return true;
  if (!goes_by_planes(formula(), run.grid, run.grid.dims)) return false;
  if (backend == Backend::cpu) return true;
  try {
    by_indices(run, *this, find_ == Find::integral);
    return true;
  } catch (Error const&) {
    return false;  // with weights it is too long or too deep
  }
}

void Entry::declare_formula(Visitor& v, std::string_view key, std::string_view documentation,
                            config::RunOptions const& run) {
  auto const arrays = arrays_of(run);
  auto const variables = variables_of(run, arrays);
  if (run.language != nullptr) return read_source(v, key, documentation, run, variables);
  v.variables(variables);
  v.visit({.name = key, .documentation = documentation, .variables = config::all_variables},
          formula_);
  v.variables(run.variables);
}

/// A formula of the fields, or one in the language of the equations.
void Entry::read_source(Visitor& v, std::string_view name, std::string_view documentation,
                        config::RunOptions const& run,
                        std::span<expression::Variable const> variables) {
  std::string const key(name);
  config::SourceText source;
  if (!formula_.text.empty()) source.texts = {formula_.text};
  v.source({.name = name, .documentation = documentation}, source);
  if (!v.given(key) || source.texts.empty()) return;
  if (source.listed) return v.fault(key, "a formula expected, not a list");
  std::string const& text = source.texts.front();
  try {
    auto const formula = Expression::parse(text, run.constants, variables);
    auto const axes = static_cast<int>(run.grid_options.points.size());
    bool fits = true;
    for (int axis = axes; axis < config::most_axes; ++axis)
      fits = fits && !formula.depends_on(axis);
    if (fits) {
      formula_ = {text, formula, v.locate(key)};
      return;
    }
  } catch (expression::ParseError const&) {  // then it may have operators and `let`s in it
  }
  if (!run.language->take_quantity(v, key, text, source, false)) return;
  quantity_ = text;
  formula_ = {text, Expression(), v.locate(key)};
}

void Entry::declare_keys(Visitor& v, config::RunOptions const& run) {
  declare_formula(v, "of", "A formula of the fields, of space and time.", run);
  if (find_ != Find::integral)
    v.visit({.name = "where",
             .documentation = "Whether to tell the point, too: the first one of equal values in "
                              "the order of memory (x runs fastest)."},
            where_);
  v.text({.name = "name",
          .documentation = "What the number is called; when left out, by its formula."},
         {.meaning = "a name"}, name_);
  if (!std::ranges::all_of(name_, is_letter_or_digit))
    v.fault("name", fmt::format("'{}' cannot be a name (letters, digits and _)", name_));
}

void Entry::check(Visitor& v, std::string const& key, config::RunOptions const& run) const {
  if (name_.empty() && !can_be_in_name(formula_.text))
    v.fault(key, fmt::format("the formula cannot be the name of its number ('/', ends of lines "
                             "and more than 100 characters cannot stand in a name); give one: "
                             "{}: {{of: ..., name: ...}}",
                             key));
  auto const arrays = arrays_of(run);
  auto const read = reads(formula_.expression, arrays.size());
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    auto const& [name, field, component, own_grid] = arrays[i];
    if (read[i] && run.constants.contains(name))
      v.fault(key, fmt::format("'{0}' is a field and a constant, too (give the constant another "
                               "name)",
                               name));
    if (read[i] && own_grid)
      v.fault(key, fmt::format("'{}' lies on a grid of its own (a formula here is of fields on "
                               "the grid that the file describes)",
                               field));
  }
}

namespace {

template <Find find>
std::vector<std::string> names(config::RunOptions const& run, std::span<Field const>) {
  std::vector<std::string> all;
  for (auto const* asked : asked_for<Of<find>>(run)) {
    all.push_back(asked->name());
    for (int axis = 0; asked->where() && axis < run.grid.dims; ++axis)
      all.push_back(fmt::format("{}.{}", asked->name(), axis_names[axis]));
  }
  return all;
}

/// Bytes of the components that a formula reads of a piece.
std::size_t component_bytes(config::RunOptions const& run, Expression const& formula) {
  auto const arrays = arrays_of(run);
  auto const read = reads(formula, arrays.size());
  std::size_t values = 0;
  for (std::size_t i = 0; i < arrays.size(); ++i)
    if (read[i] && arrays[i].name != arrays[i].field) values += values_of_piece(run.grid);
  return values * size_of(run.precision);
}

/// The weights; the values of a piece, their marks, and the components that they come from.
template <Find find>
DiagnosticBytes bytes(config::RunOptions const& run) {
  auto const asked = asked_for<Of<find>>(run);
  if (asked.empty()) return {};
  std::size_t const piece = values_of_piece(run.grid) * sizeof(double);
  bool const marks = std::ranges::any_of(asked, [](auto const* one) { return one->where(); });
  std::size_t components = 0;
  for (auto const* one : asked)
    components = std::max(components, component_bytes(run, one->formula()));
  return {find == Find::integral ? piece : 0, (marks ? 2 * piece : piece) + components};
}

template <Find find>
DiagnosticRow row(std::string_view documentation) {
  return {.kind = {.name = words[static_cast<int>(find)],
                   .documentation = documentation,
                   .needs_grid = true,
                   .make = []() -> std::unique_ptr<config::Diagnostic> {
                     return std::make_unique<Of<find>>();
                   }},
          .names_of_all = names<find>,
          .of_all = [](config::RunOptions const& run, std::span<Field const> fields, Stream& stream)
              -> std::unique_ptr<SceneFinder> { return make_finder<find>(run, fields, stream); },
          .parts_of_float32 = find_by_parts<find, float>,
          .parts_of_float64 = find_by_parts<find, double>,
          .bytes = bytes<find>};
}

}  // namespace

}  // namespace gridstride::formula

namespace gridstride {

DiagnosticRow integral_row() {
  return formula::row<formula::Find::integral>(
      "The integral of a formula over the grid, by the trapezoidal rule.");
}

DiagnosticRow minimum_row() {
  return formula::row<formula::Find::minimum>("The least value of a formula.");
}

DiagnosticRow maximum_row() {
  return formula::row<formula::Find::maximum>("The greatest value of a formula.");
}

}  // namespace gridstride

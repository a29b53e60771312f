#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "config/language.hpp"
#include "config/run_fields.hpp"
#include "config/visitor.hpp"
#include "core/buffer.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "driver/diagnostics/kind.hpp"
#include "driver/diagnostics/numbers.hpp"
#include "driver/diagnostics/pieces.hpp"
#include "expression/transform.hpp"
#include "kernels/evaluate/evaluate.hpp"
#include "kernels/evaluate/slabs.hpp"
#include "model/values.hpp"

namespace gridstride {
namespace {

using config::Form;
using config::Visitor;
using expression::Expression;

enum class Find { integral, minimum, maximum };

constexpr std::string_view words[] = {"integral", "minimum", "maximum"};

/// An array that formulas may read: a field, or a component of a vector, which they call
/// `velocity_x`.
struct Variable {
  std::string name;
  std::string_view field;
  int component = 0;
  bool own_grid = false;
};

/// All of them. Those that can be read come first: of fields on the grid of the file, and one less
/// than there may be arrays, to leave one for the weights.
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

/// What formulas here may depend on: what those of the simulation may, and its fields.
std::vector<expression::Variable> variables_of(config::RunOptions const& run,
                                               std::span<Variable const> arrays) {
  auto const& known = run.variables;
  std::vector<expression::Variable> all(known.begin(), known.end());
  int index = expression::first_array;
  for (Variable const& array : arrays) all.push_back({array.name, index++});
  return all;
}

/// Which of the arrays a formula reads.
std::vector<bool> reads(Expression const& formula, std::size_t arrays) {
  std::vector<bool> read(arrays);
  for (std::size_t i = 0; i < arrays; ++i)
    read[i] = formula.depends_on(expression::first_array + static_cast<int>(i));
  return read;
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

/// `integral: FORMULA`, or with more to say `integral: {of: FORMULA, ...}`.
class FormulaDiagnostic : public config::Diagnostic {
 public:
  explicit FormulaDiagnostic(Find find) : find_(find) {}

  Expression const& formula() const { return formula_.expression; }
  /// What the formula is as a quantity of the simulation's; empty: a formula of the fields.
  std::string const& quantity() const { return quantity_; }
  bool where() const { return where_; }
  std::string name() const {
    if (!name_.empty()) return name_;
    return fmt::format("{}({})", words[static_cast<int>(find_)], formula_.text);
  }

  void declare(Visitor& visitor, config::Spec const& self, config::RunOptions const& run) override {
    Form const forms[] = {
        {.kind = Form::Kind::scalar,
         .body = [&](Visitor& v) { declare_formula(v, self.name, self.documentation, run); }},
        {.kind = Form::Kind::mapping, .body = [&](Visitor& v) { declare_keys(v, run); }}};
    int chosen = formula_.text.empty() ? -1 : name_.empty() && !where_ ? 0 : 1;
    visitor.forms(self, config::Presence::required, forms, chosen);
    if (!formula_.text.empty()) check(visitor, std::string(self.name), run);
  }

  std::vector<std::string> gives() const override {
    if (formula_.text.empty()) return {};
    return {name()};
  }

 private:
  void declare_formula(Visitor& v, std::string_view key, std::string_view documentation,
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
  void read_source(Visitor& v, std::string_view name, std::string_view documentation,
                   config::RunOptions const& run, std::span<expression::Variable const> variables) {
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

  void declare_keys(Visitor& v, config::RunOptions const& run) {
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

  void check(Visitor& v, std::string const& key, config::RunOptions const& run) const {
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

  Find find_;
  config::Formula formula_;
  std::string quantity_;
  bool where_ = false;
  std::string name_;
};

/// The three are told apart by their types.
template <Find find>
class Of final : public FormulaDiagnostic {
 public:
  Of() : FormulaDiagnostic(find) {}
};

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

/// Not a number where a value, the one array, is this one, else 0.
Expression mark(double value) {
  using expression::Operation;
  Expression const is_value = expression::apply(
      Operation::equal, Expression::variable(expression::first_array), Expression(value));
  return expression::apply(Operation::select, is_value,
                           Expression(std::numeric_limits<double>::quiet_NaN()), Expression(0.0));
}

/// Evaluates each formula piece by piece in float64, times the weights for an integral, and finds
/// the moments of each piece.
template <Find find>
class FormulaFinder final : public SceneFinder {
 public:
  FormulaFinder(config::RunOptions const& run, std::span<Field const> fields, Stream& stream)
      : grid_(run.grid),
        pieces_(pieces_of(run, grid_)),
        may_have_gaps_(run.simulation->has_gaps),
        reduce_variant_(variant_of(run, "reduce")) {
    std::vector<Array> of_fields;
    for (Variable const& array : arrays_of(run))
      if (!array.own_grid) of_fields.push_back(place(fields, array.field, array.component));
    if (find == Find::integral) {
      weights_ = {stream, MemorySpace::device, values_of_piece(grid_)};
      copy_async(weights_.span(), weights_of(run, grid_), stream);
    }
    std::string variant = variant_of(run, "evaluate");
    if (variant == "auto") variant = evaluate::default_variant(stream.backend());
    for (auto const* asked : asked_for<Of<find>>(run)) {
      bool const is_quantity = !asked->quantity().empty();
      auto const arrays =
          is_quantity ? std::vector{place(fields, asked->quantity(), 0)} : of_fields;
      Expression formula = is_quantity
                               ? Expression::variable(expression::first_array)
                               : evaluate::by_index(asked->formula(), grid_, grid_.dims - 1);
      int const weight = expression::first_array + static_cast<int>(arrays.size());
      if (find == Find::integral) formula = formula * Expression::variable(weight);
      tasks_.push_back({asked->name(),
                        asked->where(),
                        arrays,
                        reads(formula, arrays.size()),
                        evaluate::Program(stream, formula, variant),
                        {stream, MemorySpace::pinned, pieces_.size()}});
    }
    stream.synchronize();
  }

  void queue(Scene const& scene) override {
    Buffer<double> values(scene.stream, MemorySpace::device, values_of_piece(grid_));
    Buffer<Moments> found(scene.stream, MemorySpace::device, pieces_.size());
    for (Task& task : tasks_) {
      for (std::size_t p = 0; p < pieces_.size(); ++p)
        reduce::moments<double>(scene.stream, evaluate_piece(scene, task, pieces_[p], values),
                                found.span().subspan(p, 1), reduce_variant_);
      copy_async(task.found.span(), std::as_const(found).span(), scene.stream);
    }
  }

  void collect(Scene const& scene, std::vector<double>& values) override {
    for (Task& task : tasks_) {
      if (is_finite(task, scene.clock)) {
        if (find == Find::integral)
          values.push_back(integral(task));
        else
          add_extreme(task, scene, values);
      } else {
        auto const count = task.where ? 1 + static_cast<std::size_t>(grid_.dims) : 1;
        values.insert(values.end(), count, std::numeric_limits<double>::quiet_NaN());
      }
    }
  }

 private:
  using Moments = reduce::Moments<double>;

  /// A field, or a component of a vector.
  struct Array {
    std::size_t place;  ///< of the field among those of a scene
    int component;
  };

  struct Task {
    std::string name;
    bool where;
    std::vector<Array> arrays;  ///< that its formula may read
    std::vector<bool> reads;    ///< which of them it does
    evaluate::Program program;
    Buffer<Moments> found;  ///< of each piece, in pinned memory
  };

  Array place(std::span<Field const> fields, std::string_view name, int component) const {
    auto const field = std::ranges::find(fields, name, &Field::name);
    if (field == fields.end() || field->grid != grid_ || component >= field->components)
      throw std::invalid_argument("diagnostics: a field is missing, or on another grid");
    return {static_cast<std::size_t>(field - fields.begin()), component};
  }

  /// The values of an array on a piece; those of a component, which are brought side by side, lie in
  /// one of the buffers.
  template <class T>
  static evaluate::ArrayView view(Stream& stream, Field const& field, int component,
                                  Piece const& piece, std::vector<Buffer<T>>& components) {
    auto const values = static_cast<T const*>(field.data) + piece.first * field.components;
    if (field.components == 1) return {values, field.precision};
    auto const size = static_cast<std::size_t>(piece.grid.size());
    auto& target = components.emplace_back(stream, MemorySpace::device, size);
    extract<T>(stream, {values, size * static_cast<std::size_t>(field.components)},
               field.components, component, target.span());
    return {target.data(), field.precision};
  }

  /// The values of the formula on a piece, at the begin of `memory`.
  std::span<double const> evaluate_piece(Scene const& scene, Task const& task, Piece const& piece,
                                         Buffer<double>& memory) const {
    std::vector<evaluate::ArrayView> arrays;
    std::vector<Buffer<float>> floats;
    std::vector<Buffer<double>> doubles;
    for (std::size_t i = 0; i < task.arrays.size(); ++i) {
      auto const [place, component] = task.arrays[i];
      Field const& field = scene.fields[place];
      if (!task.reads[i])
        arrays.push_back({field.data, field.precision});
      else if (field.precision == Precision::float32)
        arrays.push_back(view(scene.stream, field, component, piece, floats));
      else
        arrays.push_back(view(scene.stream, field, component, piece, doubles));
    }
    arrays.push_back({weights_.data(), Precision::float64});
    Buffer<evaluate::DeviceClock> clock(scene.stream, MemorySpace::device, 1);
    evaluate::set_clock(scene.stream, clock.data(), {scene.clock.time, 0, 0});
    auto const values = memory.span().first(static_cast<std::size_t>(piece.grid.size()));
    evaluate::evaluate<double>(scene.stream, task.program, piece.grid, clock.data(), 0, values,
                               arrays);
    return values;
  }

  /// Throws `NumericalError` for a formula that is not finite somewhere, unless there may be gaps.
  bool is_finite(Task const& task, Clock const& clock) const {
    for (std::size_t p = 0; p < pieces_.size(); ++p) {
      std::int64_t const index = task.found.span()[p].first_non_finite;
      if (index < 0) continue;
      if (may_have_gaps_) return false;
      throw NumericalError(fmt::format("{} is not finite at {}, step {}, time {}", task.name,
                                       format_place(grid_, pieces_[p].first + index), clock.step,
                                       clock.time));
    }
    return true;
  }

  double integral(Task const& task) const {
    double sum = 0;
    for (std::size_t p = 0; p < pieces_.size(); ++p)
      sum += pieces_[p].weight * task.found.span()[p].sum;
    for (int axis = 0; axis < grid_.dims; ++axis) sum *= grid_.spacing[axis];
    return sum;
  }

  void add_extreme(Task const& task, Scene const& scene, std::vector<double>& values) const {
    auto const found = task.found.span();
    auto const best = find == Find::minimum
                          ? std::ranges::min_element(found, {}, &Moments::minimum)
                          : std::ranges::max_element(found, {}, &Moments::maximum);
    double const value = find == Find::minimum ? best->minimum : best->maximum;
    values.push_back(value);
    if (!task.where) return;
    auto const at = grid_.indices(
        place_of(value, task, pieces_[static_cast<std::size_t>(best - found.begin())], scene));
    for (int axis = 0; axis < grid_.dims; ++axis)
      values.push_back(grid_.coordinate(axis, at[axis]));
  }

  /// The first point of the piece with this value, which some point of it has.
  std::int64_t place_of(double value, Task const& task, Piece const& piece,
                        Scene const& scene) const {
    Stream& stream = scene.stream;
    Buffer<double> values(stream, MemorySpace::device, values_of_piece(grid_));
    Buffer<double> marks(stream, MemorySpace::device, values_of_piece(grid_));
    evaluate::ArrayView const array{evaluate_piece(scene, task, piece, values).data(),
                                    Precision::float64};
    evaluate::Program const program(stream, mark(value),
                                    evaluate::default_variant(stream.backend()));
    auto const target = marks.span().first(static_cast<std::size_t>(piece.grid.size()));
    evaluate::evaluate<double>(stream, program, piece.grid, nullptr, 0, target,
                               std::span(&array, 1));
    return piece.first + first_non_finite<double>(stream, target, reduce_variant_);
  }

  Grid grid_;
  std::vector<Piece> pieces_;
  bool may_have_gaps_;
  std::string reduce_variant_;
  Buffer<double> weights_;  ///< of an integral, on one piece
  std::vector<Task> tasks_;
};

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
          .of_all = [](config::RunOptions const& run, std::span<Field const> fields,
                       Stream& stream) -> std::unique_ptr<SceneFinder> {
            return std::make_unique<FormulaFinder<find>>(run, fields, stream);
          },
          .bytes = bytes<find>};
}

}  // namespace

DiagnosticRow integral_row() {
  return row<Find::integral>("The integral of a formula over the grid, by the trapezoidal rule.");
}

DiagnosticRow minimum_row() { return row<Find::minimum>("The least value of a formula."); }

DiagnosticRow maximum_row() { return row<Find::maximum>("The greatest value of a formula."); }

}  // namespace gridstride

#include "driver/formulas.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "config/run_fields.hpp"
#include "config/visitor.hpp"
#include "core/buffer.hpp"
#include "driver/diagnostics/numbers.hpp"
#include "kernels/evaluate/evaluate.hpp"
#include "model/rank_files.hpp"
#include "model/reading.hpp"
#include "model/values.hpp"

namespace gridstride {

namespace {

using config::Formula;
using config::Spec;
using expression::Expression;

/// Finds the formulas of space alone among a simulation's parameters.
class FormulaVisitor final : public config::Visitor {
 public:
  std::vector<Formula const*> found;

  void visit(Spec const& spec, Formula& value) override {
    bool const of_fields = value.expression.variable_count() > expression::first_array;
    if (spec.variables.find('x') != std::string_view::npos && !of_fields) found.push_back(&value);
  }
  void optional_formula(Spec const& spec, Formula& value) override {
    if (!value.text.empty()) visit(spec, value);
  }
  void section(Spec const&, config::Body const& body) override { body(*this); }
  void forms(Spec const&, config::Presence, std::span<config::Form const> forms,
             int& chosen) override {
    if (chosen >= 0 && forms[static_cast<std::size_t>(chosen)].body)
      forms[static_cast<std::size_t>(chosen)].body(*this);
  }

  void visit(Spec const&, double&) override {}
  void visit(Spec const&, std::int64_t&) override {}
  void visit(Spec const&, bool&) override {}
  void visit(Spec const&, std::optional<double>&, std::string_view) override {}
  void text(Spec const&, config::TextForm const&, std::string&) override {}
  void source(Spec const&, config::SourceText&) override {}
  void choice(Spec const&, std::span<config::Choice const>, std::string&) override {}
  void subset(Spec const&, std::span<config::Choice const>, std::vector<std::string>&) override {}
  bool list(Spec const&, config::ListShape const&, std::vector<double>&) override { return false; }
  bool list(Spec const&, config::ListShape const&, std::vector<std::int64_t>&) override {
    return false;
  }
  void constants(Spec const&, expression::Symbols&) override {}

 private:
  void visit_items(Spec const& spec, std::size_t count, Element const& element) override {
    for (std::size_t i = 0; i < count; ++i) element(spec, i);
  }
  void visit_named(Spec const& spec, config::Presence, std::span<std::string const> names,
                   Element const& element) override {
    for (std::size_t i = 0; i < names.size(); ++i) element(spec, i);
  }
};

/// The grid without the points of sides where all of some fields have a value of their own, but for
/// those of `face`.
Grid without_given_sides(Grid grid, std::span<config::Sides const> fields, int face = -1) {
  for (int axis = 0; axis < grid.dims; ++axis) {
    if (axis == face) continue;
    auto const given = [&](std::size_t side) {
      return std::ranges::all_of(fields, [&](config::Sides const& sides) {
        SideKind const kind = sides[static_cast<std::size_t>(axis)][side].kind;
        return kind == SideKind::dirichlet || kind == SideKind::fixed;
      });
    };
    if (given(0)) grid.origin[axis] = grid.coordinate(axis, 1);
    grid.points[axis] -= (given(0) ? 1 : 0) + (given(1) ? 1 : 0);
  }
  return grid;
}

/// One point for all along an axis that a formula does not depend on.
Grid reduced(Grid grid, Expression const& formula) {
  for (int axis = 0; axis < grid.dims; ++axis)
    if (!formula.depends_on(axis)) grid.points[axis] = 1;
  return grid;
}

template <class T>
bool is_finite(double value) {
  return std::isfinite(static_cast<T>(value));
}

std::string format_number(double value) {
  return std::isnan(value) ? "nan" : fmt::format("{:g}", value);
}

/// `is nan at x = 0.5 (all values have to be finite)`
std::string format_bad(double value, std::string const& place, Precision precision) {
  return fmt::format("is {} at {} ({})", format_number(value), place,
                     std::isfinite(value)
                         ? fmt::format("{} does not reach that far", name_of(precision))
                         : "all values have to be finite");
}

/// What the precision has with all its digits, and no subnormal numbers.
double least_of(Precision precision) {
  return precision == Precision::float32 ? double{std::numeric_limits<float>::min()}
                                         : std::numeric_limits<double>::min();
}

std::string format_too_small(double largest, Precision precision) {
  return fmt::format(
      "has no value larger than {:g} ({} has all digits from {:.2g} on; {}other units help)",
      largest, name_of(precision), least_of(precision),
      precision == Precision::float32 ? "float64 or " : "");
}

/// What a formula is at time t on a grid.
struct Look {
  std::string fault;   ///< of a value that is not finite
  double largest = 0;  ///< magnitude
};

template <class T>
Look look_at(Stream& stream, Expression const& formula, Grid const& whole, double time) {
  constexpr std::int64_t piece_size = std::int64_t{1} << 20;
  Grid const grid = reduced(whole, formula);
  evaluate::Program const program(stream, formula, evaluate::default_variant(stream.backend()));
  Buffer<evaluate::DeviceClock> clock(stream, MemorySpace::device, 1);
  evaluate::set_clock(stream, clock.data(), {time, 0, 0});
  int const axis = grid.dims - 1;
  std::int64_t const line = grid.face_size(axis);
  std::int64_t const lines = std::clamp<std::int64_t>(piece_size / line, 1, grid.points[axis]);
  Buffer<T> values(stream, MemorySpace::device, static_cast<std::size_t>(lines * line));
  Look look;
  for (std::int64_t first = 0; first < grid.points[axis]; first += lines) {
    Grid piece = grid;
    piece.points[axis] = std::min(lines, grid.points[axis] - first);
    piece.origin[axis] = grid.coordinate(axis, first);
    auto const span = values.span().first(static_cast<std::size_t>(piece.size()));
    evaluate::evaluate<T>(stream, program, piece, clock.data(), 0, span);
    auto const moments = moments_of<T>(stream, span, "auto");
    look.largest = std::max({look.largest, std::abs(static_cast<double>(moments.minimum)),
                             std::abs(static_cast<double>(moments.maximum))});
    std::int64_t const index = moments.first_non_finite;
    if (index < 0) continue;
    auto const at = grid.indices(first * line + index);
    double const value = formula.evaluate(grid.coordinate(0, at[0]), grid.coordinate(1, at[1]),
                                          grid.coordinate(2, at[2]), time);
    // The coordinates of a piece are rounded otherwise than those of the grid.
    if (is_finite<T>(value)) continue;
    std::string place = format_place(grid, first * line + index);
    if (formula.depends_on(expression::time_variable)) place += fmt::format(", t = {}", time);
    look.fault = format_bad(value, place, precision_of<T>());
    return look;
  }
  return look;
}

/// What a formula has wrong at time t on a grid, if anything; one of all points, that is the same at
/// all times, has values that T tells from 0 with all their digits, or none.
template <class T>
std::string fault_of(Stream& stream, Expression const& formula, Grid const& grid, double time,
                     bool of_all_points) {
  auto const look = look_at<T>(stream, formula, grid, time);
  bool const may_vanish = of_all_points && !formula.depends_on(expression::time_variable);
  if (!look.fault.empty() || !may_vanish || !(look.largest < least_of(precision_of<T>())))
    return look.fault;
  double const largest = look_at<double>(stream, formula, grid, time).largest;
  return largest == 0 ? std::string() : format_too_small(largest, precision_of<T>());
}

/// Writes down what formulas have wrong.
class Search {
 public:
  Search(config::RunConfig const& run, Stream& stream) : run_(run), stream_(stream) {}

  /// At the formulas of a vector, or else at the one.
  void look(Formula const& formula, std::vector<Formula> const& components, Grid const& grid,
            bool of_all_points) {
    for (Formula const& component : components) look(component, grid, 0, of_all_points);
    if (components.empty()) look(formula, grid, 0, of_all_points);
  }

  void look(Formula const& formula, Grid const& grid, double time, bool of_all_points) {
    auto const& expression = formula.expression;
    auto const fault = run_.precision == Precision::float32
                           ? fault_of<float>(stream_, expression, grid, time, of_all_points)
                           : fault_of<double>(stream_, expression, grid, time, of_all_points);
    if (fault.empty()) return;
    Problem const problem = run_.problem(formula.location, fault);
    // One formula may hold for several fields.
    auto const is_same = [&](Problem const& other) { return other.text() == problem.text(); };
    if (std::ranges::none_of(problems, is_same)) problems.push_back(problem);
  }

  std::vector<Problem> problems;

 private:
  config::RunConfig const& run_;
  Stream& stream_;
};

void look_at_sides(Search& search, config::RunConfig const& run, config::Sides const& sides) {
  for (int axis = 0; axis < run.grid.dims; ++axis)
    for (int side = 0; side < 2; ++side) {
      auto const& condition = sides[static_cast<std::size_t>(axis)][static_cast<std::size_t>(side)];
      constexpr SideKind with_values[] = {SideKind::dirichlet, SideKind::neumann, SideKind::robin,
                                          SideKind::flux};
      if (std::ranges::find(with_values, condition.kind) == std::end(with_values)) continue;
      Grid const face = without_given_sides(face_of(run.grid, axis, side), {&sides, 1}, axis);
      // Values of sides may fade away to nothing, beside what a field begins with or elsewhere. One that is
      // the same everywhere is meant: a slope, which counts times a distance, and what has no beginning.
      bool const counts = condition.kind != SideKind::dirichlet || !run.simulation->has_time;
      auto const look = [&](Formula const& formula) {
        search.look(formula, face, 0, counts && formula.expression.is_constant());
      };
      if (condition.components.empty()) look(condition.value);
      for (Formula const& component : condition.components) look(component);
      for (Formula const& factor : condition.factors) look(factor);
    }
}

}  // namespace

std::vector<Problem> formula_problems(config::RunConfig const& run, Stream& stream) {
  if (!run.has_grid) return {};
  Search search(run, stream);
  for (auto const& [name, source] : run.initial)
    if (source.file.empty())
      search.look(source.formula, source.components,
                  without_given_sides(run.grid, {&run.sides_of(name), 1}), true);
  for (config::Sides const& sides : run.boundary) look_at_sides(search, run, sides);
  FormulaVisitor parameters;
  run.parameters->fields(parameters, run);
  Grid const inner = without_given_sides(run.grid, run.boundary);
  for (Formula const* formula : parameters.found) search.look(*formula, inner, 0, true);
  auto const numbers = config::numbers_of(run.fields);
  for (auto const& [name, formula] : run.verify.exact)
    if (!std::ranges::find(numbers, name, &config::FieldInfo::name)->own_grid)
      search.look(formula, run.grid, run.time.end, false);
  return std::move(search.problems);
}

std::vector<Problem> file_problems(config::RunConfig const& run,
                                   std::span<config::FieldSource const> sources,
                                   Inputs const& inputs) {
  std::vector<Problem> problems;
  if (!run.has_grid) return problems;
  for (config::FieldSource const& source : sources) {
    double least = least_of(run.precision);
    if (source.squares) least = std::sqrt(least);
    double const found = first_magnitude(source, inputs, least);
    if (found == 0 || found >= least) continue;
    double const value = source.squares ? found * found : found;
    problems.push_back(run.problem(
        source.location, fmt::format("{} {}{}", describe(source), source.squares ? "squared " : "",
                                     format_too_small(value, run.precision))));
  }
  return problems;
}

namespace {

[[noreturn]] void refuse_start(config::RunConfig const& run, Field const& field, std::int64_t index,
                               double value) {
  auto const source = run.initial.find(field.name);
  bool const given = source != run.initial.end();
  std::string const derived = "output.derived." + field.name;
  std::string const number =
      given && field.components == 1
          ? std::string()
          : number_name(run.fields, field, static_cast<int>(index % field.components)) + ' ';
  throw ConfigError({run.problem(
      given                             ? source->second.location
      : run.locations.contains(derived) ? run.location(derived)
                                        : run.initial_location,
      fmt::format("{}is {} at {} in {} (all values have to be finite)", number,
                  format_number(value), format_place(field.grid, index / field.components),
                  name_of(run.precision)))});
}

/// Of ranks, each looks at its part.
void require_finite_parts(config::RunConfig const& run, Simulation& simulation) try {
  simulation.write_parts({}, false);
} catch (NotFinite const& found) {
  for (Field const& field : simulation.fields_in_parts())
    if (field.name == found.field) refuse_start(run, field, found.place, found.value);
  throw;
}

}  // namespace

void require_finite_start(config::RunConfig const& run, Simulation& simulation, Stream& stream) {
  if (simulation.has_parts()) return require_finite_parts(run, simulation);
  auto const look = [&]<class T>(Field const& field, std::span<T const> values) {
    std::int64_t const index = first_non_finite(stream, values, "auto");
    if (index < 0) return;
    T value = 0;
    copy_async(std::span(&value, 1), values.subspan(static_cast<std::size_t>(index), 1), stream);
    stream.synchronize();
    refuse_start(run, field, index, static_cast<double>(value));
  };
  for (Field const& field : simulation.fields()) {
    auto const size = static_cast<std::size_t>(field.values());
    if (field.precision == Precision::float32)
      look(field, std::span(static_cast<float const*>(field.data), size));
    else
      look(field, std::span(static_cast<double const*>(field.data), size));
  }
}

}  // namespace gridstride

#include "io/compare.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "core/nearly_equal.hpp"
#include "core/root_mean_square.hpp"
#include "core/text.hpp"

namespace gridstride::io {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// The one of that name; null where there is none.
template <class Info>
Info const* find_named(std::vector<Info> const& all, std::string const& name) {
  auto const found = std::ranges::find(all, name, &Info::name);
  return found == all.end() ? nullptr : &*found;
}

std::string describe_components(int components) {
  return components == 1 ? "one number at each point" : fmt::format("{} components", components);
}

/// The fields of both files that can be compared; notes the others. Values of two types can be
/// within a tolerance of each other, but are not the same.
std::vector<std::string> match_fields(ResultFile const& a, ResultFile const& b, bool exactly,
                                      Comparison& result) {
  auto& mismatches = result.mismatches;
  std::vector<std::string> common;
  for (auto const& field : a.fields()) {
    auto const* other = find_named(b.fields(), field.name);
    if (other == nullptr) {
      mismatches.push_back(fmt::format("field '{}' is in A alone", field.name));
      continue;
    }
    if (field.components != other->components) {
      mismatches.push_back(fmt::format("field '{}' has {} in A, {} in B", field.name,
                                       describe_components(field.components),
                                       describe_components(other->components)));
      continue;
    }
    common.push_back(field.name);
    if (field.precision != other->precision)
      (exactly ? mismatches : result.notes)
          .push_back(fmt::format("field '{}' is {} in A, {} in B", field.name,
                                 name_of(field.precision), name_of(other->precision)));
    if (field.unit != other->unit)
      mismatches.push_back(fmt::format("field '{}' is in '{}' in A, in '{}' in B", field.name,
                                       field.unit, other->unit));
  }
  for (auto const& field : b.fields())
    if (find_named(a.fields(), field.name) == nullptr)
      mismatches.push_back(fmt::format("field '{}' is in B alone", field.name));
  if (a.fields().empty() && b.fields().empty() && a.tables().empty() && b.tables().empty())
    mismatches.push_back("there is no field in A or B (nothing can be compared)");
  return common;
}

/// Whether fields on these grids have the same shape; `of` names a grid but for the result's.
bool match_grids(Grid const& a, Grid const& b, std::string const& of,
                 std::vector<std::string>& mismatches) {
  if (a.dims != b.dims || a.points != b.points) {
    mismatches.push_back(fmt::format("the grid{} has {} points in A, {} in B", of, format_points(a),
                                     format_points(b)));
    return false;
  }
  for (int axis = 0; axis < a.dims; ++axis) {
    if (!nearly_equal(a.origin[axis], b.origin[axis]))
      mismatches.push_back(fmt::format("axis {}{} starts at {} in A, at {} in B", axis_names[axis],
                                       of, format_exact(a.origin[axis]),
                                       format_exact(b.origin[axis])));
    if (!nearly_equal(a.spacing[axis], b.spacing[axis]))
      mismatches.push_back(fmt::format("axis {}{} has spacing {} in A, {} in B", axis_names[axis],
                                       of, format_exact(a.spacing[axis]),
                                       format_exact(b.spacing[axis])));
  }
  return true;
}

/// The same for the grids of a field, unless both are those of the results.
bool match_grids_of(ResultFile const& a, ResultFile const& b, std::string const& field,
                    std::vector<std::string>& mismatches) {
  auto const &of_a = a.field(field), &of_b = b.field(field);
  if (!of_a.own_grid && !of_b.own_grid) return true;
  return match_grids(a.grid_of(of_a), b.grid_of(of_b), fmt::format(" of '{}'", field), mismatches);
}

/// How many outputs can be compared. The same fields at the same times may come of other steps, which
/// are others to the last bit alone.
std::size_t match_times(ResultFile const& a, ResultFile const& b, bool exactly,
                        Comparison& result) {
  auto& mismatches = result.mismatches;
  auto const& times_a = a.times();
  auto const& times_b = b.times();
  auto const common = std::min(times_a.size(), times_b.size());
  if (times_a.size() != times_b.size())
    mismatches.push_back(
        fmt::format("there are {} steps in A, {} in B", times_a.size(), times_b.size()));
  auto const is_same = [&](double x, double y) {
    return exactly ? x == y || (std::isnan(x) && std::isnan(y)) : nearly_equal(x, y);
  };
  for (std::size_t i = 0; i < common; ++i)
    if (!is_same(times_a[i], times_b[i])) {
      mismatches.push_back(fmt::format("step {} is at time {} in A, {} in B", i,
                                       format_exact(times_a[i]), format_exact(times_b[i])));
      break;
    }
  for (std::size_t i = 0; i < common; ++i)
    if (a.steps()[i] != b.steps()[i]) {
      (exactly ? mismatches : result.notes)
          .push_back(fmt::format("output {} comes after {} steps of the run in A, {} in B", i,
                                 a.steps()[i], b.steps()[i]));
      break;
    }
  if (times_a.empty() && times_b.empty())
    mismatches.push_back("there is no step in A or B (nothing can be compared)");
  return common;
}

struct PointDifference {
  double absolute = 0;
  double relative = 0;
  double used = 0;  ///< the part of the tolerance that it takes; above 1 is a violation

  bool operator<(PointDifference const& other) const {
    return used < other.used || (used == other.used && absolute < other.absolute);
  }
};

PointDifference difference(double a, double b, double rtol, double atol) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return {};
  double const absolute = std::abs(a - b);
  if (!std::isfinite(absolute)) return {infinity, infinity, infinity};
  double const relative = b == 0 ? infinity : absolute / std::abs(b);
  return {absolute, relative, absolute / (atol + rtol * std::abs(b))};
}

/// Of whole numbers, as places and counts are, one that differs is another.
PointDifference difference(std::int64_t a, std::int64_t b, double, double) {
  if (a == b) return {};
  auto const x = static_cast<double>(a), y = static_cast<double>(b);
  return {std::abs(x - y), b == 0 ? infinity : std::abs(x - y) / std::abs(y), infinity};
}

/// Adds the values of one step to what is known of a field or a column. `worst` is the largest
/// difference so far; `place(i)` notes where value i lies.
template <class T, class Place>
void add_values(FieldDifference& one, PointDifference& worst, std::vector<T> const& a,
                std::vector<T> const& b, double rtol, double atol, Place const& place) {
  RootMeanSquare differences;
  for (std::size_t i = 0; i < a.size(); ++i) {
    auto const point = difference(a[i], b[i], rtol, atol);
    differences.add(point.absolute);
    one.max_absolute = std::max(one.max_absolute, point.absolute);
    one.max_relative = std::max(one.max_relative, point.relative);
    if (point.used > 1) ++one.violations;
    if (!(worst < point)) continue;
    worst = point;
    place(i);
    one.value_a = static_cast<double>(a[i]);
    one.value_b = static_cast<double>(b[i]);
  }
  if (!a.empty()) one.l2 = std::max(one.l2, differences.value());
}

FieldDifference compare_field(ResultFile const& a, ResultFile const& b, std::string const& name,
                              std::size_t steps, double rtol, double atol) {
  FieldDifference field;
  field.name = name;
  PointDifference worst;
  worst.used = -1;  // below any point's
  FieldInfo const& info = a.field(name);
  auto const components = static_cast<std::size_t>(info.components);
  std::vector<double> values_a(a.values_of(info));
  std::vector<double> values_b(values_a.size());
  for (std::size_t step = 0; step < steps; ++step) {
    a.read(name, step, values_a);
    b.read(name, step, values_b);
    add_values(field, worst, values_a, values_b, rtol, atol, [&](std::size_t i) {
      field.time_index = step;
      field.time = a.times()[step];
      field.indices = a.grid_of(info).indices(static_cast<std::int64_t>(i / components));
      if (components > 1) field.component = static_cast<int>(i % components);
    });
  }
  return field;
}

std::string_view type_name(ColumnInfo const& column) { return column.whole ? "int64" : "float64"; }

/// Whether the columns have the same names and types; units may still differ.
bool match_columns(TableInfo const& a, TableInfo const& b, std::vector<std::string>& mismatches) {
  auto const before = mismatches.size();
  auto const note = [&](std::string const& column, std::string const& what) {
    mismatches.push_back(fmt::format("column '{}.{}' is {}", a.name, column, what));
  };
  for (auto const& column : b.columns)
    if (find_named(a.columns, column.name) == nullptr) note(column.name, "in B alone");
  for (auto const& column : a.columns) {
    auto const* other = find_named(b.columns, column.name);
    if (other == nullptr)
      note(column.name, "in A alone");
    else if (other->whole != column.whole)
      note(column.name, fmt::format("{} in A, {} in B", type_name(column), type_name(*other)));
  }
  bool const alike = mismatches.size() == before;
  for (auto const& column : a.columns)
    if (auto const* other = find_named(b.columns, column.name);
        other != nullptr && other->unit != column.unit)
      note(column.name, fmt::format("in '{}' in A, in '{}' in B", column.unit, other->unit));
  return alike;
}

/// Whether a table has as many rows in both files at each step; notes the first step where not.
bool match_rows(ResultFile const& a, ResultFile const& b, std::string const& table,
                std::size_t steps, std::vector<std::string>& mismatches) {
  for (std::size_t step = 0; step < steps; ++step) {
    auto const rows_a = a.rows(table, step), rows_b = b.rows(table, step);
    if (rows_a == rows_b) continue;
    mismatches.push_back(fmt::format("table '{}' has {} rows at step {} in A, {} in B", table,
                                     rows_a, step, rows_b));
    return false;
  }
  return true;
}

/// The columns of a table that has the same ones, and as many rows, in both files.
std::vector<FieldDifference> compare_columns(ResultFile const& a, ResultFile const& b,
                                             TableInfo const& table, std::size_t steps, double rtol,
                                             double atol) {
  std::vector<FieldDifference> found(table.columns.size());
  std::vector<PointDifference> worst(found.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    found[i].name = table.name + '.' + table.columns[i].name;
    worst[i].used = -1;  // below any row's
  }
  for (std::size_t step = 0; step < steps; ++step) {
    Table const rows_a = a.read_table(table.name, step), rows_b = b.read_table(table.name, step);
    for (std::size_t i = 0; i < found.size(); ++i) {
      auto const& other = *find_named(rows_b.columns, table.columns[i].name);
      std::visit(
          [&]<class T>(std::vector<T> const& numbers) {
            add_values(found[i], worst[i], numbers, std::get<std::vector<T>>(other.numbers), rtol,
                       atol, [&](std::size_t row) {
                         found[i].time_index = step;
                         found[i].time = a.times()[step];
                         found[i].indices = {static_cast<std::int64_t>(row), 0, 0};
                       });
          },
          rows_a.columns[i].numbers);
    }
  }
  return found;
}

void compare_tables(ResultFile const& a, ResultFile const& b, std::size_t steps, double rtol,
                    double atol, Comparison& result) {
  for (auto const& table : b.tables())
    if (find_named(a.tables(), table.name) == nullptr)
      result.mismatches.push_back(fmt::format("table '{}' is in B alone", table.name));
  for (auto const& table : a.tables()) {
    auto const* other = find_named(b.tables(), table.name);
    if (other == nullptr) {
      result.mismatches.push_back(fmt::format("table '{}' is in A alone", table.name));
      continue;
    }
    if (!match_columns(table, *other, result.mismatches) ||
        !match_rows(a, b, table.name, steps, result.mismatches))
      continue;
    auto const columns = compare_columns(a, b, table, steps, rtol, atol);
    result.columns.insert(result.columns.end(), columns.begin(), columns.end());
  }
}

/// What stands in the table of all differences.
std::string line_of(FieldDifference const& one, std::string const& place) {
  return fmt::format(
      "{:<12} {:>10.3e} {:>10.3e} {:>10.3e} {:>10}  step {} (t = {:.6g}) at {}: {} and {}\n",
      one.name, one.max_absolute, one.max_relative, one.l2, one.violations, one.time_index,
      one.time, place, format_exact(one.value_a), format_exact(one.value_b));
}

}  // namespace

bool Comparison::equal() const {
  auto const holds = [](FieldDifference const& one) { return one.violations == 0; };
  return mismatches.empty() && std::ranges::all_of(fields, holds) &&
         std::ranges::all_of(columns, holds);
}

std::string Comparison::table() const {
  std::string text = fmt::format("{:<12} {:>10} {:>10} {:>10} {:>10}  {}\n", "field", "max abs",
                                 "max rel", "L2", "violations", "worst point");
  for (auto const& field : fields)
    text += line_of(
        field,
        fmt::format("({}){}", fmt::join(field.indices, ", "),
                    field.component < 0 ? "" : fmt::format(", component {}", field.component)));
  for (auto const& column : columns)
    text += line_of(column, fmt::format("row {}", column.indices[0]));
  for (auto const& note : notes) text += fmt::format("note: {}\n", note);
  for (auto const& mismatch : mismatches) text += fmt::format("mismatch: {}\n", mismatch);
  return text + (equal() ? "equal within tolerance\n" : "DIFFERENT\n");
}

Comparison compare(ResultFile const& a, ResultFile const& b, double rtol, double atol) {
  for (auto const& [name, tolerance] : {std::pair("rtol", rtol), std::pair("atol", atol)})
    if (!(tolerance >= 0) || !std::isfinite(tolerance))
      throw std::invalid_argument(fmt::format(
          "compare: {} is {} (a tolerance is finite and not negative)", name, tolerance));
  Comparison result;
  bool const exactly = rtol == 0 && atol == 0;
  auto const names = match_fields(a, b, exactly, result);
  bool const same_shape = match_grids(a.grid(), b.grid(), "", result.mismatches);
  auto const steps = match_times(a, b, exactly, result);
  compare_tables(a, b, steps, rtol, atol, result);
  if (!same_shape) return result;
  for (auto const& name : names)
    if (match_grids_of(a, b, name, result.mismatches))
      result.fields.push_back(compare_field(a, b, name, steps, rtol, atol));
  return result;
}

Comparison compare(std::filesystem::path const& a, std::filesystem::path const& b, double rtol,
                   double atol) {
  return compare(ResultFile(a), ResultFile(b), rtol, atol);
}

}  // namespace gridstride::io

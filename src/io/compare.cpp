#include "io/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "core/root_mean_square.hpp"
#include "core/text.hpp"

namespace gridstride::io {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

FieldInfo const* find_field(ResultFile const& file, std::string const& name) {
  for (auto const& field : file.fields())
    if (field.name == name) return &field;
  return nullptr;
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
    auto const* other = find_field(b, field.name);
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
    if (find_field(a, field.name) == nullptr)
      mismatches.push_back(fmt::format("field '{}' is in B alone", field.name));
  if (a.fields().empty() && b.fields().empty())
    mismatches.push_back("there is no field in A or B (nothing can be compared)");
  return common;
}

/// Whether the fields have the same shape.
bool match_grids(Grid const& a, Grid const& b, std::vector<std::string>& mismatches) {
  if (a.dims != b.dims || a.points != b.points) {
    mismatches.push_back(
        fmt::format("the grid has {} points in A, {} in B", format_points(a), format_points(b)));
    return false;
  }
  for (int axis = 0; axis < a.dims; ++axis) {
    if (!nearly_equal(a.origin[axis], b.origin[axis]))
      mismatches.push_back(fmt::format("axis {} starts at {} in A, at {} in B", axis_names[axis],
                                       format_exact(a.origin[axis]), format_exact(b.origin[axis])));
    if (!nearly_equal(a.spacing[axis], b.spacing[axis]))
      mismatches.push_back(fmt::format("axis {} has spacing {} in A, {} in B", axis_names[axis],
                                       format_exact(a.spacing[axis]),
                                       format_exact(b.spacing[axis])));
  }
  return true;
}

/// How many steps can be compared.
std::size_t match_times(ResultFile const& a, ResultFile const& b,
                        std::vector<std::string>& mismatches) {
  auto const& times_a = a.times();
  auto const& times_b = b.times();
  auto const common = std::min(times_a.size(), times_b.size());
  if (times_a.size() != times_b.size())
    mismatches.push_back(
        fmt::format("there are {} steps in A, {} in B", times_a.size(), times_b.size()));
  for (std::size_t i = 0; i < common; ++i)
    if (!nearly_equal(times_a[i], times_b[i])) {
      mismatches.push_back(fmt::format("step {} is at time {} in A, {} in B", i,
                                       format_exact(times_a[i]), format_exact(times_b[i])));
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

/// Adds one step to what is known of a field. `worst` is the largest difference so far.
void add_step(FieldDifference& field, PointDifference& worst, ResultFile const& file,
              std::size_t step, std::vector<double> const& a, std::vector<double> const& b,
              double rtol, double atol) {
  auto const components = static_cast<std::size_t>(file.field(field.name).components);
  RootMeanSquare differences;
  for (std::size_t i = 0; i < a.size(); ++i) {
    auto const point = difference(a[i], b[i], rtol, atol);
    differences.add(point.absolute);
    field.max_absolute = std::max(field.max_absolute, point.absolute);
    field.max_relative = std::max(field.max_relative, point.relative);
    if (point.used > 1) ++field.violations;
    if (!(worst < point)) continue;
    worst = point;
    field.time_index = step;
    field.time = file.times()[step];
    field.indices = file.grid().indices(static_cast<std::int64_t>(i / components));
    if (components > 1) field.component = static_cast<int>(i % components);
    field.value_a = a[i];
    field.value_b = b[i];
  }
  field.l2 = std::max(field.l2, differences.value());
}

FieldDifference compare_field(ResultFile const& a, ResultFile const& b, std::string const& name,
                              std::size_t steps, double rtol, double atol) {
  FieldDifference field;
  field.name = name;
  PointDifference worst;
  worst.used = -1;  // below any point's
  std::size_t const size = a.values_of(a.field(name));
  std::vector<double> values_a(size);
  std::vector<double> values_b(size);
  for (std::size_t step = 0; step < steps; ++step) {
    a.read(name, step, values_a);
    b.read(name, step, values_b);
    add_step(field, worst, a, step, values_a, values_b, rtol, atol);
  }
  return field;
}

}  // namespace

bool Comparison::equal() const {
  return mismatches.empty() && std::all_of(fields.begin(), fields.end(),
                                           [](auto const& field) { return field.violations == 0; });
}

std::string Comparison::table() const {
  std::string text = fmt::format("{:<12} {:>10} {:>10} {:>10} {:>10}  {}\n", "field", "max abs",
                                 "max rel", "L2", "violations", "worst point");
  for (auto const& field : fields)
    text += fmt::format(
        "{:<12} {:>10.3e} {:>10.3e} {:>10.3e} {:>10}  step {} (t = {:.6g}) at ({}, "
        "{}, {}){}: {} and {}\n",
        field.name, field.max_absolute, field.max_relative, field.l2, field.violations,
        field.time_index, field.time, field.indices[0], field.indices[1], field.indices[2],
        field.component < 0 ? "" : fmt::format(", component {}", field.component),
        format_exact(field.value_a), format_exact(field.value_b));
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
  auto const names = match_fields(a, b, rtol == 0 && atol == 0, result);
  bool const same_shape = match_grids(a.grid(), b.grid(), result.mismatches);
  auto const steps = match_times(a, b, result.mismatches);
  if (!same_shape) return result;
  for (auto const& name : names)
    result.fields.push_back(compare_field(a, b, name, steps, rtol, atol));
  return result;
}

Comparison compare(std::filesystem::path const& a, std::filesystem::path const& b, double rtol,
                   double atol) {
  return compare(ResultFile(a), ResultFile(b), rtol, atol);
}

}  // namespace gridstride::io

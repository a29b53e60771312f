#include "driver/diagnostics.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "kernels/evaluate/slabs.hpp"
#include "kernels/support/parallel_for.hpp"

namespace gridstride {

namespace {

/// Values that one thread sums by itself; fixed, so that the order of a sum is.
constexpr std::int64_t block_size = std::int64_t{1} << 16;

template <class T>
std::span<T const> values_of(Field const& field) {
  return {static_cast<T const*>(field.data), static_cast<std::size_t>(field.grid.size())};
}

/// Calls `body` with the field's values in their own type.
template <class Body>
auto with_values(Field const& field, Body const& body) {
  return field.precision == Precision::float32 ? body(values_of<float>(field))
                                               : body(values_of<double>(field));
}

struct Summary {
  double minimum = std::numeric_limits<double>::infinity();
  double maximum = -std::numeric_limits<double>::infinity();
  double sum = 0;
  double sum_of_squares = 0;

  void add(double value) {
    minimum = std::min(minimum, value);
    maximum = std::max(maximum, value);
    sum += value;
    sum_of_squares += value * value;
  }
  void add(Summary const& other) {
    minimum = std::min(minimum, other.minimum);
    maximum = std::max(maximum, other.maximum);
    sum += other.sum;
    sum_of_squares += other.sum_of_squares;
  }
};

template <class T>
Summary summarize(std::span<T const> values) {
  auto const size = static_cast<std::int64_t>(values.size());
  std::vector<Summary> parts((size + block_size - 1) / block_size);
  parallel_for(static_cast<std::int64_t>(parts.size()), [&](std::int64_t block) {
    Summary part;
    for (std::int64_t i = block * block_size; i < std::min(size, (block + 1) * block_size); ++i)
      part.add(static_cast<double>(values[i]));
    parts[block] = part;
  });
  Summary total;
  for (auto const& part : parts) total.add(part);
  return total;
}

/// Multilinear interpolation. A point beyond the last grid point of an axis (the gap that closes a
/// periodic axis) interpolates towards the first.
template <class T>
double interpolate(Grid const& grid, std::span<T const> values, std::array<double, 3> const& at) {
  std::array<std::array<std::int64_t, 2>, 3> place{};
  std::array<double, 3> share{};
  for (int axis = 0; axis < grid.dims; ++axis) {
    std::int64_t const points = grid.points[axis];
    double const position = (at[axis] - grid.origin[axis]) / grid.spacing[axis];
    auto const lower = std::clamp<std::int64_t>(static_cast<std::int64_t>(position), 0, points - 1);
    share[axis] = position - static_cast<double>(lower);
    place[axis] = {lower, (lower + 1) % points};
  }
  double result = 0;
  for (int corner = 0; corner < 1 << grid.dims; ++corner) {
    std::array<std::int64_t, 3> index{};
    double weight = 1;
    for (int axis = 0; axis < grid.dims; ++axis) {
      int const upper = corner >> axis & 1;
      index[axis] = place[axis][upper];
      weight *= upper == 1 ? share[axis] : 1 - share[axis];
    }
    auto const offset = index[0] + grid.points[0] * (index[1] + grid.points[1] * index[2]);
    if (weight != 0) result += weight * static_cast<double>(values[offset]);
  }
  return result;
}

}  // namespace

std::vector<std::string> diagnostic_names(config::DiagnosticsOptions const& options,
                                          std::span<Field const> fields) {
  std::vector<std::string> names;
  if (options.norms)
    for (Field const& field : fields)
      for (auto const* norm : {".min", ".max", ".mean", ".l2"}) names.push_back(field.name + norm);
  for (auto const& probe : options.probes) {
    auto const point = std::span(probe.at).first(static_cast<std::size_t>(fields[0].grid.dims));
    names.push_back(fmt::format("{}({})", probe.field, fmt::join(point, ", ")));
  }
  return names;
}

std::vector<io::NamedValue> diagnose(config::DiagnosticsOptions const& options,
                                     std::span<Field const> fields) {
  std::vector<double> values;
  if (options.norms) {
    for (Field const& field : fields) {
      auto const sums = with_values(field, [](auto data) { return summarize(data); });
      auto const count = static_cast<double>(field.grid.size());
      values.insert(values.end(), {sums.minimum, sums.maximum, sums.sum / count,
                                   std::sqrt(sums.sum_of_squares / count)});
    }
  }
  for (auto const& probe : options.probes) {
    auto const field = std::find_if(fields.begin(), fields.end(),
                                    [&](Field const& f) { return f.name == probe.field; });
    values.push_back(
        with_values(*field, [&](auto data) { return interpolate(field->grid, data, probe.at); }));
  }
  std::vector<io::NamedValue> result;
  for (auto const& name : diagnostic_names(options, fields))
    result.push_back({name, values[result.size()]});
  return result;
}

void require_finite(Field const& field, Clock const& clock) {
  with_values(field, [&](auto values) {
    auto const size = static_cast<std::int64_t>(values.size());
    std::vector<std::int64_t> first((size + block_size - 1) / block_size, -1);
    parallel_for(static_cast<std::int64_t>(first.size()), [&](std::int64_t block) {
      for (std::int64_t i = block * block_size; i < std::min(size, (block + 1) * block_size); ++i) {
        if (std::isfinite(values[i])) continue;
        first[block] = i;
        break;
      }
    });
    auto const found = std::find_if(first.begin(), first.end(), [](auto i) { return i >= 0; });
    if (found == first.end()) return;
    throw NumericalError(std::isnan(values[*found]) ? "NaN" : "infinity", clock.step, clock.time,
                         field.name, field.grid.indices(*found));
  });
}

ErrorNorms error_norms(Field const& field, expression::Expression const& exact, double time) {
  double sum_of_squares = 0, maximum = 0;
  with_values(field, [&](auto values) {
    evaluate::for_each_slab(exact, field.grid, time, [&](evaluate::Slab const& slab) {
      for (std::size_t i = 0; i < slab.values.size(); ++i) {
        auto const value = static_cast<double>(values[static_cast<std::size_t>(slab.first) + i]);
        double const error = std::abs(value - slab.values[i]);
        sum_of_squares += error * error;
        if (std::isnan(error) || error > maximum) maximum = error;
      }
    });
  });
  return {std::sqrt(sum_of_squares / static_cast<double>(field.grid.size())), maximum};
}

}  // namespace gridstride

#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/stream.hpp"
#include "driver/prepare.hpp"
#include "simulations/registry.hpp"
#include "support/one_shot.hpp"

/// Filters of signals that formulas give, without files, on any device.
namespace gridstride::test {

/// What a run came to, in float64.
struct Filtered {
  Grid grid;
  std::vector<double> u, signal;
  std::string chosen;
};

inline std::vector<double> values_of(Field const& field, Stream& stream) {
  auto const host = to_host(field, stream);
  auto const size = static_cast<std::size_t>(field.grid.size());
  auto const copied = [&]<class T>(T const* data) {
    return std::vector<double>(data, data + size);
  };
  return field.precision == Precision::float32
             ? copied(static_cast<float const*>(host.field.data))
             : copied(static_cast<double const*>(host.field.data));
}

inline Filtered filter_signal(std::string const& yaml, Backend backend) {
  OneShot done(yaml, backend);
  auto const fields = done.simulation->fields();
  return {fields[0].grid, values_of(fields[0], done.stream), values_of(fields[1], done.stream),
          done.simulation->chosen().at(0).text};
}

/// `points` as "40" or "40, 25", which lie 1 apart; `filters` as a config has them.
inline std::string filter_yaml(std::string const& points, std::string const& signal,
                               std::string const& filters, std::string const& precision = "float64",
                               std::string const& variant = "auto", std::string const& more = "") {
  std::string upper;
  for (std::size_t from = 0; from < points.size();) {
    std::size_t const comma = std::min(points.find(',', from), points.size());
    upper += fmt::format("{}{}", from == 0 ? "" : ", ", std::stol(points.substr(from)) - 1);
    from = comma + 1;
  }
  return fmt::format(
      "simulation: convolution\nprecision: {}\ngrid: {{points: [{}], upper: [{}]}}\n"
      "kernels: {{convolve: {}}}\nparameters:\n  signal: \"{}\"\n  filters: {}\n{}",
      precision, points, upper, variant, signal, filters, more);
}

inline double largest_difference(std::span<double const> a, std::span<double const> b) {
  EXPECT_EQ(a.size(), b.size());
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::fabs(a[i] - b[i]));
  return largest;
}

}  // namespace gridstride::test

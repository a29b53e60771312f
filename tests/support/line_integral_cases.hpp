#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "kernels/reduce/line_integrals.hpp"
#include "support/running_cases.hpp"

/// Integrals along one axis, on any device.
namespace gridstride::test {

inline std::vector<double> line_integrals(Stream& stream,
                                          reduce::IntegralOperation<double> const& operation,
                                          int axis, std::vector<double> const& values,
                                          std::int64_t rows) {
  auto const data = on_device(stream, values);
  std::int64_t const all = operation.points[static_cast<std::size_t>(operation.dims - 1)];
  std::size_t const width = values.size() / static_cast<std::size_t>(all);
  reduce::LineIntegrals lines(stream, operation, axis, rows);
  for_pieces(values.size(), static_cast<std::size_t>(rows) * width,
             [&](std::size_t first, std::size_t count) {
               lines.add(stream, data.span().subspan(first, count));
             });
  Buffer<double> target(stream, MemorySpace::device, static_cast<std::size_t>(lines.results()));
  lines.finish(stream, target.span());
  std::vector<double> results(target.size());
  copy_async(std::span(results), std::as_const(target).span(), stream);
  stream.synchronize();
  return results;
}

/// Each result within (n + 3)·2^-53·Σ|w·x| of the sum in long double.
inline void expect_line_sums(reduce::IntegralOperation<double> const& operation, int axis,
                             std::vector<double> const& weights, std::vector<double> const& values,
                             std::vector<double> const& found) {
  auto const [nx, ny, nz] = operation.points;
  std::int64_t const strides[] = {1, nx, nx * ny};
  auto const a = static_cast<std::size_t>(axis);
  std::int64_t const n = operation.points[a];
  ASSERT_EQ(std::ssize(found) * n, std::ssize(values));
  for (std::int64_t r = 0; r < std::ssize(found); ++r) {
    std::int64_t const inner = r % strides[a], start = r / strides[a] * strides[a] * n + inner;
    long double sum = 0, magnitude = 0;
    for (std::int64_t k = 0; k < n; ++k) {
      long double const term =
          static_cast<long double>(weights[static_cast<std::size_t>(k)]) *
          static_cast<long double>(values[static_cast<std::size_t>(start + k * strides[a])]);
      sum += term;
      magnitude += std::fabs(term);
    }
    long double const factor = operation.spacing[a] / 12.0L;
    long double const bound = static_cast<long double>(n + 3) * std::ldexp(1.0L, -53);
    ASSERT_NEAR(found[static_cast<std::size_t>(r)], sum * factor,
                bound * magnitude * std::fabs(factor))
        << r;
  }
}

/// Arrays with few and many lines, short and long ones, along every axis and by every rule; pieces
/// of all kinds give the bits of one piece.
inline void expect_line_integrals(Stream& stream) {
  using Points = std::array<std::int64_t, 3>;
  for (auto const& [dims, points] : {std::pair<int, Points>{2, {7, 5, 1}},
                                     {2, {3, 4097, 1}},
                                     {2, {4097, 3, 1}},
                                     {2, {1, 33, 1}},
                                     {2, {33, 1, 1}},
                                     {2, {2, 70001, 1}},
                                     {2, {70001, 2, 1}},
                                     {2, {1100, 129, 1}},
                                     {3, {5, 9, 17}},
                                     {3, {65, 33, 3}},
                                     {3, {3, 33, 65}}}) {
    auto const size = static_cast<std::size_t>(points[0] * points[1] * points[2]);
    auto const values = scan_data<double>(ScanData::random, size);
    for (int axis = 0; axis < dims; ++axis)
      for (auto const rule :
           {reduce::Rule::trapezoid, reduce::Rule::simpson, reduce::Rule::romberg}) {
        std::int64_t const n = points[static_cast<std::size_t>(axis)];
        bool const fits = n > 2 && ((n - 1) & (n - 2)) == 0;
        if (rule == reduce::Rule::romberg && !fits) continue;
        SCOPED_TRACE(fmt::format("{} along {} by rule {}", fmt::join(points, " x "), axis,
                                 static_cast<int>(rule)));
        reduce::IntegralOperation<double> operation{rule, dims, points, {0.5, -0.25, 3}};
        std::vector<double> tables(3 * reduce::romberg_places);
        if (fits)
          std::ranges::copy(reduce::romberg_weights(n),
                            tables.begin() + axis * reduce::romberg_places);
        operation.romberg = tables.data();
        std::vector<double> weights;
        for (std::int64_t k = 0; k < n; ++k) weights.push_back(operation.along(axis, k));
        auto const device_tables = on_device(stream, tables);
        operation.romberg = device_tables.data();
        std::int64_t const all = points[static_cast<std::size_t>(dims - 1)];
        auto const whole = line_integrals(stream, operation, axis, values, all);
        expect_line_sums(operation, axis, weights, values, whole);
        for (std::int64_t const rows : {std::int64_t{1}, std::int64_t{2}, all / 3 + 1}) {
          if (all > 5000 && rows <= 2) continue;
          EXPECT_EQ(line_integrals(stream, operation, axis, values, rows), whole) << rows;
        }
      }
  }
}

}  // namespace gridstride::test

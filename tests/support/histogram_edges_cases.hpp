#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "support/diagnostics_cases.hpp"

// Edges of histograms, and what lies on them.
namespace gridstride::test {

/// Rounded to T, a range with 10 bins of a tenth has edges that T tells from 0.3 and 0.7.
template <class T>
void expect_edges_to_be_exact(Backend backend) {
  auto const tenth = [](double x) { return static_cast<T>(x); };
  auto const edges = histogram_of<T>(backend, "bins: 10, range: [0, 1]", {0}).edges;
  for (std::size_t b = 1; b < 10; ++b) {
    auto const edge = tenth(edges[b]);
    auto const below = std::nextafter(edge, T(0));
    auto const counts =
        histogram_of<T>(backend, "bins: 10, range: [0, 1]", {below, edge, edge}).counts;
    EXPECT_EQ(counts[b - 1], 1) << edge;
    EXPECT_EQ(counts[b], 2) << edge;
  }
}

/// Bins over a field's own range hold what their edges say, as numpy.histogram has it.
template <class T>
void expect_own_edges_to_be_exact(Backend backend) {
  using Limits = std::numeric_limits<T>;
  std::vector<std::vector<T>> fields(4);
  for (int i = 0; i <= 3000; ++i) {
    fields[0].push_back(static_cast<T>((37 * i) % 3001));
    fields[1].push_back(static_cast<T>(0.1) * static_cast<T>(i % 11));
    fields[2].push_back(static_cast<T>(0.1));
    fields[3].push_back(static_cast<T>(i % 23) * 8 * Limits::denorm_min());
  }
  if (sizeof(T) == 4) fields.push_back({-Limits::max(), 0, 1, Limits::max() / 2, Limits::max()});
  for (auto const& values : fields)
    for (std::int64_t const bins : {1, 2, 7, 11, 100, 1000}) {
      auto const found = histogram_of<T>(backend, fmt::format("bins: {}", bins), values);
      std::vector<std::int64_t> expected(static_cast<std::size_t>(bins));
      for (T const value : values) {
        auto const above = std::ranges::upper_bound(found.edges, static_cast<double>(value));
        auto const bin = above - found.edges.begin() - 1;
        ++expected.at(static_cast<std::size_t>(std::min(bin, bins - 1)));
      }
      EXPECT_EQ(found.counts, expected) << values[1] << ' ' << bins;
    }
}

}  // namespace gridstride::test

#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace gridstride {

/// The ends of `bins` even bins from `lower` to `upper`, rounded to T.
template <class T>
std::vector<T> histogram_edges(double lower, double upper, std::int64_t bins) {
  double const width = (upper - lower) / static_cast<double>(bins);
  std::vector<T> edges(static_cast<std::size_t>(bins) + 1);
  for (std::size_t i = 0; i < edges.size(); ++i)
    edges[i] = static_cast<T>(lower + static_cast<double>(i) * width);
  edges.back() = static_cast<T>(upper);
  return edges;
}

/// Whether T tells the edges apart.
template <class T>
bool rise(std::vector<T> const& edges) {
  auto const not_below = [](T a, T b) { return !(a < b); };
  return std::isfinite(edges.front()) && std::isfinite(edges.back()) &&
         std::ranges::adjacent_find(edges, not_below) == edges.end();
}

}  // namespace gridstride

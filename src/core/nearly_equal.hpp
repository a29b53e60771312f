#pragma once

#include <algorithm>
#include <cmath>

namespace gridstride {

/// Whether two times or coordinates are the same, which are computed in float64 in one order of
/// operations or another: relative 1e-12.
inline bool nearly_equal(double a, double b) {
  constexpr double tolerance = 1e-12;
  double const larger = std::max(std::abs(a), std::abs(b));
  return a == b || (std::isfinite(larger) && std::abs(a - b) <= tolerance * larger);
}

}  // namespace gridstride

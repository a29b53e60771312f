#pragma once

#include <cmath>
#include <cstdint>

namespace gridstride {

/// What even bins, which are half-open, share out.
template <class T>
struct Interval {
  T lower, upper;
};

/// Whether `histogram::count_even` takes so many bins.
template <class T>
bool divisible(Interval<T> const& range, std::int64_t bins) {
  T const scale = static_cast<T>(bins) / (range.upper - range.lower);
  return range.lower < range.upper && scale != 0 && std::isfinite(scale);
}

}  // namespace gridstride

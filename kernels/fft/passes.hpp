#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "kernels/fft/fft.hpp"
#include "kernels/fft/lines.hpp"

/// Work as passes over the data, each along one axis; for the family's own files only.
namespace gridstride::fft {

/// Lines along one axis. Strides are in elements of their array, complex or real.
template <class T>
struct Pass {
  Task task;
  Kind kind;
  std::size_t axis;     ///< of the arrays, 0 to 2
  std::int64_t points;  ///< of a line; of its real side where the other one is complex
  T const* in;
  T* out;
  std::int64_t in_stride, out_stride;
  std::array<std::int64_t, 3> counts;  ///< of lines along the other axes, and of the batch
  std::array<std::int64_t, 3> in_strides, out_strides;

  // Of `solve`: eigenvalue constant + along[k] + across[0][line's index] + across[1][…]; null: 0.
  T const* along = nullptr;
  std::array<T const*, 2> across = {};
  T constant = 0;
  T scale = 1;  ///< what coefficients are multiplied by, beside

  std::int64_t lines() const { return counts[0] * counts[1] * counts[2]; }
};

/// What has to be done, in its order. Passes after the first are in place.
template <class T>
std::vector<Pass<T>> passes_of(Arguments<T> const& work);

LineKind line_kind(Kind kind);

/// What the round trip along an axis multiplies by.
std::int64_t period_of(Kind kind, std::int64_t points);

}  // namespace gridstride::fft

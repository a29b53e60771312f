#pragma once

#include "kernels/system/arguments.cuh"
#include "kernels/system/random.cuh"
#include "kernels/system/sides.cuh"

/// What the kernels of a stage do at a point beside its program. Free of other headers.
namespace gridstride::system {

__device__ __forceinline__ long long wrapped(long long i, long long points) {
  if (i >= 0 && i < points) return i;
  i %= points;
  return i < 0 ? i + points : i;
}

/// A coordinate of point i, which may lie beyond the sides, of an axis that `wraps` or does not.
template <class T>
__device__ __forceinline__ T coordinate_of(Place const& place, bool wraps, int axis, long long i) {
  i += place.first[axis];
  if (wraps) i = wrapped(i, place.whole[axis]);
  return static_cast<T>(
      evaluate::add_product(place.origin[axis], static_cast<double>(i), place.spacing[axis]));
}

/// The place of the point so far from `at` for random numbers.
__device__ __forceinline__ long long random_place(Place const& place, bool const (&wraps)[3],
                                                  long long const (&at)[3], int dx, int dy,
                                                  int dz) {
  return random_place(
      wraps, place.whole,
      {place.first[0] + at[0] + dx, place.first[1] + at[1] + dy, place.first[2] + at[2] + dz});
}

/// What a stage makes of a component's rate: `in`, `base` and `addend` at its point. `mixes_in`:
/// whether `in` has a weight.
template <class T, class Addend>
__device__ __forceinline__ T stage_value(Weights<T> const& w, bool mixes_in, int addends, T rate,
                                         T in, T base, Addend const& addend) {
  T change = w.factor * rate;
  if (mixes_in) change = fma(w.in_weight, in - base, change);
#pragma unroll
  for (int n = 0; n < most_addends; ++n)
    if (n < addends) change = fma(w.addend_weight[n], addend(n) - base, change);
  return base + change;
}

/// What is stored of result c at a point, `offset` in its arrays, where the program gives `rate`.
/// `on_side`: whether it lies on a side of one of `dims` axes, where a value may be given.
template <class T>
__device__ __forceinline__ T stored_value(StageArguments<T> const& a, int dims, int c, T rate,
                                          long long const (&at)[3], long long offset,
                                          bool on_side) {
  if (!a.is_stage) return rate;
  T const result = stage_value(a.weights, a.weights.in_weight != 0, a.weights.addends, rate,
                               a.inputs[c].values[offset], a.base[c][offset],
                               [&](int n) { return a.addends[c][n][offset]; });
  if (!on_side) return result;
  auto const& sides = a.inputs[c].sides;
  Held const held = held_by<T>(sides, dims, a.place.points, at[0], at[1], at[2]);
  if (held.axis > 2) return result;
  return held_value<T>(sides, a.place.points, held, at[0], at[1], at[2]);
}

}  // namespace gridstride::system

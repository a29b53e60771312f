// What kernels with a system's program compiled into them see. Before this file stand
//
//   using Real = float;                                          // or double
//   constexpr int dims = …, components = …, results = …, reach[3] = {…};
//   constexpr bool wraps[3] = {…};                                // axes
//   template <class At> __device__ __forceinline__ void program(At const& at, Real (&result)[results]);
//
// where the program asks for at.unknown<c, dx, dy, dz>(), at.coordinate<axis, offset>(), at.time(),
// at.on_side<axis, end, offset>(), at.found<i>() and uniform, normal and noise of
// <seed, dx, dy, dz>. It says itself which product and sum are one fused operation.

#pragma once

#include "kernels/system/arguments.cuh"
#include "kernels/system/random.cuh"

namespace gridstride::system {

__device__ __forceinline__ long long wrapped(long long i, long long points) {
  if (i >= 0 && i < points) return i;
  i %= points;
  return i < 0 ? i + points : i;
}

/// What a program sees of its point beside the unknowns.
struct Point {
  Place const& place;
  double fraction;
  long long at[3];

  template <int axis, int offset>
  __device__ __forceinline__ Real coordinate() const {
    long long i = at[axis] + offset;
    if (wraps[axis]) i = wrapped(i, place.points[axis]);
    return static_cast<Real>(
        evaluate::add_product(place.origin[axis], static_cast<double>(i), place.spacing[axis]));
  }
  template <int axis, int end, int offset>
  __device__ __forceinline__ Real on_side() const {
    return Real(at[axis] + offset == inside(end, place.points[axis], 0));
  }
  __device__ __forceinline__ Real time() const {
    return static_cast<Real>(place.clock->time(fraction));
  }
  template <int number>
  __device__ __forceinline__ Real found() const {
    return static_cast<Real>(__ldg(place.found + number));
  }
  template <int seed, int dx, int dy, int dz>
  __device__ __forceinline__ Real uniform() const {
    return uniform_at<Real>(
        seed, random_place(wraps, place.points, {at[0] + dx, at[1] + dy, at[2] + dz}));
  }
  template <int seed, int dx, int dy, int dz>
  __device__ __forceinline__ Real normal() const {
    return normal_at<Real>(seed,
                           random_place(wraps, place.points, {at[0] + dx, at[1] + dy, at[2] + dz}));
  }
  template <int seed, int dx, int dy, int dz>
  __device__ __forceinline__ Real noise() const {
    return noise_at<Real>(seed,
                          random_place(wraps, place.points, {at[0] + dx, at[1] + dy, at[2] + dz}),
                          *place.clock);
  }
};

/// Whether all that the program reads lies within the grid.
__device__ __forceinline__ bool is_inside(long long const (&points)[3], long long const (&at)[3]) {
  bool inside = true;
#pragma unroll
  for (int axis = 0; axis < dims; ++axis)
    inside = inside && at[axis] >= reach[axis] && at[axis] < points[axis] - reach[axis];
  return inside;
}

/// What a stage makes of a component's rate: `in`, `base` and `addend` at its point. `mixes_in`:
/// whether `in` has a weight.
template <class Addend>
__device__ __forceinline__ Real stage_value(Weights<Real> const& w, bool mixes_in, int addends,
                                            Real rate, Real in, Real base, Addend const& addend) {
  Real change = w.factor * rate;
  if (mixes_in) change = fma(w.in_weight, in - base, change);
#pragma unroll
  for (int n = 0; n < most_addends; ++n)
    if (n < addends) change = fma(w.addend_weight[n], addend(n) - base, change);
  return base + change;
}

}  // namespace gridstride::system

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

#include "kernels/system/point_values.cuh"

namespace gridstride::system {

/// What a program sees of its point beside the unknowns.
struct Point {
  Place const& place;
  double fraction;
  long long at[3];

  template <int axis, int offset>
  __device__ __forceinline__ Real coordinate() const {
    return coordinate_of<Real>(place, wraps[axis], axis, at[axis] + offset);
  }
  template <int axis, int end, int offset>
  __device__ __forceinline__ Real on_side() const {
    return Real(place.first[axis] + at[axis] + offset == inside(end, place.whole[axis], 0));
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
    return uniform_at<Real>(seed, random_place(place, wraps, at, dx, dy, dz));
  }
  template <int seed, int dx, int dy, int dz>
  __device__ __forceinline__ Real normal() const {
    return normal_at<Real>(seed, random_place(place, wraps, at, dx, dy, dz));
  }
  template <int seed, int dx, int dy, int dz>
  __device__ __forceinline__ Real noise() const {
    return noise_at<Real>(seed, random_place(place, wraps, at, dx, dy, dz), *place.clock);
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

}  // namespace gridstride::system

#pragma once

// One stage at points of the grid, whether they lie near its sides or not: what `points` and
// `planes` share.

#include "kernels/system/compiled.cuh"

namespace gridstride::system {

/// Whether a point lies on a side, where a value may be given.
__device__ __forceinline__ bool on_side(long long const (&points)[3], long long const (&at)[3]) {
  bool on = false;
#pragma unroll
  for (int axis = 0; axis < dims; ++axis)
    on = on || (!wraps[axis] && (at[axis] == 0 || at[axis] == points[axis] - 1));
  return on;
}

struct GlobalSource {
  Real const* values;
  long long line, plane;
  __device__ Real operator()(long long i, long long j, long long k) const {
    return values[i + j * line + k * plane];
  }
};

/// One function for all, since it is long and seldom called.
__device__ __noinline__ Real value_anywhere(StageArguments<Real> const& a, int component,
                                            long long i, long long j, long long k) {
  Input<Real> const& input = a.inputs[component];
  auto const& points = a.place.points;
  GlobalSource const source = {input.values, points[0], points[0] * points[1]};
  bool const inside = i >= 0 && i < points[0] && j >= 0 && j < points[1] && k >= 0 && k < points[2];
  if (inside) return source(i, j, k);
  if (input.beyond) return known_value(input, points, i, j, k);
  return value_at<dims>(source, input.sides, points, i, j, k);
}

/// What a program sees of a point whose neighbours lie inside.
struct GlobalInside : Point {
  StageArguments<Real> const& a;
  long long offset, line, plane;

  template <int component, int dx, int dy, int dz>
  __device__ __forceinline__ Real unknown() const {
    return __ldg(a.inputs[component].values + offset + dx + dy * line + dz * plane);
  }
};

/// What it sees of one that may lie near a side.
struct GlobalAnywhere : Point {
  StageArguments<Real> const& a;

  template <int component, int dx, int dy, int dz>
  __device__ __forceinline__ Real unknown() const {
    return value_anywhere(a, component, at[0] + dx, at[1] + dy, at[2] + dz);
  }
};

/// What becomes of the results of one point.
__device__ __forceinline__ void store_point(StageArguments<Real> const& a, Point const& point,
                                            long long offset, Real (&result)[results]) {
  bool const held_here = a.is_stage && on_side(a.place.points, point.at);
#pragma unroll
  for (int c = 0; c < results; ++c)
    a.out[c][offset] = stored_value(a, dims, c, result[c], point.at, offset, held_here);
}

}  // namespace gridstride::system

// The kernel `points`: a stage of a scheme, or rates alone. POINTS_X and POINTS_Y are the threads of
// a block, ROWS the points of a thread where there is more than one axis.
//
// A thread has four points of a column, whose neighbours come from the caches: what two of them read
// is loaded once. Where all that a program reads lies inside, it reads arrays; else values beyond a
// side come from a function that knows the sides. Bytes: each component is read once and written
// once, and what a stage has beside that; its neighbours' share of them is in the caches.
//
// Long programs have one point a thread, and `loads`, all that they read, before this file.

#include "kernels/system/stage.cuh"

namespace gridstride::system {

/// Points that a thread takes at a time, along y: rows beside each other share what they read.
constexpr int rows = dims > 1 ? ROWS : 1;

#if ROWS == 1

/// What the program reads, where load number n is `loads[n]`: a component and the distance.
struct Loaded : Point {
  Real const (&values)[most_loads];

  template <int component, int dx, int dy, int dz>
  __device__ __forceinline__ Real unknown() const {
    constexpr int number = number_of(component, dx, dy, dz);
    return values[number];
  }
  __device__ static constexpr int number_of(int component, int dx, int dy, int dz) {
    int n = 0;
    while (loads[n][0] != component || loads[n][1] != dx || loads[n][2] != dy || loads[n][3] != dz)
      ++n;
    return n;
  }
};

/// All loads come first, so that a long program is compiled once, not for points near sides again.
__device__ __forceinline__ void stage_points(StageArguments<Real> const& a, long long i,
                                             long long j, long long k) {
  auto const& points = a.place.points;
  long long const line = points[0], plane = line * points[1];
  long long const offset = i + j * line + k * plane;
  Point const point = {a.place, a.weights.fraction, {i, j, k}};
  Real values[most_loads], result[results];
  if (is_inside(points, point.at)) {
#pragma unroll
    for (int n = 0; n < load_count; ++n)
      values[n] = __ldg(a.inputs[loads[n][0]].values + offset + loads[n][1] + loads[n][2] * line +
                        loads[n][3] * plane);
  } else {
#pragma unroll
    for (int n = 0; n < load_count; ++n)
      values[n] = value_anywhere(a, loads[n][0], i + loads[n][1], j + loads[n][2], k + loads[n][3]);
  }
  program(Loaded{point, values}, result);
  store_point(a, point, offset, result);
}

#else

__device__ __forceinline__ void stage_points(StageArguments<Real> const& a, long long i,
                                             long long j, long long k) {
  auto const& points = a.place.points;
  long long const line = points[0], plane = line * points[1];
  long long const offset = i + j * line + k * plane;
  auto const point = [&](int row) { return Point{a.place, a.weights.fraction, {i, j + row, k}}; };
  Real result[rows][results];
  if (is_inside(points, point(0).at) && is_inside(points, point(rows - 1).at)) {
#pragma unroll
    for (int row = 0; row < rows; ++row)
      program(GlobalInside{point(row), a, offset + row * line, line, plane}, result[row]);
#pragma unroll
    for (int row = 0; row < rows; ++row)
      store_point(a, point(row), offset + row * line, result[row]);
    return;
  }
#pragma unroll 1
  for (int row = 0; row < rows && j + row < points[1]; ++row) {
    program(GlobalAnywhere{point(row), a}, result[0]);
    store_point(a, point(row), offset + row * line, result[0]);
  }
}

#endif

}  // namespace gridstride::system

extern "C" __global__ void __launch_bounds__(POINTS_X* POINTS_Y)
    points(__grid_constant__ gridstride::system::StageArguments<Real> const a) {
  using gridstride::system::rows;
  if (a.needs_step && a.place.clock->step_size == 0) return;
  long long const i = static_cast<long long>(blockIdx.x) * POINTS_X + threadIdx.x;
  if (i >= a.place.points[0]) return;
  long long const first = (static_cast<long long>(blockIdx.y) * POINTS_Y + threadIdx.y) * rows;
  long long const stride = static_cast<long long>(gridDim.y) * POINTS_Y * rows;
  for (long long k = blockIdx.z; k < a.place.points[2]; k += gridDim.z)
    for (long long j = first; j < a.place.points[1]; j += stride)
      gridstride::system::stage_points(a, i, j, k);
}

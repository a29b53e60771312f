// Stages of a scheme, with a system's program compiled into the kernels. Before this file stand
//
//   using Real = float;                                          // or double
//   constexpr int dims = …, components = …, results = …, reach[3] = {…};
//   constexpr bool wraps[3] = {…};                                // axes
//   template <class At> __device__ __forceinline__ void program(At const& at, Real (&result)[results]);
//
// where the program asks for at.unknown<c, dx, dy, dz>(), at.coordinate<axis, offset>(), at.time(),
// at.found<i>() and uniform, normal and noise of <seed, dx, dy, dz>. It says itself which product and sum are one fused operation.
//
// A thread has four points of a column, whose neighbours come from the caches: what two of them read
// is loaded once. Where all that a program reads lies inside, it reads arrays; else each value comes
// from a function that knows the sides. Bytes: each component is read once and written once, and
// what a stage has beside that; its neighbours' share of them is in the caches.

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

#ifdef ROWS  // the kernel `points`
namespace gridstride::system {

/// Whether a point lies on a side, where a value may be given.
__device__ __forceinline__ bool on_side(long long const (&points)[3], long long const (&at)[3]) {
  bool on = false;
#pragma unroll
  for (int axis = 0; axis < dims; ++axis)
    on = on || (!wraps[axis] && (at[axis] == 0 || at[axis] == points[axis] - 1));
  return on;
}

/// Points that a thread takes at a time, along y: rows beside each other share what they read.
constexpr int rows = dims > 1 ? ROWS : 1;

struct GlobalSource {
  Real const* values;
  long long line, plane;
  __device__ Real operator()(long long i, long long j, long long k) const {
    return values[i + j * line + k * plane];
  }
};

/// One function for all, since it is long and seldom called.
__device__ __noinline__ Real value_beyond(StageArguments<Real> const& a, int component, long long i,
                                          long long j, long long k) {
  Input<Real> const& input = a.inputs[component];
  long long const line = a.place.points[0], plane = line * a.place.points[1];
  return value_at<dims>(GlobalSource{input.values, line, plane}, input.sides, a.place.points, i, j,
                        k);
}

struct GlobalInside : Point {
  StageArguments<Real> const& a;
  long long offset, line, plane;

  template <int component, int dx, int dy, int dz>
  __device__ __forceinline__ Real unknown() const {
    return __ldg(a.inputs[component].values + offset + dx + dy * line + dz * plane);
  }
};

struct GlobalAnywhere : Point {
  StageArguments<Real> const& a;

  template <int component, int dx, int dy, int dz>
  __device__ __forceinline__ Real unknown() const {
    return value_beyond(a, component, at[0] + dx, at[1] + dy, at[2] + dz);
  }
};

/// What becomes of the results of one point.
__device__ __forceinline__ void store_point(StageArguments<Real> const& a, Point const& point,
                                            long long offset, Real (&result)[results]) {
  auto const& points = a.place.points;
  bool const held_here = a.is_stage && on_side(points, point.at);
#pragma unroll
  for (int c = 0; c < results; ++c) {
    if (a.is_stage) {
      Real const base = a.base[c][offset];
      Real const in = a.inputs[c].values[offset];
      result[c] = stage_value(a.weights, a.weights.in_weight != 0, a.weights.addends, result[c], in,
                              base, [&](int n) { return a.addends[c][n][offset]; });
      if (held_here) {
        auto const& sides = a.inputs[c].sides;
        Held const held = held_by<Real>(sides, dims, points, point.at[0], point.at[1], point.at[2]);
        if (held.axis < 3)
          result[c] = held_value<Real>(sides, points, held, point.at[0], point.at[1], point.at[2]);
      }
    }
    a.out[c][offset] = result[c];
  }
}

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
#endif

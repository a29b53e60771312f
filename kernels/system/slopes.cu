// What schemes with slopes do at each point by itself. A thread takes points a grid apart, so that
// each warp reads and writes whole lines of every array; the second axis of blocks is the component.
// Bytes: each slope, the state and the value once. The worst error comes from shuffles within a
// warp, then among the warps of a block; one block takes the worst of all parts and decides on the
// next step, so that the host need not look. Where the clock has no step all of it ends at once.

#include <cuda_runtime_api.h>

#include <algorithm>

#include "kernels/support/launch.cuh"
#include "kernels/system/slope_rows.hpp"

namespace gridstride::system {

namespace {

constexpr int slope_threads = 256;
constexpr int most_slope_components = most_taken / 2;

/// Slopes in plain arrays.
template <class T>
struct PlainSlopes {
  T* state;
  T* value;
  T const* slopes[most_slopes];
  bool given;
  Sides<T> sides;
};

template <class T>
struct SlopeArguments {
  long long points[3];
  int dims, count;
  T weights[most_slopes];
  double relative, absolute;
  StepClockView clock;
  WorstError* parts;
  PlainSlopes<T> components[most_slope_components];
};

template <class T>
SlopeArguments<T> slope_arguments(Grid const& grid, std::span<Slopes<T> const> components,
                                  std::span<double const> weights, StepClockView clock) {
  SlopeArguments<T> a{};
  std::ranges::copy(grid.points, a.points);
  a.dims = grid.dims;
  a.count = static_cast<int>(weights.size());
  for (std::size_t s = 0; s < weights.size(); ++s) a.weights[s] = static_cast<T>(weights[s]);
  a.clock = clock;
  for (std::size_t c = 0; c < components.size(); ++c) {
    auto& one = a.components[c];
    one.state = components[c].state;
    one.value = components[c].value;
    std::ranges::copy(components[c].slopes, one.slopes);
    one.given = is_given(components[c].sides, grid.dims);
    for (int axis = 0; axis < 3; ++axis)
      for (int side = 0; side < 2; ++side) one.sides[axis][side] = components[c].sides[axis][side];
  }
  return a;
}

template <class T>
__device__ __forceinline__ T slope_change(SlopeArguments<T> const& a, PlainSlopes<T> const& one,
                                          T step, long long n) {
  T sum = 0;
#pragma unroll
  for (int s = 0; s < most_slopes; ++s)
    if (s < a.count) sum += a.weights[s] * one.slopes[s][n];
  return step * sum;
}

/// What holds point n, and where that is.
template <class T>
__device__ __forceinline__ Held slope_held(SlopeArguments<T> const& a, PlainSlopes<T> const& one,
                                           long long n, long long (&at)[3]) {
  long long const line = n / a.points[0];
  at[0] = n - line * a.points[0];
  at[2] = line / a.points[1];
  at[1] = line - at[2] * a.points[1];
  return held_by<T>(one.sides, a.dims, a.points, at[0], at[1], at[2]);
}

template <class T>
__global__ void __launch_bounds__(slope_threads)
    combine_kernel(__grid_constant__ SlopeArguments<T> const a) {
  double const full = a.clock->step_size;
  if (full == 0) return;
  T const step = static_cast<T>(full);
  auto const& one = a.components[blockIdx.y];
  long long const size = a.points[0] * a.points[1] * a.points[2];
  for (long long n = static_cast<long long>(blockIdx.x) * slope_threads + threadIdx.x; n < size;
       n += static_cast<long long>(gridDim.x) * slope_threads) {
    T value = one.state[n] + slope_change(a, one, step, n);
    if (one.given) {
      long long at[3];
      Held const held = slope_held(a, one, n, at);
      if (held.axis < 3) value = held_value<T>(one.sides, a.points, held, at[0], at[1], at[2]);
    }
    one.value[n] = value;
  }
}

/// The worst of a block's threads, in thread 0.
__device__ __forceinline__ WorstError worst_of_block(WorstError worst) {
  constexpr unsigned all = 0xffffffffU;
  constexpr int warps = slope_threads / 32;
  __shared__ double values[warps];
  __shared__ long long points[warps];
  __shared__ int components[warps];
  auto const among_lanes = [&] {
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2) {
      WorstError other;
      other.value = __shfl_down_sync(all, worst.value, offset);
      other.point = __shfl_down_sync(all, worst.point, offset);
      other.component = __shfl_down_sync(all, worst.component, offset);
      if (worst < other) worst = other;
    }
  };
  among_lanes();
  auto const warp = threadIdx.x / 32;
  if (threadIdx.x % 32 == 0) {
    values[warp] = worst.value;
    points[warp] = worst.point;
    components[warp] = worst.component;
  }
  __syncthreads();
  if (warp > 0) return worst;
  worst = {};
  if (threadIdx.x < warps)
    worst = {values[threadIdx.x], points[threadIdx.x], components[threadIdx.x]};
  among_lanes();
  return worst;
}

template <class T>
__global__ void __launch_bounds__(slope_threads)
    worst_error_kernel(__grid_constant__ SlopeArguments<T> const a,
                       __grid_constant__ ErrorPlaces const places) {
  double const full = a.clock->step_size;
  if (full == 0) return;
  T const step = static_cast<T>(full);
  auto const& one = a.components[blockIdx.y];
  long long const size = a.points[0] * a.points[1] * a.points[2];
  WorstError worst;
  for (long long n = static_cast<long long>(blockIdx.x) * slope_threads + threadIdx.x; n < size;
       n += static_cast<long long>(gridDim.x) * slope_threads) {
    long long const place = places.of(n);
    if (place < 0) continue;
    long long at[3];
    bool const held = one.given && slope_held(a, one, n, at).axis < 3;
    T const error = held ? T(0) : slope_change(a, one, step, n);
    WorstError const here = {
        scaled_error(error, one.state[n], one.value[n], a.relative, a.absolute), place,
        static_cast<int>(blockIdx.y)};
    if (worst < here) worst = here;
  }
  worst = worst_of_block(worst);
  if (threadIdx.x == 0) a.parts[blockIdx.y * gridDim.x + blockIdx.x] = worst;
}

/// By one block, in thread 0.
__device__ WorstError worst_of_parts(WorstError const* parts, long long count) {
  WorstError worst;
  for (long long n = threadIdx.x; n < count; n += slope_threads)
    if (worst < parts[n]) worst = parts[n];
  return worst_of_block(worst);
}

__global__ void __launch_bounds__(slope_threads)
    find_worst_kernel(WorstError const* parts, long long count, long long first,
                      WorstError* result) {
  WorstError worst = worst_of_parts(parts, count);
  worst.point += first;
  if (threadIdx.x == 0) *result = worst;
}

__global__ void set_control_kernel(StepControl* control,
                                   __grid_constant__ StepControl const value) {
  *control = value;
}
__global__ void begin_attempt_kernel(StepControl* control, evaluate::DeviceClock* clock) {
  begin_attempt(*control, *clock);
}
__global__ void __launch_bounds__(slope_threads)
    end_attempt_kernel(StepControl* control, StepClockView clock, WorstError const* parts,
                       long long count) {
  if (clock->step_size == 0) return;
  WorstError const worst = worst_of_parts(parts, count);
  if (threadIdx.x == 0) end_attempt(*control, *clock, worst);
}

template <class T>
struct TakenArguments {
  long long size;
  StepControl const* control;
  Taken<T> arrays[most_taken];
};

template <class T>
__global__ void __launch_bounds__(slope_threads)
    commit_kernel(__grid_constant__ TakenArguments<T> const a) {
  if (a.control != nullptr && !a.control->commits) return;
  auto const& one = a.arrays[blockIdx.y];
  for (long long n = static_cast<long long>(blockIdx.x) * slope_threads + threadIdx.x; n < a.size;
       n += static_cast<long long>(gridDim.x) * slope_threads)
    one.to[n] = one.from[n];
}

dim3 slope_blocks(std::int64_t size, std::size_t arrays) {
  constexpr std::int64_t most = 1 << 20;
  return {static_cast<unsigned>(std::min<std::int64_t>(blocks_for(size, slope_threads), most)),
          static_cast<unsigned>(arrays)};
}

}  // namespace

template <class T>
void cuda_combine(Stream& stream, Grid const& grid, std::span<Slopes<T> const> components,
                  std::span<double const> weights, StepClockView clock) {
  if (components.empty()) return;
  auto const a = slope_arguments(grid, components, weights, clock);
  combine_kernel<T>
      <<<slope_blocks(grid.size(), components.size()), slope_threads, 0, native(stream)>>>(a);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "system combine");
}

template <class T>
void cuda_worst_error(Stream& stream, Grid const& grid, std::span<Slopes<T> const> components,
                      std::span<double const> weights, ErrorScale scale, StepClockView clock,
                      std::span<WorstError> parts, ErrorPlaces const& places) {
  if (components.empty()) return;
  auto a = slope_arguments(grid, components, weights, clock);
  a.relative = scale.relative;
  a.absolute = scale.absolute;
  a.parts = parts.data();
  dim3 const blocks(static_cast<unsigned>(parts.size() / components.size()),
                    static_cast<unsigned>(components.size()));
  worst_error_kernel<T><<<blocks, slope_threads, 0, native(stream)>>>(a, places);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "system error");
}

void cuda_find_worst(Stream& stream, std::span<WorstError const> parts, std::int64_t first,
                     WorstError* worst) {
  find_worst_kernel<<<1, slope_threads, 0, native(stream)>>>(
      parts.data(), static_cast<long long>(parts.size()), first, worst);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "system worst error");
}

void cuda_set_control(Stream& stream, StepControl* control, StepControl const& value) {
  set_control_kernel<<<1, 1, 0, native(stream)>>>(control, value);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "system control");
}

void cuda_begin_attempt(Stream& stream, StepControl* control, evaluate::DeviceClock* clock) {
  begin_attempt_kernel<<<1, 1, 0, native(stream)>>>(control, clock);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "system attempt");
}

void cuda_end_attempt(Stream& stream, StepControl* control, evaluate::DeviceClock const* clock,
                      std::span<WorstError const> parts) {
  end_attempt_kernel<<<1, slope_threads, 0, native(stream)>>>(control, clock, parts.data(),
                                                              static_cast<long long>(parts.size()));
  GRIDSTRIDE_CHECK_LAUNCH(stream, "system attempt's end");
}

template <class T>
void cuda_commit(Stream& stream, std::span<Taken<T> const> arrays, std::int64_t size,
                 StepControl const* control) {
  if (arrays.empty() || size == 0) return;
  TakenArguments<T> a{.size = size, .control = control, .arrays = {}};
  std::ranges::copy(arrays, a.arrays);
  commit_kernel<T><<<slope_blocks(size, arrays.size()), slope_threads, 0, native(stream)>>>(a);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "system commit");
}

#define GRIDSTRIDE_INSTANTIATE(T)                                                    \
  template void cuda_combine(Stream&, Grid const&, std::span<Slopes<T> const>,       \
                             std::span<double const>, StepClockView);                \
  template void cuda_worst_error(Stream&, Grid const&, std::span<Slopes<T> const>,   \
                                 std::span<double const>, ErrorScale, StepClockView, \
                                 std::span<WorstError>, ErrorPlaces const&);         \
  template void cuda_commit(Stream&, std::span<Taken<T> const>, std::int64_t, StepControl const*);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::system

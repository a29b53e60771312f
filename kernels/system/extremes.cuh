// The kernel `extremes`: the least and the greatest value of each result of a program over the grid,
// and the first point where it is not finite. It stores nothing else: each component is read once.
//
// A thread keeps the extremes of its own points, a column's rows some way apart, of which it has several
// at a time: as many loads are under way, and one test tells that all values are finite. Past the last
// row it takes that one again. Warps, blocks and the grid join theirs by the maximum of keys
// (extreme_keys.hpp), for which order does not matter. The last block to end writes them into the host's
// memory and clears those of the next look, so that nothing but this kernel lies between two passes.

#include "kernels/system/extreme_keys.hpp"
#include "kernels/system/stage.cuh"

namespace gridstride::system {

/// Of a thread. What is not finite, which is seldom, all threads of a block keep together.
struct Found {
  Real least = 1 / Real(0), greatest = -1 / Real(0);

  __device__ __forceinline__ void add_finite(Real value) {
    least = fmin(least, value);
    greatest = fmax(greatest, value);
  }
  __device__ __forceinline__ void add(Real value, unsigned long long points_from_here,
                                      unsigned long long* non_finite) {
    if (value - value == 0)
      add_finite(value);
    else
      atomicMax(non_finite, points_from_here);
  }
  __device__ __forceinline__ unsigned long long key(int which) const {
    double const value = which == 0 ? -static_cast<double>(least) : static_cast<double>(greatest);
    return key_of_bits(static_cast<unsigned long long>(__double_as_longlong(value)));
  }
};

__device__ __forceinline__ unsigned long long largest_of_warp(unsigned long long key) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) {
    unsigned long long const other = __shfl_xor_sync(0xffffffffU, key, offset);
    if (other > key) key = other;
  }
  return key;
}

/// Tells the host what the whole grid has, if all other blocks have joined theirs.
__device__ __forceinline__ void tell(ExtremeKeys const& keys, unsigned thread) {
  __shared__ bool is_last;
  __threadfence();
  __syncthreads();
  if (thread == 0) {
    is_last = atomicAdd(keys.done, 1) + 1 == gridDim.x * gridDim.y * gridDim.z;
    if (is_last) *keys.done = 0;
  }
  __syncthreads();
  if (!is_last) return;
  __threadfence();
  for (unsigned n = thread; n < results * keys_of_term; n += POINTS_X * POINTS_Y) {
    keys.told[n] = atomicMax(keys.joined + n, 0ULL);
    keys.next[n] = 0;
  }
}

/// The keys of a block.
using OfBlock = unsigned long long[results * keys_of_term];

__device__ __forceinline__ unsigned thread_of_block() {
  return threadIdx.x + threadIdx.y * POINTS_X;
}

/// Joins what the threads of a block found with what the grid has so far.
__device__ __forceinline__ void join(Found const (&found)[results], OfBlock& of_block,
                                     ExtremeKeys const& keys) {
  unsigned const thread = thread_of_block();
#pragma unroll
  for (int r = 0; r < results; ++r)
#pragma unroll
    for (int which = 0; which < 2; ++which) {
      unsigned long long const key = largest_of_warp(found[r].key(which));
      if (thread % 32 == 0) atomicMax(&of_block[r * keys_of_term + which], key);
    }
  __syncthreads();
  for (unsigned n = thread; n < results * keys_of_term; n += POINTS_X * POINTS_Y)
    atomicMax(keys.joined + n, of_block[n]);
  tell(keys, thread);
}

/// The points of column (i, k) in row j and those `apart` from it and each other, `ROWS` in all, before row
/// `end`.
__device__ __forceinline__ void add_rows(StageArguments<Real> const& a, long long i, long long j,
                                         long long k, long long apart, long long end,
                                         Found (&found)[results], OfBlock& of_block) {
  auto const& points = a.place.points;
  long long const line = points[0], plane = line * points[1];
  auto const row_at = [&](int n) { return min(j + n * apart, end - 1); };
  auto const offset_of = [&](long long row) { return i + row * line + k * plane; };
  auto const point_at = [&](long long row) {
    return Point{a.place, a.weights.fraction, {i, row, k}};
  };
  auto const add = [&](Real const(&result)[results], long long row) {
    auto const from_here = static_cast<unsigned long long>(plane * points[2] - offset_of(row));
#pragma unroll
    for (int r = 0; r < results; ++r)
      found[r].add(result[r], from_here, &of_block[r * keys_of_term + 2]);
  };
  constexpr bool looks_beside = reach[0] + reach[1] + reach[2] > 0;
  if (!looks_beside || (is_inside(points, point_at(row_at(0)).at) &&
                        is_inside(points, point_at(row_at(ROWS - 1)).at))) {
    Real result[ROWS][results];
#pragma unroll
    for (int n = 0; n < ROWS; ++n)
      program(GlobalInside{point_at(row_at(n)), a, offset_of(row_at(n)), line, plane}, result[n]);
    Real doubt = 0;  // or no number
#pragma unroll
    for (int n = 0; n < ROWS * results; ++n) {
      Real const value = result[n / results][n % results];
      doubt += value - value;
    }
    if (__builtin_expect(doubt == 0, 1)) {
#pragma unroll
      for (int n = 0; n < ROWS * results; ++n)
        found[n % results].add_finite(result[n / results][n % results]);
    } else {
#pragma unroll
      for (int n = 0; n < ROWS; ++n) add(result[n], row_at(n));
    }
  } else {
#pragma unroll 1
    for (int n = 0; n < ROWS; ++n) {
      Real result[results];
      program(GlobalAnywhere{point_at(row_at(n)), a}, result);
      add(result, row_at(n));
    }
  }
}

}  // namespace gridstride::system

/// `keys`: `keys_of_term` for each result, `joined` and `done` 0 at first.
extern "C" __global__ void __launch_bounds__(POINTS_X* POINTS_Y)
    extremes(__grid_constant__ gridstride::system::StageArguments<Real> const a,
             gridstride::system::ExtremeKeys const keys,
             __grid_constant__ gridstride::system::CountedPoints const c) {
  using namespace gridstride::system;
  auto const& begin = c.begin;
  auto const& end = c.end;
  long long const i = begin[0] + static_cast<long long>(blockIdx.x) * POINTS_X + threadIdx.x;
  long long const j = begin[1] + static_cast<long long>(blockIdx.y) * POINTS_Y + threadIdx.y;
  long long const apart = static_cast<long long>(gridDim.y) * POINTS_Y;
  __shared__ OfBlock of_block;
  for (unsigned n = thread_of_block(); n < results * keys_of_term; n += POINTS_X * POINTS_Y)
    of_block[n] = 0;
  __syncthreads();
  Found found[results];
  if (i < end[0])
    for (long long k = begin[2] + blockIdx.z; k < end[2]; k += gridDim.z)
      for (long long row = j; row < end[1]; row += ROWS * apart)
        add_rows(a, i, row, k, apart, end[1], found, of_block);
  join(found, of_block, keys);
}

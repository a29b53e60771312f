// The kernel `extremes`: the least and the greatest value of each result of a program over the grid,
// and the first point where it is not finite. It stores nothing else: each component is read once.
//
// A thread keeps the extremes of its own points, a column's rows some way apart; warps, blocks and
// the grid join theirs by the maximum of keys (extreme_keys.hpp), for which order does not matter.

#include "kernels/system/extreme_keys.hpp"
#include "kernels/system/stage.cuh"

namespace gridstride::system {

struct Found {
  Real least = 1 / Real(0), greatest = -1 / Real(0);
  unsigned long long non_finite = 0;

  __device__ __forceinline__ void add(Real value, unsigned long long points_from_here) {
    if (value - value == 0) {
      least = fmin(least, value);
      greatest = fmax(greatest, value);
    } else if (points_from_here > non_finite) {
      non_finite = points_from_here;
    }
  }
  __device__ __forceinline__ unsigned long long key(int which) const {
    if (which == 2) return non_finite;
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

/// Joins what the threads of a block found with what the grid has so far.
__device__ __forceinline__ void join(Found const (&found)[results], unsigned long long* keys) {
  __shared__ unsigned long long of_block[results * keys_of_term];
  unsigned const thread = threadIdx.x + threadIdx.y * POINTS_X;
  for (unsigned n = thread; n < results * keys_of_term; n += POINTS_X * POINTS_Y) of_block[n] = 0;
  __syncthreads();
#pragma unroll
  for (int r = 0; r < results; ++r)
#pragma unroll
    for (int which = 0; which < keys_of_term; ++which) {
      unsigned long long const key = largest_of_warp(found[r].key(which));
      if (thread % 32 == 0) atomicMax(&of_block[r * keys_of_term + which], key);
    }
  __syncthreads();
  for (unsigned n = thread; n < results * keys_of_term; n += POINTS_X * POINTS_Y)
    atomicMax(keys + n, of_block[n]);
}

}  // namespace gridstride::system

/// `keys`: `keys_of_term` for each result, 0 at first. Points from `lower` on and before `upper` along
/// the last axis count, and of two axes and more those so `across` along the one before.
extern "C" __global__ void __launch_bounds__(POINTS_X* POINTS_Y)
    extremes(__grid_constant__ gridstride::system::StageArguments<Real> const a,
             unsigned long long* keys, long long lower, long long upper, long long lower_across,
             long long upper_across) {
  using namespace gridstride::system;
  auto const& points = a.place.points;
  long long const line = points[0], plane = line * points[1];
  auto const size = static_cast<unsigned long long>(plane * points[2]);
  long long const i = static_cast<long long>(blockIdx.x) * POINTS_X + threadIdx.x;
  Found found[results];
  for (long long k = blockIdx.z; k < points[2] && i < line; k += gridDim.z)
    for (long long j = static_cast<long long>(blockIdx.y) * POINTS_Y + threadIdx.y; j < points[1];
         j += static_cast<long long>(gridDim.y) * POINTS_Y) {
      long long const offset = i + j * line + k * plane;
      Point const point = {a.place, a.weights.fraction, {i, j, k}};
      if (point.at[dims - 1] < lower || point.at[dims - 1] >= upper) continue;
      if (dims > 1) {
        long long const across = point.at[dims > 1 ? dims - 2 : 0];
        if (across < lower_across || across >= upper_across) continue;
      }
      Real result[results];
      if (is_inside(points, point.at))
        program(GlobalInside{point, a, offset, line, plane}, result);
      else
        program(GlobalAnywhere{point, a}, result);
#pragma unroll
      for (int r = 0; r < results; ++r)
        found[r].add(result[r], size - static_cast<unsigned long long>(offset));
    }
  join(found, keys);
}

// What the kernels that sample have in common: from the sums of threads to those of a launch.
//
// A thread adds the differences of its samples from the pivot in Real, a few hundred at a time, and
// these parts in float64. A block adds its threads' sums as a tree in shared memory and leaves one
// pair per tile; sum_tiles, one block per replica, adds those. Every order is fixed by the number
// of samples, so that a seed always gives the same bits. Written and read: 16 bytes per tile.

#pragma once

#include "kernels/sampling/sample.hpp"

namespace gridstride::quadrature {

/// Samples that a thread adds in Real before it goes over to float64.
constexpr int samples_per_part = 256;

constexpr int words_per_sample = dimensions * words_per_uniform<Real>;
constexpr int group_samples = samples_of_group(words_per_sample);

/// Part sums of one thread.
struct PartSums {
  Real sum = 0, squares = 0;

  __device__ void add(Real difference) {
    sum += difference;
    squares += difference * difference;
  }
  __device__ void move_to(SampleSums& sums) {
    sums.add({sum, squares});
    sum = squares = 0;
  }
};

/// The words of a group's samples, each block of Philox made when its first word is due.
struct GroupWords {
  unsigned long long group;
  PhiloxKey key;
  PhiloxBlock block;

  /// The words of sample `s` of the group, a number known when compiled.
  __device__ void read(int s, unsigned (&sample)[words_per_sample]) {
#pragma unroll
    for (int k = 0; k < words_per_sample; ++k) {
      int const place = s * words_per_sample + k;
      if (place % 4 == 0) block = philox_block(group, static_cast<unsigned>(place / 4), key);
      sample[k] = block.word[place % 4];
    }
  }
};

/// The sums of a block of `threads` threads, in thread 0.
template <int threads>
__device__ SampleSums block_sums(SampleSums sums) {
  __shared__ SampleSums shared[threads];
  shared[threadIdx.x] = sums;
  for (int half = threads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) shared[threadIdx.x].add(shared[threadIdx.x + half]);
  }
  return shared[threadIdx.x];
}

/// totals[r] = the sum of tiles r·count to (r + 1)·count − 1, for block r.
extern "C" __global__ void __launch_bounds__(256)
    sum_tiles(SampleSums const* tiles, int count, SampleSums* totals) {
  SampleSums sums;
  for (int t = threadIdx.x; t < count; t += 256)
    sums.add(tiles[static_cast<long long>(blockIdx.x) * count + t]);
  sums = block_sums<256>(sums);
  if (threadIdx.x == 0) totals[blockIdx.x] = sums;
}

}  // namespace gridstride::quadrature

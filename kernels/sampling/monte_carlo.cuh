// Monte Carlo integration: a fixed part of a stream of random samples, and their sums.
//
// monte_carlo_tiles: a block per tile. The words of a sample are Philox blocks of the number of its
// group (sample.hpp), so that samples need no state and a point belongs to an index
// whatever the launch. A thread takes a group of one, two or four neighbouring samples, then the
// group 256 groups further. The samples of a group are straight code of several independent chains.
//
// Bytes moved: 16 per tile. Instructions of a sample in d dimensions, float32: less than 10·d of
// Philox, 3·d from words to coordinates, the integrand, and 4 of the sums. For Π exp(−x_i²), d = 6:
// 146 with those of the loop, so that at 128 a clock a multiprocessor takes 1.14 clocks, and 132 of
// them at 1.98 GHz make 229 G samples/s at most. 25 of the instructions multiply 32 × 32 → 64 bits
// and take the place of more than one; that is what is missing to it.
//
// With ANTITHETIC, a sample is the mean of f at u and at 1 − u, which costs one more evaluation and
// no random numbers.

#include "kernels/sampling/tiles.cuh"

namespace gridstride::quadrature {

/// f of a sample, or the mean of f at it and at its mirror image.
__device__ inline Real sample_value(SampleBox<Real> const& box,
                                    unsigned const (&words)[words_per_sample]) {
  Real u[dimensions], x[dimensions];
#pragma unroll
  for (int k = 0; k < dimensions; ++k) {
    u[k] = uniform_of<Real>(&words[k * words_per_uniform<Real>]);
    x[k] = coordinate(box, k, u[k]);
  }
  Real const value = integrand(x, box.parameters);
#ifdef ANTITHETIC
#pragma unroll
  for (int k = 0; k < dimensions; ++k) x[k] = coordinate(box, k, Real(1) - u[k]);
  return Real(0.5) * value + Real(0.5) * integrand(x, box.parameters);
#else
  return value;
#endif
}

extern "C" __global__ void __launch_bounds__(256)
    monte_carlo_tiles(SampleBox<Real> box, SampleRange range, Centering<Real> centered,
                      SampleSums* tiles) {
  constexpr int threads = 256, stride = threads * group_samples;
  long long const tile_first = blockIdx.x * range.tile_size;
  int const count = static_cast<int>(min(range.tile_size, range.count - tile_first));
  int place = static_cast<int>(threadIdx.x) * group_samples;
  GroupWords stream{
      static_cast<unsigned long long>(range.first + tile_first + place) / group_samples,
      range.key,
      {}};
  SampleSums sums;
  while (place < count) {
    PartSums part;
    int const end = min(count, place + samples_per_part / group_samples * stride);
    for (; place < end; place += stride, stream.group += threads) {
#pragma unroll
      for (int s = 0; s < group_samples; ++s) {
        unsigned words[words_per_sample];
        stream.read(s, words);
        Real const difference = centered(sample_value(box, words));
        part.add(s == 0 || place + s < count ? difference : Real(0));
      }
    }
    part.move_to(sums);
  }
  sums = block_sums<threads>(sums);
  if (threadIdx.x == 0) tiles[blockIdx.x] = sums;
}

}  // namespace gridstride::quadrature

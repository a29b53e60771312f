// Quasi-Monte Carlo integration: a part of the scrambled Sobol sequence, once for each replica.
//
// quasi_monte_carlo_tiles: a grid of (tiles, replicas) blocks. A thread takes a run of neighbouring
// points in the order of a Gray code: point i + 1 is point i with one direction number of each axis
// exclusive-ored in, that of the lowest zero of i (I. A. Antonov and V. M. Saleev, 1979). The first
// point of a run is made from the direction numbers of all bits of its Gray code. All direction
// numbers of the replica lie in shared memory, where runs that start at multiples of their length
// read the same one, a broadcast of four axes a load. Scrambling costs nothing here: it is in the
// direction numbers (sobol.hpp).
//
// Bytes moved: 132·d per tile read, 16 written. Instructions of a sample in d dimensions, float32:
// some 10·d to the coordinates and d/4 loads, the integrand, and 4 of the sums.

#include "kernels/sampling/sobol_point.hpp"
#include "kernels/sampling/tiles.cuh"

namespace gridstride::quadrature {

constexpr int padded_dimensions = sobol_stride(dimensions);

extern "C" __global__ void __launch_bounds__(256)
    quasi_monte_carlo_tiles(SampleBox<Real> box, SobolRange range, Centering<Real> centered,
                            unsigned const* directions, SampleSums* tiles) {
  __shared__ __align__(16) unsigned numbers[sobol_rows * padded_dimensions];
  for (int i = threadIdx.x; i < sobol_rows * padded_dimensions; i += 256)
    numbers[i] = directions[blockIdx.y * sobol_rows * padded_dimensions + i];
  __syncthreads();

  long long const start = blockIdx.x * range.tile_size + threadIdx.x * range.run;
  int const count = static_cast<int>(min(static_cast<long long>(range.run), range.count - start));
  unsigned index = static_cast<unsigned>(range.first + start);
  unsigned digits[dimensions];
#pragma unroll
  for (int k = 0; k < dimensions; ++k) digits[k] = numbers[sobol_shift_row * padded_dimensions + k];
  for (unsigned gray = index ^ index >> 1; gray != 0; gray &= gray - 1) {
    unsigned const* const row = &numbers[(__ffs(static_cast<int>(gray)) - 1) * padded_dimensions];
#pragma unroll
    for (int k = 0; k < dimensions; ++k) digits[k] ^= row[k];
  }

  SampleSums sums;
  for (int j = 0; j < count;) {
    PartSums part;
    int const end = min(count, j + samples_per_part);
#pragma unroll 2
    for (; j < end; ++j) {
      Real x[dimensions];
      unsigned const* const row =
          &numbers[(__ffs(static_cast<int>(++index)) - 1) * padded_dimensions];
#pragma unroll
      for (int k = 0; k < dimensions; ++k) {
        x[k] = coordinate(box, k, sobol_uniform<Real>(digits[k]));
        digits[k] ^= row[k];
      }
      part.add(centered(integrand(x, box.parameters)));
    }
    part.move_to(sums);
  }
  sums = block_sums<256>(sums);
  if (threadIdx.x == 0) tiles[blockIdx.y * gridDim.x + blockIdx.x] = sums;
}

}  // namespace gridstride::quadrature

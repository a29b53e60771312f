// An iteration of importance sampling: the sums of weighted samples, and how much of their squares
// falls into each interval of each axis, from which the next grid is made.
//
// vegas_tiles: a block of four warps per tile. Samples come from the Philox stream as in
// monte_carlo.cuh; each coordinate is mapped by its axis' intervals (grid.hpp), whose ends
// lie in shared memory, and f is multiplied by the density of the map. Every warp has sums of its
// own for all intervals of all axes in shared memory. Lanes whose samples lie in the same interval
// of an axis add one after the other in the order of lanes; the others add at once. So the order of
// every sum is fixed; atomics only count. The block adds its warps' sums in order and writes them
// as the tile's. Tiles of more than 2048 samples are beyond what a grid needs: the rest of their
// samples goes into the integral alone.
//
// vegas_interval_sums: the same over all tiles; 32 intervals a block, their tiles dealt to eight
// rows of threads, which are added in order.
//
// Bytes moved: 16·d·intervals written and read per tile. Instructions of a sample in d dimensions,
// float32: 10·d of Philox, about 12·d of the map, the integrand, and 100·d or more of the sums of
// intervals.

#include "kernels/sampling/tiles.cuh"
#include "kernels/sampling/vegas/grid.hpp"

namespace gridstride::quadrature {

constexpr int intervals = vegas_intervals(dimensions);
/// Of a tile: the sums of all intervals, then how many samples there were in each.
constexpr long long interval_numbers = 2 * dimensions * intervals;
constexpr int vegas_threads = 128, vegas_warps = vegas_threads / 32;

/// Adds each lane's value to its interval, lanes of the same interval in their order. A vote on
/// each bit of the intervals' numbers finds the lanes of the same one.
__device__ inline void add_in_order(Real* sums, int interval, Real value) {
  unsigned peers = 0xffffffffu;
#pragma unroll
  for (int bit = 0; bit < vegas_interval_bits(dimensions); ++bit) {
    bool const is_set = interval >> bit & 1;
    unsigned const set = __ballot_sync(0xffffffffu, is_set);
    peers &= is_set ? set : ~set;
  }
  int const rank = __popc(peers & ((1u << threadIdx.x % 32) - 1));
  for (int turn = 0; __any_sync(0xffffffffu, rank >= turn); ++turn) {
    if (rank == turn) sums[interval] += value;
    __syncwarp();
  }
}

extern "C" __global__ void __launch_bounds__(vegas_threads)
    vegas_tiles(SampleBox<Real> box, SampleRange range, Centering<Real> centered, Real const* grid,
                SampleSums* tiles, double* tile_intervals) {
  __shared__ Real edges[dimensions][intervals + 1];
  __shared__ Real sums_of_intervals[vegas_warps][dimensions][intervals];
  __shared__ int counts[dimensions][intervals];
  for (int i = threadIdx.x; i < dimensions * (intervals + 1); i += vegas_threads)
    (&edges[0][0])[i] = grid[i];
  for (int i = threadIdx.x; i < vegas_warps * dimensions * intervals; i += vegas_threads)
    (&sums_of_intervals[0][0][0])[i] = 0;
  for (int i = threadIdx.x; i < dimensions * intervals; i += vegas_threads) (&counts[0][0])[i] = 0;
  __syncthreads();

  constexpr int stride = vegas_threads * group_samples;
  long long const tile_first = blockIdx.x * range.tile_size;
  int const count = static_cast<int>(min(range.tile_size, range.count - tile_first));
  auto& own_intervals = sums_of_intervals[threadIdx.x / 32];
  GroupWords stream{
      static_cast<unsigned long long>(range.first + tile_first) / group_samples + threadIdx.x,
      range.key,
      {}};
  SampleSums sums;
  for (int start = 0; start < count; start += stride) {
    PartSums part;
    int const place = start + static_cast<int>(threadIdx.x) * group_samples;
#pragma unroll
    for (int s = 0; s < group_samples; ++s) {
      unsigned words[words_per_sample];
      stream.read(s, words);
      Real x[dimensions], weight = 1;
      int interval[dimensions];
#pragma unroll
      for (int k = 0; k < dimensions; ++k) {
        auto const point = vegas_point(&words[k * words_per_uniform<Real>], edges[k], intervals);
        interval[k] = point.interval;
        weight *= point.density;
        x[k] = coordinate(box, k, point.y);
      }
      bool const is_one = place + s < count;
      Real const value = is_one ? weight * integrand(x, box.parameters) : Real(0);
      part.add(is_one ? centered(value) : Real(0));
      if (start >= vegas_grid_samples) continue;
      Real const scaled = value * centered.scale;
#pragma unroll
      for (int k = 0; k < dimensions; ++k) {
        add_in_order(own_intervals[k], interval[k], scaled * scaled);
        if (is_one) atomicAdd(&counts[k][interval[k]], 1);
      }
    }
    stream.group += vegas_threads;
    part.move_to(sums);
  }
  sums = block_sums<vegas_threads>(sums);
  if (threadIdx.x == 0) tiles[blockIdx.x] = sums;
  double* const tile = tile_intervals + blockIdx.x * interval_numbers;
  for (int i = threadIdx.x; i < dimensions * intervals; i += vegas_threads) {
    double sum = 0;
    for (int warp = 0; warp < vegas_warps; ++warp) sum += (&sums_of_intervals[warp][0][0])[i];
    tile[i] = sum;
    tile[dimensions * intervals + i] = (&counts[0][0])[i];
  }
}

extern "C" __global__ void __launch_bounds__(256)
    vegas_interval_sums(double const* tile_intervals, int tiles, double* totals) {
  constexpr int rows = 8;
  __shared__ double shared[rows][32];
  int const column = threadIdx.x % 32, row = threadIdx.x / 32;
  int const i = blockIdx.x * 32 + column;
  double sum = 0;
  if (i < interval_numbers)
    for (int t = row; t < tiles; t += rows) sum += tile_intervals[t * interval_numbers + i];
  shared[row][column] = sum;
  __syncthreads();
  if (row > 0 || i >= interval_numbers) return;
  for (int r = 1; r < rows; ++r) sum += shared[r][column];
  totals[i] = sum;
}

}  // namespace gridstride::quadrature

// Sorting on the GPU, as a ladder.
//
//   bitonic            A network of log2(n)·(log2(n) + 1)/2 steps of n/2 comparisons each, which
//                      are the same for all keys. A thread makes one comparison of a step: two
//                      loads and, if the keys are out of order, two stores, all coalesced. Steps
//                      that compare within 2048 places are made in shared memory, where a block
//                      holds so many: one load and one store for up to 66 steps. What is left are
//                      about log2(n/2048)²/2 passes over global memory.
//   quicksort_dynamic  A block partitions its range and launches kernels for the parts: about
//                      log2(n/2048) passes, but the first ones have few blocks. In a file of its
//                      own: cuda_quicksort.cu.
//   cub                cub::DeviceRadixSort, in cuda_cub.cu: a pass for each 8 bits of a key.
//
// Why the network takes any number of keys: tile.cuh.

#include "kernels/sort/rows.hpp"
#include "kernels/sort/tile.cuh"
#include "kernels/support/launch.cuh"

namespace gridstride::sort {

namespace {

constexpr int tile_threads = 512;
constexpr int step_threads = 256;

/// A block sorts its tile, or makes the steps that compare within a tile.
template <class T, bool with_values>
__global__ void __launch_bounds__(tile_threads)
    tile_kernel(Arrays<T> arrays, std::int64_t size, bool sorts) {
  __shared__ Tile<T, with_values> tile;
  std::int64_t const first = static_cast<std::int64_t>(blockIdx.x) * tile_size;
  int const count = static_cast<int>(size - first < tile_size ? size - first : tile_size);
  arrays.keys += first;
  if constexpr (with_values) arrays.values += first;
  tile.template load<tile_threads>(arrays, count);
  if (sorts)
    tile.template sort<tile_threads>(count);
  else
    tile.template halve<tile_threads>(tile_size, tile_size, count);
  tile.template store<tile_threads>(arrays, count);
}

/// A thread makes one comparison of a step.
template <class T, bool with_values>
__global__ void __launch_bounds__(step_threads)
    step_kernel(Arrays<T> arrays, std::int64_t size, std::int64_t span, bool mirrored) {
  std::int64_t const number =
      static_cast<std::int64_t>(blockIdx.x) * step_threads + static_cast<int>(threadIdx.x);
  auto const [low, high] = comparison(number, span, mirrored);
  if (high >= size) return;
  T const a = arrays.keys[low], b = arrays.keys[high];
  if (!precedes(b, a)) return;
  arrays.keys[low] = b;
  arrays.keys[high] = a;
  if constexpr (with_values) {
    std::uint32_t const value = arrays.values[low];
    arrays.values[low] = arrays.values[high];
    arrays.values[high] = value;
  }
}

}  // namespace

template <class T>
void cuda_bitonic(Stream& stream, Arguments<T> const& a) {
  with_values(a.values != nullptr, [&](auto values) {
    Arrays<T> const arrays = {a.keys, a.values};
    auto const within_tiles = [&](bool sorts) {
      tile_kernel<T, values()><<<blocks_for(a.size, tile_size), tile_threads, 0, native(stream)>>>(
          arrays, a.size, sorts);
      GRIDSTRIDE_CHECK_LAUNCH(stream, "sort bitonic tiles");
    };
    auto const step = [&](std::int64_t span, bool mirrored) {
      std::int64_t const comparisons = (a.size + span - 1) / span * (span / 2);
      step_kernel<T, values()>
          <<<blocks_for(comparisons, step_threads), step_threads, 0, native(stream)>>>(
              arrays, a.size, span, mirrored);
      GRIDSTRIDE_CHECK_LAUNCH(stream, "sort bitonic step");
    };
    within_tiles(true);
    for (std::int64_t sorted = tile_size; sorted < a.size; sorted *= 2) {
      step(2 * sorted, true);
      for (std::int64_t span = sorted; span > tile_size; span /= 2) step(span, false);
      within_tiles(false);
    }
  });
}

template void cuda_bitonic(Stream&, Arguments<std::int32_t> const&);
template void cuda_bitonic(Stream&, Arguments<std::int64_t> const&);
template void cuda_bitonic(Stream&, Arguments<float> const&);
template void cuda_bitonic(Stream&, Arguments<double> const&);

}  // namespace gridstride::sort

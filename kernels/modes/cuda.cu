// The work on the GPU with what point.hpp has for each mode. A warp has modes beside each other along
// x, so that numbers and tables come in whole sectors and symbols along y and z are the same for all
// of it. What several results have in common is read once from memory, then from the first cache.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>

#include "kernels/modes/point.hpp"
#include "kernels/modes/rows.hpp"
#include "kernels/support/launch.cuh"

namespace gridstride::modes {

namespace {

constexpr int threads = 256;

/// Blocks of so many modes along x and rows of them; threads go on to rows further along.
struct Shape {
  dim3 grid, block;

  explicit Shape(std::int64_t const (&points)[3]) {
    unsigned along = 32;
    while (along < threads && static_cast<std::int64_t>(along) < points[0]) along *= 2;
    // Few threads beyond the end of a row.
    auto const beyond = [&] {
      return blocks_for(points[0], static_cast<int>(along)) * std::int64_t{along} - points[0];
    };
    while (along > 32 && beyond() > points[0] / 16) along /= 2;
    constexpr std::int64_t most = 65535;
    block = dim3(along, threads / along);
    grid = dim3(blocks_for(points[0], static_cast<int>(along)),
                static_cast<unsigned>(std::min<std::int64_t>(
                    most, blocks_for(points[1] * points[2], static_cast<int>(block.y)))));
  }
};

template <class Visit>
__device__ __forceinline__ void for_each_mode(std::int64_t const (&points)[3], Visit const& visit) {
  auto const i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= points[0]) return;
  auto const ny = static_cast<unsigned>(points[1]), rows = ny * static_cast<unsigned>(points[2]);
  for (unsigned row = blockIdx.y * blockDim.y + threadIdx.y; row < rows;
       row += gridDim.y * blockDim.y)
    visit(Place{{i, row % ny, row / ny}});
}

template <bool is_complex, class T>
__global__ void __launch_bounds__(threads)
    combine_kernel(__grid_constant__ Combination<T> const work,
                   __grid_constant__ Modes const modes) {
  for_each_mode(work.is_full ? modes.full : modes.kept,
                [&](Place const& p) { combine_at<is_complex>(work, modes, p); });
}

template <int m, bool is_complex, class T>
__global__ void __launch_bounds__(threads)
    update_kernel(__grid_constant__ BlockUpdate<T> const work, __grid_constant__ Block const block,
                  __grid_constant__ Folds const folds) {
  for_each_mode(folds.kept, [&](Place const& p) {
    update_at<m, is_complex>(work, block, p.in(folds.kept), folds.place(p));
  });
}

template <class T>
void run_on_gpu(Stream& stream, Combination<T> const& work) {
  Modes const modes = Modes::of(work.layout);
  Shape const shape(work.is_full ? modes.full : modes.kept);
  auto* const kernel = work.layout.is_complex ? combine_kernel<true, T> : combine_kernel<false, T>;
  kernel<<<shape.grid, shape.block, 0, native(stream)>>>(work, modes);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "modes combine");
}

template <class T>
void run_on_gpu(Stream& stream, Update<T> const& work) {
  auto const update = BlockUpdate<T>::of(work);
  Folds const folds = Folds::of(work.layout, work.tables);
  Shape const shape(folds.kept);
  for (Block const& block : work.blocks)
    with_size(block.size, [&](auto m) {
      auto* const kernel =
          work.layout.is_complex ? update_kernel<m, true, T> : update_kernel<m, false, T>;
      kernel<<<shape.grid, shape.block, 0, native(stream)>>>(update, block, folds);
      GRIDSTRIDE_CHECK_LAUNCH(stream, "modes update");
    });
}

template <class T>
__global__ void __launch_bounds__(threads)
    pair_kernel(__grid_constant__ Pairs<T> const work, std::int64_t size) {
  auto const n = std::int64_t{blockIdx.x} * threads + threadIdx.x;
  if (n < size) pair_at(work, static_cast<int>(blockIdx.y), n);
}

template <class T>
void run_on_gpu(Stream& stream, Pairing<T> const& work) {
  if (work.fields == 0) return;
  auto const pairs = Pairs<T>::of(work);
  dim3 const grid(blocks_for(pairs.size(), threads), static_cast<unsigned>(work.fields));
  pair_kernel<T><<<grid, threads, 0, native(stream)>>>(pairs, pairs.size());
  GRIDSTRIDE_CHECK_LAUNCH(stream, "modes pair");
}

template <class T>
void run_on_gpu(Stream& stream, Tabulation<T> const& work) {
  cuda_tabulate(stream, work);
}

}  // namespace

template <class T>
void cuda_each(Stream& stream, Work<T> const& work) {
  std::visit([&](auto const& one) { run_on_gpu(stream, one); }, work);
}

template void cuda_each(Stream&, Work<float> const&);
template void cuda_each(Stream&, Work<double> const&);

}  // namespace gridstride::modes

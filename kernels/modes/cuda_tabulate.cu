// Functions of h·L: a thread for each mode has all functions of a block's matrix, in float64.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>

#include "kernels/modes/point.hpp"
#include "kernels/modes/rows.hpp"
#include "kernels/support/launch.cuh"

namespace gridstride::modes {

namespace {

constexpr int threads_of_tables = 128;

template <int m, class T>
__global__ void __launch_bounds__(threads_of_tables)
    tabulate_kernel(__grid_constant__ BlockTables<T> const work,
                    __grid_constant__ Block const block) {
  std::int64_t const nx = work.points[0], ny = work.points[1], size = nx * ny * work.points[2];
  auto const step = std::int64_t{gridDim.x} * threads_of_tables;
  for (auto n = std::int64_t{blockIdx.x} * threads_of_tables + threadIdx.x; n < size; n += step)
    tabulate_at<m>(work, block, Place{{n % nx, n / nx % ny, n / (nx * ny)}});
}

}  // namespace

template <class T>
void cuda_tabulate(Stream& stream, Tabulation<T> const& work) {
  auto const tables = BlockTables<T>::of(work);
  constexpr std::int64_t most = 1 << 16;
  auto const blocks = static_cast<unsigned>(
      std::min<std::int64_t>(most, blocks_for(work.tables.size(), threads_of_tables)));
  for (Block const& block : work.blocks)
    with_size(block.size, [&](auto m) {
      tabulate_kernel<m, T><<<blocks, threads_of_tables, 0, native(stream)>>>(tables, block);
      GRIDSTRIDE_CHECK_LAUNCH(stream, "modes tabulate");
    });
}

template void cuda_tabulate(Stream&, Tabulation<float> const&);
template void cuda_tabulate(Stream&, Tabulation<double> const&);

}  // namespace gridstride::modes

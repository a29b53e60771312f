// Inverses of blocks times a vector: a thread for each row. A block's columns lie one after the other,
// so that neighbouring threads read neighbouring values; what they read of r is in the L1 cache. A row
// moves 8·(s + 2) bytes in float64. Of several vectors, blocks that have the same rows follow each other,
// so that the values come from the L2 cache.

#include "kernels/sparse/blocks.hpp"
#include "kernels/support/launch.cuh"

namespace gridstride::sparse {

namespace {

constexpr int threads_of_blocks = 256;

template <class T>
__global__ void __launch_bounds__(threads_of_blocks)
    blocks_kernel(unsigned rows, unsigned block_rows, T const* __restrict__ values,
                  unsigned vectors, T const* __restrict__ r, T* __restrict__ z) {
  unsigned const row = blockIdx.x / vectors * threads_of_blocks + threadIdx.x;
  if (row >= rows) return;
  std::int64_t const vector = std::int64_t{blockIdx.x % vectors} * rows;
  r += vector;
  z += vector;
  unsigned const first = row / block_rows * block_rows;
  unsigned const count = min(block_rows, rows - first);
  T const* const own = values + std::int64_t{first} * block_rows + (row - first);
  T sum = 0;
#pragma unroll 4
  for (unsigned j = 0; j < count; ++j) sum += own[std::int64_t{j} * block_rows] * r[first + j];
  z[row] = sum;
}

}  // namespace

template <class T>
void cuda_multiply_blocks(Stream& stream, std::int64_t rows, std::int64_t block_rows,
                          T const* values, T const* r, T* z, std::int64_t vectors) {
  auto const blocks = blocks_for(rows, threads_of_blocks) * static_cast<unsigned>(vectors);
  blocks_kernel<<<blocks, threads_of_blocks, 0, native(stream)>>>(
      static_cast<unsigned>(rows), static_cast<unsigned>(block_rows), values,
      static_cast<unsigned>(vectors), r, z);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "blocks_kernel");
}

#define GRIDSTRIDE_INSTANTIATE(T)                                                                 \
  template void cuda_multiply_blocks(Stream&, std::int64_t, std::int64_t, T const*, T const*, T*, \
                                     std::int64_t);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::sparse

// Inverses of blocks times a vector: a thread for each row. A block's columns lie one after the other,
// so that neighbouring threads read neighbouring values; what they read of r is in the L1 cache. A row
// moves 8·(s + 2) bytes in float64.

#include "kernels/sparse/blocks.hpp"
#include "kernels/support/launch.cuh"

namespace gridstride::sparse {

namespace {

constexpr int threads_of_blocks = 256;

template <class T>
__global__ void __launch_bounds__(threads_of_blocks)
    blocks_kernel(unsigned rows, unsigned block_rows, T const* __restrict__ values,
                  T const* __restrict__ r, T* __restrict__ z) {
  unsigned const row = blockIdx.x * threads_of_blocks + threadIdx.x;
  if (row >= rows) return;
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
                          T const* values, T const* r, T* z) {
  blocks_kernel<<<blocks_for(rows, threads_of_blocks), threads_of_blocks, 0, native(stream)>>>(
      static_cast<unsigned>(rows), static_cast<unsigned>(block_rows), values, r, z);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "blocks_kernel");
}

#define GRIDSTRIDE_INSTANTIATE(T) \
  template void cuda_multiply_blocks(Stream&, std::int64_t, std::int64_t, T const*, T const*, T*);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::sparse

#pragma once

#include "core/buffer.hpp"
#include "kernels/matmul/matmul.hpp"
#include "kernels/matmul/tensor_map.cuh"
#include "kernels/matmul/wgmma.cuh"

/// Operands as TMA needs them.
namespace gridstride::matmul::wgmma {

constexpr int patch = 32, patch_lines = 8;

/// Stores op(X), of `rows` x `columns`, in `copy`, and the low parts of its elements in `low`, each
/// unless it is null. A block has a patch of 32 x 32.
template <Op op>
__global__ void pack_kernel(float const* x, std::int64_t ldx, std::int64_t rows,
                            std::int64_t columns, float* copy, float* low, std::int64_t leading) {
  std::int64_t const across = (columns + patch - 1) / patch;
  std::int64_t const i = blockIdx.x / across * patch, j = blockIdx.x % across * patch;
  __shared__ float turned[patch][patch + 1];
  if constexpr (op == Op::transpose) {
    for (int l = threadIdx.y; l < patch; l += patch_lines)
      if (j + l < columns && i + threadIdx.x < rows)
        turned[threadIdx.x][l] = x[(j + l) * ldx + i + threadIdx.x];
    __syncthreads();
  }
  for (int l = threadIdx.y; l < patch; l += patch_lines) {
    if (i + l >= rows || j + threadIdx.x >= columns) continue;
    float const value =
        op == Op::transpose ? turned[l][threadIdx.x] : x[(i + l) * ldx + j + threadIdx.x];
    std::int64_t const at = (i + l) * leading + j + threadIdx.x;
    if (copy != nullptr) copy[at] = value;
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    unsigned high = __float_as_uint(value);
    if (low != nullptr) low[at] = __uint_as_float(split_off_low(high));
#endif
  }
}

/// op(X) in aligned rows, where it was or in memory of its own, and its low parts if asked for.
struct Packed {
  Matrix<float const> matrix, low;
  Buffer<float> copies, lows;

  Packed(Stream& stream, Operand<float> const& x, bool with_low) {
    std::int64_t const rows = x.rows(), columns = x.columns();
    constexpr int width = vector_width<float>;
    std::int64_t const leading = (columns + width - 1) / width * width;
    bool const as_is = x.op == Op::none && can_be_copied(x.matrix.data, x.matrix.leading);
    copies = Buffer<float>(stream, MemorySpace::device, as_is ? 0 : rows * leading);
    lows = Buffer<float>(stream, MemorySpace::device, with_low ? rows * leading : 0);
    matrix = as_is ? x.matrix : Matrix<float const>(copies.data(), rows, columns, leading);
    low = with_low ? Matrix<float const>(lows.data(), rows, columns, leading) : matrix;
    if (as_is && !with_low) return;
    auto const kernel = x.op == Op::none ? pack_kernel<Op::none> : pack_kernel<Op::transpose>;
    unsigned const blocks = blocks_for(rows, patch) * blocks_for(columns, patch);
    kernel<<<blocks, dim3(patch, patch_lines), 0, native(stream)>>>(
        x.matrix.data, x.matrix.leading, rows, columns, as_is ? nullptr : copies.data(),
        with_low ? lows.data() : nullptr, leading);
    GRIDSTRIDE_CHECK_LAUNCH(stream, "matmul wgmma: packing");
  }
};

}  // namespace gridstride::matmul::wgmma

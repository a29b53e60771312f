#pragma once

#include <cuda.h>

#include <string>

#include "kernels/support/launch.cuh"
#include "kernels/support/matrix.hpp"
#include "kernels/support/vector.cuh"

namespace gridstride::matmul {

/// Columns of a box that the tensor memory accelerator (TMA) copies: 128 bytes.
constexpr int box_columns = 32;

/// Whether TMA can read the matrix: it and its rows have to be aligned to 16 bytes.
inline bool can_be_copied(float const* data, std::int64_t leading) {
  return misalignment(data) == 0 && leading % vector_width<float> == 0;
}

/// TMA stores 16 bytes at least, also where a matrix ends within them.
constexpr int stored_columns = vector_width<float>;

inline bool can_be_exchanged(float const* data, std::int64_t leading, std::int64_t columns) {
  return can_be_copied(data, leading) && columns % stored_columns == 0;
}

enum class Rounding { none, to_tf32 };

/// What TMA has to know to copy boxes of `box_rows` x 32 elements of a matrix to shared memory.
/// There a row has 128 bytes, and its piece c of 16 bytes lies at place c XOR (row mod 8), so that
/// neither rows nor columns meet in banks. A box begins at a multiple of 1024 bytes. What it has
/// beyond the matrix is zero. `to_tf32` rounds to the nearest TF32, ties to even.
inline CUtensorMap tensor_map(Matrix<float const> const& x, int box_rows, Rounding rounding) {
  static auto const encode = [] {
    void* function = nullptr;
    cudaDriverEntryPointQueryResult found;
    GRIDSTRIDE_CUDA(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000,
                                                     cudaEnableDefault, &found));
    if (found != cudaDriverEntryPointSuccess)
      throw CudaError("cuTensorMapEncodeTiled", __FILE__, __LINE__, "the driver does not have it");
    return reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(function);
  }();
  cuuint64_t const sizes[] = {static_cast<cuuint64_t>(x.columns), static_cast<cuuint64_t>(x.rows)};
  cuuint64_t const strides[] = {sizeof(float) * static_cast<cuuint64_t>(x.leading)};
  cuuint32_t const box[] = {box_columns, static_cast<cuuint32_t>(box_rows)}, steps[] = {1, 1};
  CUtensorMap map;
  CUresult const status =
      encode(&map,
             rounding == Rounding::to_tf32 ? CU_TENSOR_MAP_DATA_TYPE_TFLOAT32
                                           : CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
             2, const_cast<float*>(x.data), sizes, strides, box, steps,
             CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
             CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (status != CUDA_SUCCESS)
    throw CudaError("cuTensorMapEncodeTiled", __FILE__, __LINE__,
                    "error " + std::to_string(static_cast<int>(status)));
  return map;
}

}  // namespace gridstride::matmul

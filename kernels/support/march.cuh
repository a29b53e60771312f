#pragma once

#include <cuda_runtime_api.h>

#include "core/device.hpp"
#include "kernels/support/vector.cuh"

/// For stencils whose warps march along the last axis, with the lines within reach in registers.
namespace gridstride {

/// Loads a vector that other threads need too, so that it stays in L1. The load may come before
/// earlier stores of the thread.
template <int width, class T>
__device__ Vector<T, width> load_kept(T const* source) {
  if constexpr (width == 4) {
    float4 const v = __ldg(reinterpret_cast<float4 const*>(source));
    return {v.x, v.y, v.z, v.w};
  } else if constexpr (width == 2) {
    double2 const v = __ldg(reinterpret_cast<double2 const*>(source));
    return {v.x, v.y};
  } else {
    return {__ldg(source)};
  }
}

/// Tiles that cover so many points.
constexpr long long tiles_over(long long points, long long tile) {
  return (points + tile - 1) / tile;
}

/// Lines that a thread marches over: `longest`, or fewer where a small grid would not give every
/// multiprocessor 32 warps.
inline int march_length(Device const& device, int longest, long long lines,
                        long long warps_beside) {
  int length = longest;
  while (length > 1 && warps_beside * tiles_over(lines, length) < 32LL * device.processors())
    length = (length + 1) / 2;
  return length;
}

/// Whether every line of arrays with `points` points along x starts at a multiple of 16 bytes, so
/// that vectors can be loaded. Arrays that there are not may be null.
template <class T, class... Arrays>
bool takes_vectors(long long points, T const* first, Arrays const*... others) {
  return points % vector_width<T> == 0 && misalignment(first) == 0 &&
         ((misalignment(others) == 0) && ...);
}

}  // namespace gridstride

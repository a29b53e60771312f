#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "core/error.hpp"
#include "core/stream.hpp"

namespace gridstride {

/// Throws `CudaError` when a call into the CUDA runtime reports a fault.
#define GRIDSTRIDE_CUDA(call) ::gridstride::check_cuda((call), #call, __FILE__, __LINE__)

inline void check_cuda(cudaError_t status, char const* call, char const* file, int line) {
  if (status != cudaSuccess) throw CudaError(call, file, line, cudaGetErrorString(status));
}

inline cudaStream_t native(Stream& stream) { return static_cast<cudaStream_t>(stream.native()); }

/// Whether the stream's work goes into a graph instead of the device.
bool is_capturing(Stream& stream);

/// To be called after every `<<<>>>`. With GRIDSTRIDE_SYNC_LAUNCHES set in the environment it also
/// waits for the kernel, so that a fault is reported where it was launched.
void check_launch(Stream& stream, char const* kernel, char const* file, int line);
#define GRIDSTRIDE_CHECK_LAUNCH(stream, kernel) \
  ::gridstride::check_launch((stream), (kernel), __FILE__, __LINE__)

/// Blocks needed to give each of `work` items a thread.
constexpr unsigned blocks_for(std::int64_t work, int threads) {
  return static_cast<unsigned>((work + threads - 1) / threads);
}

}  // namespace gridstride

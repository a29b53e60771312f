#include "kernels/support/launch.cuh"

#include <cstdlib>
#include <map>
#include <mutex>
#include <utility>

#include "kernels/support/shared_bytes.cuh"

namespace gridstride {
namespace {

cudaError_t raise_shared_bytes(void const* kernel, std::size_t bytes) {
  static std::mutex mutex;
  static std::map<std::pair<int, void const*>, std::size_t> allowed;
  int device = 0;
  if (auto const status = cudaGetDevice(&device); status != cudaSuccess) return status;
  std::scoped_lock const lock(mutex);
  std::size_t& most = allowed[{device, kernel}];
  if (bytes <= most) return cudaSuccess;
  auto const status = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                           static_cast<int>(bytes));
  if (status == cudaSuccess) most = bytes;
  return status;
}

}  // namespace

bool takes_shared_bytes(void const* kernel, std::size_t bytes) {
  return raise_shared_bytes(kernel, bytes) == cudaSuccess;
}

void allow_shared_bytes(void const* kernel, std::size_t bytes) {
  GRIDSTRIDE_CUDA(raise_shared_bytes(kernel, bytes));
}

bool is_capturing(Stream& stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  GRIDSTRIDE_CUDA(cudaStreamIsCapturing(native(stream), &status));
  return status != cudaStreamCaptureStatusNone;
}

void check_launch(Stream& stream, char const* kernel, char const* file, int line) {
  static bool const wait_for_kernel = std::getenv("GRIDSTRIDE_SYNC_LAUNCHES") != nullptr;
  check_cuda(cudaGetLastError(), kernel, file, line);
  if (wait_for_kernel && !is_capturing(stream))
    check_cuda(cudaStreamSynchronize(native(stream)), kernel, file, line);
}

}  // namespace gridstride

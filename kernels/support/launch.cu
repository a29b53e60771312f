#include "kernels/support/launch.cuh"

#include <cstdlib>

namespace gridstride {

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

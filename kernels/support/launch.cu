#include "kernels/support/launch.cuh"

#include <cstdlib>

namespace gridstride {

void check_launch(Stream& stream, char const* kernel, char const* file, int line) {
  static bool const wait_for_kernel = std::getenv("GRIDSTRIDE_SYNC_LAUNCHES") != nullptr;
  check_cuda(cudaGetLastError(), kernel, file, line);
  if (!wait_for_kernel) return;
  cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
  check_cuda(cudaStreamIsCapturing(native(stream), &capture), kernel, file, line);
  if (capture == cudaStreamCaptureStatusNone)
    check_cuda(cudaStreamSynchronize(native(stream)), kernel, file, line);
}

}  // namespace gridstride

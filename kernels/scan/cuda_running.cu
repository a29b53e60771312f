// The increments of an integral by the trapezoidal rule, for running.hpp: a thread an increment.
// Bytes: n·sizeof(T) read, n·sizeof(T) written.

#include <cuda_runtime_api.h>

#include "kernels/scan/rows.hpp"
#include "kernels/support/launch.cuh"
#include "kernels/support/vector.cuh"

namespace gridstride::scan {

namespace {

constexpr int threads = 256;

template <class T>
__global__ void __launch_bounds__(threads) increments_kernel(Increments<T> a) {
  std::int64_t const i = std::int64_t{blockIdx.x} * threads + threadIdx.x;
  if (i >= a.size) return;
  T const* const left = i > 0 ? a.input + (i - 1) : a.before;
  a.output[i] = left != nullptr ? product(a.spacing, sum(*left, a.input[i])) / 2 : T{0};
}

}  // namespace

template <class T>
void cuda_increments(Stream& stream, Increments<T> const& a) {
  increments_kernel<<<blocks_for(a.size, threads), threads, 0, native(stream)>>>(a);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "scan increments");
}

template void cuda_increments(Stream&, Increments<float> const&);
template void cuda_increments(Stream&, Increments<double> const&);

}  // namespace gridstride::scan

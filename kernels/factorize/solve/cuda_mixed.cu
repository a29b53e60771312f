// Scaling and adding between float32 and float64 for mixed-precision solves: an element for each
// thread, rows cut into blocks; bound by memory.

#include <cuda_runtime.h>

#include "kernels/factorize/solve/mixed_parts.hpp"
#include "kernels/support/launch.cuh"

namespace gridstride::factorize {

namespace {

constexpr int mixed_threads = 256;

template <class From, class To>
__global__ void __launch_bounds__(mixed_threads)
    accumulate_kernel(double scale, Matrix<From const> from, double weight, Matrix<To> to,
                      std::int32_t const* order) {
  std::int64_t i, j;
  if (from.columns == 1) {
    i = std::int64_t{blockIdx.x} * mixed_threads + threadIdx.x, j = 0;
  } else {
    std::int64_t const blocks = (from.columns + mixed_threads - 1) / mixed_threads;
    i = blockIdx.x / blocks, j = blockIdx.x % blocks * mixed_threads + threadIdx.x;
  }
  if (i >= from.rows || j >= from.columns) return;
  std::int64_t const source = order == nullptr ? i : order[i];
  To& target = to.data[i * to.leading + j];
  double const added = scale * static_cast<double>(from.data[source * from.leading + j]);
  target = static_cast<To>(weight == 0 ? added : added + weight * static_cast<double>(target));
}

}  // namespace

template <class From, class To>
void cuda_accumulate(Stream& stream, double scale, Matrix<From const> from, double weight,
                     Matrix<To> to, std::int32_t const* order) {
  unsigned const blocks = from.columns == 1 ? blocks_for(from.rows, mixed_threads)
                                            : blocks_for(from.columns, mixed_threads) *
                                                  static_cast<unsigned>(from.rows);
  accumulate_kernel<<<blocks, mixed_threads, 0, native(stream)>>>(scale, from, weight, to, order);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "factorize accumulate");
}

template void cuda_accumulate(Stream&, double, Matrix<double const>, double, Matrix<float>,
                              std::int32_t const*);
template void cuda_accumulate(Stream&, double, Matrix<float const>, double, Matrix<double>,
                              std::int32_t const*);
template void cuda_accumulate(Stream&, double, Matrix<double const>, double, Matrix<double>,
                              std::int32_t const*);

}  // namespace gridstride::factorize

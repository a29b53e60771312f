// Products with matrices of stencils on the GPU.
//
// `points`: a thread for each point, which reads up to 27 numbers around it. Those of neighbours come
// from the caches, so that x is read about once; the loads themselves are what takes the time.
// `columns`: cuda_columns.cu.

#include "kernels/lattice/rows.hpp"
#include "kernels/support/launch.cuh"

namespace gridstride::lattice {

namespace {

constexpr int threads_of_points = 256;

template <class T>
__global__ void __launch_bounds__(threads_of_points)
    points_kernel(__grid_constant__ Around<T> const around, std::int64_t size, T* y) {
  std::int64_t const p = std::int64_t{blockIdx.x} * threads_of_points + threadIdx.x;
  if (p < size) y[p] = around.at(p);
}

template <class From, class To>
__global__ void __launch_bounds__(threads_of_points)
    round_kernel(From const* from, To* to, std::int64_t size) {
  std::int64_t const i = std::int64_t{blockIdx.x} * threads_of_points + threadIdx.x;
  if (i < size) to[i] = static_cast<To>(from[i]);
}

}  // namespace

template <class T>
void cuda_points(Stream& stream, Work<T> const& work) {
  auto const around = Around<T>::of(work);
  std::int64_t const size = around.nx * around.ny * around.nz;
  points_kernel<<<blocks_for(size, threads_of_points), threads_of_points, 0, native(stream)>>>(
      around, size, work.y);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "lattice points");
}

template <class From, class To>
void cuda_round(Stream& stream, std::span<From const> from, std::span<To> to) {
  auto const size = static_cast<std::int64_t>(from.size());
  round_kernel<<<blocks_for(size, threads_of_points), threads_of_points, 0, native(stream)>>>(
      from.data(), to.data(), size);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "lattice round");
}

template void cuda_round(Stream&, std::span<float const>, std::span<double>);
template void cuda_round(Stream&, std::span<double const>, std::span<float>);
#define GRIDSTRIDE_INSTANTIATE(T) template void cuda_points(Stream&, Work<T> const&);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::lattice

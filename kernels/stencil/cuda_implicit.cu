// Implicit steps of diffusion on the GPU: what is beside the solution of tridiagonal systems. A
// thread has a point; neighbours come through the caches.
//
// Bytes of `residual`: 2·sizeof(T) a point, and sizeof(T) for each of α, the source and the terms.

#include <cuda_runtime_api.h>

#include <stdexcept>

#include "kernels/stencil/implicit_rows.hpp"
#include "kernels/support/launch.cuh"

namespace gridstride::stencil {

namespace {

constexpr int implicit_threads = 256;

__device__ long long implicit_index() {
  return static_cast<long long>(blockIdx.x) * implicit_threads + threadIdx.x;
}

/// Blocks stand on the lines along x, so that no thread divides by more than the number of lines.
template <int dims, bool variable, class T>
__global__ void residual_kernel(__grid_constant__ ImplicitArguments<T> const w,
                                unsigned blocks_of_line) {
  long long const line = blockIdx.x / blocks_of_line;
  long long const i =
      static_cast<long long>(blockIdx.x % blocks_of_line) * implicit_threads + threadIdx.x;
  if (i >= w.given.points[0]) return;
  long long const j = dims < 3 ? line : line % w.given.points[1];
  long long const k = dims < 3 ? 0 : line / w.given.points[1];
  w.given.out[i + w.given.points[0] * line] = residual_point<dims, variable>(w, i, j, k);
}

template <int dims, bool variable, int axis, class T>
__global__ void hold_kernel(__grid_constant__ ImplicitArguments<T> const w, long long count) {
  if (implicit_index() < count) hold_point<dims, variable, axis>(w, implicit_index());
}

template <bool variable, class T>
__global__ void rows_kernel(__grid_constant__ ImplicitArguments<T> const w, long long count) {
  if (implicit_index() < count) write_row<variable>(w, implicit_index());
}

}  // namespace

template <class T>
void cuda_residual(Stream& stream, int dims, ImplicitArguments<T> const& w) {
  with_shape(dims, w.given, [&](auto rank, auto variable) {
    unsigned const of_line = blocks_for(w.given.points[0], implicit_threads);
    long long const blocks = of_line * (w.given.points[1] * w.given.points[2]);
    if (blocks > 2147483647) throw std::invalid_argument("stencil: the grid needs too many blocks");
    residual_kernel<rank(), variable(), T>
        <<<static_cast<unsigned>(blocks), implicit_threads, 0, native(stream)>>>(w, of_line);
    GRIDSTRIDE_CHECK_LAUNCH(stream, "stencil residual");
  });
}

template <class T>
void cuda_hold(Stream& stream, int dims, ImplicitArguments<T> const& w) {
  with_axis(dims, w, [&](auto rank, auto variable, auto axis) {
    hold_kernel<rank(), variable(), axis(), T>
        <<<blocks_for(face_points(w), implicit_threads), implicit_threads, 0, native(stream)>>>(
            w, face_points(w));
    GRIDSTRIDE_CHECK_LAUNCH(stream, "stencil hold");
  });
}

template <class T>
void cuda_rows_of_axis(Stream& stream, ImplicitArguments<T> const& w) {
  long long const count = row_count(w);
  auto* const kernel = w.given.diffusivity ? rows_kernel<true, T> : rows_kernel<false, T>;
  kernel<<<blocks_for(count, implicit_threads), implicit_threads, 0, native(stream)>>>(w, count);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "stencil rows");
}

#define GRIDSTRIDE_INSTANTIATE(T)                                         \
  template void cuda_residual(Stream&, int, ImplicitArguments<T> const&); \
  template void cuda_hold(Stream&, int, ImplicitArguments<T> const&);     \
  template void cuda_rows_of_axis(Stream&, ImplicitArguments<T> const&);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::stencil

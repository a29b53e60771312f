// Implicit steps of diffusion on the host: the formulas of implicit_point.cuh at every point, lines
// shared among threads.

#include "kernels/stencil/implicit_rows.hpp"
#include "kernels/support/parallel_for.hpp"

namespace gridstride::stencil {

template <class T>
void host_residual(Stream&, int dims, ImplicitArguments<T> const& w) {
  with_shape(dims, w.given, [&](auto rank, auto variable) {
    auto const [nx, ny, nz] = w.given.points;
    parallel_for(ny * nz, 8 * nx, [&, nx = nx, ny = ny](std::int64_t line) {
      for (long long i = 0; i < nx; ++i)
        w.given.out[i + nx * line] = residual_point<rank(), variable()>(w, i, line % ny, line / ny);
    });
  });
}

template <class T>
void host_hold(Stream&, int dims, ImplicitArguments<T> const& w) {
  with_axis(dims, w, [&](auto rank, auto variable, auto axis) {
    for (long long index = 0; index < face_points(w); ++index)
      hold_point<rank(), variable(), axis()>(w, index);
  });
}

template <class T>
void host_rows_of_axis(Stream&, ImplicitArguments<T> const& w) {
  parallel_for(row_count(w), 8, [&](std::int64_t index) {
    if (w.given.diffusivity)
      write_row<true>(w, index);
    else
      write_row<false>(w, index);
  });
}

#define GRIDSTRIDE_INSTANTIATE(T)                                         \
  template void host_residual(Stream&, int, ImplicitArguments<T> const&); \
  template void host_hold(Stream&, int, ImplicitArguments<T> const&);     \
  template void host_rows_of_axis(Stream&, ImplicitArguments<T> const&);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::stencil

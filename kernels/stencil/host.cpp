// The diffusion stencil on the host.
//
// `reference` is the formula of diffusion_point.cuh at every point in turn: the oracle.
// `threads` shares whole rows (lines along x) of the planes that are wanted among the threads. A row
// that lies on no side runs a branch-free loop over its inner points, which the compiler vectorises;
// ends of rows and rows on a side go through the reference's formula. It moves in and out once each
// (the rows above and below come from the caches), and the read that a cache makes of a line before
// it is written.

#include <algorithm>

#include "kernels/stencil/rows.hpp"
#include "kernels/support/parallel_for.hpp"
#include "kernels/support/vector_widths.hpp"
#include "kernels/support/wanted_lines.hpp"

namespace gridstride::stencil {

template <class T>
void host_reference(Stream&, int dims, DiffusionArguments<T> const& arguments) {
  with_shape(dims, arguments, [&](auto rank, auto variable) {
    auto const [nx, ny, nz] = arguments.points;
    for (long long k = 0; k < nz; ++k)
      for (long long j = 0; j < ny; ++j)
        for (long long i = 0; i < nx; ++i)
          arguments.out[i + nx * (j + ny * k)] =
              update_point<rank(), variable()>(arguments, i, j, k);
  });
}

namespace {

/// What diffusion changes at `count` points from `first` on, all of them inside the grid; with
/// `add`, the new values.
template <int dims, bool variable, bool add, class T>
GRIDSTRIDE_VECTOR_WIDTHS void inner_points(DiffusionArguments<T> const& a, long long first,
                                           long long count, T* values) {
  long long const stride[3] = {1, a.points[0], a.points[0] * a.points[1]};
  T const* in = a.in + first;
  T const* alpha = variable ? a.diffusivity + first : nullptr;
#pragma omp simd
  for (long long i = 0; i < count; ++i) {
    T change = 0;
    for (int axis = 0; axis < dims; ++axis) {
      long long const s = stride[axis];
      if constexpr (variable)
        change = add_axis(change, a.weight[axis], in[i - s], in[i], in[i + s], alpha[i - s],
                          alpha[i], alpha[i + s]);
      else
        change = add_axis(change, a.weight[axis], in[i - s], in[i], in[i + s]);
    }
    values[i] = add ? in[i] + change : change;
  }
}

/// `finish_point` for `count` points from `first` on, in loops that the compiler vectorises.
template <class T>
GRIDSTRIDE_VECTOR_WIDTHS void finish_points(DiffusionArguments<T> const& a, long long first,
                                            long long count, T* change) {
  T const* in = a.in + first;
  T const* base = a.base ? a.base + first : in;
  T* out = a.out + first;
  if (a.source)
#pragma omp simd
    for (long long i = 0; i < count; ++i)
      change[i] = multiply_add(a.source_weight, a.source[first + i], change[i]);
  if (a.base && a.in_weight != 0)
#pragma omp simd
    for (long long i = 0; i < count; ++i)
      change[i] = multiply_add(a.in_weight, in[i] - base[i], change[i]);
  for (int j = 0; j < a.term_count; ++j) {
    T const* term = a.term[j] + first;
    T const weight = a.term_weight[j];
#pragma omp simd
    for (long long i = 0; i < count; ++i)
      change[i] = multiply_add(weight, term[i] - base[i], change[i]);
  }
#pragma omp simd
  for (long long i = 0; i < count; ++i) out[i] = base[i] + change[i];
}

/// A row whose points, but for the two at its ends, lie inside the grid.
template <int dims, bool variable, class T>
void inner_row(DiffusionArguments<T> const& a, long long row) {
  long long const count = a.points[0] - 2;
  if (is_plain(a)) return inner_points<dims, variable, true>(a, row + 1, count, a.out + row + 1);
  // `out` may be the base or a term, so that a piece is finished aside before it is stored.
  constexpr long long piece = 1024;
  T change[piece];
  for (long long done = 0; done < count; done += piece) {
    long long const first = row + 1 + done, size = std::min(piece, count - done);
    inner_points<dims, variable, false>(a, first, size, change);
    finish_points(a, first, size, change);
  }
}

}  // namespace

template <class T>
void host_threads(Stream&, int dims, DiffusionArguments<T> const& arguments) {
  with_shape(dims, arguments, [&](auto rank, auto variable) {
    auto const& a = arguments;
    auto const [nx, ny, nz] = a.points;
    auto const update = [&](long long i, long long j, long long k) {
      a.out[i + nx * (j + ny * k)] = update_point<rank(), variable()>(a, i, j, k);
    };
    auto const [first, count] = wanted_lines(rank(), a.points, a.made);
    parallel_for(count, 2 * nx, [&, first = first, nx = nx, ny = ny, nz = nz](std::int64_t n) {
      long long const line = first + n;
      long long const j = line % ny, k = line / ny;
      bool const inside =
          (rank() < 2 || (j > 0 && j < ny - 1)) && (rank() < 3 || (k > 0 && k < nz - 1));
      if (!inside) {
        for (long long i = 0; i < nx; ++i) update(i, j, k);
        return;
      }
      update(0, j, k);
      inner_row<rank(), variable()>(a, line * nx);
      update(nx - 1, j, k);
    });
  });
}

template <class T>
void host_impose(Stream&, int dims, DiffusionArguments<T> const& arguments) {
  with_shape(dims, arguments, [&](auto rank, auto) {
    auto const [nx, ny, nz] = arguments.points;
    for (long long k = 0; k < nz; ++k)
      for (long long j = 0; j < ny; ++j)
        for (long long i = 0; i < nx; ++i)
          if (T const* fixed = dirichlet_value<rank()>(arguments, i, j, k))
            arguments.out[i + nx * (j + ny * k)] = *fixed;
  });
}

#define GRIDSTRIDE_INSTANTIATE(T)                                           \
  template void host_reference(Stream&, int, DiffusionArguments<T> const&); \
  template void host_threads(Stream&, int, DiffusionArguments<T> const&);   \
  template void host_impose(Stream&, int, DiffusionArguments<T> const&);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::stencil

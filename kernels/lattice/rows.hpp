#pragma once

#include "core/host_device.hpp"
#include "kernels/lattice/lattice.hpp"

/// The functions behind the rows of the family's table, and a point as the textbook has it; for the
/// family's own files only.
namespace gridstride::lattice {

template <class T>
void host_reference(Stream&, Work<T> const&);
template <class T>
void host_threads(Stream&, Work<T> const&);
template <class T>
void cuda_points(Stream&, Work<T> const&);
template <class T>
void cuda_columns(Stream&, Work<T> const&);

/// Queues to = from, rounded.
template <class From, class To>
void cuda_round(Stream&, std::span<From const> from, std::span<To> to);

/// A grid as a point sees it.
template <class T>
struct Around {
  std::int64_t nx, ny, nz;
  bool all;
  T center;
  T const* x;

  static Around of(Work<T> const& work) {
    return {work.points[0], work.points[1], work.points[2], work.neighbours == Neighbours::all,
            work.center,    work.x};
  }
  /// y_p, p in the order of rows.
  GRIDSTRIDE_HOST_DEVICE T at(std::int64_t p) const {
    std::int64_t const i = p % nx, j = p / nx % ny, k = p / nx / ny;
    T sum = 0;
    for (int c = -1; c <= 1; ++c)
      for (int b = -1; b <= 1; ++b)
        for (int a = -1; a <= 1; ++a) {
          bool const is_there =
              i + a >= 0 && i + a < nx && j + b >= 0 && j + b < ny && k + c >= 0 && k + c < nz;
          bool const counts = all || a * a + b * b + c * c == 1;
          if (is_there && counts) sum += x[p + (c * ny + b) * nx + a];
        }
    return center * x[p] - sum;
  }
};

}  // namespace gridstride::lattice

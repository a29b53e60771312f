// Steps of waves on the host.
//
// `reference` is the formula of star_point.cuh at every point in turn: the oracle.
// `threads` shares whole rows (lines along x) of the planes that are wanted among the threads. A row
// that is no nearer to a side than the radius runs branch-free loops over its inner points, which
// the compiler vectorises; ends of rows and rows near a side go through the reference's formula. It
// moves in, previous and out once each, 3·sizeof(T) bytes a point: the rows above and below come
// from the caches.

#include <algorithm>
#include <cmath>

#include "kernels/star/rows.hpp"
#include "kernels/support/parallel_for.hpp"
#include "kernels/support/vector_widths.hpp"
#include "kernels/support/wanted_lines.hpp"

namespace gridstride::star {

template <class T>
void host_reference(Stream&, int dims, int radius, LeapfrogArguments<T> const& a) {
  with_shape(dims, radius, [&](auto rank, auto reach) {
    auto const [nx, ny, nz] = a.points;
    for (long long k = 0; k < nz; ++k)
      for (long long j = 0; j < ny; ++j)
        for (long long i = 0; i < nx; ++i)
          a.out[i + nx * (j + ny * k)] = update_point<rank(), reach()>(a, i, j, k);
  });
}

namespace {

/// What the Laplacian changes at `count` points from `first` on, none of them near a side.
template <int dims, int radius, class T>
GRIDSTRIDE_VECTOR_WIDTHS void inner_changes(LeapfrogArguments<T> const& a, long long first,
                                            long long count, T* change) {
  T const* in = a.in + first;
#pragma omp simd
  for (long long i = 0; i < count; ++i) change[i] = change_inside<dims, radius>(a, in + i);
}

/// The new values of `count` points from `first` on, with σ at each of them; null: no damping.
/// Where σ is 0, `advance` and the formula with damping round alike on the host.
template <class T>
GRIDSTRIDE_VECTOR_WIDTHS void finish_points(LeapfrogArguments<T> const& a, long long first,
                                            long long count, T const* sigma, T* change) {
  T const* in = a.in + first;
  T const* previous = a.previous + first;
  T* out = a.out + first;
  if (a.speed_squared)
#pragma omp simd
    for (long long i = 0; i < count; ++i) change[i] *= a.speed_squared[first + i];
  if (a.source)
#pragma omp simd
    for (long long i = 0; i < count; ++i)
      change[i] = multiply_add(a.factor, a.source[first + i], change[i]);
  if (sigma)
#pragma omp simd
    for (long long i = 0; i < count; ++i)
      out[i] = advance_damped(a, in[i], previous[i], change[i], sigma[i]);
  else
#pragma omp simd
    for (long long i = 0; i < count; ++i) out[i] = advance_free(a, in[i], previous[i], change[i]);
}

/// The points of a row, but for those at its ends, where no other side is near.
template <int dims, int radius, class T>
void inner_row(LeapfrogArguments<T> const& a, long long j, long long k) {
  constexpr long long piece = 1024;
  T change[piece], sigma[piece];
  long long const row = a.points[0] * (j + a.points[1] * k), end = a.points[0] - radius;
  bool const damped = a.damping[0] || a.damping[1] || a.damping[2];
  for (long long first = radius; first < end; first += piece) {
    long long const count = std::min(piece, end - first);
    inner_changes<dims, radius>(a, row + first, count, change);
    for (long long i = 0; damped && i < count; ++i) sigma[i] = damping_at<dims>(a, first + i, j, k);
    finish_points(a, row + first, count, damped ? sigma : nullptr, change);
  }
}

}  // namespace

template <class T>
void host_threads(Stream&, int dims, int radius, LeapfrogArguments<T> const& a) {
  with_shape(dims, radius, [&](auto rank, auto reach) {
    auto const [nx, ny, nz] = a.points;
    auto const [first, count] = wanted_lines(rank(), a.points, a.made);
    parallel_for(count, 8 * nx, [&, first = first, nx = nx, ny = ny](std::int64_t n) {
      long long const line = first + n;
      long long const j = line % ny, k = line / ny;
      long long const middle[3] = {nx / 2, j, k};
      bool const whole = nx > 2 * reach() && is_inside<rank(), reach()>(a, middle);
      long long const left = whole ? reach() : nx;
      auto const update = [&](long long i) {
        a.out[i + nx * line] = update_point<rank(), reach()>(a, i, j, k);
      };
      for (long long i = 0; i < left; ++i) update(i);
      if (!whole) return;
      inner_row<rank(), reach()>(a, j, k);
      for (long long i = nx - reach(); i < nx; ++i) update(i);
    });
  });
}

template <class T>
void host_energy(Stream&, int dims, int radius, EnergyArguments<T> const& a,
                 std::span<double> parts) {
  auto const [nx, ny, nz] = a.state.points;
  long long const size = nx * ny * nz;
  with_shape(dims, radius, [&](auto rank, auto reach) {
    parallel_for(static_cast<std::int64_t>(parts.size()), 8 * energy_piece, [&](std::int64_t part) {
      long long const first = part * energy_piece, end = std::min(first + energy_piece, size);
      double sum = 0;
      for (long long offset = first; offset < end; ++offset)
        sum += energy_of_point<rank(), reach()>(a, offset);
      parts[static_cast<std::size_t>(part)] = sum;
    });
  });
}

template <class T>
void host_ricker(Stream&, std::span<RickerTerm const> terms, evaluate::DeviceClock const* clock,
                 double factor, double damping_time, T* out) {
  auto const count = static_cast<long long>(terms.size());
  for (long long n = 0; n < count; ++n)
    add_terms(terms.data(), count, n, clock->time(0), factor, damping_time, out);
}

#define GRIDSTRIDE_INSTANTIATE(T)                                                               \
  template void host_reference(Stream&, int, int, LeapfrogArguments<T> const&);                 \
  template void host_threads(Stream&, int, int, LeapfrogArguments<T> const&);                   \
  template void host_energy(Stream&, int, int, EnergyArguments<T> const&, std::span<double>);   \
  template void host_ricker(Stream&, std::span<RickerTerm const>, evaluate::DeviceClock const*, \
                            double, double, T*);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::star

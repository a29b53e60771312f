// Steps of waves on the host.
//
// `reference` is the formula of star_point.cuh at every point in turn: the oracle.
// `threads` shares whole rows (lines along x) of the planes that are wanted among the threads, in
// loops without branches, which the compiler vectorises: near a side, neighbours are rows where it
// has them, with its sign, and ends of a row are copied with what lies beyond them. It moves in,
// previous and out once each, 3·sizeof(T) bytes a point: the rows above and below come from the
// caches.

#include <algorithm>
#include <numeric>

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

/// A piece of a row and its neighbours along each axis, at distances from 1 on. Beyond a side they lie
/// where it has them, with its sign.
template <class T>
struct Neighbours {
  T const* in;
  T const* at[3][2][most_radius];
  T sign[3][2][most_radius];
};

/// What the Laplacian changes at `count` points. `near`: whether some signs may be −1.
template <int dims, int radius, bool near, class T>
GRIDSTRIDE_VECTOR_WIDTHS void changes_of(LeapfrogArguments<T> const& a, Neighbours<T> const& beside,
                                         long long count, T* change) {
#pragma omp simd
  for (long long i = 0; i < count; ++i) {
    T const twice = beside.in[i] + beside.in[i];
    T sum = 0;
#pragma GCC unroll 3
    for (int axis = 0; axis < dims; ++axis)
#pragma GCC unroll 4
      for (int k = 0; k < radius; ++k) {
        T lower = beside.at[axis][0][k][i], upper = beside.at[axis][1][k][i];
        if (near && axis > 0) {
          lower *= beside.sign[axis][0][k];
          upper *= beside.sign[axis][1][k];
        }
        sum = add_pair(sum, a.weight[axis][k], lower, twice, upper);
      }
    change[i] = sum;
  }
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

/// The new values of a row.
template <int dims, int radius, class T>
class RowSteps {
 public:
  RowSteps(LeapfrogArguments<T> const& a, long long j, long long k)
      : a_(a), j_(j), k_(k), row_(a.points[0] * (j + a.points[1] * k)) {}

  void make() {
    long long const nx = a_.points[0], inside[3] = {nx / 2, j_, k_};
    if (nx > 2 && is_fixed<dims>(a_, inside)) {
      std::fill_n(a_.out + row_, nx, T{0});
      return;
    }
    find_rows();
    for (long long first = 0; first < nx; first += piece) make(first, std::min(piece, nx - first));
    for (long long const i : {0LL, nx - 1}) {
      long long const end[3] = {i, j_, k_};
      if (is_fixed<dims>(a_, end)) a_.out[row_ + i] = 0;
    }
  }

 private:
  static constexpr long long piece = 1024;

  /// Where rows beside this one begin.
  void find_rows() {
    long long const at[3] = {0, j_, k_}, stride[3] = {1, a_.points[0], a_.points[0] * a_.points[1]};
    for (int axis = 1; axis < dims; ++axis)
      for (int side = 0; side < 2; ++side)
        for (int k = 1; k <= radius; ++k) {
          long long const there = at[axis] + (side == 0 ? -k : k);
          bool const lies_inside = there >= 0 && there < a_.points[axis];
          Continued const beyond =
              lies_inside ? Continued{there, false} : continued(a_, axis, there);
          near_ = near_ || !lies_inside;
          beside_.at[axis][side][k - 1] = a_.in + row_ + (beyond.index - at[axis]) * stride[axis];
          beside_.sign[axis][side][k - 1] = beyond.negative ? T{-1} : T{1};
        }
  }

  void make(long long first, long long count) {
    T change[piece], sigma[piece], line[piece + 2 * radius];
    Neighbours<T> beside = beside_;
    for (auto& sides : beside.at)
      for (auto& side : sides)
        for (T const*& values : side) values += first;
    T const* const along = with_ends(first, count, line);
    beside.in = a_.in + row_ + first;
    for (int k = 1; k <= radius; ++k) {
      beside.at[0][0][k - 1] = along - k;
      beside.at[0][1][k - 1] = along + k;
    }
    near_ ? changes_of<dims, radius, true>(a_, beside, count, change)
          : changes_of<dims, radius, false>(a_, beside, count, change);
    bool const damped = a_.damping[0] || a_.damping[1] || a_.damping[2];
    for (long long i = 0; damped && i < count; ++i)
      sigma[i] = damping_at<dims>(a_, first + i, j_, k_);
    finish_points(a_, row_ + first, count, damped ? sigma : nullptr, change);
  }

  /// The first of some points among all that lie within the radius, copied where some lie beyond a side.
  T const* with_ends(long long first, long long count, T* line) const {
    T const* const row = a_.in + row_;
    long long const begin = first - radius, end = first + count + radius, nx = a_.points[0];
    if (begin >= 0 && end <= nx) return row + first;
    for (long long i = begin; i < 0; ++i)
      line[i - begin] = neighbour(a_, 0, row_, 0, 1, static_cast<int>(i));
    std::copy(row + std::max(begin, 0LL), row + std::min(end, nx),
              line + std::max(begin, 0LL) - begin);
    for (long long i = nx; i < end; ++i)
      line[i - begin] = neighbour(a_, 0, row_ + nx - 1, nx - 1, 1, static_cast<int>(i - nx + 1));
    return line + radius;
  }

  LeapfrogArguments<T> const& a_;
  long long j_, k_, row_;
  bool near_ = false;
  Neighbours<T> beside_{};
};

}  // namespace

template <class T>
void host_threads(Stream&, int dims, int radius, LeapfrogArguments<T> const& a) {
  with_shape(dims, radius, [&](auto rank, auto reach) {
    auto const [nx, ny, nz] = a.points;
    auto const [first, count] = wanted_lines(rank(), a.points, a.made);
    parallel_for(count, 8 * nx, [&, first = first, ny = ny](std::int64_t n) {
      long long const line = first + n;
      RowSteps<rank(), reach(), T>(a, line % ny, line / ny).make();
    });
  });
}

namespace {

template <int dims, int radius, class T>
GRIDSTRIDE_VECTOR_WIDTHS void inner_shares(EnergyArguments<T> const& a, long long first,
                                           long long count, double* shares) {
#pragma omp simd
  for (long long i = 0; i < count; ++i) shares[i] = energy_inside<dims, radius>(a, first + i);
}

/// Of `count` points of a line, from number `first` of the grid on.
template <int dims, int radius, class T>
void shares_of_line(EnergyArguments<T> const& a, long long first, long long count, double* shares) {
  auto const [nx, ny, nz] = a.state.points;
  long long const line = first / nx, x = first % nx;
  long long const middle[3] = {nx / 2, line % ny, line / ny};
  bool const whole = nx > 2 * radius && is_inside<dims, radius>(a.state, middle);
  long long const from = whole ? std::clamp<long long>(radius - x, 0, count) : count;
  long long const to = whole ? std::clamp<long long>(nx - radius - x, from, count) : count;
  for (long long i = 0; i < from; ++i) shares[i] = energy_of_point<dims, radius>(a, first + i);
  inner_shares<dims, radius>(a, first + from, to - from, shares + from);
  for (long long i = to; i < count; ++i) shares[i] = energy_of_point<dims, radius>(a, first + i);
}

}  // namespace

template <class T>
void host_energy(Stream&, int dims, int radius, EnergyArguments<T> const& a,
                 PointsInOrder const& points, std::span<double> sums) {
  long long const nx = a.state.points[0], last = points.first + points.count;
  with_shape(dims, radius, [&](auto rank, auto reach) {
    parallel_for(static_cast<std::int64_t>(sums.size()), 8 * energy_piece, [&](std::int64_t piece) {
      double shares[energy_piece];
      long long const first = points.first + piece * energy_piece;
      long long const end = std::min<long long>(first + energy_piece, last);
      for (long long at = first, next = 0; at < end; at = next) {
        next = std::min(end, at - at % nx + nx);
        shares_of_line<rank(), reach()>(a, at, next - at, shares + (at - first));
      }
      sums[static_cast<std::size_t>(piece)] = std::accumulate(shares, shares + (end - first), 0.0);
    });
  });
}

template <class T>
void host_energy_shares(int dims, int radius, EnergyArguments<T> const& a,
                        PointsOfGrid const& points, double* shares) {
  auto const [nx, ny, nz] = a.state.points;
  auto const& [first, count] = points;
  with_shape(dims, radius, [&](auto rank, auto reach) {
    parallel_for(count[1] * count[2], 8 * count[0], [&, nx = nx, ny = ny](std::int64_t line) {
      long long const j = first[1] + line % count[1], k = first[2] + line / count[1];
      shares_of_line<rank(), reach()>(a, first[0] + nx * (j + ny * k), count[0],
                                      shares + line * count[0]);
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
  template void host_energy(Stream&, int, int, EnergyArguments<T> const&, PointsInOrder const&, \
                            std::span<double>);                                                 \
  template void host_energy_shares(int, int, EnergyArguments<T> const&, PointsOfGrid const&,    \
                                   double*);                                                    \
  template void host_ricker(Stream&, std::span<RickerTerm const>, evaluate::DeviceClock const*, \
                            double, double, T*);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::star

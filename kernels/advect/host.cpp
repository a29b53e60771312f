// Advection on the host.
//
// `reference` is the formula of advect_point.cuh at every point in turn: the oracle.
// `threads` shares rows (lines along x) among the threads. Points near the ends of their lines go
// through the reference's formula. The others come in pieces of a row: values or fluxes at the
// faces of a piece, in loops that the compiler vectorises, and what they change. The faces along x
// are computed once, those along y and z for either side. Lax-Wendroff goes through the axes within
// a piece: each sweep asks the one before for the rows that it needs, in the caches.
//
// Around edges weno5 lets u die away by powers: `threads` takes what is subnormal for zero.

#include <algorithm>

#include "kernels/advect/rows.hpp"
#include "kernels/support/flush_subnormals.hpp"
#include "kernels/support/parallel_for.hpp"
#include "kernels/support/vector_widths.hpp"

namespace gridstride::advect {

namespace {

/// Calls `body` for every point of the grid in turn.
template <class T, class Body>
void for_each_point(AdvectionArguments<T> const& a, Body const& body) {
  for (long long k = 0; k < a.points[2]; ++k)
    for (long long j = 0; j < a.points[1]; ++j)
      for (long long i = 0; i < a.points[0]; ++i) body(Point{{i, j, k}});
}

}  // namespace

template <class T>
void host_reference(Stream&, int dims, Scheme scheme, AdvectionArguments<T> const& arguments) {
  with_scheme(dims, scheme, arguments, [&](auto rank, auto variable, auto which) {
    for_each_point(arguments, [&](Point const& point) {
      if (is_left<rank(), which()>(arguments, point)) return;
      arguments.out[point.offset(arguments)] =
          update_point<rank(), which(), variable()>(arguments, point);
    });
  });
}

namespace {

constexpr int piece = 256;  // points of a row that are computed at a time

/// The lower faces along an axis of `count` points from `start` on: the value of u there, or the
/// flux where the velocity is a field. `along`: whether its part along the axis is one.
template <Scheme scheme, bool variable, bool along, class T>
[[gnu::flatten]] GRIDSTRIDE_VECTOR_WIDTHS void lower_faces(AdvectionArguments<T> const& a, int axis,
                                                           long long start, long long count,
                                                           T* faces) {
  long long const s = whole_lines(a).stride[axis];
  T const* const u = a.in + start;
  T const* const velocity = along ? a.velocity[axis] + start : nullptr;
  T const weight = a.weight[axis];
  [[maybe_unused]] auto const c = [=](long long i) {
    return along ? weight * velocity[i] : weight;
  };
  if constexpr (scheme == Scheme::upwind && variable) {
#pragma omp simd
    for (long long i = 0; i < count; ++i) faces[i] = upwind_flux(c(i - s), u[i - s], c(i), u[i]);
  } else if constexpr (variable) {
    T const spread = a.spread[axis];
    auto const up = [=](long long i) { return part_up(c(i), spread, u[i]); };
    auto const down = [=](long long i) { return part_down(c(i), spread, u[i]); };
#pragma omp simd
    for (long long i = 0; i < count; ++i)
      faces[i] = weno_face(up(i - 3 * s), up(i - 2 * s), up(i - s), up(i), up(i + s)) +
                 weno_face(down(i + 2 * s), down(i + s), down(i), down(i - s), down(i - 2 * s));
  } else if constexpr (scheme == Scheme::upwind) {
    std::copy_n(weight > 0 ? u - s : u, count, faces);
  } else {
    // The flow's way is from the first of the five values to the last.
    long long const way = weight > 0 ? s : -s;
    T const* const third = weight > 0 ? u - s : u;
    T const *const first = third - 2 * way, *const second = third - way;
    T const *const fourth = third + way, *const fifth = third + 2 * way;
#pragma omp simd
    for (long long i = 0; i < count; ++i)
      faces[i] = weno_face(first[i], second[i], third[i], fourth[i], fifth[i]);
  }
}

template <Scheme scheme, bool variable, class T>
void lower_faces(AdvectionArguments<T> const& a, int axis, long long start, long long count,
                 T* faces) {
  if constexpr (variable)
    if (a.velocity[axis] != nullptr)
      return lower_faces<scheme, variable, true>(a, axis, start, count, faces);
  lower_faces<scheme, variable, false>(a, axis, start, count, faces);
}

/// Adds what passes through the faces along an axis to the changes of the `count` points between.
template <class T>
GRIDSTRIDE_VECTOR_WIDTHS void add_difference(T weight, T const* lower, T const* upper,
                                             long long count, T* change) {
#pragma omp simd
  for (long long i = 0; i < count; ++i) change[i] += weight * (lower[i] - upper[i]);
}

/// `finish_point` for the points of a piece.
template <class T>
GRIDSTRIDE_VECTOR_WIDTHS void finish_piece(AdvectionArguments<T> const& a, long long first,
                                           long long count, T* change) {
  T const* const in = a.in + first;
  T const* const base = a.base ? a.base + first : in;
  T* const out = a.out + first;
  if (a.base)
#pragma omp simd
    for (long long i = 0; i < count; ++i) change[i] += a.in_weight * (in[i] - base[i]);
#pragma omp simd
  for (long long i = 0; i < count; ++i) out[i] = base[i] + change[i];
}

template <int dims, Scheme scheme, bool variable, class T>
void inner_piece(AdvectionArguments<T> const& a, long long first, long long count) {
  T lower[piece + 1], upper[piece], change[piece] = {};
  for (int axis = 0; axis < dims; ++axis) {
    T const weight = variable ? T(1) : a.weight[axis];
    lower_faces<scheme, variable>(a, axis, first, axis == 0 ? count + 1 : count, lower);
    if (axis > 0)
      lower_faces<scheme, variable>(a, axis, first + whole_lines(a).stride[axis], count, upper);
    add_difference(weight, lower, axis == 0 ? lower + 1 : upper, count, change);
  }
  finish_piece(a, first, count, change);
}

/// One sweep of Lax-Wendroff over a piece, from the values below, at and above its points along the
/// axis.
template <bool variable, bool along, class T>
[[gnu::flatten]] GRIDSTRIDE_VECTOR_WIDTHS void sweep(AdvectionArguments<T> const& a, int axis,
                                                     long long first, long long count,
                                                     T const* below, T const* here, T const* above,
                                                     T* result) {
  long long const s = whole_lines(a).stride[axis];
  T const* const velocity = along ? a.velocity[axis] + first : nullptr;
  T const weight = a.weight[axis];
  // Beside a field, a constant velocity goes by fluxes too, as it does near the ends of lines.
  auto const c = [=](long long i) { return along ? weight * velocity[i] : weight; };
  if constexpr (variable) {
#pragma omp simd
    for (long long i = 0; i < count; ++i)
      result[i] = here[i] + (lax_wendroff_flux(c(i - s), below[i], c(i), here[i]) -
                             lax_wendroff_flux(c(i), here[i], c(i + s), above[i]));
  } else {
#pragma omp simd
    for (long long i = 0; i < count; ++i)
      result[i] = here[i] + lax_wendroff_change(weight, below[i], here[i], above[i]);
  }
}

/// Lax-Wendroff's values at `count` points from `first` on after the first `sweeps` axes.
template <int dims, bool variable, int sweeps, class T>
void swept_piece(AdvectionArguments<T> const& a, long long first, long long count, T* result) {
  int const axis = a.reversed ? dims - sweeps : sweeps - 1;
  T rows[3][piece + 2 * dims];
  T const* source[3];
  long long const s = whole_lines(a).stride[axis];
  for (int row = 0; row < 3; ++row) {
    // Along x the three rows are one, shifted.
    if (axis == 0 && row > 0) {
      source[row] = source[0] + row;
    } else if constexpr (sweeps == 1) {
      source[row] = a.in + first + (row - 1) * s;
    } else {
      swept_piece<dims, variable, sweeps - 1>(a, first + (row - 1) * s,
                                              axis == 0 ? count + 2 : count, rows[row]);
      source[row] = rows[row];
    }
  }
  if (variable && a.velocity[axis] != nullptr)
    sweep<variable, true>(a, axis, first, count, source[0], source[1], source[2], result);
  else
    sweep<variable, false>(a, axis, first, count, source[0], source[1], source[2], result);
}

/// A row whose points, but for those at its ends, lie inside.
template <int dims, Scheme scheme, bool variable, class T>
void inner_row(AdvectionArguments<T> const& a, long long row) {
  constexpr int reach = reach_of<scheme>;
  for (long long i = reach; i < a.points[0] - reach; i += piece) {
    long long const count = std::min<long long>(piece, a.points[0] - reach - i);
    if constexpr (scheme == Scheme::lax_wendroff)
      swept_piece<dims, variable, dims>(a, row + i, count, a.out + row + i);
    else
      inner_piece<dims, scheme, variable>(a, row + i, count);
  }
}

}  // namespace

template <class T>
void host_threads(Stream&, int dims, Scheme scheme, AdvectionArguments<T> const& arguments) {
  with_scheme(dims, scheme, arguments, [&](auto rank, auto variable, auto which) {
    auto const& a = arguments;
    constexpr int reach = reach_of<which()>;
    parallel_for(a.points[1] * a.points[2], 16 * a.points[0], [&](std::int64_t line) {
      FlushSubnormals const flush;  // in the thread that has the line
      Point point{{0, line % a.points[1], line / a.points[1]}};
      auto const update = [&](long long first, long long last) {
        for (point.at[0] = first; point.at[0] < last; ++point.at[0])
          if (!is_left<rank(), which()>(a, point))
            a.out[point.offset(a)] = update_point<rank(), which(), variable()>(a, point);
      };
      if (!is_inside<rank(), which()>(a, point.on_line(0, reach))) return update(0, a.points[0]);
      update(0, reach);
      inner_row<rank(), which(), variable()>(a, line * a.points[0]);
      update(a.points[0] - reach, a.points[0]);
    });
  });
}

template <class T>
void host_impose(Stream&, int dims, AdvectionArguments<T> const& arguments) {
  with_shape(dims, arguments, [&](auto rank, auto variable) {
    for_each_point(arguments, [&](Point const& point) {
      T value;
      if (flows_in<rank(), variable()>(arguments, point, value))
        arguments.out[point.offset(arguments)] = value;
    });
  });
}

#define GRIDSTRIDE_INSTANTIATE(T)                                                   \
  template void host_reference(Stream&, int, Scheme, AdvectionArguments<T> const&); \
  template void host_threads(Stream&, int, Scheme, AdvectionArguments<T> const&);   \
  template void host_impose(Stream&, int, AdvectionArguments<T> const&);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::advect

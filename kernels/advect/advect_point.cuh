#pragma once

// What a step of advection computes at one point, for host and device, free of host includes.
//
//   out = base + in_weight·(in − base) + Σ_a (flux through the lower face − flux through the
//   upper), base = in unless given
//
// Lax-Wendroff instead goes through the axes in turn, each with what the one before has left.
//
// A line that meets an open side goes on beyond it as the polynomial through its last points. A
// point on an open side where the flow comes in has the side's value.

#include "kernels/advect/fluxes.cuh"

namespace gridstride::advect {

/// Plain arguments of one step, weights already multiplied out in float64 and rounded to T.
template <class T>
struct AdvectionArguments {
  T const* in;
  T* out;
  T const* base;  // null: in
  T in_weight;
  T const* velocity[3];  // null: constant, and inside the weight
  T weight[3];           // factor/h, times the velocity where it is constant
  T spread[3];           // factor/h times the largest speed: for weno5 with fields of velocity
  T along;               // Courant numbers up to this count as those of a flow along a side
  bool beside;           // other kernels run meanwhile
  bool reversed;         // Lax-Wendroff goes through the axes from the last to the first
  long long points[3];
  bool periodic[3];
  bool cut[3][2];         // what is computed near such a side would not count, and is left out
  T const* inflow[3][2];  // null: zero; in the order of the face's points
};

/// The Courant number at a point.
template <bool variable, class T>
GRIDSTRIDE_HOST_DEVICE inline T courant(AdvectionArguments<T> const& a, int axis,
                                        long long offset) {
  if constexpr (variable)
    if (a.velocity[axis]) return a.weight[axis] * a.velocity[axis][offset];
  return a.weight[axis];
}

/// The new value from the old one and what advection changes.
template <class T>
GRIDSTRIDE_HOST_DEVICE inline T finish_point(AdvectionArguments<T> const& a, long long offset,
                                             T center, T change) {
  if (!a.base) return center + change;
  T const base = a.base[offset];
  return base + multiply_add(a.in_weight, center - base, change);
}

/// A point's neighbours along an axis, itself in the middle, and the Courant numbers there.
template <int reach, class T>
struct Window {
  T u[2 * reach + 1];
  T c[2 * reach + 1];
};

/// What a step changes along an axis at the middle of a window. Where the velocity is constant, the
/// window's first Courant number counts.
template <Scheme scheme, bool variable, class T>
GRIDSTRIDE_HOST_DEVICE inline T change_along(Window<reach_of<scheme>, T> const& w,
                                             [[maybe_unused]] T spread) {
  if constexpr (scheme == Scheme::weno5 && variable) {
    T up[7], down[7];
    for (int i = 0; i < 7; ++i) {
      up[i] = part_up(w.c[i], spread, w.u[i]);
      down[i] = part_down(w.c[i], spread, w.u[i]);
    }
    return weno_change(up, down);
  } else if constexpr (scheme == Scheme::weno5) {
    return weno_change(w.c[0], w.u);
  } else if constexpr (scheme == Scheme::upwind && variable) {
    return upwind_flux(w.c[0], w.u[0], w.c[1], w.u[1]) -
           upwind_flux(w.c[1], w.u[1], w.c[2], w.u[2]);
  } else if constexpr (scheme == Scheme::upwind) {
    return upwind_change(w.c[0], w.u[0], w.u[1], w.u[2]);
  } else if constexpr (variable) {
    return lax_wendroff_flux(w.c[0], w.u[0], w.c[1], w.u[1]) -
           lax_wendroff_flux(w.c[1], w.u[1], w.c[2], w.u[2]);
  } else {
    return lax_wendroff_change(w.c[0], w.u[0], w.u[1], w.u[2]);
  }
}

/// A point of the grid.
struct Point {
  long long at[3];

  template <class T>
  GRIDSTRIDE_HOST_DEVICE long long offset(AdvectionArguments<T> const& a) const {
    return at[0] + a.points[0] * (at[1] + a.points[1] * at[2]);
  }
  /// The point number i of the line along `axis` through this one.
  GRIDSTRIDE_HOST_DEVICE Point on_line(int axis, long long i) const {
    Point other = *this;
    other.at[axis] = i;
    return other;
  }
};

/// Value number i of a line along `axis`, of which `read` knows those inside the grid.
template <int degree, class T, class Read>
GRIDSTRIDE_HOST_DEVICE inline T line_value(AdvectionArguments<T> const& a, int axis, long long i,
                                           Read const& read) {
  long long const n = a.points[axis];
  if (i >= 0 && i < n) return read(i);
  if (a.periodic[axis]) return read((i % n + n) % n);
  // Lagrange's polynomial through the points 0 to d from the side inwards, at −beyond.
  int const beyond = static_cast<int>(i < 0 ? -i : i - (n - 1));
  int const d = n - 1 < degree ? static_cast<int>(n - 1) : degree;
  T value = 0;
  for (int k = 0; k <= d; ++k) {
    int numerator = k % 2 == 0 ? 1 : -1, denominator = 1;
    for (int m = 0; m <= d; ++m) {
      if (m == k) continue;
      numerator *= beyond + m;
      denominator *= m < k ? k - m : m - k;
    }
    value += static_cast<T>(numerator / denominator) * read(i < 0 ? k : n - 1 - k);
  }
  return value;
}

/// The same beside velocities that are fields. Of numbers that are rough at a side, beside which one
/// jumps or is noise, that polynomial swings by a hundred times what they vary by, and what it makes
/// of fluxes grows without end: there the value on the side goes on instead. How rough they are says
/// their highest difference over what they vary by, 4δ/V, of which the fourth power counts: where
/// they are smooth it is of order h^12, beside an extremum h^8.
template <int degree, class T, class Read>
GRIDSTRIDE_HOST_DEVICE inline T careful_value(AdvectionArguments<T> const& a, int axis, long long i,
                                              Read const& read) {
  long long const n = a.points[axis];
  T const value = line_value<degree>(a, axis, i, read);
  if (degree < 2 || (i >= 0 && i < n) || a.periodic[axis]) return value;
  int const d = n - 1 < degree ? static_cast<int>(n - 1) : degree;
  T const on_side = read(i < 0 ? 0 : n - 1);
  T highest = 0, varied = 0;
  for (int k = 0, weight = 1; k <= d; weight = -weight * (d - k) / (k + 1), ++k) {
    T const apart = read(i < 0 ? k : n - 1 - k) - on_side;
    highest += static_cast<T>(weight) * apart;
    varied = magnitude(apart) > varied ? magnitude(apart) : varied;
  }
  if (!(varied > 0)) return on_side;
  T const rough = 4 * (magnitude(highest) / varied), square = rough * rough;
  return on_side + (value - on_side) / multiply_add(square, square, T(1));
}

/// How the flow goes at the side that a line's value number i lies beyond, by Courant numbers that `c`
/// knows: outwards where positive.
template <class T, class Read>
GRIDSTRIDE_HOST_DEVICE inline T outwards(AdvectionArguments<T> const& a, int axis, long long i,
                                         Read const& c) {
  return i < 0 ? -c(0) : c(a.points[axis] - 1);
}

/// u number i of a line beside velocities that are fields. Where the flow goes along a side, that is a wall:
/// `upwind` and `lax_wendroff` have the mirror of what is inside beyond it, so that what the flow gathers there
/// is what it takes from the neighbours.
template <Scheme scheme, class T, class Read, class ReadCourant>
GRIDSTRIDE_HOST_DEVICE inline T value_beside(AdvectionArguments<T> const& a, int axis, long long i,
                                             Read const& u, ReadCourant const& c) {
  bool const is_ghost = !a.periodic[axis] && (i < 0 || i >= a.points[axis]);
  if (scheme != Scheme::weno5 && is_ghost && magnitude(outwards(a, axis, i, c)) <= a.along)
    return u(i < 0 ? 1 : a.points[axis] - 2);
  return careful_value<ghost_degree_of<scheme>>(a, axis, i, u);
}

/// And the Courant number there, of a wall by the odd mirror. Where the flow goes out it does so beyond the side,
/// too: linearly, of `upwind` where it gets faster and no further than is stable, of `lax_wendroff` between
/// half and twice of what it is on the side.
template <Scheme scheme, class T, class ReadCourant>
GRIDSTRIDE_HOST_DEVICE inline T courant_beside(AdvectionArguments<T> const& a, int axis,
                                               long long i, ReadCourant const& c) {
  constexpr int degree = scheme == Scheme::weno5 ? 4 : 1;
  T const value = careful_value<degree>(a, axis, i, c);
  if (scheme == Scheme::weno5 || a.periodic[axis] || (i >= 0 && i < a.points[axis])) return value;
  T const sign = i < 0 ? T(-1) : T(1), out = outwards(a, axis, i, c);
  if (magnitude(out) <= a.along) return -c(i < 0 ? 1 : a.points[axis] - 2);
  if (out < 0) return value;
  T const beyond = sign * value, least = scheme == Scheme::upwind ? out : out / 2;
  T const fastest = a.spread[axis] > out ? a.spread[axis] : out;
  T const most = scheme == Scheme::upwind ? fastest : 2 * out;
  return sign * (beyond > least ? (beyond < most ? beyond : most) : least);
}

/// The window at a point of values that `read(point)` knows, ghosts included.
template <Scheme scheme, bool variable, class T, class Read>
GRIDSTRIDE_HOST_DEVICE inline Window<reach_of<scheme>, T> window_at(AdvectionArguments<T> const& a,
                                                                    int axis, Point const& point,
                                                                    Read const& read) {
  constexpr int reach = reach_of<scheme>, degree = ghost_degree_of<scheme>;
  Window<reach, T> window;
  window.c[0] = a.weight[axis];
  auto const u = [&](long long j) { return read(point.on_line(axis, j)); };
  for (int i = -reach; i <= reach; ++i) {
    long long const at = point.at[axis] + i;
    if constexpr (!variable) {
      window.u[i + reach] = line_value<degree>(a, axis, at, u);
    } else {
      auto const c = [&](long long j) {
        return courant<true>(a, axis, point.on_line(axis, j).offset(a));
      };
      window.u[i + reach] = value_beside<scheme>(a, axis, at, u, c);
      window.c[i + reach] = courant_beside<scheme>(a, axis, at, c);
    }
  }
  return window;
}

/// Lax-Wendroff's value at a point after the first `sweeps` axes.
template <int dims, bool variable, int sweeps, class T>
GRIDSTRIDE_HOST_DEVICE inline T swept(AdvectionArguments<T> const& a, Point const& point) {
  if constexpr (sweeps == 0) {
    return a.in[point.offset(a)];
  } else {
    int const axis = a.reversed ? dims - sweeps : sweeps - 1;
    auto const window = window_at<Scheme::lax_wendroff, variable>(
        a, axis, point, [&](Point const& p) { return swept<dims, variable, sweeps - 1>(a, p); });
    return window.u[1] + change_along<Scheme::lax_wendroff, variable>(window, T(0));
  }
}

/// Place of a point on the face normal to `axis`.
template <class T>
GRIDSTRIDE_HOST_DEVICE inline long long face_offset(AdvectionArguments<T> const& a, int axis,
                                                    Point const& point) {
  return axis == 0 ? point.at[1] + point.at[2] * a.points[1]
                   : point.at[0] + (axis == 1 ? point.at[2] : point.at[1]) * a.points[0];
}

/// Whether the flow comes in through an open side that the point lies on, and then the value there.
/// Of several such sides the first in the order x, y, z counts.
template <int dims, bool variable, class T>
GRIDSTRIDE_HOST_DEVICE inline bool flows_in(AdvectionArguments<T> const& a, Point const& point,
                                            T& value) {
  for (int axis = 0; axis < dims; ++axis) {
    if (a.periodic[axis]) continue;
    int const side = point.at[axis] == 0 ? 0 : point.at[axis] == a.points[axis] - 1 ? 1 : -1;
    if (side < 0 || a.cut[axis][side]) continue;
    T const c = courant<variable>(a, axis, point.offset(a));
    if (side == 0 ? c <= a.along : c >= -a.along) continue;
    T const* const values = a.inflow[axis][side];
    value = values ? values[face_offset(a, axis, point)] : T(0);
    return true;
  }
  return false;
}

/// The new value at any point, near sides or not.
template <int dims, Scheme scheme, bool variable, class T>
GRIDSTRIDE_HOST_DEVICE inline T update_point(AdvectionArguments<T> const& a, Point const& point) {
  T value;
  if (flows_in<dims, variable>(a, point, value)) return value;
  if constexpr (scheme == Scheme::lax_wendroff) {
    return swept<dims, variable, dims>(a, point);
  } else {
    auto const read = [&](Point const& p) { return a.in[p.offset(a)]; };
    T change = 0;
    for (int axis = 0; axis < dims; ++axis)
      change += change_along<scheme, variable>(window_at<scheme, variable>(a, axis, point, read),
                                               a.spread[axis]);
    long long const offset = point.offset(a);
    return finish_point(a, offset, a.in[offset], change);
  }
}

/// Whether a step at the point reads no value beyond the ends of its lines.
template <int dims, Scheme scheme, class T>
GRIDSTRIDE_HOST_DEVICE inline bool is_inside(AdvectionArguments<T> const& a, Point const& point) {
  constexpr int reach = reach_of<scheme>;
  bool inside = true;
  for (int axis = 0; axis < dims; ++axis)
    inside = inside && point.at[axis] >= reach && point.at[axis] < a.points[axis] - reach;
  return inside;
}

/// Whether a point's value is left as it is, since it lies within the reach of a cut.
template <int dims, Scheme scheme, class T>
GRIDSTRIDE_HOST_DEVICE inline bool is_left(AdvectionArguments<T> const& a, Point const& point) {
  constexpr int reach = reach_of<scheme>;
  bool left = false;
  for (int axis = 0; axis < dims; ++axis)
    left = left || (a.cut[axis][0] && point.at[axis] < reach) ||
           (a.cut[axis][1] && point.at[axis] >= a.points[axis] - reach);
  return left;
}

/// Arrays of u and of the velocities with the same strides: of the grid, or a tile of it.
template <class T>
struct Lines {
  T const* u;
  T const* velocity[3];
  long long stride[3];
};

/// A point's window within the arrays.
template <Scheme scheme, bool variable, class T>
GRIDSTRIDE_HOST_DEVICE inline Window<reach_of<scheme>, T> inner_window(
    AdvectionArguments<T> const& a, Lines<T> const& lines, int axis, long long offset) {
  constexpr int reach = reach_of<scheme>;
  Window<reach, T> window;
  window.c[0] = a.weight[axis];
  for (int i = -reach; i <= reach; ++i) {
    long long const there = offset + i * lines.stride[axis];
    window.u[i + reach] = lines.u[there];
    if constexpr (variable)
      window.c[i + reach] =
          lines.velocity[axis] ? a.weight[axis] * lines.velocity[axis][there] : a.weight[axis];
  }
  return window;
}

/// What a step changes along all axes at a point inside (`upwind` and `weno5`).
template <int dims, Scheme scheme, bool variable, class T>
GRIDSTRIDE_HOST_DEVICE inline T inner_change(AdvectionArguments<T> const& a, Lines<T> const& lines,
                                             long long offset) {
  T change = 0;
  for (int axis = 0; axis < dims; ++axis)
    change += change_along<scheme, variable>(inner_window<scheme, variable>(a, lines, axis, offset),
                                             a.spread[axis]);
  return change;
}

/// Lax-Wendroff's value at a point inside after the first `sweeps` axes.
template <int dims, bool variable, int sweeps, class T>
GRIDSTRIDE_HOST_DEVICE inline T inner_swept(AdvectionArguments<T> const& a, Lines<T> const& lines,
                                            long long offset) {
  if constexpr (sweeps == 0) {
    return lines.u[offset];
  } else {
    int const axis = a.reversed ? dims - sweeps : sweeps - 1;
    auto window = inner_window<Scheme::lax_wendroff, variable>(a, lines, axis, offset);
    for (int i = -1; i <= 1; ++i)
      window.u[i + 1] =
          inner_swept<dims, variable, sweeps - 1>(a, lines, offset + i * lines.stride[axis]);
    return window.u[1] + change_along<Scheme::lax_wendroff, variable>(window, T(0));
  }
}

/// The new value at a point inside; `offset` is its place in `lines`, `place` that in the grid.
template <int dims, Scheme scheme, bool variable, class T>
GRIDSTRIDE_HOST_DEVICE inline T update_inside(AdvectionArguments<T> const& a, Lines<T> const& lines,
                                              long long offset, long long place) {
  if constexpr (scheme == Scheme::lax_wendroff)
    return inner_swept<dims, variable, dims>(a, lines, offset);
  else
    return finish_point(a, place, lines.u[offset],
                        inner_change<dims, scheme, variable>(a, lines, offset));
}

/// The arrays of the whole grid.
template <class T>
GRIDSTRIDE_HOST_DEVICE inline Lines<T> whole_lines(AdvectionArguments<T> const& a) {
  return {a.in,
          {a.velocity[0], a.velocity[1], a.velocity[2]},
          {1, a.points[0], a.points[0] * a.points[1]}};
}

}  // namespace gridstride::advect

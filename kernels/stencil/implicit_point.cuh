#pragma once

// What implicit steps of diffusion compute at one point, for host and device, free of host includes.

#include "kernels/stencil/diffusion_point.cuh"

namespace gridstride::stencil {

/// Plain arguments. Rates are what is left of `DiffusionArguments`' weights without the step, which
/// is read where it lies, so that the device may choose it.
template <class T>
struct ImplicitArguments {
  DiffusionArguments<T> given;  // all but the weights of an axis and a side, and a base
  double const* step;
  double rate[3];       // α/h², or 1/(2h²) when α is a field
  double side_rate[3];  // 2α/h, or 2/h
  double factor;        // of the step: of all that is explicit
  double theta;         // the same of what is implicit
  int axis;             // that is solved for
  bool whole;           // what is held are the values themselves
  bool goes_on[3][2];   // the grid, beyond this side: arrays have what lies there
  T const* start;       // what a solution is added to; null: 0
  T* lower;
  T* diagonal;
  T* upper;
};

/// A point's neighbours along an axis, the side that it lies on (−1: none), and what that is.
struct AlongAxis {
  long long lower, upper;
  int side;
  SideRule rule;
};

template <class T>
GRIDSTRIDE_HOST_DEVICE inline AlongAxis along_axis(ImplicitArguments<T> const& w, int axis,
                                                   long long at, long long offset) {
  auto const& a = w.given;
  long long const stride = axis == 0 ? 1 : axis == 1 ? a.points[0] : a.points[0] * a.points[1];
  long long const last = a.points[axis] - 1, around = last * stride;
  AlongAxis along{offset - stride, offset + stride, -1, SideRule::periodic};
  if (at == 0 && !w.goes_on[axis][0]) {
    along.side = 0;
    along.rule = a.side[axis][0];
    along.lower = along.rule == SideRule::periodic ? offset + around : along.upper;
  } else if (at == last && !w.goes_on[axis][1]) {
    along.side = 1;
    along.rule = a.side[axis][1];
    along.upper = along.rule == SideRule::periodic ? offset - around : along.lower;
  }
  return along;
}

/// factor·dt·(L in + s + what Neumann sides let in) + Σ_j term_weight_j·term_j; 0 on Dirichlet sides.
template <int dims, bool variable, class T>
GRIDSTRIDE_HOST_DEVICE inline T residual_point(ImplicitArguments<T> const& w, long long i,
                                               long long j, long long k) {
  auto const& a = w.given;
  if (dirichlet_value<dims>(a, i, j, k)) return 0;
  long long const at[3] = {i, j, k};
  long long const offset = i + a.points[0] * (j + a.points[1] * k);
  double const factor = w.factor * *w.step;
  T const alpha = variable ? a.diffusivity[offset] : T(1);
  T change = 0;
  for (int axis = 0; axis < dims; ++axis) {
    auto const along = along_axis(w, axis, at[axis], offset);
    if (a.in) {
      auto const weight = static_cast<T>(factor * w.rate[axis]);
      if constexpr (variable)
        change = add_axis(change, weight, a.in[along.lower], a.in[offset], a.in[along.upper],
                          a.diffusivity[along.lower], alpha, a.diffusivity[along.upper]);
      else
        change = add_axis(change, weight, a.in[along.lower], a.in[offset], a.in[along.upper]);
    }
    if (along.side >= 0 && along.rule == SideRule::neumann && a.side_value[axis][along.side])
      change = add_side(change, static_cast<T>(factor * w.side_rate[axis]) * alpha,
                        a.side_value[axis][along.side][face_offset(axis, a.points, i, j, k)]);
  }
  if (a.source) change = multiply_add(static_cast<T>(factor), a.source[offset], change);
  for (int n = 0; n < a.term_count; ++n)
    change = multiply_add(a.term_weight[n], a.term[n][offset], change);
  return change;
}

/// The row of 1 − θ·dt·L_axis at a point; that of a Dirichlet side says what u is there.
template <class T>
struct AxisRow {
  T lower, diagonal, upper;
};

template <bool variable, class T>
GRIDSTRIDE_HOST_DEVICE inline AxisRow<T> axis_row(ImplicitArguments<T> const& w, int axis,
                                                  long long at, long long offset) {
  auto const along = along_axis(w, axis, at, offset);
  if (along.side >= 0 && along.rule == SideRule::dirichlet) return {0, 1, 0};
  auto const weight = static_cast<T>(w.theta * *w.step * w.rate[axis]);
  T below = weight, above = weight;
  if constexpr (variable) {
    auto const* alpha = w.given.diffusivity;
    below = weight * (alpha[offset] + alpha[along.lower]);
    above = weight * (alpha[offset] + alpha[along.upper]);
  }
  T const diagonal = 1 + (below + above);
  if (along.side < 0 || along.rule == SideRule::periodic) return {-below, diagonal, -above};
  if (along.side == 0) return {0, diagonal, -(below + above)};
  return {-(below + above), diagonal, 0};
}

/// Π_b (1 − θ·dt·L_b) of what a solution is on a Dirichlet side at a point of it, over the axes b
/// from `axis` on: what it is there once it is solved for the axes before.
template <int dims, bool variable, int axis, class T>
GRIDSTRIDE_HOST_DEVICE inline T held_value(ImplicitArguments<T> const& w, long long i, long long j,
                                           long long k) {
  auto const& a = w.given;
  long long const offset = i + a.points[0] * (j + a.points[1] * k);
  if constexpr (axis >= dims) {
    T const value = *dirichlet_value<dims>(a, i, j, k);
    return w.start ? value - w.start[offset] : value;
  } else {
    long long const at[3] = {i, j, k}, last = a.points[axis] - 1;
    auto const row = axis_row<variable>(w, axis, at[axis], offset);
    auto const neighbour = [&](long long place) {
      return held_value<dims, variable, axis + 1>(w, axis == 0 ? place : i, axis == 1 ? place : j,
                                                  axis == 2 ? place : k);
    };
    T value = row.diagonal * neighbour(at[axis]);
    bool const wraps_below = at[axis] == 0 && !w.goes_on[axis][0],
               wraps_above = at[axis] == last && !w.goes_on[axis][1];
    if (row.lower != 0)
      value = multiply_add(row.lower, neighbour(wraps_below ? last : at[axis] - 1), value);
    if (row.upper != 0)
      value = multiply_add(row.upper, neighbour(wraps_above ? 0 : at[axis] + 1), value);
    return value;
  }
}

/// Writes what the point number `index` of the two faces of an axis is, before that axis is solved
/// for or in the end, where the side is a Dirichlet one.
template <int dims, bool variable, int axis, class T>
GRIDSTRIDE_HOST_DEVICE inline void hold_point(ImplicitArguments<T> const& w, long long index) {
  auto const& a = w.given;
  constexpr int first = axis == 0 ? 1 : 0, second = axis == 2 ? 1 : 2;
  long long const face = a.points[first] * a.points[second];
  int const side = index < face ? 0 : 1;
  if (a.side[axis][side] != SideRule::dirichlet) return;
  long long const place = index - side * face;
  long long at[3];
  at[axis] = side == 0 ? 0 : a.points[axis] - 1;
  at[first] = place % a.points[first];
  at[second] = place / a.points[first];
  a.out[at[0] + a.points[0] * (at[1] + a.points[1] * at[2])] =
      w.whole ? held_value<dims, variable, dims>(w, at[0], at[1], at[2])
              : held_value<dims, variable, axis + 1>(w, at[0], at[1], at[2]);
}

/// Writes the row of an axis at a point, or, where α is a number, at the point of that index on any
/// line.
template <bool variable, class T>
GRIDSTRIDE_HOST_DEVICE inline void write_row(ImplicitArguments<T> const& w, long long index) {
  auto const& points = w.given.points;
  long long at = index;
  if (variable && w.axis == 0) at = index % points[0];
  if (variable && w.axis == 1) at = index / points[0] % points[1];
  if (variable && w.axis == 2) at = index / (points[0] * points[1]);
  auto const row = axis_row<variable>(w, w.axis, at, index);
  w.lower[index] = row.lower;
  w.diagonal[index] = row.diagonal;
  w.upper[index] = row.upper;
}

}  // namespace gridstride::stencil

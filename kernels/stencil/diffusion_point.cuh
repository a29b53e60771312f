#pragma once

// What the diffusion stencil computes at one point, for host and device, free of host includes.
//
//   out = base + Σ_a (flux in − flux out along a) + Σ_a side term + source_weight·s
//              + in_weight·(in − base) + Σ_j term_weight_j·(term_j − base),   base = in unless
//              given
//
// All that is added to the base is a change in one step, small beside it, so that the sum loses no
// more than one rounding of the base. The face between points p and q carries
// (α_p + α_q)/2·(u_q − u_p), a conservative average. At a Neumann side (∂u/∂n = g, n outward) half
// a cell is left: its one inner face counts twice, and the outer face adds 2/h·α·g. At a Dirichlet
// side out = g.
//
// The order of the operations and what is rounded are fixed here, so that every kernel gives the
// same bits: the change starts at 0, and each term is added to it by `multiply_add`, the axes
// first. Differences are upper − lower, so that two neighbours share the one between them, and a
// compiler computes it once.

#include "core/host_device.hpp"
#include "kernels/support/multiply_add.cuh"

namespace gridstride::stencil {

enum class SideRule : unsigned char { periodic, dirichlet, neumann };

inline constexpr int max_terms = 2;

/// Plain arguments of one step, weights already multiplied out in float64 and rounded to T.
template <class T>
struct DiffusionArguments {
  T const* in;
  T* out;
  T const* diffusivity;  // null: constant, and inside the weights
  T const* source;       // null: none
  T const* base;         // null: in
  T in_weight;           // 0 without a base
  T const* term[max_terms];
  T term_weight[max_terms];
  int term_count;
  T weight[3];       // factor·α/h², or factor/(2h²) when α is a field
  T side_weight[3];  // factor·2α/h, or factor·2/h
  T source_weight;
  long long points[3];
  long long made[2];  // of the slowest axis: the planes from one to the other are wanted
  int beside;         // so many other passes make others at the same time
  SideRule side[3][2];
  T const* side_value[3][2];  // null where periodic; in the order of the face's points
};

/// Whether a step is u + diffusion and nothing else.
template <class T>
GRIDSTRIDE_HOST_DEVICE inline bool is_plain(DiffusionArguments<T> const& a) {
  return !a.source && !a.base && a.term_count == 0;
}

/// The new value from the old one and what diffusion changes.
template <class T>
GRIDSTRIDE_HOST_DEVICE inline T finish_point(DiffusionArguments<T> const& a, long long offset,
                                             T center, T change) {
  T const base = a.base ? a.base[offset] : center;
  if (a.source) change = multiply_add(a.source_weight, a.source[offset], change);
  if (a.base) change = multiply_add(a.in_weight, center - base, change);
  for (int j = 0; j < a.term_count; ++j)
    change = multiply_add(a.term_weight[j], a.term[j][offset] - base, change);
  return base + change;
}

/// `change` with one axis' share added, with constant diffusivity.
template <class T>
GRIDSTRIDE_HOST_DEVICE inline T add_axis(T change, T weight, T lower, T center, T upper) {
  return multiply_add(weight, (upper - center) - (center - lower), change);
}

/// The same from the point's differences to its two neighbours: centre − lower, and upper − centre. At
/// a Neumann side the inner one stands for both, with the sign of the other turned, which is exact.
template <class T>
GRIDSTRIDE_HOST_DEVICE inline T add_differences(T change, T weight, T below, T above) {
  return multiply_add(weight, above - below, change);
}

/// The same with a diffusivity field.
template <class T>
GRIDSTRIDE_HOST_DEVICE inline T add_axis(T change, T weight, T lower, T center, T upper,
                                         T alpha_lower, T alpha_center, T alpha_upper) {
  T const below = (alpha_center + alpha_lower) * (center - lower);
  return multiply_add(weight, multiply_add(alpha_center + alpha_upper, upper - center, -below),
                      change);
}

/// `change` with what a Neumann side adds: its weight times α at the point, and ∂u/∂n.
template <class T>
GRIDSTRIDE_HOST_DEVICE inline T add_side(T change, T side_weight, T derivative) {
  return multiply_add(side_weight, derivative, change);
}

/// Place of point (i, j, k) on the face normal to `axis`.
GRIDSTRIDE_HOST_DEVICE inline long long face_offset(int axis, long long const (&points)[3],
                                                    long long i, long long j, long long k) {
  return axis == 0 ? j + k * points[1] : i + (axis == 1 ? k : j) * points[0];
}

/// The value on the Dirichlet side that (i, j, k) lies on, or null when it lies on none. Where two
/// meet, the first in the order x, y, z counts.
template <int dims, class T>
GRIDSTRIDE_HOST_DEVICE inline T const* dirichlet_value(DiffusionArguments<T> const& a, long long i,
                                                       long long j, long long k) {
  long long const at[3] = {i, j, k};
  for (int axis = 0; axis < dims; ++axis) {
    int const side = at[axis] == 0 ? 0 : at[axis] == a.points[axis] - 1 ? 1 : -1;
    if (side >= 0 && a.side[axis][side] == SideRule::dirichlet)
      return a.side_value[axis][side] + face_offset(axis, a.points, i, j, k);
  }
  return nullptr;
}

/// The new value at a point that lies on no side.
template <int dims, bool variable, class T>
GRIDSTRIDE_HOST_DEVICE inline T update_inside(DiffusionArguments<T> const& a, long long offset) {
  long long const stride[3] = {1, a.points[0], a.points[0] * a.points[1]};
  T const center = a.in[offset];
  T diffused = 0;
  for (int axis = 0; axis < dims; ++axis) {
    long long const lower = offset - stride[axis], upper = offset + stride[axis];
    if constexpr (variable)
      diffused = add_axis(diffused, a.weight[axis], a.in[lower], center, a.in[upper],
                          a.diffusivity[lower], a.diffusivity[offset], a.diffusivity[upper]);
    else
      diffused = add_axis(diffused, a.weight[axis], a.in[lower], center, a.in[upper]);
  }
  return finish_point(a, offset, center, diffused);
}

/// The new value at a point on a side.
template <int dims, bool variable, class T>
GRIDSTRIDE_HOST_DEVICE inline T update_side(DiffusionArguments<T> const& a, long long i,
                                            long long j, long long k) {
  if (T const* fixed = dirichlet_value<dims>(a, i, j, k)) return *fixed;
  long long const at[3] = {i, j, k};
  long long const stride[3] = {1, a.points[0], a.points[0] * a.points[1]};
  long long const offset = i + j * stride[1] + k * stride[2];
  T const center = a.in[offset];
  T const alpha = variable ? a.diffusivity[offset] : T(1);
  T diffused = 0;
  for (int axis = 0; axis < dims; ++axis) {
    long long const last = a.points[axis] - 1, around = last * stride[axis];
    long long lower = offset - stride[axis], upper = offset + stride[axis];
    int side = -1;
    if (at[axis] == 0) {
      side = 0;
      lower = a.side[axis][0] == SideRule::periodic ? offset + around : upper;
    } else if (at[axis] == last) {
      side = 1;
      upper = a.side[axis][1] == SideRule::periodic ? offset - around : lower;
    }
    if constexpr (variable)
      diffused = add_axis(diffused, a.weight[axis], a.in[lower], center, a.in[upper],
                          a.diffusivity[lower], alpha, a.diffusivity[upper]);
    else
      diffused = add_axis(diffused, a.weight[axis], a.in[lower], center, a.in[upper]);
    if (side >= 0 && a.side[axis][side] == SideRule::neumann)
      diffused = add_side(diffused, a.side_weight[axis] * alpha,
                          a.side_value[axis][side][face_offset(axis, a.points, i, j, k)]);
  }
  return finish_point(a, offset, center, diffused);
}

/// The new value at any point.
template <int dims, bool variable, class T>
GRIDSTRIDE_HOST_DEVICE inline T update_point(DiffusionArguments<T> const& a, long long i,
                                             long long j, long long k) {
  bool const inside = i > 0 && i < a.points[0] - 1 &&
                      (dims < 2 || (j > 0 && j < a.points[1] - 1)) &&
                      (dims < 3 || (k > 0 && k < a.points[2] - 1));
  return inside ? update_inside<dims, variable>(a, i + a.points[0] * (j + a.points[1] * k))
                : update_side<dims, variable>(a, i, j, k);
}

}  // namespace gridstride::stencil

#pragma once

// What the diffusion stencil computes at one point, for host and device, free of host includes.
//
//   out = scale·u + Σ_a w_a·(a-flux in − a-flux out) + Σ_a side term + source_weight·s
//         + Σ_j term_weight_j·term_j
//
// The face between points p and q carries (α_p + α_q)/2·(u_q − u_p), a conservative average.
// At a Neumann side (∂u/∂n = g, n outward) half a cell is left: its one inner face counts twice,
// and the outer face adds 2/h·α·g. At a Dirichlet side out = g.

#include "core/host_device.hpp"

namespace gridstride::stencil {

enum class SideRule : unsigned char { periodic, dirichlet, neumann };

inline constexpr int max_terms = 3;

/// Plain arguments of one step, weights already multiplied out in float64 and rounded to T.
template <class T>
struct DiffusionArguments {
  T const* in;
  T* out;
  T const* diffusivity;  // null: constant, and inside the weights
  T const* source;       // null: none
  T const* term[max_terms];
  T term_weight[max_terms];
  int term_count;
  T scale;
  T weight[3];       // factor·α/h², or factor/(2h²) when α is a field
  T side_weight[3];  // factor·2α/h, or factor·2/h
  T source_weight;
  long long points[3];
  SideRule side[3][2];
  T const* side_value[3][2];  // null where periodic; in the order of the face's points
};

/// Everything beyond the diffusion itself: scale·u, the source, and the terms.
template <class T>
GRIDSTRIDE_HOST_DEVICE inline T local_part(DiffusionArguments<T> const& a, long long offset,
                                           T center, T diffused) {
  T value = a.scale * center + diffused;
  if (a.source) value += a.source_weight * a.source[offset];
  for (int j = 0; j < a.term_count; ++j) value += a.term_weight[j] * a.term[j][offset];
  return value;
}

/// One axis' share with constant diffusivity.
template <class T>
GRIDSTRIDE_HOST_DEVICE inline T axis_part(T weight, T lower, T center, T upper) {
  return weight * ((lower - center) + (upper - center));
}

/// One axis' share with a diffusivity field.
template <class T>
GRIDSTRIDE_HOST_DEVICE inline T axis_part(T weight, T lower, T center, T upper, T alpha_lower,
                                          T alpha_center, T alpha_upper) {
  return weight * ((alpha_center + alpha_lower) * (lower - center) +
                   (alpha_center + alpha_upper) * (upper - center));
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

/// The new value at any point, sides included: the plain way, and the only one near a side.
template <int dims, bool variable, class T>
GRIDSTRIDE_HOST_DEVICE inline T update_point(DiffusionArguments<T> const& a, long long i,
                                             long long j, long long k) {
  if (T const* fixed = dirichlet_value<dims>(a, i, j, k)) return *fixed;
  long long const at[3] = {i, j, k};
  long long const stride[3] = {1, a.points[0], a.points[0] * a.points[1]};
  long long const offset = i + j * stride[1] + k * stride[2];
  T const center = a.in[offset];
  T const alpha = variable ? a.diffusivity[offset] : T(1);
  T diffused = 0;
  for (int axis = 0; axis < dims; ++axis) {
    long long const last = a.points[axis] - 1;
    long long lower = offset - stride[axis], upper = offset + stride[axis];
    if (at[axis] == 0)
      lower = a.side[axis][0] == SideRule::periodic ? offset + last * stride[axis] : upper;
    if (at[axis] == last)
      upper = a.side[axis][1] == SideRule::periodic ? offset - last * stride[axis]
                                                    : offset - stride[axis];
    if constexpr (variable)
      diffused += axis_part(a.weight[axis], a.in[lower], center, a.in[upper], a.diffusivity[lower],
                            alpha, a.diffusivity[upper]);
    else
      diffused += axis_part(a.weight[axis], a.in[lower], center, a.in[upper]);
    int const side = at[axis] == 0 ? 0 : at[axis] == last ? 1 : -1;
    if (side >= 0 && a.side[axis][side] == SideRule::neumann)
      diffused += a.side_weight[axis] * alpha *
                  a.side_value[axis][side][face_offset(axis, a.points, i, j, k)];
  }
  return local_part(a, offset, center, diffused);
}

}  // namespace gridstride::stencil

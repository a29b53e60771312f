#pragma once

// What a wave's step computes at one point, for host and device, free of host includes.
//
//   change = Σ_axes Σ_k weight_k·((u_{p−k} + u_{p+k}) − 2·u_p),   k = 1 … radius
//   out    = in + [(1 − δ)·ratio·(in − previous) + change + factor·s]/(1 + δ)
//
// with the factor, c² and 1/h² inside the weights; where c² is a field, the change is multiplied by
// it. A constant array changes nothing, exactly, for u + u − 2u is 0 in any precision; and all that
// is added to `in` is small beside it. The order of the operations and what is rounded are fixed
// here, so that every kernel gives the same bits.

#include "core/host_device.hpp"
#include "kernels/support/multiply_add.cuh"

namespace gridstride::star {

/// How an array goes on beyond a side.
enum class SideRule : unsigned char { wrap, odd, even };

inline constexpr int most_radius = 4;

/// Plain arguments of one step, weights already multiplied out in float64 and rounded to T.
template <class T>
struct LeapfrogArguments {
  T const* in;
  T const* previous;
  T* out;
  T const* speed_squared;  // null: constant, and inside the weights
  T const* source;         // null: none
  T const* damping[3];     // null: none along this axis
  T ratio;
  T factor;
  T damping_time;
  T weight[3][most_radius];  // factor·c²·w_k/h², or factor·w_k/h² where c² is a field
  long long points[3];
  long long made[2];  // of the slowest axis: the planes from one to the other are wanted
  int beside;         // so many other passes make others at the same time
  SideRule side[3][2];
};

/// One grid point's share of a point source: see `add_ricker`.
struct RickerTerm {
  long long offset;  ///< of the point in the array
  double weight;     ///< amplitude times the point's share, over the volume of a cell
  double frequency;  ///< Hz
  double delay;      ///< s
  double damping;    ///< σ at the point (1/s)
};

/// `change` with the share of two points at the same distance added; `twice` is 2·u_p.
template <class T>
GRIDSTRIDE_HOST_DEVICE inline T add_pair(T change, T weight, T lower, T twice, T upper) {
  return multiply_add(weight, (lower + upper) - twice, change);
}

/// The new value from the two before and what the Laplacian changes, without damping.
template <class T>
GRIDSTRIDE_HOST_DEVICE inline T advance_free(LeapfrogArguments<T> const& a, T center, T previous,
                                             T change) {
  return center + multiply_add(a.ratio, center - previous, change);
}

/// The same with σ at the point.
template <class T>
GRIDSTRIDE_HOST_DEVICE inline T advance_damped(LeapfrogArguments<T> const& a, T center, T previous,
                                               T change, T sigma) {
  T const kept = multiply_add(-a.damping_time, sigma, T(1));
  T const whole = multiply_add(a.damping_time, sigma, T(1));
  return center + multiply_add(kept, a.ratio * (center - previous), change) / whole;
}

template <class T>
GRIDSTRIDE_HOST_DEVICE inline T advance(LeapfrogArguments<T> const& a, T center, T previous,
                                        T change, T sigma) {
  return sigma == 0 ? advance_free(a, center, previous, change)
                    : advance_damped(a, center, previous, change, sigma);
}

/// σ at the point (i, j, k).
template <int dims, class T>
GRIDSTRIDE_HOST_DEVICE inline T damping_at(LeapfrogArguments<T> const& a, long long i, long long j,
                                           long long k) {
  T sigma = a.damping[0] ? a.damping[0][i] : T(0);
  if (dims > 1 && a.damping[1]) sigma += a.damping[1][j];
  if (dims > 2 && a.damping[2]) sigma += a.damping[2][k];
  return sigma;
}

/// Whether a step is the Laplacian with a constant speed and nothing else.
template <class T>
GRIDSTRIDE_HOST_DEVICE inline bool is_plain(LeapfrogArguments<T> const& a) {
  return !a.speed_squared && !a.source && !a.damping[0] && !a.damping[1] && !a.damping[2];
}

/// Where an array beyond a side has its values from.
struct Continued {
  long long index;
  bool negative;
};

/// For a place beyond a side of an axis.
template <class T>
GRIDSTRIDE_HOST_DEVICE inline Continued continued(LeapfrogArguments<T> const& a, int axis,
                                                  long long place) {
  long long const last = a.points[axis] - 1;
  bool const lower = place < 0;
  SideRule const rule = a.side[axis][lower ? 0 : 1];
  if (rule == SideRule::wrap) return {place + (lower ? last + 1 : -(last + 1)), false};
  return {(lower ? 0 : 2 * last) - place, rule == SideRule::odd};
}

/// `in` at distance k from the point at place `at` along an axis, beyond the sides too.
template <class T>
GRIDSTRIDE_HOST_DEVICE inline T neighbour(LeapfrogArguments<T> const& a, int axis, long long offset,
                                          long long at, long long stride, int k) {
  if (at + k >= 0 && at + k < a.points[axis]) return a.in[offset + k * stride];
  Continued const beyond = continued(a, axis, at + k);
  T const value = a.in[offset + (beyond.index - at) * stride];
  return beyond.negative ? -value : value;
}

/// Whether a point lies on a fixed side.
template <int dims, class T>
GRIDSTRIDE_HOST_DEVICE inline bool is_fixed(LeapfrogArguments<T> const& a,
                                            long long const (&at)[3]) {
  for (int axis = 0; axis < dims; ++axis) {
    if (at[axis] == 0 && a.side[axis][0] == SideRule::odd) return true;
    if (at[axis] == a.points[axis] - 1 && a.side[axis][1] == SideRule::odd) return true;
  }
  return false;
}

/// Whether all neighbours of a point lie inside of the grid.
template <int dims, int radius, class T>
GRIDSTRIDE_HOST_DEVICE inline bool is_inside(LeapfrogArguments<T> const& a,
                                             long long const (&at)[3]) {
  for (int axis = 0; axis < dims; ++axis)
    if (at[axis] < radius || at[axis] >= a.points[axis] - radius) return false;
  return true;
}

/// What the Laplacian changes at a point whose neighbours all lie inside of the grid.
template <int dims, int radius, class T>
GRIDSTRIDE_HOST_DEVICE inline T change_inside(LeapfrogArguments<T> const& a, T const* in) {
  long long const stride[3] = {1, a.points[0], a.points[0] * a.points[1]};
  T const twice = *in + *in;
  T change = 0;
  for (int axis = 0; axis < dims; ++axis)
    for (int k = 1; k <= radius; ++k)
      change = add_pair(change, a.weight[axis][k - 1], in[-k * stride[axis]], twice,
                        in[k * stride[axis]]);
  return change;
}

/// The same at any point.
template <int dims, int radius, class T>
GRIDSTRIDE_HOST_DEVICE inline T change_beside(LeapfrogArguments<T> const& a,
                                              long long const (&at)[3], long long offset) {
  long long const stride[3] = {1, a.points[0], a.points[0] * a.points[1]};
  T const twice = a.in[offset] + a.in[offset];
  T change = 0;
  for (int axis = 0; axis < dims; ++axis) {
    // Most points near a side are so along one axis alone.
    bool const inside = at[axis] >= radius && at[axis] < a.points[axis] - radius;
    for (int k = 1; k <= radius; ++k) {
      long long const s = k * stride[axis];
      T const lower =
          inside ? a.in[offset - s] : neighbour(a, axis, offset, at[axis], stride[axis], -k);
      T const upper =
          inside ? a.in[offset + s] : neighbour(a, axis, offset, at[axis], stride[axis], k);
      change = add_pair(change, a.weight[axis][k - 1], lower, twice, upper);
    }
  }
  return change;
}

/// The new value from what the Laplacian changes; all else is read here.
template <int dims, class T>
GRIDSTRIDE_HOST_DEVICE inline T finish_point(LeapfrogArguments<T> const& a, long long offset,
                                             long long i, long long j, long long k, T change) {
  if (a.speed_squared) change *= a.speed_squared[offset];
  if (a.source) change = multiply_add(a.factor, a.source[offset], change);
  return advance(a, a.in[offset], a.previous[offset], change, damping_at<dims>(a, i, j, k));
}

/// The new value at a point near a side.
template <int dims, int radius, class T>
GRIDSTRIDE_HOST_DEVICE inline T update_beside(LeapfrogArguments<T> const& a, long long i,
                                              long long j, long long k) {
  long long const at[3] = {i, j, k};
  if (is_fixed<dims>(a, at)) return 0;
  long long const offset = i + a.points[0] * (j + a.points[1] * k);
  return finish_point<dims>(a, offset, i, j, k, change_beside<dims, radius>(a, at, offset));
}

/// The new value at any point.
template <int dims, int radius, class T>
GRIDSTRIDE_HOST_DEVICE inline T update_point(LeapfrogArguments<T> const& a, long long i,
                                             long long j, long long k) {
  long long const at[3] = {i, j, k};
  if (!is_inside<dims, radius>(a, at)) return update_beside<dims, radius>(a, i, j, k);
  long long const offset = i + a.points[0] * (j + a.points[1] * k);
  return finish_point<dims>(a, offset, i, j, k, change_inside<dims, radius>(a, a.in + offset));
}

// ----------------------------------------------------------------------------------------- energy

/// Plain arguments of the energy.
template <class T>
struct EnergyArguments {
  LeapfrogArguments<T> state;     // of which in, previous, points and sides count
  double weight[3][most_radius];  // w_k/h²
  double speed_squared;           // where there is no field
  T const* speed_squared_field;
  double rate;  // 1/τ
  double cell;  // half the volume of a cell
};

/// A point's share of the energy, of its Laplacian and of half of its volume.
template <class T>
GRIDSTRIDE_HOST_DEVICE inline double energy_share(EnergyArguments<T> const& a, long long offset,
                                                  double laplacian, double half_volume) {
  auto const previous = static_cast<double>(a.state.previous[offset]);
  double const velocity = (static_cast<double>(a.state.in[offset]) - previous) * a.rate;
  double const speed_squared =
      a.speed_squared_field ? static_cast<double>(a.speed_squared_field[offset]) : a.speed_squared;
  double const kinetic = speed_squared > 0 ? velocity * velocity / speed_squared : 0;
  double const twice = multiply_add(-previous, laplacian, kinetic);
#ifdef __CUDA_ARCH__
  return __dmul_rn(half_volume, twice);  // by itself, whatever it is added to
#else
  return half_volume * twice;
#endif
}

/// The same at any point.
template <int dims, int radius, class T>
GRIDSTRIDE_HOST_DEVICE inline double energy_of_point(EnergyArguments<T> const& a,
                                                     long long offset) {
  auto const& state = a.state;
  long long const nx = state.points[0], ny = state.points[1];
  long long const at[3] = {offset % nx, offset / nx % ny, offset / nx / ny};
  long long const stride[3] = {1, nx, nx * ny};
  auto const center = static_cast<double>(state.in[offset]);
  double laplacian = 0, half_volume = a.cell;
  for (int axis = 0; axis < dims; ++axis) {
    for (int k = 1; k <= radius; ++k) {
      auto const lower =
          static_cast<double>(neighbour(state, axis, offset, at[axis], stride[axis], -k));
      auto const upper =
          static_cast<double>(neighbour(state, axis, offset, at[axis], stride[axis], k));
      laplacian = add_pair(laplacian, a.weight[axis][k - 1], lower, center + center, upper);
    }
    if (at[axis] == 0 && state.side[axis][0] == SideRule::even) half_volume /= 2;
    if (at[axis] == state.points[axis] - 1 && state.side[axis][1] == SideRule::even)
      half_volume /= 2;
  }
  return energy_share(a, offset, laplacian, half_volume);
}

/// At a point whose neighbours all lie inside of the grid.
template <int dims, int radius, class T>
GRIDSTRIDE_HOST_DEVICE inline double energy_inside(EnergyArguments<T> const& a, long long offset) {
  long long const stride[3] = {1, a.state.points[0], a.state.points[0] * a.state.points[1]};
  T const* in = a.state.in + offset;
  auto const center = static_cast<double>(*in);
  double laplacian = 0;
  for (int axis = 0; axis < dims; ++axis)
    for (int k = 1; k <= radius; ++k)
      laplacian =
          add_pair(laplacian, a.weight[axis][k - 1], static_cast<double>(in[-k * stride[axis]]),
                   center + center, static_cast<double>(in[k * stride[axis]]));
  return energy_share(a, offset, laplacian, a.cell);
}

// -------------------------------------------------------------------------------- point sources

/// Adds all terms of the offset that term number `n` is the first of; nothing for other terms.
template <class T>
GRIDSTRIDE_HOST_DEVICE inline void add_terms(RickerTerm const* terms, long long count, long long n,
                                             double time, double factor, double damping_time,
                                             T* out) {
  long long const offset = terms[n].offset;
  if (n > 0 && terms[n - 1].offset == offset) return;
  constexpr double pi = 3.141592653589793;
  double sum = 0;
  for (; n < count && terms[n].offset == offset; ++n) {
    double const phase = pi * terms[n].frequency * (time - terms[n].delay);
    double const a = phase * phase;
    sum +=
        factor * terms[n].weight * (1 - 2 * a) * ::exp(-a) / (1 + damping_time * terms[n].damping);
  }
  out[offset] += static_cast<T>(sum);
}

}  // namespace gridstride::star

#pragma once

// What the kernels of several steps in one pass share. They do the operations of
// diffusion_point.cuh in the same order, and so give the bits of single steps.

#include <cuda_runtime_api.h>

#include <stdexcept>
#include <string>

#include "kernels/stencil/rows.hpp"
#include "kernels/support/collectives.cuh"

namespace gridstride::stencil {

/// The index of the point that i repeats on an axis of `points`.
__device__ inline long long wrapped_index(long long i, long long points) {
  if (i >= 0 && i < points) return i;
  i %= points;
  return i < 0 ? i + points : i;
}

/// Where an end of a line with a rule may lie among a thread's points.
enum class Ends { none, first_or_last, any };

/// The ends of a line along x, as a thread with `count` points from `i` on sees them: which of its
/// points they are, or −1.
struct LineEnds {
  int lower = -1, upper = -1;
  bool lower_fixed, upper_fixed;

  template <class T>
  __device__ LineEnds(DiffusionArguments<T> const& a, long long i, int count)
      : lower_fixed(a.side[0][0] == SideRule::dirichlet),
        upper_fixed(a.side[0][1] == SideRule::dirichlet) {
    if (a.side[0][0] == SideRule::periodic) return;
    long long const last = a.points[0] - 1 - i;
    if (i <= 0 && -i < count) lower = static_cast<int>(-i);
    if (last >= 0 && last < count) upper = static_cast<int>(last);
  }
  template <Ends where>
  __device__ bool lower_at(int e) const {
    return where != Ends::none && (where == Ends::any || e == 0) && e == lower;
  }
  template <Ends where, int count>
  __device__ bool upper_at(int e) const {
    return where != Ends::none && (where == Ends::any || e == count - 1) && e == upper;
  }
};

/// What diffusion along x changes at a thread's points of one line. `value` holds those of the
/// line's two ends.
template <Ends where, int count, class T>
__device__ void change_along_x(DiffusionArguments<T> const& a, LineEnds const& ends,
                               T const (&value)[2], T const (&center)[count], T (&change)[count]) {
  T const left = shuffle_up(center[count - 1], 1), right = shuffle_down(center[0], 1);
  T below = center[0] - left;
#pragma unroll
  for (int e = 0; e < count; ++e) {
    T const above = (e + 1 < count ? center[e + 1 < count ? e + 1 : e] : right) - center[e];
    bool const lower = ends.lower_at<where>(e), upper = ends.upper_at<where, count>(e);
    change[e] = add_differences(T(0), a.weight[0], lower ? -above : below, upper ? -below : above);
    if (lower) change[e] = add_side(change[e], a.side_weight[0], value[0]);
    if (upper) change[e] = add_side(change[e], a.side_weight[0], value[1]);
    below = above;
  }
}

/// Sets what is fixed at the ends of a line: to its value by the first step, and so it stays.
template <Ends where, int count, class T>
__device__ void fix_ends(LineEnds const& ends, T const (&value)[2], bool first_step,
                         T const (&center)[count], T (&next)[count]) {
#pragma unroll
  for (int e = 0; e < count; ++e) {
    if (ends.lower_at<where>(e) && ends.lower_fixed) next[e] = first_step ? value[0] : center[e];
    if (ends.upper_at<where, count>(e) && ends.upper_fixed)
      next[e] = first_step ? value[1] : center[e];
  }
}

/// Throws when `steps` of these are none that the kernels take in one pass. `next`: what
/// next_line_steps and so on make of so many.
template <class T>
void check_pass(DiffusionArguments<T> const& a, int steps, int next) {
  if (!is_plain(a) || a.diffusivity)
    throw std::invalid_argument(
        "stencil: a pass of several steps takes no source and no field of diffusivity");
  if (steps < 1 || steps != next)
    throw std::invalid_argument("stencil: there is no pass of " + std::to_string(steps) + " steps");
}

}  // namespace gridstride::stencil

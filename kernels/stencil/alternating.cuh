#pragma once

#include <cstdint>

#include "kernels/stencil/alternating_work.hpp"
#include "kernels/support/multiply_add.cuh"

// What both passes (cuda_alternating_rows.cu, cuda_alternating_columns.cu) have in common.
//
// A line of n unknowns has the equations
//
//   (1 + 2r)·x_i − r·(x_(i−1) + x_(i+1)) = d_i,   r = dt/2·α/h²
//
// of which only those at its ends differ. On an infinite line the solution is a sum over what is
// left and what is right of a point, each a geometric one:
//
//   z_i = f_i + b_i,   f_i = e_i + q·f_(i−1),   b_i = q·(e_(i+1) + b_(i+1)),
//   e = d/√(1 + 4r),   q = 2r/(1 + 2r + √(1 + 4r)) < 1,
//
// and what the ends do to it is α·qⁱ + β·q^(n−1−i), with α and β that follow from z at the ends. So
// no factors have to be stored, both directions are summed at once, threads exchange one number for
// each, and where the line is cut makes no difference to what has to be done.
namespace gridstride::stencil {

/// What moves at once between memories.
constexpr int piece_bytes = 16;

/// a·b, rounded by itself: what is fused stands in the formulas, so that kernels which make the same of
/// a line have the same bits.
template <class T>
__device__ T product(T a, T b) {
  if constexpr (sizeof(T) == 4)
    return __fmul_rn(a, b);
  else
    return __dmul_rn(a, b);
}

/// α and β from what is known at the ends: z less what is given there.
template <class T>
struct Ends {
  T alpha, beta;
};
template <class T>
__device__ Ends<T> ends_of(LineMatrix<T> const& m, bool periodic, T first, T last, T z_first,
                           T z_last) {
  if (periodic) return {product(m.wrap, z_last), product(m.wrap, z_first)};
  T const at_first = multiply_add(-m.sign[0], z_first, first);
  T const at_last = multiply_add(-m.sign[1], z_last, last);
  return {multiply_add(m.own[0], at_first, product(m.other[0], at_last)),
          multiply_add(m.own[1], at_last, product(m.other[1], at_first))};
}

/// q to the power of a number of rows.
template <class T>
__device__ T power(LineMatrix<T> const& m, double rows) {
  return static_cast<T>(exp(product(m.log_q, rows)));
}

/// Which index has the values of a line beside one that ends at a side.
template <class T>
__device__ std::int64_t line_at(LineSweep<T> const& sweep, std::int64_t line) {
  auto const lines = sweep.lines;
  auto const& sides = sweep.sides;
  if (line < 0)
    return sweep.goes_on[0]                 ? line
           : sides[0] == SideRule::periodic ? line + lines
           : sides[0] == SideRule::neumann  ? -line
                                            : 0;
  if (line < lines || sweep.goes_on[1]) return line;
  return sides[1] == SideRule::periodic  ? line - lines
         : sides[1] == SideRule::neumann ? 2 * (lines - 1) - line
                                         : lines - 1;
}

/// What the chunks before and after a thread's send it, in units of ρ at its border. Sums over
/// segments of `width` lanes.
template <class T>
struct Carries {
  T before, after;  ///< without the own chunk
  T up_to, from;    ///< with it
};
template <class T>
__device__ Carries<T> sum_chunks(T const (&powers)[5], T forward, T backward, int lane, int width) {
  constexpr unsigned all = 0xffffffffu;
  Carries<T> sums{0, 0, forward, backward};
#pragma unroll
  for (int s = 0; s < 5; ++s) {
    int const distance = 1 << s;
    if (distance >= width) break;
    T const lower = __shfl_up_sync(all, sums.up_to, distance, width);
    T const upper = __shfl_down_sync(all, sums.from, distance, width);
    if (lane >= distance) sums.up_to = multiply_add(powers[s], lower, sums.up_to);
    if (lane + distance < width) sums.from = multiply_add(powers[s], upper, sums.from);
  }
  T const lower = __shfl_up_sync(all, sums.up_to, 1, width);
  T const upper = __shfl_down_sync(all, sums.from, 1, width);
  if (lane > 0) sums.before = lower;
  if (lane + 1 < width) sums.after = upper;
  return sums;
}

/// The chunk's sums: f at its last row, b + e at its first.
template <class T, int rows>
__device__ void sum_rows(T q, T const (&e)[rows], T& forward, T& backward) {
  forward = e[0];
  backward = e[rows - 1];
#pragma unroll
  for (int i = 1; i < rows; ++i) {
    forward = multiply_add(q, forward, e[i]);
    backward = multiply_add(q, backward, e[rows - 1 - i]);
  }
}

/// The solution in the place of e. `left` and `right` are what reaches the first and the last row;
/// in a chunk with the line's end at row `end`, `beta` is what the end itself adds. Since
/// b_(i−1) = q·(x_i − q·f_(i−1)), all but the last follow from x_(i−1) = q·x_i + (1 − q²)·f_(i−1).
template <bool whole, class T, int rows>
__device__ void solve_rows(LineMatrix<T> const& m, T (&e)[rows], T left, T right, int end, T beta) {
  e[0] += left;
#pragma unroll
  for (int i = 1; i < rows; ++i) e[i] = multiply_add(m.q, e[i - 1], e[i]);
  e[rows - 1] += right;
#pragma unroll
  for (int i = rows - 2; i >= 0; --i) {
    T const x = multiply_add(m.q, e[i + 1], product(m.less_square, e[i]));
    e[i] = !whole && i == end ? e[i] + beta : x;
  }
}

}  // namespace gridstride::stencil

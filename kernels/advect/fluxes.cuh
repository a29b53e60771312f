#pragma once

// Fluxes of advection through the faces between points, for host and device, free of host includes.
//
// Velocities come as Courant numbers c = v·dt/h, so that a flux is what passes in one step, in
// units of u, and what a step changes at a point is the flux through its lower face less that
// through the upper one. What one point loses its neighbour gets: Σ u is conserved up to rounding.
//
// What is fused on a GPU stands here: the family is compiled without other fused operations, so that
// a point has the same bits wherever a march begins, and in whatever part of a grid it lies.

#include "core/host_device.hpp"
#include "kernels/support/multiply_add.cuh"

namespace gridstride::advect {

enum class Scheme : unsigned char { upwind, lax_wendroff, weno5 };

/// How many neighbours on each side decide what a step changes at a point.
template <Scheme scheme>
inline constexpr int reach_of = scheme == Scheme::weno5 ? 3 : 1;

/// Of what degree the polynomial is that goes on beyond an open side: the scheme's order less one.
template <Scheme scheme>
inline constexpr int ghost_degree_of = scheme == Scheme::upwind         ? 0
                                       : scheme == Scheme::lax_wendroff ? 1
                                                                        : 4;
GRIDSTRIDE_HOST_DEVICE inline float magnitude(float x) { return __builtin_fabsf(x); }
GRIDSTRIDE_HOST_DEVICE inline double magnitude(double x) { return __builtin_fabs(x); }

// --------------------------------------------------------------------------------------- upwind

/// Donor cell: the flux takes the value of the side that the flow comes from.
template <class T>
GRIDSTRIDE_HOST_DEVICE inline T upwind_flux(T c_lower, T u_lower, T c_upper, T u_upper) {
  T const c = T(0.5) * (c_lower + c_upper);
  return c * (c > 0 ? u_lower : u_upper);
}

/// What a step changes where the velocity is constant.
template <class T>
GRIDSTRIDE_HOST_DEVICE inline T upwind_change(T c, T lower, T center, T upper) {
  return c * (c > 0 ? lower - center : center - upper);
}

// ---------------------------------------------------------------------------------- Lax-Wendroff

/// f = v·u at the middle of the step: half the sum, less half a step of what the flow carries on, and less
/// what a velocity that changes makes of neighbours that differ, of order h²: the mean of f sees nothing
/// of what goes up and down from point to point, which would grow by the divergence along other axes.
/// No more of it than is stable.
template <class T>
GRIDSTRIDE_HOST_DEVICE inline T lax_wendroff_flux(T c_lower, T u_lower, T c_upper, T u_upper) {
  T const lower = c_lower * u_lower, upper = c_upper * u_upper;
  T const c = T(0.5) * (c_lower + c_upper);
  T const most = multiply_add(-c, c, T(1)), change = magnitude(c_upper - c_lower);
  T const damping = change < most ? change : most;
  return T(0.5) *
         multiply_add(-damping, u_upper - u_lower, multiply_add(-c, upper - lower, lower + upper));
}

/// What a step changes where the velocity is constant.
template <class T>
GRIDSTRIDE_HOST_DEVICE inline T lax_wendroff_change(T c, T lower, T center, T upper) {
  T const below = lower - center, above = upper - center;
  return T(0.5) * c * multiply_add(c, below + above, below - above);
}

// ----------------------------------------------------------------------------------------- WENO5

/// 1/x, on a GPU to the last bit or two.
GRIDSTRIDE_HOST_DEVICE inline float reciprocal(float x) {
#ifdef __CUDA_ARCH__
  float result;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
#else
  return 1 / x;
#endif
}
GRIDSTRIDE_HOST_DEVICE inline double reciprocal(double x) {
#ifdef __CUDA_ARCH__
  double result;
  asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(result) : "d"(x));
  result = fma(result, fma(-x, result, 1.0), result);  // Newton: 20 bits, 40, all
  return fma(result, fma(-x, result, 1.0), result);
#else
  return 1 / x;
#endif
}

/// What three neighbours say of the flow from the first to the third: their second difference s,
/// and how much they vary, |s| + h·|u'|, with their parabola's slope u' at the point on the upwind
/// side of a face, as the stencil before, around and beyond that point.
template <class T>
struct Stencil {
  T second, before, around, beyond;

  GRIDSTRIDE_HOST_DEVICE Stencil() {}
  GRIDSTRIDE_HOST_DEVICE Stencil(T first, T center, T last) {
    T const in = center - first, out = last - center;
    second = out - in;
    T const slope = T(0.5) * (out + in);
    before = magnitude(second) + magnitude(slope + second);
    around = magnitude(second) + magnitude(slope);
    beyond = magnitude(second) + magnitude(slope - second);
  }
};

/// min(factor·numerator/denominator, 1) of numbers that are not negative, and 0 for 0/0.
GRIDSTRIDE_HOST_DEVICE inline float saturated_ratio(float factor, float numerator,
                                                    float denominator) {
#ifdef __CUDA_ARCH__
  return __saturatef(factor * numerator * reciprocal(denominator));  // takes NaN for 0
#else
  float const ratio = factor * (numerator / denominator);
  return ratio < 1 ? ratio : numerator > 0 ? 1.0f : 0.0f;
#endif
}

/// A power of two that brings x >= 0 to [1, 2), and what is subnormal below it.
GRIDSTRIDE_HOST_DEVICE inline double normalising_power(double x) {
  constexpr unsigned long long exponent = 0x7ff0000000000000, twice_one = 0x7fe0000000000000;
  return __builtin_bit_cast(double,
                            twice_one - (__builtin_bit_cast(unsigned long long, x) & exponent));
}

/// The three stencils' shares in a face's value, up to a common factor: d_k·(1 + (4·δ/V_k)²) with
/// the ideal weights d_k, the fourth difference δ of all five values and what V_k the values of a
/// stencil vary by. Only ratios of differences count, and no power of one is formed, so that u may
/// have any unit; the ratios are bounded, so that a stencil that does not vary is no exception.
template <class T>
struct Shares {
  T before, around, beyond;

  GRIDSTRIDE_HOST_DEVICE Shares(Stencil<T> const& first, Stencil<T> const& second,
                                Stencil<T> const& third) {
    T const fourth = magnitude(multiply_add(T(-2), second.second, first.second + third.second));
    if constexpr (sizeof(T) == 4) {  // multiplied by the square of the bound
      constexpr T bound = T(1) / 65536;
      T const r0 = saturated_ratio(4 * bound, fourth, first.before);
      T const r1 = saturated_ratio(4 * bound, fourth, second.around);
      T const r2 = saturated_ratio(4 * bound, fourth, third.beyond);
      before = multiply_add(r0, r0, bound * bound);
      around = multiply_add(2 * r1, r1, 2 * (bound * bound));
      beyond = multiply_add(r2, r2, bound * bound);
    } else {  // multiplied by (V_0·V_1·V_2)², of numbers near one: divisions are dear
      constexpr T bound = T(1) / (1 << 30);
      T const power = normalising_power(first.before + third.beyond);
      T const part = 4 * (fourth * power);
      T const least = multiply_add(bound, part, bound * bound);
      T const v0 = multiply_add(first.before, power, least);
      T const v1 = multiply_add(second.around, power, least);
      T const v2 = multiply_add(third.beyond, power, least);
      T const v12 = v1 * v2, v02 = v0 * v2, v01 = v0 * v1, all = v0 * v12;
      T const r0 = part * v12, r1 = part * v02, r2 = part * v01, square = all * all;
      before = multiply_add(r0, r0, square);
      around = 2 * multiply_add(r1, r1, square);
      beyond = multiply_add(r2, r2, square);
    }
    T const whole = reciprocal(multiply_add(T(3), around + beyond, before));
    before *= whole;
    around *= whole;
    beyond *= whole;
  }
};

/// u at the face between `center` and `next`, the flow going that way; `before`, `around` and
/// `beyond` are the stencils around the point before `center`, around it and around `next`. Each
/// stencil's parabola deviates from the mean of the two by some of the second differences.
template <class T>
GRIDSTRIDE_HOST_DEVICE inline T weno_face(T center, T next, Stencil<T> const& before,
                                          Stencil<T> const& around, Stencil<T> const& beyond) {
  Shares<T> const share(before, around, beyond);
  T const lower = share.before * multiply_add(-T(2) / T(3), before.second, around.second);
  T const bend =
      multiply_add(share.beyond, beyond.second, multiply_add(share.around, around.second, lower));
  return T(0.5) * ((center + next) - bend);
}

/// The same from the five values themselves, in the order of the flow.
template <class T>
GRIDSTRIDE_HOST_DEVICE inline T weno_face(T a, T b, T c, T d, T e) {
  return weno_face(c, d, Stencil<T>(a, b, c), Stencil<T>(b, c, d), Stencil<T>(c, d, e));
}

/// What a step changes in the middle of seven values where the velocity is constant.
template <class T>
GRIDSTRIDE_HOST_DEVICE inline T weno_change(T c, T const (&u)[7]) {
  if (c > 0)
    return c * (weno_face(u[0], u[1], u[2], u[3], u[4]) - weno_face(u[1], u[2], u[3], u[4], u[5]));
  return c * (weno_face(u[5], u[4], u[3], u[2], u[1]) - weno_face(u[6], u[5], u[4], u[3], u[2]));
}

/// The parts of the flux c·u that go up and down (Lax-Friedrichs); `spread` is at least all |c|.
template <class T>
GRIDSTRIDE_HOST_DEVICE inline T part_up(T c, T spread, T u) {
  return T(0.5) * (c + spread) * u;
}
template <class T>
GRIDSTRIDE_HOST_DEVICE inline T part_down(T c, T spread, T u) {
  return T(0.5) * (c - spread) * u;
}

/// What a step changes in the middle of seven values, with the parts of their fluxes.
template <class T>
GRIDSTRIDE_HOST_DEVICE inline T weno_change(T const (&up)[7], T const (&down)[7]) {
  T const lower = weno_face(up[0], up[1], up[2], up[3], up[4]) +
                  weno_face(down[5], down[4], down[3], down[2], down[1]);
  T const upper = weno_face(up[1], up[2], up[3], up[4], up[5]) +
                  weno_face(down[6], down[5], down[4], down[3], down[2]);
  return lower - upper;
}

}  // namespace gridstride::advect

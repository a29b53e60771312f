#pragma once

// Fluxes of advection through the faces between points, for host and device, free of host includes.
//
// Velocities come as Courant numbers c = v·dt/h, so that a flux is what passes in one step, in
// units of u, and what a step changes at a point is the flux through its lower face less that
// through the upper one. What one point loses its neighbour gets: Σ u is conserved up to rounding.

#include "core/host_device.hpp"

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

/// f = v·u at the middle of the step: half the sum, less half a step of what the flow carries on.
template <class T>
GRIDSTRIDE_HOST_DEVICE inline T lax_wendroff_flux(T c_lower, T u_lower, T c_upper, T u_upper) {
  T const lower = c_lower * u_lower, upper = c_upper * u_upper;
  T const c = T(0.5) * (c_lower + c_upper);
  return T(0.5) * ((lower + upper) - c * (upper - lower));
}

/// What a step changes where the velocity is constant.
template <class T>
GRIDSTRIDE_HOST_DEVICE inline T lax_wendroff_change(T c, T lower, T center, T upper) {
  T const below = lower - center, above = upper - center;
  return T(0.5) * c * ((below - above) + c * (below + above));
}

// ----------------------------------------------------------------------------------------- WENO5

GRIDSTRIDE_HOST_DEVICE inline float magnitude(float x) { return __builtin_fabsf(x); }
GRIDSTRIDE_HOST_DEVICE inline double magnitude(double x) { return __builtin_fabs(x); }

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

/// What three neighbours say of the flow from the first to the third: their second difference, and
/// their indicators of smoothness (Jiang and Shu's, times 12/13) as the stencil before, around and
/// beyond the point on the upwind side of a face.
template <class T>
struct Stencil {
  T second, before, around, beyond;

  GRIDSTRIDE_HOST_DEVICE Stencil() {}
  GRIDSTRIDE_HOST_DEVICE Stencil(T first, T center, T last) {
    constexpr T k = T(3) / T(13);
    T const in = center - first, out = last - center;
    second = out - in;
    T const slope = out + in, weighted = k * slope, square = second * second;
    around = square + weighted * slope;
    T const mean = around + 4 * k * square, tilt = 4 * weighted * second;
    before = mean + tilt;
    beyond = mean - tilt;
  }
};

/// The three stencils' shares in a face's value, up to a common factor: Borges and others' weights
/// d_k·(1 + τ/(β_k + ε)). Here ε is a part of τ, so that the weights do not depend on u's unit.
template <class T>
struct Shares {
  T before, around, beyond;

  GRIDSTRIDE_HOST_DEVICE Shares(T b0, T b1, T b2) {
    constexpr T tiny = sizeof(T) == 4 ? T(1e-36) : T(1e-90);
    T const tau = magnitude(b0 - b2);
    T const floor = T(1e-10) * tau + tiny;
    b0 += floor;
    b1 += floor;
    b2 += floor;
    if constexpr (sizeof(T) == 4) {
      before = 1 + tau * reciprocal(b0);
      around = 6 + 6 * tau * reciprocal(b1);
      beyond = 3 + 3 * tau * reciprocal(b2);
    } else {  // multiplied by b0·b1·b2, which float64 has the range for: divisions are dear
      before = (b0 + tau) * (b1 * b2);
      around = 6 * (b1 + tau) * (b0 * b2);
      beyond = 3 * (b2 + tau) * (b0 * b1);
    }
  }
};

/// u at the face between `center` and `next`, the flow going that way; `before`, `around` and
/// `beyond` are the stencils around the point before `center`, around it and around `next`. Each
/// stencil's parabola deviates from the mean of the two by some of the second differences.
template <class T>
GRIDSTRIDE_HOST_DEVICE inline T weno_face(T center, T next, Stencil<T> const& before,
                                          Stencil<T> const& around, Stencil<T> const& beyond) {
  Shares<T> const share(before.before, around.around, beyond.beyond);
  T const bend = share.before * (3 * around.second - 2 * before.second) +
                 share.around * around.second + share.beyond * beyond.second;
  T const all = share.before + share.around + share.beyond;
  return T(0.5) * (center + next) - bend * reciprocal(all) * (T(1) / T(6));
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

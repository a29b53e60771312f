#pragma once

#ifndef __CUDACC_RTC__
#include <math.h>
#endif

#include "core/host_device.hpp"

/// Division without the way around that the compiler's takes on a GPU where the dividend or the
/// quotient is 0 or next to it, as fluxes of water at rest are.
/// a / b is a·(1/b) with 1/b by Newton's method from the processor's estimate, then twice corrected
/// by its remainder a − q·b, which fused operations find exactly (Markstein 1990). That is a / b as
/// IEEE rounds it, but where remainders or the quotient are below what the type holds in full: of
/// |a| < 2^-90 in float32, 2^-800 in float64, and of subnormal quotients the last bit may be another,
/// and −0 may come out as 0.
namespace gridstride::system {

#ifdef __CUDA_ARCH__
__device__ __forceinline__ bool is_safe_divisor(float b) {
  float const size = fabsf(b);
  return (size > 0x1p-62f) & (size < 0x1p62f);
}
__device__ __forceinline__ bool is_safe_dividend(float a) { return fabsf(a) < 0x1p62f; }
__device__ __forceinline__ float reciprocal_of(float b) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(b));
  return fmaf(fmaf(-b, y, 1.0f), y, y);
}
__device__ __forceinline__ bool is_safe_divisor(double b) {
  double const size = fabs(b);
  return (size > 0x1p-300) & (size < 0x1p300);
}
__device__ __forceinline__ bool is_safe_dividend(double a) { return fabs(a) < 0x1p400; }
__device__ __forceinline__ double reciprocal_of(double b) {
  double y;
  asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(b));
  double e = fma(-b, y, 1.0);
  e = fma(e, e, e);
  y = fma(e, y, y);
  return fma(fma(-b, y, 1.0), y, y);
}
/// a / b, where both are safe and y is b's reciprocal.
template <class Real>
__device__ __forceinline__ Real quotient_by(Real a, Real b, Real y) {
  Real q = a * y;
  q = fma(fma(-b, q, a), y, q);
  return fma(fma(-b, q, a), y, q);
}
template <class Real>
__device__ __forceinline__ Real quotient(Real a, Real b) {
  if (!(is_safe_divisor(b) & is_safe_dividend(a))) return a / b;
  return quotient_by(a, b, reciprocal_of(b));
}

/// √a is a·y, with y by the processor's estimate of 1/√a, corrected by its remainder a − g²: as
/// IEEE rounds it, where that remainder and its factors are no subnormal numbers.
__device__ __forceinline__ bool is_safe_radicand(float a) {
  return (a > 0x1p-100f) & (a < 0x1p126f);
}
__device__ __forceinline__ float root_of(float a) {
  float y;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(a));
  float const g = a * y;
  return fmaf(fmaf(-g, g, a), 0.5f * y, g);
}
/// In float64 the compiler's root tests its operand as well, and has no way around in this range.
__device__ __forceinline__ bool is_safe_radicand(double) { return true; }
__device__ __forceinline__ double root_of(double a) { return sqrt(a); }
#else
template <class Real>
Real quotient(Real a, Real b) {
  return a / b;
}
#endif

}  // namespace gridstride::system

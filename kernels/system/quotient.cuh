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
__device__ __forceinline__ float quotient(float a, float b) {
  float const size = fabsf(b);
  if (!(size > 0x1p-62f && size < 0x1p62f && fabsf(a) < 0x1p62f)) return a / b;
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(b));
  y = fmaf(fmaf(-b, y, 1.0f), y, y);
  float q = a * y;
  q = fmaf(fmaf(-b, q, a), y, q);
  return fmaf(fmaf(-b, q, a), y, q);
}
__device__ __forceinline__ double quotient(double a, double b) {
  double const size = fabs(b);
  if (!(size > 0x1p-300 && size < 0x1p300 && fabs(a) < 0x1p400)) return a / b;
  double y;
  asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(b));
  double e = fma(-b, y, 1.0);
  e = fma(e, e, e);
  y = fma(e, y, y);
  y = fma(fma(-b, y, 1.0), y, y);
  double q = a * y;
  q = fma(fma(-b, q, a), y, q);
  return fma(fma(-b, q, a), y, q);
}
#else
template <class Real>
Real quotient(Real a, Real b) {
  return a / b;
}
#endif

}  // namespace gridstride::system

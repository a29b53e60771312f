#pragma once

#ifndef __CUDACC_RTC__
#include <math.h>
#endif

#include "core/host_device.hpp"

/// exp, sin and cos for arguments of moderate size: no branch, no division, and about half of the
/// float64 instructions of the library's, which are what a Riemann sum is made of. Once for host
/// and device.
///
/// Each takes out a multiple of ln 2 or π, which it finds by adding a number so large that the
/// sum's last digit counts ones, and evaluates a polynomial on the rest. The polynomials have the
/// least possible relative error on their interval (Remez' exchange algorithm, with 60 digits;
/// J.-M. Muller, "Elementary Functions", 2016, chapters 3 and 11). exp of float32 is a power of two
/// by the GPU's own instruction, on the host by exp2f. Instructions of floating point, and errors
/// in units of the last place:
///
///              float64                            float32
///     exp   |x| < 704     15 instructions, 1.0   |x| ≤ 86      6 instructions, 1.0 (3 on a GPU)
///     sin   |x| < 65536   14,              1.8   |x| ≤ 8192   10,              2.2
///     cos   |x| < 65536   16,              1.8   |x| ≤ 8192   12,              2.2
///
/// beside, near the zeros of sin and cos, an absolute error of 7e-29 and 9e-12, which is what
/// remains of π. Beyond these arguments the result is of no use.
namespace gridstride::quadrature {

namespace fast {

/// π and ln 2 as sums of two numbers: a fused operation takes out a multiple of the first without
/// rounding.
template <class Real>
struct Constants;

template <>
struct Constants<double> {
  static constexpr double to_whole = 0x1.8p52;  ///< x + to_whole has the whole part of x at its end
  static constexpr double pi = 0x1.921fb54442d18p+1, pi_rest = 0x1.1a62633145c07p-53;
  static constexpr double ln2 = 0x1.62e42fefa39efp-1, ln2_rest = 0x1.abc9e3b39803fp-56;
  static constexpr double inverse_pi = 0x1.45f306dc9c883p-2, inverse_ln2 = 0x1.71547652b82fep+0;
  static constexpr unsigned high_of_largest_exp = 0x40860000;    // 704
  static constexpr unsigned high_of_largest_angle = 0x40f00000;  // 65536
};

template <>
struct Constants<float> {
  static constexpr float to_whole = 0x1.8p23f;
  static constexpr float pi = 0x1.921fb6p+1f, pi_rest = -0x1.777a5cp-24f;
  static constexpr float inverse_pi = 0x1.45f306p-2f;
  static constexpr float inverse_ln2 = 0x1.715476p+0f, inverse_ln2_rest = 0x1.4ae0c0p-26f;
  static constexpr float largest_exp = 86, largest_angle = 8192;
};

GRIDSTRIDE_HOST_DEVICE inline unsigned high_word(double x) {
#ifdef __CUDA_ARCH__
  return static_cast<unsigned>(__double2hiint(x));
#else
  return static_cast<unsigned>(__builtin_bit_cast(unsigned long long, x) >> 32);
#endif
}

GRIDSTRIDE_HOST_DEVICE inline unsigned low_word(double x) {
#ifdef __CUDA_ARCH__
  return static_cast<unsigned>(__double2loint(x));
#else
  return static_cast<unsigned>(__builtin_bit_cast(unsigned long long, x));
#endif
}

GRIDSTRIDE_HOST_DEVICE inline double with_high_word(double x, unsigned high) {
#ifdef __CUDA_ARCH__
  return __hiloint2double(static_cast<int>(high), __double2loint(x));
#else
  return __builtin_bit_cast(double, static_cast<unsigned long long>(high) << 32 | low_word(x));
#endif
}

GRIDSTRIDE_HOST_DEVICE inline unsigned word(float x) { return __builtin_bit_cast(unsigned, x); }

/// x·2^k, where k stands in the last digits of `whole` and the result is no subnormal.
GRIDSTRIDE_HOST_DEVICE inline double scaled(double x, double whole) {
  return with_high_word(x, high_word(x) + (low_word(whole) << 20));
}
GRIDSTRIDE_HOST_DEVICE inline float scaled(float x, float whole) {
  return __builtin_bit_cast(float, word(x) + (word(whole) << 23));
}

/// x·(−1)^k
GRIDSTRIDE_HOST_DEVICE inline double with_sign_of(double x, double whole) {
  return with_high_word(x, high_word(x) ^ (low_word(whole) << 31));
}
GRIDSTRIDE_HOST_DEVICE inline float with_sign_of(float x, float whole) {
  return __builtin_bit_cast(float, word(x) ^ (word(whole) << 31));
}

/// e^r for |r| ≤ ln2/2: 1 + r + r²·P(r), P of degree 9 (error 1.1e-17)
GRIDSTRIDE_HOST_DEVICE inline double exp_of_rest(double r) {
  double p = 0x1.ad7f3ee5d2f80p-26;
  p = ::fma(p, r, 0x1.28ad9b8648615p-22);
  p = ::fma(p, r, 0x1.71df25b30d420p-19);
  p = ::fma(p, r, 0x1.a01999e26209fp-16);
  p = ::fma(p, r, 0x1.a01a012a0f35cp-13);
  p = ::fma(p, r, 0x1.6c16c18438b11p-10);
  p = ::fma(p, r, 0x1.1111111127d0ep-7);
  p = ::fma(p, r, 0x1.555555555083ep-5);
  p = ::fma(p, r, 0x1.55555555554f9p-3);
  p = ::fma(p, r, 0x1.000000000000ap-1);
  p = ::fma(p, r, 1.0);
  return ::fma(p, r, 1.0);
}
/// 2^r for |r| ≤ 1/2
GRIDSTRIDE_HOST_DEVICE inline float exp2_of_fraction(float r) {
#ifdef __CUDA_ARCH__
  float power;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(r));
  return power;
#else
  return ::exp2f(r);
#endif
}

/// sin r for |r| ≤ π/2: r + r³·P(r²), P of degree 7 (error 3.0e-19) and 3 (6.2e-9)
GRIDSTRIDE_HOST_DEVICE inline double sin_of_rest(double r) {
  double const s = r * r;
  double p = 0x1.883290258b902p-49;
  p = ::fma(p, s, -0x1.ae4383d660ff4p-41);
  p = ::fma(p, s, 0x1.6123cd05d8230p-33);
  p = ::fma(p, s, -0x1.ae6454d471901p-26);
  p = ::fma(p, s, 0x1.71de3a52a0af6p-19);
  p = ::fma(p, s, -0x1.a01a01a014d6fp-13);
  p = ::fma(p, s, 0x1.11111111110c8p-7);
  p = ::fma(p, s, -0x1.5555555555555p-3);
  return ::fma(p * s, r, r);
}
GRIDSTRIDE_HOST_DEVICE inline float sin_of_rest(float r) {
  float const s = r * r;
  float p = 0x1.5dc818p-19f;
  p = ::fmaf(p, s, -0x1.9f70eap-13f);
  p = ::fmaf(p, s, 0x1.110edap-7f);
  p = ::fmaf(p, s, -0x1.55554cp-3f);
  return ::fmaf(p * s, r, r);
}

GRIDSTRIDE_HOST_DEVICE inline double fused(double a, double b, double c) { return ::fma(a, b, c); }
GRIDSTRIDE_HOST_DEVICE inline float fused(float a, float b, float c) { return ::fmaf(a, b, c); }

/// x − n·(constant + rest)
template <class Real>
GRIDSTRIDE_HOST_DEVICE inline Real without(Real x, Real n, Real constant, Real rest) {
  return fused(-n, rest, fused(-n, constant, x));
}

GRIDSTRIDE_HOST_DEVICE inline double exp(double x) {
  using C = Constants<double>;
  double const whole = fused(x, C::inverse_ln2, C::to_whole);
  return scaled(exp_of_rest(without(x, whole - C::to_whole, C::ln2, C::ln2_rest)), whole);
}

/// 2^(x/ln2)
GRIDSTRIDE_HOST_DEVICE inline float exp(float x) {
  using C = Constants<float>;
  float const whole = fused(x, C::inverse_ln2, C::to_whole);
  float const fraction = fused(x, C::inverse_ln2, -(whole - C::to_whole));
  return scaled(exp2_of_fraction(fused(x, C::inverse_ln2_rest, fraction)), whole);
}

/// Whether exp takes this argument.
GRIDSTRIDE_HOST_DEVICE inline bool is_exponent(double x) {
  return high_word(x) * 2 < Constants<double>::high_of_largest_exp * 2;
}
GRIDSTRIDE_HOST_DEVICE inline bool is_exponent(float x) {
  return ::fabsf(x) <= Constants<float>::largest_exp;
}

/// Whether sin and cos take this argument.
GRIDSTRIDE_HOST_DEVICE inline bool is_angle(double x) {
  return high_word(x) * 2 < Constants<double>::high_of_largest_angle * 2;
}
GRIDSTRIDE_HOST_DEVICE inline bool is_angle(float x) {
  return ::fabsf(x) <= Constants<float>::largest_angle;
}

template <class Real>
GRIDSTRIDE_HOST_DEVICE inline Real sin(Real x) {
  using C = Constants<Real>;
  Real const whole = fused(x, C::inverse_pi, C::to_whole);
  return with_sign_of(sin_of_rest(without(x, whole - C::to_whole, C::pi, C::pi_rest)), whole);
}

/// cos x = (−1)^k·sin(x − (k − ½)·π)
template <class Real>
GRIDSTRIDE_HOST_DEVICE inline Real cos(Real x) {
  using C = Constants<Real>;
  Real const whole = fused(x, C::inverse_pi, Real(0.5)) + C::to_whole;
  Real const n = whole - C::to_whole - Real(0.5);
  return with_sign_of(sin_of_rest(without(x, n, C::pi, C::pi_rest)), whole);
}

}  // namespace fast

/// The functions as an integrand's formula calls them, with a note of whether all arguments were
/// within range. In float64 the comparisons are of integers, which cost less.
struct FastMath {
  bool in_range = true;

  template <class Real>
  GRIDSTRIDE_HOST_DEVICE Real exp(Real x) {
    in_range &= fast::is_exponent(x);
    return fast::exp(x);
  }
  template <class Real>
  GRIDSTRIDE_HOST_DEVICE Real sin(Real x) {
    in_range &= fast::is_angle(x);
    return fast::sin(x);
  }
  template <class Real>
  GRIDSTRIDE_HOST_DEVICE Real cos(Real x) {
    in_range &= fast::is_angle(x);
    return fast::cos(x);
  }
};

}  // namespace gridstride::quadrature

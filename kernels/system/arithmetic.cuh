#pragma once

#include "kernels/system/quotient.cuh"

/// Quotients and roots of compiled programs on a GPU, with one test of all their operands.
namespace gridstride::system {

/// Functions of their own, for what is seldom asked for and would stand in many places.
template <class Real>
__device__ __noinline__ Real careful_quotient(Real a, Real b) {
  return quotient(a, b);
}
template <class Real>
__device__ __noinline__ Real careful_root(Real a) {
  return sqrt(a);
}

/// As `quotient` and `sqrt` have it, test by test.
template <class Real>
struct CarefulArithmetic {
  __device__ __forceinline__ Real divisor(Real b) const { return b; }
  __device__ __forceinline__ Real quotient(Real a, Real b) const { return careful_quotient(a, b); }
  __device__ __forceinline__ Real reciprocal(Real b) const { return quotient(1, b); }
  __device__ __forceinline__ Real root(Real a) const { return careful_root(a); }
};

/// The same bits as long as `is_good`: without any way around, so that what is beside runs on, and
/// with one reciprocal for all quotients by it.
template <class Real>
struct QuickArithmetic {
  struct Divisor {
    Real b, reciprocal;
  };
  bool is_good = true;

  __device__ __forceinline__ Divisor divisor(Real b) {
    is_good = is_good & is_safe_divisor(b);
    return {b, reciprocal_of(b)};
  }
  __device__ __forceinline__ Real quotient(Real a, Divisor const& by) {
    is_good = is_good & is_safe_dividend(a);
    return quotient_by(a, by.b, by.reciprocal);
  }
  __device__ __forceinline__ Real reciprocal(Divisor const& by) const {
    if constexpr (sizeof(Real) == 4) return by.reciprocal;  // rounded as IEEE has it
    return quotient_by(Real(1), by.b, by.reciprocal);
  }
  __device__ __forceinline__ Real root(Real a) {
    is_good = is_good & is_safe_radicand(a);
    return root_of(a);
  }
};

}  // namespace gridstride::system

#pragma once

#ifndef __CUDACC_RTC__
#include <math.h>
#endif

#include "core/host_device.hpp"

/// What integrators to a tolerance have in common, once for host and device: the goal, and what
/// an integral came to.
namespace gridstride::quadrature {

/// How accurate an integral is to be.
struct Goal {
  double relative, absolute;
  /// What of the error that rounding leaves, a part of ∫|f|, the error may be: it serves integrals
  /// that are small, or 0, because their parts cancel, whatever the unit of f.
  double roundings = 0;

  /// The error that a value may have; `rounding` is what rounding of its samples leaves.
  GRIDSTRIDE_HOST_DEVICE double tolerance(double value, double rounding) const {
    return ::fmax(::fmax(absolute, relative * ::fabs(value)), roundings * rounding);
  }
};

/// How an integral stands; the first three are those of `Outcome`.
enum class Verdict : long long { reached, not_reached, non_finite, go_on };

/// What an integral came to: the layout of `Estimate`.
struct IntegralResult {
  double value, error;
  long long evaluations;
  Verdict verdict;
  double rounding;
};

GRIDSTRIDE_HOST_DEVICE constexpr bool is_finite(double x) { return x - x == 0; }

/// ε of the precision of samples.
template <class Real>
GRIDSTRIDE_HOST_DEVICE constexpr double rounding_of() {
  return sizeof(Real) == 4 ? 1.1920928955078125e-07 : 2.220446049250313e-16;
}

}  // namespace gridstride::quadrature

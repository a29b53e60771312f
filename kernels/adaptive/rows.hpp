#pragma once

#include <cmath>
#include <cstddef>

#include "kernels/adaptive/adaptive.hpp"
#include "kernels/adaptive/tanh_sinh.hpp"
#include "kernels/integrand/integral_result.hpp"

/// The rows of the integrators to a tolerance, and what they share. For the family's own files.
namespace gridstride::quadrature {

static_assert(sizeof(IntegralResult) == sizeof(Estimate) &&
              offsetof(IntegralResult, evaluations) == offsetof(Estimate, evaluations) &&
              offsetof(IntegralResult, verdict) == offsetof(Estimate, outcome) &&
              offsetof(IntegralResult, rounding) == offsetof(Estimate, rounding) &&
              static_cast<int>(Verdict::reached) == static_cast<int>(Outcome::reached) &&
              static_cast<int>(Verdict::not_reached) == static_cast<int>(Outcome::not_reached) &&
              static_cast<int>(Verdict::non_finite) == static_cast<int>(Outcome::non_finite));

/// The substitution of `tanh_sinh` for an interval, whose ends are numbers.
inline DoubleExponential substitution_of(Interval interval) {
  bool const reversed = interval.lower > interval.upper;
  double const lower = reversed ? interval.upper : interval.lower;
  double const upper = reversed ? interval.lower : interval.upper;
  double const sign = reversed ? -1 : 1;
  if (std::isinf(lower))
    return std::isinf(upper) ? DoubleExponential{DoubleExponential::infinite, 0, 0, sign}
                             : DoubleExponential{DoubleExponential::downwards, upper, upper, sign};
  return {std::isinf(upper) ? DoubleExponential::upwards : DoubleExponential::finite, lower,
          std::isinf(upper) ? lower : upper, sign};
}

template <class T>
void host_gauss_kronrod_reference(Stream&, SweepArguments const&, GaussKronrodOptions const&);
template <class T>
void host_gauss_kronrod_threads(Stream&, SweepArguments const&, GaussKronrodOptions const&);
template <class T>
void cuda_breadth_first(Stream&, SweepArguments const&, GaussKronrodOptions const&);
template <class T>
void cuda_on_chip(Stream&, SweepArguments const&, GaussKronrodOptions const&);

template <class T>
void host_tanh_sinh_reference(Stream&, SweepArguments const&, TanhSinhOptions const&);
template <class T>
void host_tanh_sinh_threads(Stream&, SweepArguments const&, TanhSinhOptions const&);
template <class T>
void cuda_tanh_sinh(Stream&, SweepArguments const&, TanhSinhOptions const&);

/// Of one integral, in float64 on the host; `bad_sample` becomes a sample that is no number.
IntegralResult host_integral(HostIntegrand const& integrand, Interval interval,
                             double const* parameters, GaussKronrodOptions const& options,
                             double* bad_sample);
IntegralResult host_integral(HostIntegrand const& integrand, Interval interval,
                             double const* parameters, TanhSinhOptions const& options,
                             double* bad_sample);

}  // namespace gridstride::quadrature

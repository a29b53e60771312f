#pragma once

#include <span>

#include "kernels/integrand/integrand.hpp"

/// Integrals up to every point of an interval.
namespace gridstride::quadrature {

/// values_i = ∫ from a to x_i of f(x; p) dx and errors_i, the estimate of its error, for
/// x_i = a + i·(b − a)/n with i = 0 … n.
///
/// Each of the n panels is integrated by the Gauss–Kronrod rule with `points` (15 or 21) points and
/// its estimate of the error; prefix sums of fixed order (family `scan`) add them up, whose own
/// error is at most n·ε·Σ|panel|. The samples are of type T, all else is float64. `parameters`,
/// `values` and `errors` lie in the stream's device memory; the last two have n + 1 elements and do
/// not overlap. A sample that is no number makes all values from its panel on no numbers. Does not
/// synchronise.
///
/// Throws `std::invalid_argument` for an integrand of more than one dimension, another number of
/// parameters than it has, ends that are not finite, other `points`, n < 1 and arrays whose sizes
/// differ or that overlap.
template <class T>
void running_integral(Stream& stream, Integrand const& integrand, Interval interval,
                      std::span<double const> parameters, int points, std::span<double> values,
                      std::span<double> errors);

}  // namespace gridstride::quadrature

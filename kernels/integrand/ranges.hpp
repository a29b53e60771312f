#pragma once

#include <span>
#include <vector>

#include "kernels/integrand/integrand.hpp"

/// Infinite ranges for rules that need finite ones.
namespace gridstride::quadrature {

/// An integral over finite intervals, one for each dimension.
struct FiniteIntegral {
  Integrand integrand;
  std::vector<Interval> intervals;
};

/// The same integral with every variable whose interval has an infinite end replaced, in the tree:
///
///   (−∞, ∞)   x = t/(1 − t²)        dx = (1 + t²)/(1 − t²)² dt     t from −1 to 1
///   [a, ∞)    x = a + t/(1 − t)     dx = 1/(1 − t)² dt             t from 0 to 1
///   (−∞, b]   x = b − t/(1 − t)     dx = 1/(1 − t)² dt             t from 0 to 1
///
/// At the ends that stand for infinity the new integrand is 0. A range from the upper end to the
/// lower changes the sign. Throws `std::invalid_argument` unless there is an interval for each
/// dimension, with ends that are numbers and not the same infinity; `Error` for formulas that
/// become too large.
FiniteIntegral on_finite_ranges(Integrand const& integrand, std::span<Interval const> intervals);

}  // namespace gridstride::quadrature

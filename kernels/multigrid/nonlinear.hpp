#pragma once

#include <span>

#include "core/stream.hpp"
#include "kernels/poisson/poisson.hpp"

/// −∇·(a(u)∇u) + r(u) = 0 in the differences of family `poisson`, where a and r have been found from u
/// at the points of the grid: what Newton's method needs of it. Arrays lie in the stream's device
/// memory, `grid.size()` values each; u has its values on Dirichlet sides. ∂u/∂n is 0 on Neumann
/// sides here, others are a part of r.
namespace gridstride::multigrid {

struct NonlinearEquation {
  Grid grid;
  poisson::Sides sides = {};
  double const *u = nullptr, *a = nullptr, *r = nullptr;
};

struct Defect {
  /// The largest |∇·(a∇u) − r|; infinite where a is not positive at a point or beside it, and NaN
  /// where something is not a number.
  double largest = 0;
  double magnitude = 0;  ///< the largest sum of magnitudes of what a point's is made of
};

/// defect = ∇·(a∇u) − r, 0 at the points of Dirichlet sides. Waits for the stream.
Defect find_defect(Stream& stream, NonlinearEquation const& equation, std::span<double> defect);

/// The derivative of −∇·(a(u)∇u) + r(u) at u.
struct Linearised {
  NonlinearEquation at;
  double const *slope_of_a = nullptr, *slope_of_r = nullptr;  ///< ∂a/∂u and ∂r/∂u
};

/// Queues y = J·v, exact to rounding: −∇·(a∇v) − ∇·(∂a/∂u·v∇u) + ∂r/∂u·v. Both are 0 at the points of
/// Dirichlet sides.
void apply(Stream& stream, Linearised const& equation, std::span<double const> v,
           std::span<double> y);

struct Change {
  double largest = 0;  ///< |factor·direction|
  double value = 0;    ///< |u| afterwards
};
/// u += factor·direction at the unknowns. Waits for the stream.
Change advance(Stream& stream, NonlinearEquation const& equation, double factor,
               std::span<double const> direction, std::span<double> u);

}  // namespace gridstride::multigrid

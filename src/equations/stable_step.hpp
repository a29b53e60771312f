#pragma once

#include <array>
#include <complex>
#include <span>

#include "equations/stability.hpp"

/// The longest step that a Runge-Kutta scheme may take for eigenvalues that lie somewhere.
namespace gridstride::equations {

/// Where eigenvalues lie: real parts from `least` to `greatest`, imaginary ones up to ±`imaginary`.
struct Rectangle {
  double least;
  double greatest;
  double imaginary;
};

/// How far the region of a scheme reaches from 0 along a direction with Re z ≤ 0: from a table of
/// angles, between which it is nearly straight.
class Region {
 public:
  explicit Region(int degree);
  double along(std::complex<double> z) const;

 private:
  static constexpr int parts = 1024;
  std::array<double, parts + 1> reach_;
};
/// That of a scheme whose polynomial has this degree: 1 to 6.
Region const& region_of(int degree);

/// The longest step with which all of a rectangle, and of what the points of `around` add to it,
/// lies in the region, but for what may grow by `tolerance`: |P| is largest on its border.
double tolerant_step(Rectangle const& box, std::span<std::complex<double> const> around,
                     Tolerance const& tolerance, Region const& region);

}  // namespace gridstride::equations

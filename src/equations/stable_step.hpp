#pragma once

#include <array>
#include <complex>
#include <span>

#include "equations/rectangles.hpp"
#include "equations/stability.hpp"

/// The longest step that a Runge-Kutta scheme may take for eigenvalues that lie somewhere.
namespace gridstride::equations {

/// How far the region of a scheme reaches from 0 along a direction with Re z ≤ 0: from a table of
/// angles, between which it is nearly straight.
class Region {
 public:
  explicit Region(int degree);
  double along(std::complex<double> z) const;
  /// Whether z lies in a disc that touches 0, or in half of one around 0, that are in the region:
  /// then `along` is more than |z|. Nothing follows where not.
  bool is_well_inside(std::complex<double> z) const { return is_in_disc(z) || is_in_half_disc(z); }
  /// The same of all that is between these two and their conjugates.
  bool are_well_inside(std::complex<double> a, std::complex<double> b) const {
    return (is_in_disc(a) && is_in_disc(b)) || (is_in_half_disc(a) && is_in_half_disc(b));
  }

 private:
  bool is_in_disc(std::complex<double> z) const {
    return std::norm(z) < -2 * disc_radius_ * z.real();
  }
  bool is_in_half_disc(std::complex<double> z) const {
    return z.real() <= 0 && std::norm(z) <= half_disc_radius_ * half_disc_radius_;
  }

  static constexpr int parts = 1024;
  std::array<double, parts + 1> reach_;
  double disc_radius_, half_disc_radius_;
};
/// That of a scheme whose polynomial has this degree: 1 to 6.
Region const& region_of(int degree);

/// The longest step up to `bound` with which all of a rectangle, and of what the points of `around`
/// add to it, lies in the region, but for what may grow by `tolerance`: |P| is largest on its border.
double tolerant_step(Rectangle const& box, std::span<std::complex<double> const> around,
                     Tolerance const& tolerance, Region const& region, double bound);

/// Whether that is `bound` for sure, for this rectangle and all within.
bool takes_surely(Rectangle const& box, std::span<std::complex<double> const> around,
                  Tolerance const& tolerance, Region const& region, double bound);

}  // namespace gridstride::equations

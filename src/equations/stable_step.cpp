#include "equations/stable_step.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>

namespace gridstride::equations {

namespace {

using Complex = std::complex<double>;

/// |P(z)|² − 1 without the cancellation of 1, where P(z) = Σ zᵏ/k! up to the degree, of degree 6
/// with z⁶/600.
double growth(Complex z, int degree) {
  Complex sum = 0;
  for (int k = degree; k >= 1; --k) sum = z / static_cast<double>(std::min(k, 5)) * (1.0 + sum);
  return 2 * sum.real() + std::norm(sum);
}

double reach_along(Complex direction, int degree) {
  constexpr double stride = 0.005, furthest = 4;
  auto const is_stable = [&](double r) { return growth(r * direction, degree) <= 1e-15; };
  double inside = 0, outside = stride;
  for (; outside < furthest && is_stable(outside); outside += stride) inside = outside;
  for (int halvings = 0; halvings < 50; ++halvings) {
    double const middle = 0.5 * (inside + outside);
    (is_stable(middle) ? inside : outside) = middle;
  }
  return inside;
}

}  // namespace

Region::Region(int degree) {
  for (int i = 0; i <= parts; ++i) {
    double const angle = 0.5 * std::numbers::pi * i / parts;  // from the imaginary axis on
    reach_[static_cast<std::size_t>(i)] =
        reach_along({i == 0 ? 0 : -std::sin(angle), std::cos(angle)}, degree);
  }
}

double Region::along(Complex z) const {
  double const place = parts * 2 / std::numbers::pi * std::atan2(-z.real(), z.imag());
  auto const i = std::min(static_cast<std::size_t>(std::max(place, 0.0)), std::size_t{parts - 1});
  double const part = place - static_cast<double>(i);
  return (1 - part) * reach_[i] + part * reach_[i + 1];
}

Region const& region_of(int degree) {
  static std::array<Region, 6> const regions = {Region(1), Region(2), Region(3),
                                                Region(4), Region(5), Region(6)};
  return regions.at(static_cast<std::size_t>(degree - 1));
}

namespace {

/// The longest step with which all of a rectangle, and of what the points of `around` add to it,
/// lies in the region: |P| is largest on its border.
double stable_step(Rectangle box, std::span<Complex const> around, Region const& region) {
  box.greatest = std::min(box.greatest, 0.0);
  box.least = std::min(box.least, box.greatest);
  int const parts = around.empty() ? 8 : 2;
  double step = std::numeric_limits<double>::infinity();
  auto const look_at = [&](Complex z) {
    if (std::abs(z) > 0)
      step = std::min(step, region.along({z.real(), std::abs(z.imag())}) / std::abs(z));
  };
  auto const look = [&](Complex z) {
    look_at(z);
    for (Complex const& more : around) look_at(z + more);
  };
  bool const is_point = box.least == box.greatest;
  for (int i = 0; i <= parts; ++i) {
    double const part = static_cast<double>(i) / parts;
    if (!is_point || i == parts)
      look({box.greatest + part * (box.least - box.greatest), box.imaginary});
    if (is_point) continue;
    look({box.least, part * box.imaginary});
    look({box.greatest, part * box.imaginary});
  }
  return step;
}

}  // namespace

double tolerant_step(Rectangle const& box, std::span<Complex const> around,
                     Tolerance const& tolerance, Region const& region) {
  double const strict = stable_step(box, around, region);
  bool const turns_slowly = box.imaginary <= 2 * tolerance.reaction;
  bool const is_slow = std::max(-box.least, box.imaginary) <= tolerance.slow;
  double const rate =
      std::max(turns_slowly ? tolerance.reaction : 0, is_slow ? tolerance.growth : 0);
  if (rate == 0) return strict;
  Rectangle const shifted = {std::min(box.least, 0.0) - rate, std::min(box.greatest, 0.0) - rate,
                             box.imaginary};
  return std::max(strict, stable_step(shifted, around, region));
}

}  // namespace gridstride::equations

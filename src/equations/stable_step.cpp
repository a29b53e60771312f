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

/// The same along z = r·direction as a polynomial: what stands at r, r², …
class GrowthAlong {
 public:
  GrowthAlong(Complex direction, int degree) : degree_(2 * degree) {
    std::array<Complex, 7> parts = {1};  // of P, each at its power of r
    for (int k = 1; k <= degree; ++k)
      parts[place(k)] = parts[place(k - 1)] * direction / static_cast<double>(std::min(k, 5));
    for (int i = 0; i <= degree; ++i)
      for (int j = 0; j <= degree; ++j)
        factors_[place(i + j)] += (parts[place(i)] * std::conj(parts[place(j)])).real();
  }
  double operator()(double r) const {
    double sum = 0;
    for (int n = degree_; n >= 1; --n) sum = r * (factors_[place(n)] + sum);
    return sum;
  }

 private:
  static std::size_t place(int k) { return static_cast<std::size_t>(k); }

  int degree_;
  std::array<double, 13> factors_ = {};
};

double reach_along(Complex direction, int degree) {
  constexpr double stride = 0.005, furthest = 4;
  auto const is_stable = [&](double r) { return growth(r * direction, degree) <= 1e-15; };
  GrowthAlong const along(direction, degree);
  double inside = 0, outside = stride;
  for (; outside < furthest && along(outside) <= 1e-15; outside += stride) inside = outside;
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
  constexpr double well = 1 - 1e-6;  // below what lies between two angles, and rounding
  half_disc_radius_ = well * *std::ranges::min_element(reach_);
  disc_radius_ = std::numeric_limits<double>::infinity();
  for (int i = 1; i <= parts; ++i) {
    double const angle = 0.5 * std::numbers::pi * i / parts;
    disc_radius_ =
        std::min(disc_radius_, well * reach_[static_cast<std::size_t>(i)] / (2 * std::sin(angle)));
  }
}

double Region::along(Complex z) const {
  double const place = parts * 2 / std::numbers::pi * std::atan2(-z.real(), z.imag());
  auto const i = std::min(static_cast<std::size_t>(std::max(place, 0.0)), std::size_t{parts - 1});
  double const part = place - static_cast<double>(i);
  return (1 - part) * reach_[i] + part * reach_[i + 1];
}

namespace {

template <int degree>
Region const& one_region() {
  static Region const region(degree);
  return region;
}

/// Whether all of a rectangle, and of what the points of `around` add to it, is well inside with a
/// step.
bool is_well_inside(Rectangle const& box, std::span<Complex const> around, Region const& region,
                    double step) {
  auto const with = [&](Complex more) {
    double const imaginary = box.imaginary + std::abs(more.imag());
    return region.are_well_inside(step * Complex(box.least + more.real(), imaginary),
                                  step * Complex(box.greatest + more.real(), imaginary));
  };
  return with(0) && std::ranges::all_of(around, with);
}

/// The longest step up to `bound` with which all of a rectangle, and of what the points of `around`
/// add to it, lies in the region: |P| is largest on its border.
double stable_step(Rectangle box, std::span<Complex const> around, Region const& region,
                   double bound) {
  box.greatest = std::min(box.greatest, 0.0);
  box.least = std::min(box.least, box.greatest);
  if (is_well_inside(box, around, region, bound)) return bound;
  int const parts = around.empty() ? 8 : 2;
  double step = bound;
  auto const look_at = [&](Complex z) {
    z = {z.real(), std::abs(z.imag())};
    if (z != 0.0 && !region.is_well_inside(step * z))
      step = std::min(step, region.along(z) / std::abs(z));
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

Region const& region_of(int degree) {
  constexpr std::array regions = {one_region<1>, one_region<2>, one_region<3>,
                                  one_region<4>, one_region<5>, one_region<6>};
  return regions.at(static_cast<std::size_t>(degree - 1))();
}

bool takes_surely(Rectangle const& box, std::span<Complex const> around, Tolerance const& tolerance,
                  Region const& region, double bound) {
  if (tolerance.growth > 0)
    return false;  // which parts of the rectangle have, and the rest has not
  auto const shifted = [&](double rate) {
    return Rectangle{std::min(box.least, 0.0) - rate, std::min(box.greatest, 0.0) - rate,
                     box.imaginary};
  };
  if (is_well_inside(shifted(0), around, region, bound)) return true;
  return box.imaginary <= 2 * tolerance.reaction &&
         is_well_inside(shifted(tolerance.reaction), around, region, bound);
}

double tolerant_step(Rectangle const& box, std::span<Complex const> around,
                     Tolerance const& tolerance, Region const& region, double bound) {
  if (takes_surely(box, around, tolerance, region, bound)) return bound;
  double const strict = stable_step(box, around, region, bound);
  if (strict >= bound) return strict;
  double const slow = 2 * tolerance.reaction;
  double const turning = box.imaginary <= slow ? box.imaginary : box.turning;
  bool const turns_slowly = turning <= slow;
  bool const is_slow = std::max(-box.least, box.imaginary) <= tolerance.slow;
  double const rate =
      std::max(turns_slowly ? tolerance.reaction : 0, is_slow ? tolerance.growth : 0);
  double step = strict;
  auto const try_shifted = [&](Rectangle const& shifted) {
    step = std::max(step, stable_step(shifted, around, region, bound));
  };
  if (rate > 0)
    try_shifted({std::min(box.least, 0.0) - rate, std::min(box.greatest, 0.0) - rate,
                 turns_slowly ? turning : box.imaginary});
  if (tolerance.own > 0)
    try_shifted({box.least - tolerance.own, box.greatest - tolerance.own, box.turning});
  return step;
}

}  // namespace gridstride::equations

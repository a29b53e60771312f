#pragma once

#ifndef __CUDACC_RTC__
#include <math.h>
#endif

#include "core/host_device.hpp"

/// The rule of degree 7 of A. C. Genz and A. A. Malik ("Remarks on algorithm 006: an adaptive
/// algorithm for numerical integration over an N-dimensional rectangular region", J. Comput. Appl.
/// Math. 6 (1980)) for one box with centre c and half widths h in d = 2 … 20 dimensions, the same
/// code for host and device. Its 2^d + 2d² + 2d + 1 samples are c + λ·s·h for five sets of vectors
/// s, each with all permutations and signs. A sixth set has no weight; it looks at the faces.
///
///   orbit  s              λ          samples
///     0    (0, …, 0)                 1
///     1    (1, 0, …, 0)   √(9/70)    2d
///     2    (1, 0, …, 0)   √(9/10)    2d
///     3    (1, 1, 0, …)   √(9/10)    2d(d − 1)
///     4    (1, …, 1)      √(9/19)    2^d
///     5    (1, 0, …, 0)   face_step  2d
///
/// A rule is a weighted sum of the means over the orbits, so that all rules and null rules that an
/// error estimate looks at come from the same five sums.
namespace gridstride::quadrature::genz_malik {

inline constexpr int orbits = 5;
inline constexpr int min_dimensions = 2, max_dimensions = 20;
/// λ of orbits 1, 2 and 3, and 4.
inline constexpr double near_step = 0.35856858280031809, far_step = 0.94868329805051380,
                        corner_step = 0.68824720161168530;

/// Samples of orbit k.
GRIDSTRIDE_HOST_DEVICE constexpr int orbit_points(int dimensions, int orbit) {
  if (orbit == 0) return 1;
  if (orbit <= 2 || orbit == 5) return 2 * dimensions;
  return orbit == 3 ? 2 * dimensions * (dimensions - 1) : 1 << dimensions;
}

/// The first samples lie on the axes through the centre: the centre, then six for each axis, at
/// +λ and −λ of orbits 1, 2 and 5.
GRIDSTRIDE_HOST_DEVICE constexpr int axis_points(int dimensions) { return 1 + 6 * dimensions; }

/// All samples of a box.
GRIDSTRIDE_HOST_DEVICE constexpr int points(int dimensions) {
  return axis_points(dimensions) + orbit_points(dimensions, 3) + orbit_points(dimensions, 4);
}

/// How near the samples of orbit 5 come to the faces: in float32 less near, so that they do not
/// round onto them. `rounding` is ε of the samples.
GRIDSTRIDE_HOST_DEVICE constexpr double face_step(double rounding) {
  return rounding < 1e-10 ? 1 - 0x1p-12 : 1 - 0x1p-8;
}

/// How many roundings of the samples' root of the mean square the difference of two rules may
/// consist of: their weights add up to about as much in size.
inline constexpr double rounding_factor = 8;

/// The least half width of a box, relative to its place, that keeps all its samples apart.
GRIDSTRIDE_HOST_DEVICE constexpr double least_half_width(double rounding) {
  return 2 * rounding / (1 - face_step(rounding));
}

/// Where a sample lies: `step` half widths from the centre on the axes whose bit is set in `moved`,
/// downwards on those whose bit is set in `downwards`.
struct Point {
  unsigned moved = 0, downwards = 0;
  double step = 0;
  int orbit = 0;
};

/// Sample `index` of 0 … points − 1. The pairs of axes of orbit 3 come by their distance, so that
/// both axes of a pair follow from its number without a root.
GRIDSTRIDE_HOST_DEVICE inline Point point(int dimensions, int index, double rounding) {
  if (index == 0) return {};
  int const pairs = axis_points(dimensions), corners = pairs + orbit_points(dimensions, 3);
  if (index < pairs) {
    unsigned const axis = 1u << ((index - 1) / 6);
    int const place = (index - 1) % 6 / 2;
    return {axis, index % 2 == 0 ? axis : 0,
            place == 0 ? near_step : (place == 1 ? far_step : face_step(rounding)),
            place == 2 ? 5 : place + 1};
  }
  if (index < corners) {
    int const pair = (index - pairs) / 4, signs = (index - pairs) % 4;
    int const first = pair % dimensions;
    int const second = (first + pair / dimensions + 1) % dimensions;
    unsigned const a = 1u << first, b = 1u << second;
    return {a | b, (signs % 2 != 0 ? a : 0) | (signs / 2 != 0 ? b : 0), far_step, 3};
  }
  return {(1u << dimensions) - 1, static_cast<unsigned>(index - corners), corner_step, 4};
}

/// Coordinate `axis` of a sample, from the centre and the half width on that axis. `Place` is a
/// `Point` or has its members.
template <class Place, class Real>
GRIDSTRIDE_HOST_DEVICE inline Real coordinate(Place const& place, int axis, Real center,
                                              Real half_width) {
  Real const step = static_cast<Real>(place.step);
  Real const moved = (place.downwards >> axis & 1u) != 0 ? -step : step;
  return (place.moved >> axis & 1u) != 0 ? center + moved * half_width : center;
}

/// The coefficients of the means over the orbits: each rule's sum to 1.
struct Weights {
  double of[orbits];
};

GRIDSTRIDE_HOST_DEVICE constexpr Weights degree_7(int d) {
  return {{(12824.0 - 9120.0 * d + 400.0 * d * d) / 19683, 980.0 / 6561 * 2 * d,
           (1820.0 - 400.0 * d) / 19683 * 2 * d, 200.0 / 19683 * 2 * d * (d - 1), 6859.0 / 19683}};
}
GRIDSTRIDE_HOST_DEVICE constexpr Weights degree_5(int d) {
  return {{(729.0 - 950.0 * d + 50.0 * d * d) / 729, 245.0 / 486 * 2 * d,
           (265.0 - 100.0 * d) / 1458 * 2 * d, 25.0 / 729 * 2 * d * (d - 1), 0}};
}
/// Two rules of degree 3, from the centre and one orbit: that near it on the axes, or the corners.
GRIDSTRIDE_HOST_DEVICE constexpr Weights degree_3_near(int d) {
  return {{1 - 70.0 * d / 27, 70.0 * d / 27, 0, 0, 0}};
}
GRIDSTRIDE_HOST_DEVICE constexpr Weights degree_3_corners() {
  return {{1 - 19.0 / 27, 0, 0, 0, 19.0 / 27}};
}

GRIDSTRIDE_HOST_DEVICE inline double magnitude(double x) { return x < 0 ? -x : x; }
GRIDSTRIDE_HOST_DEVICE inline double larger(double a, double b) { return a > b ? a : b; }

/// The rule applied to the means over the orbits.
GRIDSTRIDE_HOST_DEVICE inline double applied(Weights const& weights, double const* means) {
  double sum = 0;
  for (int k = 0; k < orbits; ++k) sum += weights.of[k] * means[k];
  return sum;
}

/// a/b, and 1 where that says nothing: ratios above 1 make no difference.
GRIDSTRIDE_HOST_DEVICE inline double ratio(double a, double b) {
  return a < b ? a / b : (a == 0 ? 0 : 1);
}

/// What the samples of an axis say; 0 where they say no more than rounding.
struct AxisCheck {
  double fourth;  ///< the fourth difference: how much the integrand varies beyond a parabola
  double fifth;   ///< how far the samples at the faces are off: what is beyond degree 4
  double unseen;  ///< what a jump or kink between the samples of the rule and a face may hide

  /// What the axis to cut is chosen by.
  GRIDSTRIDE_HOST_DEVICE double variation() const { return unseen > 0 ? fifth : fourth; }
};

/// How large `fifth` may be beside `fourth` where both are of a smooth integrand in a box that is
/// small beside its features.
inline constexpr double slowest_fifth = 0.3;

/// From the samples on the axes through the centre in their order. The fourth difference is the one
/// that Genz and Malik choose the axis by. Beyond √(9/10) the rule has no sample, so that a jump in
/// the outer 5 % of the box is invisible to it. There a sample near each face is compared with the
/// polynomial of degree 4 through the five on the axis: of a smooth integrand it differs by less
/// than the fourth difference, being of higher order; if by more, the integral may be wrong by that
/// times the part of the box that is unseen.
GRIDSTRIDE_HOST_DEVICE inline AxisCheck check_axis(double const* samples, int axis,
                                                   double rounding) {
  double const face = face_step(rounding), face2 = face * face;
  constexpr double near2 = 9.0 / 70, far2 = 9.0 / 10;
  double const* const s = samples + 1 + 6 * axis;
  double const center = samples[0];
  double const second_near = (s[0] + s[1]) / 2 - center, second_far = (s[2] + s[3]) / 2 - center;
  double const difference = 2 * magnitude(second_near - second_far / 7);
  // The even part is center + t²·(a + b·t²), the odd part t·(c + e·t²).
  double const even_slope = (second_far / far2 - second_near / near2) / (far2 - near2);
  double const even = center + face2 * (second_near / near2 + even_slope * (face2 - near2));
  double const first_near = (s[0] - s[1]) / (2 * near_step),
               first_far = (s[2] - s[3]) / (2 * far_step);
  double const odd_slope = (first_far - first_near) / (far2 - near2);
  double const odd = face * (first_near + odd_slope * (face2 - near2));
  double const fifth = larger(magnitude(s[4] - even - odd), magnitude(s[5] - even + odd));
  double const size = magnitude(s[0]) + magnitude(s[1]) + magnitude(center);
  double const noise = 8 * rounding * (size + magnitude(s[4]) + magnitude(s[5]));
  bool const hides = fifth > difference && fifth > 8 * noise;
  return {difference > noise ? difference : 0, fifth > 8 * noise ? fifth : 0,
          hides ? (1 - far_step) / 2 * fifth : 0};
}

/// The integral over a box and what it may be wrong by.
struct Value {
  double integral;
  double error;
  bool only_rounding;  ///< smaller boxes would not make the error smaller
};

/// From the sums of the samples of each orbit and the checks of all axes; `rounding` is ε of the
/// samples.
///
/// |R₇ − R₅| estimates the error of the rule of degree 5, which falls with h⁶ while that of degree
/// 7 falls with h⁸. How much smaller the latter is shows in how fast the differences of rules of
/// rising degree fall: r = max(|R₅ − R₃|/|R₃ − R₁|, |R₇ − R₅|/|R₅ − R₃|) ~ h², the larger of two
/// rules of degree 3 (J. Berntsen and T. O. Espelid, "Error estimation in automatic quadrature
/// routines", ACM TOMS 17 (1991), use such ratios of null rules). Where they fall, r < 0.2, the
/// estimate is 5r·|R₇ − R₅|.
///
/// Where they do not, as with a singularity in the box or beside it, each of them may be small by
/// accident, and all boxes along the singularity have the same accident: there the estimate is
/// max(2·|R₇ − R₅|, 5/4·|R₅ − R₃|), the larger of both R₃. That they fall may be an accident, too;
/// then the faces tell (`AxisCheck`): what is beyond degree 4 is not small beside the fourth
/// differences. So r counts as small below 0.05 where it is not, and below 0.4 where it is. The
/// factors are such that the estimate holds for |x − s|^p, p ≥ −1/4, for log|x − s| and for a step
/// wherever s lies in a box.
///
/// It is never less than what samples with independent rounding errors leave, nor than `unseen`,
/// the largest of any axis.
GRIDSTRIDE_HOST_DEVICE inline Value value_of(int dimensions, double const* sums,
                                             AxisCheck const* axes, double volume,
                                             double rounding) {
  double means[orbits], largest = 0;
  Weights const weights = degree_7(dimensions);
  for (int k = 0; k < orbits; ++k) {
    means[k] = sums[k] / orbit_points(dimensions, k);
    largest = larger(largest, magnitude(weights.of[k] * means[k]));
  }
  double squares = 0;  // of what each sample adds, in parts of the largest: in no unit
  for (int k = 0; k < orbits && largest > 0; ++k) {
    double const part = weights.of[k] * means[k] / largest;
    squares += part * part / orbit_points(dimensions, k);
  }
  double const r7 = applied(weights, means), r5 = applied(degree_5(dimensions), means);
  double const difference = magnitude(r7 - r5), r3[2] = {applied(degree_3_near(dimensions), means),
                                                         applied(degree_3_corners(), means)};
  double const least = rounding_factor * rounding * largest * ::sqrt(squares);
  double decay = 0, coarsest_error = 0;
  for (double const of_degree_3 : r3) {
    double const coarse = magnitude(r5 - of_degree_3), coarsest = magnitude(of_degree_3 - means[0]);
    decay = larger(decay, larger(ratio(coarse, coarsest), ratio(difference, coarse)));
    coarsest_error = larger(coarsest_error, coarse);
  }
  double fourth = 0, fifth = 0, unseen = 0;
  for (int k = 0; k < dimensions; ++k) {
    fourth += axes[k].fourth;
    fifth += axes[k].fifth;
    unseen = larger(unseen, axes[k].unseen);
  }
  bool const falls = decay < (fifth > slowest_fifth * fourth ? 0.05 : 0.4);
  double estimate = difference * (decay < 0.2 ? 5 * decay : 1);
  // The weights of R₃ are larger than those of R₇, and so is what rounding leaves of it.
  if (!falls && coarsest_error > 4 * least)
    estimate = larger(2 * difference, 1.25 * coarsest_error);
  estimate = larger(estimate, unseen);
  return {volume * r7, volume * larger(estimate, least), !(estimate > least)};
}

/// What the two halves of a box say of the estimate of the whole: where the value changed by more
/// than was estimated, the halves' estimates are too small by as much, and are enlarged by that
/// factor, though not beyond the change itself.
GRIDSTRIDE_HOST_DEVICE inline double corrected_error(double error, Value const& whole,
                                                     double sum_of_halves) {
  double const change = magnitude(whole.integral - sum_of_halves);
  if (!(change > whole.error) || error >= change) return error;
  double const enlarged = error * (change / whole.error);  // no number where that was 0
  return enlarged < change ? enlarged : change;
}

/// Which axis to cut, of those on which all samples are different numbers: the one with the
/// largest variation; where none counts, the one cut least often, by its part of the
/// domain's extent. −1 when no axis can be cut.
GRIDSTRIDE_HOST_DEVICE inline int axis_to_cut(int dimensions, AxisCheck const* axes,
                                              double const* center, double const* half_width,
                                              double const* extents, double rounding) {
  int axis = -1;
  double best = 0, widest = 0;
  for (int k = 0; k < dimensions; ++k) {
    double const width = half_width[k] / extents[k];
    if (half_width[k] <= least_half_width(rounding) * magnitude(center[k]) || width <= 1e-150)
      continue;
    double const variation = axes[k].variation();
    if (axis < 0 || variation > best || (variation == best && width > widest)) {
      axis = k;
      best = variation;
      widest = width;
    }
  }
  return axis;
}

}  // namespace gridstride::quadrature::genz_malik

#pragma once

#include "kernels/integrand/integral_result.hpp"
#include "kernels/integrand/two_term_sum.hpp"

/// Double exponential integration: nodes, sums and the decision to stop. Once for host and device.
///
/// A substitution x = φ(t) turns ∫ f(x) dx into ∫ f(φ(t))·φ'(t) dt over all t, whose integrand
/// falls off like exp(−c·e^|t|), also where f is singular at an end; the trapezoidal rule then
/// converges exponentially (H. Takahasi and M. Mori, "Double exponential formulas for numerical
/// integration", Publ. RIMS 9 (1974)):
///
///   [a, b]       x = (a + b)/2 + (b − a)/2·tanh(π/2·sinh t)
///   [a, ∞)       x = a + exp(π/2·sinh t)                        (−∞, b] likewise downwards
///   (−∞, ∞)      x = sinh(π/2·sinh t)
///
/// Level L has the step 2^−L and keeps the samples of the level before.
namespace gridstride::quadrature {

/// The substitution for an interval whose ends may be infinite.
struct DoubleExponential {
  enum Kind : int { finite, upwards, downwards, infinite };
  Kind kind;
  double lower, upper;  ///< of `upwards` and `downwards`, the finite end twice
  double sign;          ///< −1: from the upper end to the lower

  /// The range of t. Beyond it x is closer to a finite end than 10^−150, or farther out than 10^30,
  /// whose lower powers are still numbers; 10^−19 and 10^12 in float32.
  template <class Real>
  GRIDSTRIDE_HOST_DEVICE double first() const {
    constexpr bool single = sizeof(Real) == 4;
    if (kind == finite) return single ? -3.33 : -5.39;
    return kind == infinite ? -last<Real>() : single ? -4.02 : -6.08;
  }
  template <class Real>
  GRIDSTRIDE_HOST_DEVICE double last() const {
    if (kind == finite) return -first<Real>();
    return sizeof(Real) == 4 ? 3.56 : 4.47;
  }
};

/// Where t is, and dx/dt there.
struct DoubleExponentialNode {
  double x, weight;
};

GRIDSTRIDE_HOST_DEVICE inline DoubleExponentialNode node_at(DoubleExponential const& map,
                                                            double t) {
  constexpr double half_pi = 1.5707963267948966;
  double const grown = ::exp(t), shrunk = 1 / grown;
  double const u = half_pi * 0.5 * (grown - shrunk), slope = half_pi * 0.5 * (grown + shrunk);
  if (map.kind == DoubleExponential::finite) {
    // From the nearer end, whose distance keeps its digits however small it is.
    double const q = ::exp(-2 * ::fabs(u)), width = map.upper - map.lower;
    double const distance = width * (q / (1 + q));
    return {t < 0 ? map.lower + distance : map.upper - distance,
            width * 2 * slope * q / ((1 + q) * (1 + q))};
  }
  double const power = ::exp(u);
  if (map.kind == DoubleExponential::upwards) return {map.lower + power, slope * power};
  if (map.kind == DoubleExponential::downwards) return {map.upper - power, slope * power};
  return {0.5 * (power - 1 / power), slope * 0.5 * (power + 1 / power)};
}

/// Whether the integrand is sampled there: not at an end, nor where rounding makes x one.
template <class Real>
GRIDSTRIDE_HOST_DEVICE inline bool is_inside(DoubleExponential const& map, Real x) {
  if (map.kind == DoubleExponential::infinite) return true;
  return x != static_cast<Real>(map.lower) && x != static_cast<Real>(map.upper);
}

/// The new samples of a level: t = (first + stride·i)·step for 0 ≤ i < count.
struct DoubleExponentialLevel {
  static constexpr int start = 2;  ///< the first level; about 50 samples
  static constexpr int most = 16;
  double step;
  long long first, stride, count;

  GRIDSTRIDE_HOST_DEVICE double t(long long i) const {
    return step * static_cast<double>(first + stride * i);
  }
};

template <class Real>
GRIDSTRIDE_HOST_DEVICE inline DoubleExponentialLevel level_of(DoubleExponential const& map,
                                                              int level) {
  double const per_unit = static_cast<double>(1 << level);
  auto first = static_cast<long long>(::ceil(map.first<Real>() * per_unit));
  auto const last = static_cast<long long>(::floor(map.last<Real>() * per_unit));
  long long const stride = level == DoubleExponentialLevel::start ? 1 : 2;
  if (stride == 2 && first % 2 == 0) ++first;
  return {1 / per_unit, first, stride, (last - first) / stride + 1};
}

/// Sums over samples g = f(x)·dx/dt.
struct DoubleExponentialSums {
  TwoTermSum sum;
  double magnitude = 0;             ///< Σ|g|
  double first_t = 1e9, first = 0;  ///< |g| at the least t
  double last_t = -1e9, last = 0;   ///< |g| at the greatest t
  long long samples = 0;
  int non_finite = 0;

  GRIDSTRIDE_HOST_DEVICE void add(double t, double weight, double value) {
    ++samples;
    double const g = value * weight, size = ::fabs(g);
    if (!is_finite(g)) ++non_finite;
    sum.add(g);
    magnitude += size;
    take_ends(t, size, t, size);
  }
  GRIDSTRIDE_HOST_DEVICE void add(DoubleExponentialSums const& other) {
    sum.add(other.sum);
    magnitude += other.magnitude;
    take_ends(other.first_t, other.first, other.last_t, other.last);
    samples += other.samples;
    non_finite += other.non_finite;
  }

 private:
  GRIDSTRIDE_HOST_DEVICE void take_ends(double low_t, double low, double high_t, double high) {
    if (low_t < first_t) first_t = low_t, first = low;
    if (high_t > last_t) last_t = high_t, last = high;
  }
};

/// What is known of an integral from level to level.
struct DoubleExponentialHistory {
  double value = 0, change = 0;
  int levels = 0;
};

/// Takes in the sums of all samples up to a level, and says whether to go on.
///
/// Where convergence is exponential, the error after a level is about the square of its change, in
/// parts of the whole (D. H. Bailey, K. Jeyabalan and X. S. Li, "A comparison of three
/// high-precision quadrature schemes", Experimental Mathematics 14 (2005)). The estimate stays on
/// the safe side of that: it is the last change itself; or the square of the one before, where that
/// is more because two levels agree by accident; or the one before where the change did not fall to
/// a thousandth, since then convergence is not exponential. Added to that are 16·ε·Σ|g| for
/// rounding, and for what is left out beyond the ends a quarter of the outermost samples: where f
/// goes like d^(−a) with the distance d from an end, what is left out is the sample there over
/// (1 − a)·log(1/d), and the last d is below 10^−16 in float64. That is of the rounding of x where f is not
/// singular, and counts as what rounding leaves up to 50·ε·Σ|g|.
template <class Real>
GRIDSTRIDE_HOST_DEVICE inline IntegralResult take_level(DoubleExponentialHistory& history,
                                                        DoubleExponentialSums const& sums,
                                                        DoubleExponential const& map, double step,
                                                        Goal const& goal, bool is_last) {
  double const value = map.sign * step * sums.sum.result(), size = step * sums.magnitude;
  double const change = ::fabs(value - history.value), before = history.change;
  history = {value, change, history.levels + 1};
  double const unit = rounding_of<Real>() * size;
  double const lost = 0.25 * (sums.first + sums.last) + 16 * unit;
  double const rounding = ::fmin(lost, 50 * unit);
  double const accident = size > 0 ? before * (before / size) : 0;
  double const found = ::fmax(1000 * change > before ? before : change, ::fmax(change, accident));
  IntegralResult result{value, found + lost, sums.samples, Verdict::go_on, rounding};
  // An interval of a few roundings has no samples, and one without width needs none.
  bool const empty = map.kind == DoubleExponential::finite && map.lower == map.upper;
  bool const sampled = sums.samples > 0 || empty;
  if (sums.non_finite > 0)
    result.verdict = Verdict::non_finite;
  else if (history.levels > 2 && sampled && result.error <= goal.tolerance(value, rounding))
    result.verdict = Verdict::reached;
  else if (is_last || (history.levels > 2 && found <= lost))
    result.verdict = Verdict::not_reached;
  return result;
}

}  // namespace gridstride::quadrature

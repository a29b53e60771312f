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

/// π/2·sinh t, whose exponential, or the square of it, is how much nearer x comes to an end.
GRIDSTRIDE_HOST_DEVICE inline double exponent_at(double t) {
  return 1.5707963267948966 * ::sinh(t);
}

/// A place at each side, halfway to the nearest numbers of the precision that differ from the end, by
/// the logarithm of their distance.
struct HalfwayPlaces {
  double low, high;
};
template <class Real>
GRIDSTRIDE_HOST_DEVICE inline HalfwayPlaces halfway_places(DoubleExponential const& map) {
  bool const finite = map.kind == DoubleExponential::finite;
  double const width = finite ? map.upper - map.lower : 1;
  auto const halfway = [&](double end, double reach) {
    double const spacing = rounding_of<Real>() * ::fabs(end) / width;
    double const nearest = spacing > 0 ? ::log(1 / spacing) / (finite ? 2 : 1) : reach;
    return ::asinh(0.5 * ::fmax(::fmin(nearest, reach), 0.0) / 1.5707963267948966);
  };
  double const low = exponent_at(-map.first<Real>()), high = exponent_at(map.last<Real>());
  bool const unbounded = map.kind == DoubleExponential::infinite;
  return {-halfway(unbounded ? 0 : map.lower, low), halfway(finite ? map.upper : 0, high)};
}

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

/// |g| at the least t and at the greatest.
struct OutermostSamples {
  double first_t = 1e9, first = 0;
  double last_t = -1e9, last = 0;

  GRIDSTRIDE_HOST_DEVICE void take_first(double t, double size) {
    if (t < first_t) first_t = t, first = size;
  }
  GRIDSTRIDE_HOST_DEVICE void take_last(double t, double size) {
    if (t > last_t) last_t = t, last = size;
  }
  GRIDSTRIDE_HOST_DEVICE void take(OutermostSamples const& other) {
    take_first(other.first_t, other.first);
    take_last(other.last_t, other.last);
  }
};

/// Sums over samples g = f(x)·dx/dt.
struct DoubleExponentialSums {
  TwoTermSum sum;
  double magnitude = 0;     ///< Σ|g|
  OutermostSamples ends;    ///< of all
  OutermostSamples within;  ///< no farther out than halfway
  long long samples = 0;
  int non_finite = 0;

  GRIDSTRIDE_HOST_DEVICE void add(double t, double weight, double value,
                                  HalfwayPlaces const& halfway) {
    ++samples;
    double const g = value * weight, size = ::fabs(g);
    if (!is_finite(g)) ++non_finite;
    sum.add(g);
    magnitude += size;
    ends.take_first(t, size);
    ends.take_last(t, size);
    if (t >= halfway.low) within.take_first(t, size);
    if (t <= halfway.high) within.take_last(t, size);
  }
  GRIDSTRIDE_HOST_DEVICE void add(DoubleExponentialSums const& other) {
    sum.add(other.sum);
    magnitude += other.magnitude;
    ends.take(other.ends);
    within.take(other.within);
    samples += other.samples;
    non_finite += other.non_finite;
  }
};

/// What lies beyond the outermost sample g at ±t, if g/cosh t goes on to fall as exp(−r·π/2·sinh t): with
/// the distance d from an end d^(−a) has the r of 1 − a, or twice that. r is what it was since the sample
/// `within` less 1/e of it, which covers what the rounding of x does to a sample, and a square of a
/// logarithm beside the power, as in 1/(x·log(x)²). No less than a quarter of g.
GRIDSTRIDE_HOST_DEVICE inline double beyond(double t, double g, double t_within, double g_within) {
  if (g == 0) return 0;
  double const end = g / ::cosh(t), before = g_within / ::cosh(t_within);
  double const fall = ::log(before / end) - 1;
  double const way = ::fabs(exponent_at(t)) - ::fabs(exponent_at(t_within));
  double const rate = way > 0 ? ::fmax(fall / way, 1e-3) : 1e-3;
  return ::fmax(0.25 * g, end / (1.5707963267948966 * rate));
}

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
/// rounding, and what is left out beyond the ends. That is of the rounding of x where f is not singular, and
/// counts as what rounding leaves up to 50·ε·Σ|g|.
template <class Real>
GRIDSTRIDE_HOST_DEVICE inline IntegralResult take_level(DoubleExponentialHistory& history,
                                                        DoubleExponentialSums const& sums,
                                                        DoubleExponential const& map, double step,
                                                        Goal const& goal, bool is_last) {
  double const value = map.sign * step * sums.sum.result(), size = step * sums.magnitude;
  double const change = ::fabs(value - history.value), before = history.change;
  history = {value, change, history.levels + 1};
  double const unit = rounding_of<Real>() * size;
  OutermostSamples const &ends = sums.ends, &within = sums.within;
  double const lost = beyond(ends.first_t, ends.first, within.first_t, within.first) +
                      beyond(ends.last_t, ends.last, within.last_t, within.last) + 16 * unit;
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

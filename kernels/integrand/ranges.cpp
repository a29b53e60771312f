#include "kernels/integrand/ranges.hpp"

#include <fmt/format.h>

#include <cmath>
#include <stdexcept>
#include <utility>

#include "expression/transform.hpp"

namespace gridstride::quadrature {
namespace {

using expression::Expression;
using expression::Operation;

/// x as a function of t, and dx/dt.
struct Substitution {
  Expression x, slope;
};

Substitution over_the_line(Expression const& t) {
  Expression const one(1), square = t * t, rest = one - square;
  return {t / rest, (one + square) / (rest * rest)};
}

/// From `end` upwards or downwards.
Substitution over_half_the_line(Expression const& t, double end, bool upwards) {
  Expression const one(1), rest = one - t, distance = t / rest;
  return {upwards ? Expression(end) + distance : Expression(end) - distance, one / (rest * rest)};
}

/// The formula over t, which is 0 where |t| is not below 1.
Expression substituted(Expression const& formula, int variable, Substitution const& change,
                       double sign) {
  Expression const inside = expression::apply(
      Operation::less, expression::apply(Operation::abs, Expression::variable(variable)),
      Expression(1));
  Expression value = expression::substitute(formula, variable, change.x) * change.slope;
  if (sign < 0) value = -value;
  return expression::apply(Operation::select, inside, value, Expression(0));
}

/// Replaces one variable if its interval has an infinite end.
void make_finite(Expression& formula, Interval& interval, int variable) {
  bool const reversed = interval.lower > interval.upper;
  double const lower = reversed ? interval.upper : interval.lower;
  double const upper = reversed ? interval.lower : interval.upper;
  if (std::isfinite(lower) && std::isfinite(upper)) return;
  Expression const t = Expression::variable(variable);
  double const sign = reversed ? -1 : 1;
  if (std::isinf(lower) && std::isinf(upper)) {
    formula = substituted(formula, variable, over_the_line(t), sign);
    interval = {-1, 1};
    return;
  }
  bool const upwards = std::isinf(upper);
  formula =
      substituted(formula, variable, over_half_the_line(t, upwards ? lower : upper, upwards), sign);
  interval = {0, 1};
}

}  // namespace

FiniteIntegral on_finite_ranges(Integrand const& integrand, std::span<Interval const> intervals) {
  check(integrand);
  if (std::ssize(intervals) != integrand.dimensions)
    throw std::invalid_argument(
        fmt::format("on_finite_ranges: {} intervals for an integrand of {} dimensions",
                    intervals.size(), integrand.dimensions));
  FiniteIntegral result{integrand, {intervals.begin(), intervals.end()}};
  for (int k = 0; k < integrand.dimensions; ++k) {
    Interval& interval = result.intervals[static_cast<std::size_t>(k)];
    if (std::isnan(interval.lower) || std::isnan(interval.upper) ||
        (interval.lower == interval.upper && std::isinf(interval.lower)))
      throw std::invalid_argument(fmt::format("on_finite_ranges: interval {} is from {} to {}", k,
                                              interval.lower, interval.upper));
    make_finite(result.integrand.formula, interval, k);
  }
  return result;
}

}  // namespace gridstride::quadrature

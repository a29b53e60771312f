#include "simulations/integration_rounds.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace gridstride::integration {

using quadrature::Estimate;
using quadrature::FixedRule;
using quadrature::Outcome;

namespace {

constexpr double endless = std::numeric_limits<double>::infinity();

/// Whether ∫|f|, of which roundings are a part, grows by as much each time: by what a factor of the
/// distance to a pole adds. Of d^(−p) it is growth^(p − 1) as much as the time before.
bool is_endless(double growth, double before, double size) {
  return before > 0 && growth >= 0.95 * before && growth > 1e-3 * size;
}

/// What is still to come after changes that go on shrinking so.
double rest_of_series(double last, double shrinks) { return last * shrinks / (1 - shrinks); }

/// How two changes shrink, and no faster than `fastest`.
double shrinking(double last, double before, double fastest) {
  constexpr double slowest = 0.9;
  double const ratio = before > 0 ? last / before : last > 0 ? slowest : 0.0;
  return std::clamp(ratio, fastest, slowest);
}

/// Where a singularity lies inside, as |x − c|^(−p), changes leap about as samples come near it, and
/// shrink by growth^(p − 1) in the mean: the line through their logarithms, less steep by twice the deviation
/// that its slope has where those have one of 1.
double left_by_trend(std::span<double const> changes) {
  double count = 0, sum = 0, places = 0;
  for (std::size_t k = 0; k < changes.size(); ++k)
    if (changes[k] != 0)
      ++count, sum += std::log(std::abs(changes[k])), places += static_cast<double>(k);
  if (count < 2) return 0;
  double slope = 0, squares = 0;
  for (std::size_t k = 0; k < changes.size(); ++k)
    if (double const from = static_cast<double>(k) - places / count; changes[k] != 0) {
      slope += from * std::log(std::abs(changes[k]));
      squares += from * from;
    }
  slope /= squares;  // towards earlier ones
  double const last = std::exp(sum / count - slope * places / count);
  double const known = count < 4 ? 0.99 : std::exp(2 / std::sqrt(squares) - slope);
  return 2 * rest_of_series(last, std::min(known, 0.99));
}

}  // namespace

// ------------------------------------------------------------------------- until a tolerance is met

Rounds::Rounds(int order, double growth) : growth_(growth), smooth_(std::pow(growth, -order)) {}

void Rounds::compare(Solution& solution) {
  changes_.resize(before_.estimates.size());
  growths_.resize(before_.estimates.size());
  for (std::size_t i = 0; i < before_.estimates.size(); ++i) {
    Estimate& now = solution.estimates[i];
    Estimate const& then = before_.estimates[i];
    changes_[i].insert(changes_[i].begin(), now.value - then.value);
    now.error = std::max(now.error, error_after(changes_[i], now.rounding));
    double const growth = now.rounding - then.rounding;
    if (is_endless(growth, std::exchange(growths_[i], growth), now.rounding)) now.error = endless;
    now.evaluations += then.evaluations;
    if (then.outcome == Outcome::non_finite) now.outcome = then.outcome;
  }
  if (before_.pole) solution.pole = before_.pole;
}

void Rounds::keep(Solution solution) {
  before_ = std::move(solution);
  ++count_;
}

/// The error that is left after all changes, the last one first: what is still to come if they go on
/// shrinking as they did, and no faster than the order lets them. A change that is small by accident
/// is not believed: unless the last three shrink as those of smooth integrands, the error is what one
/// of order 1, as jumps have it, leaves of the two last ones, and no less than what all of them let
/// expect where they are more than rounding.
double Rounds::error_after(std::span<double const> changes, double rounding) const {
  double const last = std::abs(changes[0]);
  if (changes.size() == 1) return last;
  double const before = std::abs(changes[1]);
  double const series =
      rest_of_series(std::max(last, smooth_ * before), shrinking(last, before, smooth_));
  if (changes.size() >= 3 && as_smooth(changes[0], changes[1]) && as_smooth(changes[1], changes[2]))
    return std::max(last / 4, series);
  double const trend = std::max(last, before) > rounding ? left_by_trend(changes) : 0.0;
  return std::max({last, before / growth_, series, trend});
}

/// Whether a change follows the one before as those of smooth integrands do.
bool Rounds::as_smooth(double change, double before) const {
  double const ratio = change / before;
  return ratio > smooth_ / 2 && ratio < 2 * smooth_;
}

// --------------------------------------------------------------------------- by points that are given

namespace {

double panels_of(FixedRule const& rule) {
  return rule.rule == quadrature::Rule::clenshaw_curtis ? static_cast<double>(rule.points - 1)
                                                        : static_cast<double>(rule.panels);
}

/// Orders beyond are not reckoned with, as integrands are not always as smooth as the rule.
constexpr int highest_order = 6;

}  // namespace

CoarserRounds::CoarserRounds(FixedRule const& given)
    : given_(given),
      order_(std::min(highest_order, quadrature::order_of(given))),
      factor_(std::min(1.0, quadrature::pattern_of(given).error_factor)) {}

double CoarserRounds::growth_of_three() const {
  return std::max(1.2, std::cbrt(panels_of(given_) / quadrature::panel_unit(given_.rule)));
}

void CoarserRounds::add(FixedRule const& rule, Solution solution) {
  coarseness_.push_back(panels_of(given_) / panels_of(rule));
  solutions_.push_back(std::move(solution));
}

void CoarserRounds::compare(Solution& given) const {
  for (std::size_t i = 0; i < given.estimates.size(); ++i) {
    Estimate& estimate = given.estimates[i];
    std::vector<double> changes, growths;
    Estimate finer = estimate;
    for (Solution const& solution : solutions_) {
      Estimate const& coarser = solution.estimates[i];
      changes.push_back(std::abs(finer.value - coarser.value));
      growths.push_back(finer.rounding - coarser.rounding);
      estimate.evaluations += coarser.evaluations;
      finer = coarser;
    }
    estimate.error = std::max(estimate.error, error_beside(changes, estimate));
    bool const grows = growths.size() >= 3 && growths[0] > 0.05 * estimate.rounding &&
                       is_endless(growths[0], growths[1], estimate.rounding) &&
                       is_endless(growths[1], growths[2], estimate.rounding);
    // A sample of a coarser rule that is no number leaves none in the changes.
    if (grows || !std::isfinite(std::reduce(changes.begin(), changes.end())))
      estimate.error = endless;
  }
}

/// What the changes, that to the rule that is given first, say of its error. Where the last ones shrink as
/// the order lets those of smooth integrands, or faster, it is what the order leaves of the last one; of
/// rules of order 2, to which jumps look so at times, what order 1 leaves. Otherwise it is all of the
/// difference that the rule's own estimate is made of, what jumps leave of each change, and twice what is
/// still to come if they go on as they did.
double CoarserRounds::error_beside(std::span<double const> changes, Estimate const& given) const {
  auto const shrinks = [&](std::size_t k, int by) {
    return changes[k] <= given.rounding ||
           left_by_order(changes, k, by) <= 2 * left_by_order(changes, k + 1, by);
  };
  std::size_t const count = changes.size();
  if (order_ > 1 && count > 1 && shrinks(0, order_) && (count == 2 || shrinks(1, 2)))
    return left_by_order(changes, 0, order_ == 2 ? 1 : order_);
  double error = (given.error - given.rounding) / factor_ + given.rounding;
  for (std::size_t k = 0; k < count; ++k)
    error = std::max(error, changes[k] / (k == 0 ? 1 : coarseness_[k - 1]));
  if (count > 1)
    error = std::max(error, 2 * rest_of_series(changes[0], shrinking(changes[0], changes[1], 0)));
  return error;
}

/// The error of the rule that is given, if one of this order made that change.
double CoarserRounds::left_by_order(std::span<double const> changes, std::size_t change,
                                    int order) const {
  double const finer = change == 0 ? 1 : coarseness_[change - 1];
  return changes[change] / (std::pow(coarseness_[change], order) - std::pow(finer, order));
}

}  // namespace gridstride::integration

#pragma once

#include "kernels/adaptive/gauss_kronrod.hpp"
#include "kernels/integrand/integral_result.hpp"
#include "kernels/integrand/two_term_sum.hpp"

/// The intervals that an integral is made of while it is refined, their totals, and the decision
/// which of them to halve. Once for host and device.
namespace gridstride::quadrature {

/// One interval of one integral.
struct Leaf {
  enum State : signed char {
    fresh,    ///< not yet evaluated
    open,     ///< may be halved
    closed,   ///< is too narrow to be halved
    rounded,  ///< its error is that of rounding: halving does not reduce it
  };
  double lower, upper;
  double value, error;
  int integral;
  State state;
  unsigned char halvings = 0;  ///< of blind intervals on the way to it; 0 if it is none itself
  short began = 0;             ///< log2 of what there was then, in 16ths; see `take_decline`
};
static_assert(sizeof(Leaf) == 40);

/// The left (0) or right (1) half of a leaf.
GRIDSTRIDE_HOST_DEVICE inline Leaf half_of(Leaf const& leaf, int side) {
  double const middle = 0.5 * leaf.lower + 0.5 * leaf.upper;
  Leaf half = leaf;
  (side == 0 ? half.upper : half.lower) = middle;
  half.error = 0;
  half.state = Leaf::fresh;
  return half;
}

/// How what there is (`log_amount`) declines from an interval to its half, and so on to the half of that:
/// by 2^−q, where q is 1 where the integrand is smooth, and 1 − p beside a singularity like d^(−p) with
/// the distance d. Gives the mean of q on the way to a leaf whose nodes see little, of the last 64 to 128
/// halvings, less what two amounts may be off by; nothing is known of the first such leaf.
GRIDSTRIDE_HOST_DEVICE inline double take_decline(Leaf& leaf, double amount) {
  constexpr int fewer = 64;
  constexpr double units = 16, largest = 2047, off = 0.3;
  bool const is_first = leaf.halvings == 0;
  double began = is_first ? amount : leaf.began / units;
  double const mean = is_first ? 0 : (began - amount) / leaf.halvings;
  double const known = is_first ? 0 : mean - off / leaf.halvings;
  if (leaf.halvings == 2 * fewer) {
    began = amount + mean * fewer;
    leaf.halvings = fewer;
  }
  leaf.began = static_cast<short>(::rint(units * ::fmin(::fmax(began, -largest), largest)));
  ++leaf.halvings;
  return known;
}

/// What the value of a leaf lacks at most where nodes see little. ∫ d^(−p) over an interval of which
/// there is 2^amount, and of which q = 1 − p is known, is 2^amount/q where the singularity lies
/// inside, and e^p times less at an end.
GRIDSTRIDE_HOST_DEVICE inline double unseen_of(Leaf& leaf, IntervalEstimate const& estimate) {
  double const q = ::fmin(::fmax(take_decline(leaf, estimate.amount), 1e-3), 1.0);
  return ::fmax(::exp2(estimate.amount) / q - ::fabs(estimate.value), 0.0);
}

/// Whether the nodes of half the interval would no longer be different numbers from its ends. The
/// outermost of 21 nodes lies 1/460 of the interval from the end.
GRIDSTRIDE_HOST_DEVICE inline bool is_narrow(Leaf const& leaf, double epsilon) {
  double const farthest = ::fmax(::fabs(leaf.lower), ::fabs(leaf.upper));
  return ::fabs(leaf.upper - leaf.lower) <= 1024 * epsilon * farthest;
}

/// A leaf with what its samples, of precision `epsilon`, say. Where they are of no smooth integrand the
/// error is no less than what is still to come if values go on to decline as they did.
GRIDSTRIDE_HOST_DEVICE inline Leaf evaluated(Leaf leaf, IntervalEstimate const& estimate,
                                             double epsilon) {
  leaf.value = estimate.value;
  leaf.error = estimate.error;
  if (estimate.is_blind)
    leaf.error = ::fmax(leaf.error, unseen_of(leaf, estimate));
  else
    leaf.halvings = 0;
  leaf.state = estimate.at_rounding       ? Leaf::rounded
               : is_narrow(leaf, epsilon) ? Leaf::closed
                                          : Leaf::open;
  return leaf;
}

/// What the intervals of one integral are together.
struct LeafTotals {
  TwoTermSum value;
  double open_error = 0;    ///< sum of the errors of open leaves
  double closed_error = 0;  ///< of the others
  double rounding = 0;      ///< of those whose error is that of rounding
  double largest = 0;       ///< the largest error of an open leaf
  long long leaves = 0, open = 0;
  int non_finite = 0;  ///< leaves whose value is no number

  GRIDSTRIDE_HOST_DEVICE void add(Leaf const& leaf) {
    ++leaves;
    if (!is_finite(leaf.value)) ++non_finite;
    value.add(leaf.value);
    if (leaf.state == Leaf::rounded) rounding += leaf.error;
    if (leaf.state != Leaf::open) {
      closed_error += leaf.error;
      return;
    }
    ++open;
    open_error += leaf.error;
    largest = ::fmax(largest, leaf.error);
  }
  GRIDSTRIDE_HOST_DEVICE void add(LeafTotals const& other) {
    value.add(other.value);
    open_error += other.open_error;
    closed_error += other.closed_error;
    rounding += other.rounding;
    largest = ::fmax(largest, other.largest);
    leaves += other.leaves;
    open += other.open;
    non_finite += other.non_finite;
  }
  GRIDSTRIDE_HOST_DEVICE double error() const { return open_error + closed_error; }
};

/// What happens to the leaves of an integral after a generation.
struct Decision {
  Verdict verdict;
  double share;  ///< `go_on`: open leaves with a larger error are halved
};

/// The integral is done when the sum of all errors is at most the goal's tolerance. If not, what
/// closed leaves leave of the tolerance is shared equally among the n open ones, and those with an
/// error above that share are halved. As the n errors add to more than n shares, there is one.
/// Where closed leaves use up the tolerance, it is out of reach; the open ones are still refined to
/// an n-th of it each, for the best value. This ends, since every generation adds an interval, and
/// none is halved once there are `max_intervals`.
GRIDSTRIDE_HOST_DEVICE inline Decision decide(LeafTotals const& totals, Goal const& goal,
                                              long long max_intervals) {
  if (totals.non_finite > 0) return {Verdict::non_finite, 0};
  double const tolerance = goal.tolerance(totals.value.result(), totals.rounding);
  if (totals.error() <= tolerance) return {Verdict::reached, 0};
  if (totals.open == 0 || totals.leaves >= max_intervals) return {Verdict::not_reached, 0};
  double const left = tolerance - totals.closed_error;
  double const share = (left > 0 ? left : tolerance) / static_cast<double>(totals.open);
  if (totals.largest > share) return {Verdict::go_on, share};
  return {Verdict::not_reached, 0};
}

GRIDSTRIDE_HOST_DEVICE inline bool is_halved(Leaf const& leaf, Decision const& decision) {
  return decision.verdict == Verdict::go_on && leaf.state == Leaf::open &&
         leaf.error > decision.share;
}

/// To come from `initial` intervals to the leaves by halving, 2·leaves − initial were evaluated.
GRIDSTRIDE_HOST_DEVICE inline IntegralResult result_of(LeafTotals const& totals,
                                                       Decision const& decision, int initial,
                                                       int points) {
  return {totals.value.result(), totals.error(), (2 * totals.leaves - initial) * points,
          decision.verdict, totals.rounding};
}

/// What on_chip.cuh has room for. On an H200, 256 intervals took a fifth more time for
/// sweeps that need few, since fewer integrals are under way at once, and 64 a half more for those
/// that need more.
struct OnChip {
  static constexpr int capacity = 128;  ///< intervals of an integral
  static constexpr int together = 16;   ///< new intervals that are sampled at a time
  static constexpr int lanes = 32;
};

}  // namespace gridstride::quadrature

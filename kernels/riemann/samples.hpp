#pragma once

#include "core/host_device.hpp"
#include "kernels/integrand/two_term_sum.hpp"

/// The samples of a composite rule, and what is made of their sums. Once for host and device.
namespace gridstride::quadrature {

/// Where a rule samples [lower, upper], and with what weights. The interval is cut into `cells` of
/// equal width; in each lie the same `nodes`. A second, coarser rule has weights on the same
/// samples, most of them zero or doubled. Where a rule samples the ends of its panels, two cells
/// share that sample, and node 0 stands for both: what is too much of it at `lower` is missing at
/// `upper`.
///
///     value = width·(Σ_cells Σ_k fine_k·f(lower + (cell + offset_k)·width)
///                    + end_fine·(f(upper) − f(lower)))
struct Samples {
  double lower, upper;
  double width;  ///< of a cell
  long long cells;
  int nodes;
  double const* offsets;  ///< in units of the width, ascending in [0, 1]
  double const* fine;     ///< sum 1
  double const* coarse;   ///< sum 1
  double end_fine, end_coarse;
  double error_factor;  ///< what of |fine − coarse| is the estimate of the error
  double rounding;      ///< and what of the samples' magnitudes is added for rounding
  long long evaluations;

  GRIDSTRIDE_HOST_DEVICE long long count() const { return cells * nodes; }
  GRIDSTRIDE_HOST_DEVICE bool closed() const { return end_fine != 0 || end_coarse != 0; }
  /// A node's coordinate; `cell` is a whole number.
  GRIDSTRIDE_HOST_DEVICE double at(double cell, double offset) const {
    double const x = lower + (cell + offset) * width;
    return (x < upper) == (width > 0) ? x : upper;
  }
};

/// Weighted sums of some of the samples.
struct Sums {
  TwoTermSum fine, coarse;
  double magnitude = 0;  ///< Σ fine·|f|, of groups of samples where that is enough

  /// A sample or a sum of samples of equal weights.
  GRIDSTRIDE_HOST_DEVICE void add(double f, double fine_weight, double coarse_weight) {
    fine.add(fine_weight * f);
    coarse.add(coarse_weight * f);
    magnitude += fine_weight * (f < 0 ? -f : f);
  }
  GRIDSTRIDE_HOST_DEVICE void add(Sums const& other) {
    fine.add(other.fine);
    coarse.add(other.coarse);
    magnitude += other.magnitude;
  }
};

/// The value, and the estimate of its error.
struct RuleValue {
  double value, error;
  bool finite;
  double rounding;  ///< what of the error is that of rounding
};

/// From the sums of all samples and, for a closed rule, the values at both ends.
GRIDSTRIDE_HOST_DEVICE inline RuleValue rule_value(Samples const& samples, Sums sums,
                                                   double f_lower, double f_upper) {
  if (samples.closed()) {
    sums.fine.add(-samples.end_fine * f_lower);
    sums.fine.add(samples.end_fine * f_upper);
    sums.coarse.add(-samples.end_coarse * f_lower);
    sums.coarse.add(samples.end_coarse * f_upper);
  }
  double const fine = sums.fine.result(), coarse = sums.coarse.result();
  double const width = samples.width < 0 ? -samples.width : samples.width;
  double const difference = fine < coarse ? coarse - fine : fine - coarse;
  double const rounding = width * samples.rounding * sums.magnitude;
  double const error =
      width * (samples.error_factor * difference + samples.rounding * sums.magnitude);
  double const value = samples.width * fine;
  return {value, error, value - value == 0 && error - error == 0, rounding};
}

}  // namespace gridstride::quadrature

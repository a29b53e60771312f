#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/multigrid/multigrid.hpp"

/// For the family's own files only.
namespace gridstride::multigrid {

constexpr double none = std::numeric_limits<double>::infinity();

/// What is told of a solve while it goes on: numbers of each cycle, on the host.
class Progress {
 public:
  /// `slowest`: what a sweep leaves of some errors, where that is known; 0 of cycles, which leave as much of all.
  Progress(Options const& options, double right, double rounding, double slowest = 0)
      : options_(options), right_(right), rounding_(rounding), slowest_(slowest) {
    outcome_.residuals = {right};
    outcome_.at = {0};
  }
  /// From a u that leaves so much.
  void begin(double residual) { outcome_.residuals = {residual}; }
  /// Of so many cycles, or sweeps.
  void add(int cycles, double residual, double correction, double largest) {
    outcome_.residuals.push_back(residual);
    outcome_.corrections.push_back(correction);
    outcome_.cycles += cycles;
    outcome_.at.push_back(outcome_.cycles);
    // What is less than normal numbers are has the roundings of the least of those.
    largest_ = std::max(largest, std::numeric_limits<double>::min());
    least_ = std::max(least_ - correction, 0.0);
    judge();
  }
  /// Of the same u, the last residual found anew.
  void renew(double residual) {
    outcome_.residuals.back() = residual;
    judge();
  }
  /// u is known to be off by so much: that decides whether a solve ends, until corrections may have made it small.
  void know(double error) {
    double const of_roundings = std::numeric_limits<double>::epsilon() / (1 - slowest_);
    least_ = error;
    outcome_.error = error / largest_;
    outcome_.converged = outcome_.error <= std::max(options_.tolerance, of_roundings);
  }
  /// Whether a solve may end with a residual, whose u is not known to be much larger than the last one.
  bool may_end(double residual) const {
    return !options_.residual_counts || is_small(residual, 4 * largest_);
  }
  /// Whether it is likely to end with a residual that is foreseen so.
  bool is_likely_to_end(double residual) const {
    return options_.residual_counts && is_small(residual / 2, largest_);
  }
  /// The last residual.
  double left() const { return outcome_.residuals.back(); }
  /// Whether what is left is no number.
  bool is_lost() const { return hopeless_; }
  /// How many cycles more are needed, if each leaves a hundredth, less than the best ones do; at
  /// least one.
  int needed() const {
    double const reached = outcome_.residuals.back() / right_;
    double const left = options_.residual_counts ? options_.tolerance / reached
                                                 : options_.tolerance / outcome_.error;
    return left > 0 && left < 1
               ? static_cast<int>(std::clamp(std::log(left) / std::log(0.01), 1.0, 1e6))
               : 1;
  }
  bool ended() const {
    return outcome_.converged || hopeless_ || outcome_.cycles >= options_.most_cycles;
  }
  Outcome const& outcome() const { return outcome_; }

 private:
  static constexpr double of_roundings = 8;  ///< residuals become no smaller than those make them
  bool is_small(double residual, double largest) const {
    return residual <= options_.tolerance * right_ ||
           residual <= of_roundings * rounding_ * largest;
  }
  /// What the last cycle has come to.
  void judge() {
    auto const& r = outcome_.residuals;
    auto const& c = outcome_.corrections;
    double const residual = r.back(), correction = c.back(), largest = largest_;
    bool const is_rounding = residual <= of_roundings * rounding_ * largest;
    double const of_corrections = c.size() < 2           ? 1.0
                                  : c[c.size() - 2] == 0 ? 0.0
                                                         : correction / c[c.size() - 2];
    double const seen = is_rounding && c.size() > 2
                            ? of_corrections
                            : std::max(of_corrections, residual / r[r.size() - 2]);
    // Smooth errors show little beside rough ones until these are gone.
    double const shrinks = std::max({seen, of_slowest(), options_.least_left});
    // Corrections that are no more than roundings of u leave it as it is, or to and fro, and come again.
    bool const is_lost_in_u =
        is_rounding && correction <= 8 * std::numeric_limits<double>::epsilon() * largest;
    double const seen_error = correction == 0 || is_lost_in_u ? correction
                              : shrinks < 1                   ? correction * shrinks / (1 - shrinks)
                                                              : none;
    double const expected = std::max(seen_error, least_);
    outcome_.error = expected == 0 ? 0 : expected / largest;
    bool const solved =
        !options_.residual_counts || residual <= options_.tolerance * right_ || is_rounding;
    bool const settled = !options_.error_counts || outcome_.error <= options_.tolerance;
    outcome_.converged = solved && settled && std::isfinite(residual) && std::isfinite(largest);
    hopeless_ = !std::isfinite(residual);
  }

  /// What the last sweeps have left of the errors that they took least from.
  double of_slowest() const {
    auto const& at = outcome_.at;
    return slowest_ == 0 ? 0
                         : std::pow(slowest_, static_cast<double>(at.back() - at[at.size() - 2]));
  }

  Options options_;
  double right_, rounding_, slowest_, largest_ = 0;
  double least_ = 0;  // as large the error is at least
  Outcome outcome_;
  bool hopeless_ = false;
};

}  // namespace gridstride::multigrid

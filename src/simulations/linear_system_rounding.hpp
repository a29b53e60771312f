#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "config/run_config.hpp"
#include "kernels/krylov/krylov.hpp"
#include "simulations/linear_system_scaled.hpp"

/// Residuals that rounding keeps above a tolerance, for `linear_system` alone.
namespace gridstride::linear_system {

/// What rounding may make of a backward error, where rows have so many elements: roundings of a sum of k
/// terms add up to √k·ε, and those of x, of b and of updates are a few more.
template <class T>
double roundings(std::int64_t longest_row) {
  return (8 + std::sqrt(static_cast<double>(longest_row))) * std::numeric_limits<T>::epsilon();
}

/// Where a config names no tolerance, an x is solution enough if a method does not make its residual
/// smaller, and a change of A and b by `roundings` makes it the exact one: that is what factors give, too.
/// Its residual, which is small beside ‖A‖·‖x‖ then, has to be so beside b as well, to a hundred times
/// the tolerance: of an x that has gone off along what A nearly takes to 0 the backward error tells
/// nothing.
class RoundingLimit {
 public:
  explicit RoundingLimit(config::RunConfig const& run);

  bool is_reached(krylov::Result const& result, Residual const& left, double roundings) const;
  /// Of an x whose residual as given is rounding: whether that in the units of the system will do.
  bool is_reached_there(Residual const& left, double tolerance, double roundings) const {
    return left.scaled_relative <= most_left_ && most_left_ > 0 &&
           (left.scaled_relative <= tolerance || left.scaled_backward_error <= roundings);
  }

 private:
  double most_left_;  // of b; 0 where a tolerance is named
};

/// Whether an x that has lost digits on its way out of the units of the system still leaves no more than the
/// tolerance, or about as much as before where that was more.
inline bool is_held(double now, double before, double tolerance) {
  return now <= (before > tolerance ? 1.1 * before : tolerance);
}

/// Of an x that is solution enough.
std::string told_of(Residual const& left);

/// A part of what is left of b that A has to give for it to be rounding, all of which a matrix gives that is not
/// singular: what no x solves stays, whatever an x is taken beside the first one.
inline constexpr double most_not_given = 0.1;

}  // namespace gridstride::linear_system

#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/named_value.hpp"
#include "core/stream.hpp"
#include "kernels/integrand/integral_result.hpp"
#include "kernels/integrand/integrand.hpp"
#include "simulations/integration_parameters.hpp"

/// From the rule that a config names to the integrators of kernels/.
namespace gridstride::integration {

/// Whether T has a number for the value.
template <class T>
bool has_number(double value) {
  auto const rounded = static_cast<T>(value);
  return std::isfinite(rounded) && (rounded != 0 || value == 0);
}

/// The integrals of one run: the integrand, and a row of its parameters for each of them.
struct Problem {
  quadrature::Integrand integrand;
  std::vector<quadrature::Interval> ranges;
  std::vector<double> parameters;
  std::size_t integrals = 1;
};

/// How they are to be integrated.
struct Request {
  RuleInfo const* rule = nullptr;
  std::optional<std::int64_t> points;
  int points_per_panel = 8;
  /// Without one a fixed rule takes its points, whatever the error.
  std::optional<double> relative, absolute;
  std::uint64_t seed = 1;
  bool antithetic = false;
  std::string variant = "auto";
};

/// Where the integrand is infinite or no number.
struct Pole {
  std::size_t integral;
  std::vector<double> coordinates;  ///< empty where it is not known: the samples are finite
};

struct Solution {
  std::vector<quadrature::Estimate> estimates;  ///< one for each integral
  std::vector<NamedValue> values;  ///< what else the integrator tells, of the last integral
  std::optional<Pole> pole;        ///< of the first integral that has one
};

/// The names of these, before they are known.
std::vector<NamedValue> unknown_values(RuleInfo const& rule);

/// The tolerance that counts: what is asked for, or else what the rule goes for by itself; none
/// for a fixed rule with a number of points and for sampling with one. Without an absolute one, the
/// error may be twice what rounding of the samples leaves, unless the relative one is below what
/// rounding leaves anyway.
std::optional<quadrature::Goal> goal_of(Request const& request, Precision precision);

/// Integrates. T is the precision of the samples. Waits for the device. Throws as the integrators
/// do.
template <class T>
Solution solve(Stream& stream, Problem const& problem, Request const& request);

}  // namespace gridstride::integration

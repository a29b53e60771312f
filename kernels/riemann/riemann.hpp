#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include "core/variant.hpp"
#include "kernels/integrand/integrand.hpp"
#include "kernels/riemann/rules.hpp"

/// Kernel family `riemann`: integrals of one variable by a fixed rule, many at a time. Products of
/// these rules, for several variables, stand in tensor/.
///
///   results_i = Σ_panels Σ_k w_k·f(x_k; p_i0, …, p_i(m−1)) ≈ ∫_a^b f(x; p_i0, …) dx
///
/// `parameters` has a row of `integrand.parameters` numbers for each integral and `results` an
/// element; both lie in the stream's device memory. T is the precision of coordinates and samples;
/// they are added in float64. On a GPU the integrand is compiled at the first call and kept
/// (`compile`); nothing synchronises. A call is not to be captured in a graph for later: the rule's
/// nodes are copied from memory of the host that is gone when it returns. An integral with a sample
/// that is infinite or not a number has the outcome `non_finite`, others `reached`: their error is
/// estimated as `Pattern` says, plus 8·ε·∫|f| for rounding. b may be less than a.
///
/// The error of rounding is that of the samples, whatever their number: coordinates are computed
/// from the number of the cell, and sums keep what they round away.
namespace gridstride::quadrature {

/// Throws `std::invalid_argument` for an integrand of more than one dimension, ends that are
/// infinite or no numbers, arrays of the wrong size, a rule as `pattern_of` refuses it, and a
/// variant that this backend does not have.
template <class T>
void integrate(Stream& stream, Integrand const& integrand, Interval interval,
               std::span<double const> parameters, FixedRule const& rule,
               std::span<Estimate> results, std::string_view variant = "auto");

/// The coordinate of the leftmost sample (seen from a) that is infinite or not a number, of one
/// integral whose parameters lie on the host; none where all are finite. It computes the samples
/// again and waits for the stream. Throws as `integrate` does.
template <class T>
std::optional<double> non_finite_sample(Stream& stream, Integrand const& integrand,
                                        Interval interval, std::span<double const> parameters,
                                        FixedRule const& rule);

/// One piece of work for a row.
struct RuleArguments {
  Integrand const& integrand;
  Interval interval;
  FixedRule rule;
  Pattern const& pattern;
  double const* parameters;
  std::size_t integrals;
  Estimate* results;
};

using RuleFunction = void(Stream&, RuleArguments const&);

/// Every variant, from the textbook's to the fastest of each backend.
template <class T>
std::span<Variant<RuleFunction> const> riemann_variants();

/// What `auto` means: the fastest that gives the same bits every time.
std::string_view default_riemann(Backend backend);

}  // namespace gridstride::quadrature

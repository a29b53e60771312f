#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "kernels/riemann/samples.hpp"

/// Fixed rules in one dimension: their nodes, weights and orders.
namespace gridstride::quadrature {

enum class Rule {
  left,             ///< f at the left end of each panel
  right,            ///< at its right end
  midpoint,         ///< at its middle
  trapezoid,        ///< at both ends
  simpson,          ///< at the ends and the middle
  boole,            ///< at five equally spaced points
  gauss_legendre,   ///< at 2 to 64 points inside, exact for polynomials of degree 2·points − 1
  clenshaw_curtis,  ///< at 2^k + 1 ≤ 2^20 + 1 points cos(jπ/2^k), of which the ends are two
};

inline constexpr std::array<std::string_view, 8> rule_names = {
    "left",    "right", "midpoint",       "trapezoid",
    "simpson", "boole", "gauss_legendre", "clenshaw_curtis"};

constexpr std::string_view name_of(Rule rule) { return rule_names[static_cast<std::size_t>(rule)]; }
std::optional<Rule> rule_named(std::string_view name);

/// A rule on `panels` equal parts of the interval.
struct FixedRule {
  Rule rule = Rule::midpoint;
  std::int64_t panels = 1;
  int points = 0;  ///< in each panel, of gauss_legendre and clenshaw_curtis; 0 for the others
  /// Whether the integrand may jump at the ends, as at one that stands for infinity (ranges.hpp):
  /// closed rules are of order 1 then, and their errors are estimated so.
  bool jumps_at_ends = false;
};

inline constexpr int max_gauss_points = 64;
inline constexpr int max_clenshaw_curtis_points = (1 << 20) + 1;
/// The most samples of an integral, so that their numbers are exact in float64.
inline constexpr std::int64_t max_samples = std::int64_t{1} << 50;

/// What the number of panels has to be a multiple of, so that the error can be estimated: 4 for
/// midpoint, 1 for clenshaw_curtis, 2 for the others.
constexpr int panel_unit(Rule rule) {
  return rule == Rule::midpoint ? 4 : rule == Rule::clenshaw_curtis ? 1 : 2;
}

/// The order p: the error of a smooth integrand falls with panels^−p.
int order_of(FixedRule const& rule);

/// Nodes in (−1, 1) in ascending order, and their weights, which add to 2.
struct Nodes {
  std::vector<double> positions, weights;
};

/// The Gauss–Legendre rule with 1 ≤ count nodes: the zeros of the Legendre polynomial P_n, found
/// by Newton's method in extended precision, with weights 2/((1 − x²)·P_n′(x)²).
Nodes gauss_legendre(int count);

/// Weights of the Clenshaw–Curtis rule at cos(kπ/n), k = 0 … n, which add to 2; n is a power of two
/// and at least 2. By one Fourier transform (J. Waldvogel, "Fast construction of the Fejér and
/// Clenshaw–Curtis quadrature rules", BIT 46 (2006)).
std::vector<double> clenshaw_curtis_weights(int n);

/// A rule as nodes and weights in a cell of one or more panels, with the coarser rule that the
/// error is estimated with. What the members mean stands at `Samples`.
///
/// The error's leading term falls with h^p, so that a rule F on panels of width h and the same rule
/// C on panels of width 2·h, on the same samples, differ by 2^p − 1 times the error of F
/// (L. F. Richardson). Half the samples of F are C's for left, right, trapezoid, simpson and boole;
/// for gauss_legendre C has samples of its own, half as many again. F is compared with
///
///     midpoint          the rule of order 4 with the samples of four panels: C has no error
///     clenshaw_curtis   the rule of every second node: C has nearly all of the difference
///
/// The estimate is twice what the difference is divided by that, since it is no bound:
/// 2·|F − C|/(2^p − 1), with p at most 6, as integrands are not always as smooth as that;
/// 2·|F − C| for midpoint and |F − C| for clenshaw_curtis. Where the integrand may jump at the
/// ends, it is 2·|F − C| for all closed rules.
struct Pattern {
  std::vector<double> offsets, fine, coarse;
  double end_fine = 0, end_coarse = 0;
  double error_factor = 0;
  int panels = 1;  ///< in a cell
};

/// Throws `std::invalid_argument` for a number of panels that is below 1 or no multiple of
/// `panel_unit`, for more than `max_samples`, and for points out of the rule's range.
Pattern pattern_of(FixedRule const& rule);

/// The samples of one integral over [lower, upper] on the host; they refer to `pattern`.
/// `epsilon` is that of the precision that the integrand is computed in.
Samples samples_of(Pattern const& pattern, FixedRule const& rule, double lower, double upper,
                   double epsilon);

}  // namespace gridstride::quadrature

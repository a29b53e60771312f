#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "kernels/integrand/integral_result.hpp"
#include "kernels/riemann/tensor/tensor.hpp"
#include "support/cubature_cases.hpp"

/// Products of rules, run on any device and compared with the sum written out.
namespace gridstride::test {

struct TensorCase {
  std::string formula;
  std::vector<quadrature::Interval> box;
  std::vector<quadrature::FixedRule> rules;  ///< trapezoid, midpoint or simpson
};

/// Lines of one piece, of some, and of a part of one; different rules for the axes.
inline std::vector<TensorCase> tensor_cases() {
  using quadrature::FixedRule;
  using quadrature::Rule;
  std::vector<TensorCase> cases;
  for (int panels : {4, 60, 64, 68, 132, 1000})
    cases.push_back({"exp(v0)*sin(v1 + 2*v0)",
                     {{0, 1}, {-1, 2}},
                     {{Rule::midpoint, panels, 0}, {Rule::trapezoid, 6, 0}}});
  cases.push_back(
      {"exp(v1)*v0", {{0.5, 2}, {0, 1}}, {{Rule::trapezoid, 62, 0}, {Rule::simpson, 1000, 0}}});
  cases.push_back({"cos(v0*v1 + v2) + v3",
                   {{0, 1}, {0, 3}, {-2, 1}, {1, 2}},
                   {{Rule::simpson, 6, 0},
                    {Rule::midpoint, 12, 0},
                    {Rule::trapezoid, 10, 0},
                    {Rule::simpson, 2, 0}}});
  cases.push_back({"v0 + v1*v2*v3*v4*v5*v6*v7", std::vector<quadrature::Interval>(8, {-1, 3}),
                   std::vector<FixedRule>(8, {Rule::trapezoid, 4, 0})});
  return cases;
}

/// Nodes and weights of a composite rule, as textbooks have it.
inline std::vector<std::pair<long double, long double>> textbook_nodes(
    quadrature::FixedRule const& rule, quadrature::Interval const& interval) {
  using quadrature::Rule;
  int const halves = rule.rule == Rule::trapezoid ? 1 : 2;  // of a panel between nodes
  auto const steps = rule.panels * halves;
  long double const lower = interval.lower,
                    length = static_cast<long double>(interval.upper) - lower;
  std::vector<std::pair<long double, long double>> nodes;
  for (std::int64_t i = 0; i <= steps; ++i) {
    bool const end = i == 0 || i == steps, middle = i % 2 == 1;
    long double weight = end ? 0.5L : 1;
    if (rule.rule == Rule::midpoint) weight = middle ? 1 : 0;
    if (rule.rule == Rule::simpson) weight = (middle ? 4 : end ? 1 : 2) / 6.0L;
    if (weight != 0) nodes.emplace_back(lower + length * i / steps, weight * length / rule.panels);
  }
  return nodes;
}

/// The sum over all combinations of nodes from axis k on, and the sum of the sizes.
inline void add_nested(TensorCase const& one, quadrature::Integrand const& integrand, std::size_t k,
                       std::vector<double>& coordinates, long double weight, long double& sum,
                       long double& sizes) {
  if (k == one.box.size()) {
    long double const term = weight * integrand.formula.evaluate(coordinates);
    sum += term;
    sizes += std::fabs(term);
    return;
  }
  for (auto const& [position, node_weight] : textbook_nodes(one.rules[k], one.box[k])) {
    coordinates.push_back(static_cast<double>(position));
    add_nested(one, integrand, k + 1, coordinates, weight * node_weight, sum, sizes);
    coordinates.pop_back();
  }
}

/// Each node is rounded twice and each sample about 20 times, by ε of T or of float64, and at most
/// 64 samples are added plainly: less than 100·ε of the sum of sizes in all.
template <class T>
void compare_with_nested_loops(Stream& stream, TensorCase const& one) {
  auto const integrand = integrand_of(one.formula, static_cast<int>(one.box.size()));
  auto const result = quadrature::tensor<T>(stream, integrand, one.box, one.rules);
  long double sum = 0, sizes = 0;
  std::vector<double> coordinates;
  add_nested(one, integrand, 0, coordinates, 1, sum, sizes);
  EXPECT_EQ(result.estimate.outcome, quadrature::Outcome::reached) << one.formula;
  EXPECT_NEAR(result.estimate.value, static_cast<double>(sum),
              100 * quadrature::rounding_of<T>() * static_cast<double>(sizes))
      << one.formula << ", " << one.rules[0].panels << " panels";
}

}  // namespace gridstride::test

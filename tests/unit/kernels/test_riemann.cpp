#include <gtest/gtest.h>
#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/processors.hpp"
#include "kernels/riemann/riemann.hpp"
#include "kernels/riemann/rows.hpp"
#include "support/refusal.hpp"
#include "support/riemann_cases.hpp"

namespace gridstride {
namespace {

using quadrature::Estimate;
using quadrature::FixedRule;
using quadrature::Outcome;
using quadrature::Rule;

Stream host() { return Stream(Device::open(Backend::cpu)); }

double value_of(std::string_view formula, quadrature::Interval interval, FixedRule const& rule) {
  Stream stream = host();
  return test::integral<double>(stream, formula, interval, rule, "reference").value;
}

TEST(RiemannReference, ByHand) {
  // x² on [0, 2] in panels of 1/2: samples 0, 1/4, 1, 9/4, 4, between them 1/16, 9/16, 25/16, 49/16
  quadrature::Interval const interval{0, 2};
  EXPECT_DOUBLE_EQ(value_of("x^2", interval, {Rule::left, 4}), 3.5 / 2);
  EXPECT_DOUBLE_EQ(value_of("x^2", interval, {Rule::right, 4}), 7.5 / 2);
  EXPECT_DOUBLE_EQ(value_of("x^2", interval, {Rule::trapezoid, 4}), 5.5 / 2);
  EXPECT_DOUBLE_EQ(value_of("x^2", interval, {Rule::midpoint, 4}), 84.0 / 16 / 2);
  EXPECT_DOUBLE_EQ(value_of("x^2", interval, {Rule::simpson, 2}), 8.0 / 3);
  EXPECT_DOUBLE_EQ(value_of("x^4", interval, {Rule::boole, 2}), 32.0 / 5);
  EXPECT_DOUBLE_EQ(value_of("x^2", interval, {Rule::gauss_legendre, 2, 2}), 8.0 / 3);
  EXPECT_DOUBLE_EQ(value_of("x^2", interval, {Rule::clenshaw_curtis, 1, 3}), 8.0 / 3);
}

TEST(RiemannReference, TurnsAroundAndVanishes) {
  for (auto const& rule : test::rules_with(50)) {
    FixedRule mirrored = rule;
    if (rule.rule == Rule::left) mirrored.rule = Rule::right;
    if (rule.rule == Rule::right) mirrored.rule = Rule::left;
    EXPECT_NEAR(value_of("exp(x)", {2, -1}, rule), -value_of("exp(x)", {-1, 2}, mirrored), 2e-14)
        << name_of(rule.rule);
    EXPECT_EQ(value_of("exp(x)", {2, 2}, rule), 0) << name_of(rule.rule);
  }
}

/// Nodes and weights of the Gauss–Legendre rules to 25 digits.
TEST(RiemannRules, GaussNodesAreThoseOfTheTables) {
  struct Known {
    int count, place;  // from the upper end
    double node, weight;
  };
  constexpr Known table[] = {{2, 0, 0.5773502691896257645091488, 1},
                             {5, 0, 0.9061798459386639927976269, 0.236926885056189087514264},
                             {5, 1, 0.5384693101056830910363144, 0.4786286704993664680412915},
                             {5, 2, 0, 0.5688888888888888888888889},
                             {20, 0, 0.9931285991850949247861224, 0.01761400713915211831186196},
                             {20, 9, 0.07652652113349733375464041, 0.1527533871307258506980843},
                             {64, 0, 0.9993050417357721394569056, 0.001783280721696432947296079},
                             {64, 31, 0.02435029266342443250895584, 0.04869095700913972038336539}};
  for (Known const& known : table) {
    auto const nodes = quadrature::gauss_legendre(known.count);
    auto const i = static_cast<std::size_t>(known.count - 1 - known.place);
    EXPECT_DOUBLE_EQ(nodes.positions[i], known.node) << known.count;
    EXPECT_DOUBLE_EQ(nodes.weights[i], known.weight) << known.count;
    EXPECT_DOUBLE_EQ(nodes.positions[static_cast<std::size_t>(known.place)], -known.node);
  }
}

TEST(RiemannRules, GaussIsExactForPolynomialsOfItsDegree) {
  for (int count = 1; count <= quadrature::max_gauss_points; ++count) {
    auto const nodes = quadrature::gauss_legendre(count);
    EXPECT_TRUE(std::ranges::is_sorted(nodes.positions));
    for (int degree = 0; degree < 2 * count; ++degree) {
      long double sum = 0;
      for (std::size_t i = 0; i < nodes.positions.size(); ++i)
        sum += nodes.weights[i] * std::pow(static_cast<long double>(nodes.positions[i]), degree);
      // Weights and nodes are rounded, and the power has the relative error of `degree` nodes.
      EXPECT_NEAR(static_cast<double>(sum), degree % 2 == 0 ? 2.0 / (degree + 1) : 0, 4e-16)
          << count << ' ' << degree;
    }
  }
}

TEST(RiemannRules, ClenshawCurtisWeights) {
  auto const close = [](std::vector<double> const& weights, std::vector<double> const& known) {
    ASSERT_EQ(weights.size(), known.size());
    for (std::size_t i = 0; i < known.size(); ++i) EXPECT_NEAR(weights[i], known[i], 4e-16) << i;
  };
  close(quadrature::clenshaw_curtis_weights(2), {1.0 / 3, 4.0 / 3, 1.0 / 3});
  close(quadrature::clenshaw_curtis_weights(4),
        {1.0 / 15, 8.0 / 15, 12.0 / 15, 8.0 / 15, 1.0 / 15});
  // The cosine sum itself.
  constexpr int n = 512;
  std::vector<double> known;
  for (int k = 0; k <= n; ++k) {
    long double sum = 1;
    for (int j = 1; j <= n / 2; ++j)
      sum -= (j == n / 2 ? 1 : 2) / (4.0L * j * j - 1) *
             std::cos(2 * std::numbers::pi_v<long double> * j * k / n);
    known.push_back(static_cast<double>((k == 0 || k == n ? 1 : 2) * sum / n));
  }
  close(quadrature::clenshaw_curtis_weights(n), known);
}

TEST(RiemannRules, ClenshawCurtisWithMostNodes) {
  constexpr int n = 1 << 20;
  auto const weights = quadrature::clenshaw_curtis_weights(n);
  long double sum = 0;
  for (double const weight : weights) sum += weight;
  EXPECT_NEAR(static_cast<double>(sum), 2, 1e-15);
  EXPECT_NEAR(weights[0] * (double{n} * n - 1), 1, 1e-6);
  EXPECT_TRUE(std::ranges::all_of(weights, [](double weight) { return weight > 0; }));
}

TEST(RiemannRules, WeightsAddToOne) {
  for (auto const& rule : test::rules_with(1000)) {
    auto const pattern = quadrature::pattern_of(rule);
    double fine = 0, coarse = 0;
    for (double const weight : pattern.fine) fine += weight;
    for (double const weight : pattern.coarse) coarse += weight;
    EXPECT_NEAR(fine, 1, 1e-14) << name_of(rule.rule);
    EXPECT_NEAR(coarse, 1, 1e-14) << name_of(rule.rule);
    EXPECT_TRUE(std::ranges::is_sorted(pattern.offsets));
  }
}

TEST(RiemannRules, NamesAreFoundAgain) {
  for (auto const name : quadrature::rule_names)
    EXPECT_EQ(name_of(quadrature::rule_named(name).value()), name);
  EXPECT_FALSE(quadrature::rule_named("simpsons"));
}

/// Twice as many panels leave 2^−p of the error.
TEST(RiemannOrder, IsThatOfTheRule) {
  double const exact = std::exp(1.0) - std::exp(-1.0);
  for (FixedRule rule :
       {FixedRule{Rule::left, 256}, FixedRule{Rule::right, 256}, FixedRule{Rule::midpoint, 128},
        FixedRule{Rule::trapezoid, 128}, FixedRule{Rule::simpson, 32}, FixedRule{Rule::boole, 8},
        FixedRule{Rule::gauss_legendre, 32, 2}, FixedRule{Rule::gauss_legendre, 8, 3},
        FixedRule{Rule::clenshaw_curtis, 16, 3}, FixedRule{Rule::clenshaw_curtis, 8, 5}}) {
    double const first = value_of("exp(x)", {-1, 1}, rule) - exact;
    rule.panels *= 2;
    double const second = value_of("exp(x)", {-1, 1}, rule) - exact;
    EXPECT_NEAR(std::log2(first / second), order_of(rule), 0.02 * order_of(rule))
        << name_of(rule.rule) << ' ' << rule.points;
  }
}

/// Where the leading term is most of the error, the estimate is twice the error.
TEST(RiemannError, IsTwiceTheLeadingTerm) {
  double const exact = std::exp(1.0) - std::exp(-1.0);
  Stream stream = host();
  for (FixedRule const rule :
       {FixedRule{Rule::left, 1024}, FixedRule{Rule::right, 1024}, FixedRule{Rule::midpoint, 128},
        FixedRule{Rule::trapezoid, 128}, FixedRule{Rule::simpson, 32}, FixedRule{Rule::boole, 8},
        FixedRule{Rule::gauss_legendre, 32, 2}, FixedRule{Rule::gauss_legendre, 8, 3}}) {
    auto const result = test::integral<double>(stream, "exp(x)", {-1, 1}, rule);
    double const ratio = result.error / std::abs(result.value - exact);
    EXPECT_NEAR(ratio, 2, 0.05) << name_of(rule.rule) << ' ' << rule.points;
  }
}

TEST(RiemannError, CoversTheErrorOfManyIntegrands) {
  struct Known {
    std::string_view formula;
    double lower, upper, value;
  };
  double const pi = std::numbers::pi;
  Known const known[] = {{"exp(x)*sin(x)", 0, 10, test::exp_sin_value()},
                         {"1/(1+x^2)", -5, 5, 2 * std::atan(5)},
                         {"cos(40*x)", 0, 1, std::sin(40) / 40},
                         {"sin(x)", 0, 2 * pi, 0},
                         {"log(x)", 1, 8, 8 * std::log(8) - 7},
                         {"exp(-x^2)", -6, 6, std::sqrt(pi) * std::erf(6)},
                         {"x^7 - 3*x^2", -1, 3, (std::pow(3, 8) - 1) / 8 - 28}};
  Stream stream = host();
  for (Known const& one : known)
    for (std::int64_t const samples : {400, 5000, 60000})
      for (auto const& rule : test::rules_with(samples)) {
        auto const result =
            test::integral<double>(stream, one.formula, {one.lower, one.upper}, rule);
        EXPECT_LE(std::abs(result.value - one.value), result.error)
            << one.formula << ' ' << name_of(rule.rule) << ' ' << rule.points << " on "
            << rule.panels << " panels";
        EXPECT_EQ(result.outcome, Outcome::reached);
      }
}

template <class T>
class RiemannHost : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(RiemannHost, Types);

TYPED_TEST(RiemannHost, VariantsEqualTheReference) {
  Stream stream = host();
  int compared = 0;
  for (std::int64_t const samples : {1, 31, 257, 1000, 65'537, 70'001})
    test::compare_rules<TypeParam>(stream, samples, compared);
  EXPECT_EQ(compared, 6 * 3 * 11 * 2);
}

TYPED_TEST(RiemannHost, ComputesInThePrecisionAskedFor) {
  Stream stream = host();
  auto const result =
      test::integral<TypeParam>(stream, "1 + 1e-9*x", {0, 1}, {Rule::midpoint, 400});
  EXPECT_EQ(result.value == 1, sizeof(TypeParam) == 4);
}

TYPED_TEST(RiemannHost, BitsDoNotDependOnTheNumberOfThreads) {
  Stream stream = host();
  int const before = host_threads();
  std::vector<Estimate> results;
  for (int const count : {1, 2, 3, 7}) {
    set_host_threads(count);
    results.push_back(
        test::integral<TypeParam>(stream, "exp(x)*sin(x)", {0, 10}, {Rule::boole, 100'000}));
  }
  set_host_threads(before);
  for (auto const& result : results) EXPECT_TRUE(test::same_bits(result, results[0]));
}

/// A plain sum of 0.1 loses four digits here.
TEST(RiemannHostOfFloat64, SumsLoseNothing) {
  Stream stream = host();
  for (auto const variant : {"reference", "threads"})
    EXPECT_NEAR(
        test::integral<double>(stream, "0.1 + 0*x", {0, 1}, {Rule::left, 2'000'000}, variant).value,
        0.1, 3e-17)
        << variant;
}

TEST(RiemannSweep, EachIntegralHasItsParameters) {
  Stream stream = host();
  std::vector<double> rows;
  for (int i = 0; i < 40; ++i) rows.insert(rows.end(), {1 + 0.5 * i, 2.0 - i});
  auto const integrand = test::line_integrand("m*cos(k*x)", 2);
  for (auto const variant : {"reference", "threads"}) {
    auto const results = test::integrals<double>(stream, integrand, {0, 2},
                                                 {Rule::gauss_legendre, 20, 10}, variant, rows, 40);
    for (std::size_t i = 0; i < 40; ++i) {
      double const k = rows[2 * i], m = rows[2 * i + 1];
      EXPECT_NEAR(results[i].value, m * std::sin(2 * k) / k, 1e-13) << variant << ' ' << i;
      EXPECT_EQ(results[i].evaluations, 300);
    }
  }
}

TEST(RiemannNonFinite, IsSaidAndFound) {
  Stream stream = host();
  auto const found = [&](std::string_view formula, FixedRule const& rule) {
    return quadrature::non_finite_sample<double>(stream, test::line_integrand(formula), {0, 1}, {},
                                                 rule);
  };
  for (auto const variant : {"reference", "threads"}) {
    auto const outcome = [&](std::string_view formula, FixedRule const& rule) {
      return test::integral<double>(stream, formula, {0, 1}, rule, variant).outcome;
    };
    EXPECT_EQ(outcome("1/sqrt(x)", {Rule::left, 100}), Outcome::non_finite);
    EXPECT_EQ(outcome("1/sqrt(x)", {Rule::right, 100}), Outcome::reached);
    EXPECT_EQ(outcome("1/sqrt(1-x)", {Rule::simpson, 100}), Outcome::non_finite);
    EXPECT_EQ(outcome("log(x-0.5)", {Rule::midpoint, 100}), Outcome::non_finite);
  }
  EXPECT_EQ(found("1/sqrt(x)", {Rule::left, 100}), 0);
  EXPECT_EQ(found("1/sqrt(x)", {Rule::right, 100}), std::nullopt);
  EXPECT_EQ(found("1/sqrt(1-x)", {Rule::simpson, 100}), 1);
  EXPECT_EQ(found("1/(x-0.375)", {Rule::midpoint, 4}), 0.375);
  EXPECT_EQ(found("log(0.6-x)", {Rule::trapezoid, 4}), 0.75);
}

TEST(Riemann, RefusesBadArguments) {
  Stream stream = host();
  auto const refused = [&](FixedRule const& rule, quadrature::Interval interval = {0, 1},
                           std::string_view variant = "auto") {
    return test::refusal([&] { test::integral<double>(stream, "x", interval, rule, variant); });
  };
  EXPECT_EQ(refused({Rule::midpoint, 6}),
            "riemann: midpoint on 6 panels (a positive multiple of 4)");
  EXPECT_EQ(refused({Rule::simpson, 0}), "riemann: simpson on 0 panels (a positive multiple of 2)");
  EXPECT_EQ(refused({Rule::gauss_legendre, 2, 65}),
            "riemann: gauss_legendre with 65 points in a panel (2 to 64)");
  EXPECT_EQ(refused({Rule::clenshaw_curtis, 1, 16}),
            "riemann: clenshaw_curtis with 16 points in a panel (2^k + 1, from 3 to 1048577)");
  EXPECT_EQ(refused({Rule::boole, 2, 5}),
            "riemann: 5 points in a panel of boole, which has no choice of points");
  EXPECT_EQ(refused({Rule::left, std::int64_t{1} << 51}),
            "riemann: 1125899906842624 cells of 2 samples are too many (2^50 samples)");
  EXPECT_EQ(refused({Rule::left, 2}, {0, INFINITY}), "riemann: the interval is from 0 to inf");
  EXPECT_EQ(refused({Rule::left, 2}, {0, 1}, "naive"), "riemann: cpu has no variant 'naive'");
  EXPECT_EQ(test::refusal([&] {
              test::integrals<double>(stream, test::line_integrand("k*x", 1), {0, 1},
                                      {Rule::left, 2}, "auto", {1, 2}, 3);
            }),
            "riemann: 2 numbers for 1 parameters of 3 integrals (it needs 3)");
}

TEST(Riemann, SourcesCompileForEachArchitecture) {
  auto const integrand = test::line_integrand("exp(-k*x)*sin(x) + pow(cos(x), m)", 2);
  for (int const capability : {75, 90})
    for (auto const& source : {quadrature::compensated_source<float>(integrand),
                               quadrature::compensated_source<double>(integrand)}) {
      try {
        EXPECT_NE(compile_cubin(source, capability).find("compensated"), std::string::npos);
      } catch (RuntimeCompilerMissing const& missing) {
        GTEST_SKIP() << missing.what();
      }
    }
}

}  // namespace
}  // namespace gridstride

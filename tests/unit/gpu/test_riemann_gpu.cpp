#include <gtest/gtest.h>

#include <cmath>
#include <string_view>
#include <vector>

#include "kernels/riemann/riemann.hpp"
#include "support/riemann_cases.hpp"
#include "unit/gpu/gpu.hpp"

namespace gridstride {
namespace {

using quadrature::Outcome;
using quadrature::Rule;

/// The rows that give the same bits every time.
std::vector<std::string_view> deterministic_variants() {
  std::vector<std::string_view> names;
  for (auto const& row : quadrature::riemann_variants<double>())
    if (row.backend == Backend::cuda && row.name != "naive") names.push_back(row.name);
  return names;
}

template <class T>
class RiemannGpu : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(RiemannGpu, Types);

TYPED_TEST(RiemannGpu, VariantsEqualTheReference) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  int compared = 0;
  for (std::int64_t const samples : {1, 31, 33, 1000, 4097, 70'001})
    test::compare_rules<TypeParam>(stream, samples, compared);
  EXPECT_EQ(compared, 6 * 3 * 11 * 6);
}

/// Sums of many blocks.
TYPED_TEST(RiemannGpu, ManySamples) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  int compared = 0;
  test::compare_rules<TypeParam>(stream, 300'017, compared);
  EXPECT_EQ(compared, 3 * 11 * 6);
}

TYPED_TEST(RiemannGpu, GivesTheSameBitsEveryTime) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  for (auto const name : deterministic_variants())
    for (std::int64_t const panels : {1000, 2'000'000}) {
      auto const run = [&] {
        return test::integral<TypeParam>(stream, "exp(x)*sin(x)", {0, 10}, {Rule::simpson, panels},
                                         name);
      };
      auto const first = run();
      for (int i = 0; i < 20; ++i) ASSERT_TRUE(test::same_bits(run(), first)) << name;
    }
}

/// Blocks of several sizes; with 600 integrals a block is alone with its own, and threads have many
/// groups of samples.
TYPED_TEST(RiemannGpu, EachIntegralHasItsParameters) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  Stream host(Device::open(Backend::cpu));
  auto const integrand = test::line_integrand("m*cos(k*x)", 2);
  double const epsilon = std::numeric_limits<TypeParam>::epsilon();
  for (std::size_t const count : {2, 33, 600, 5000}) {
    std::vector<double> rows;
    for (std::size_t i = 0; i < count; ++i)
      rows.insert(rows.end(), {1 + 0.125 * static_cast<double>(i % 50), 1 + 1.0 / 1024 * i});
    for (quadrature::FixedRule const rule :
         {quadrature::FixedRule{Rule::gauss_legendre, 4, 10}, {Rule::trapezoid, 20'002}}) {
      if (count > 1000 && rule.panels > 100) continue;
      auto const expected =
          test::integrals<TypeParam>(host, integrand, {0, 2}, rule, "threads", rows, count);
      for (auto const& row : quadrature::riemann_variants<TypeParam>()) {
        if (row.backend != Backend::cuda) continue;
        auto const results =
            test::integrals<TypeParam>(stream, integrand, {0, 2}, rule, row.name, rows, count);
        for (std::size_t i = 0; i < count; ++i) {
          double const k = rows[2 * i], m = rows[2 * i + 1];  // ∫|f| ≤ 2·m, ∫|f′| ≤ 2·k·m
          double const tolerance = epsilon * (16 * m + 16 * k * m) +
                                   test::summing_bound(row, expected[i].evaluations, 2 * m);
          ASSERT_NEAR(results[i].value, expected[i].value, tolerance)
              << row.name << ' ' << i << " of " << count;
          ASSERT_EQ(results[i].evaluations, expected[i].evaluations);
        }
      }
    }
  }
}

TEST(RiemannGpuOfFloat64, ManySamplesLoseNoDigits) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  auto const result = test::integral<double>(stream, "exp(x)*sin(x)", {0, 10},
                                             {Rule::midpoint, std::int64_t{1} << 34});
  EXPECT_NEAR(result.value / test::exp_sin_value(), 1, 1e-14);
  EXPECT_EQ(result.evaluations, std::int64_t{1} << 34);
}

/// The coordinates of 2^30 samples are far closer to each other than two numbers of float32.
TEST(RiemannGpuOfFloat32, ManySamplesLoseNoDigits) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  auto const result = test::integral<float>(stream, "exp(x)*sin(x)", {0, 10},
                                            {Rule::midpoint, std::int64_t{1} << 30});
  EXPECT_NEAR(result.value / test::exp_sin_value(), 1, 1e-7);
}

/// No sample is beyond the ends, whatever is rounded: beyond them these are no numbers.
TYPED_TEST(RiemannGpu, SamplesStayWithinTheInterval) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  for (auto const& rule : test::rules_with(20'000'003)) {
    auto const result = test::integral<TypeParam>(stream, "sqrt(x-3)*sqrt(5-x)", {3, 5}, rule);
    EXPECT_EQ(result.outcome, Outcome::reached) << name_of(rule.rule);
    EXPECT_NEAR(result.value, 2 * std::atan(1.0), 1e-3) << name_of(rule.rule);
  }
}

TYPED_TEST(RiemannGpu, SaysAndFindsWhatIsNotFinite) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  auto const integrand = test::line_integrand("1/sqrt(m + k*x)", 2);
  std::vector<double> const infinite_at_0 = {1, 0}, infinite_at_1 = {-1, 1}, root_of_less = {-2, 1};
  for (auto const& row : quadrature::riemann_variants<TypeParam>()) {
    if (row.backend != Backend::cuda) continue;
    auto const outcome = [&](std::vector<double> const& parameters,
                             quadrature::FixedRule const& rule) {
      return test::integrals<TypeParam>(stream, integrand, {0, 1}, rule, row.name, parameters)[0]
          .outcome;
    };
    EXPECT_EQ(outcome(infinite_at_0, {Rule::left, 100}), Outcome::non_finite) << row.name;
    EXPECT_EQ(outcome(infinite_at_0, {Rule::right, 100}), Outcome::reached) << row.name;
    EXPECT_EQ(outcome(infinite_at_1, {Rule::simpson, 100}), Outcome::non_finite) << row.name;
    EXPECT_EQ(outcome(root_of_less, {Rule::midpoint, 1'000'000}), Outcome::non_finite) << row.name;
  }
  auto const found = [&](std::vector<double> const& parameters, quadrature::FixedRule const& rule) {
    return quadrature::non_finite_sample<TypeParam>(stream, integrand, {0, 1}, parameters, rule);
  };
  EXPECT_EQ(found(infinite_at_0, {Rule::left, 100}), 0);
  EXPECT_EQ(found(infinite_at_0, {Rule::right, 100}), std::nullopt);
  EXPECT_EQ(found(infinite_at_1, {Rule::simpson, 100}), 1);
  EXPECT_EQ(found(root_of_less, {Rule::trapezoid, 1 << 20}), 0.5);
  EXPECT_EQ(found(root_of_less, {Rule::midpoint, 1 << 16}), 0.5 + 1.0 / (1 << 17));
}

}  // namespace
}  // namespace gridstride

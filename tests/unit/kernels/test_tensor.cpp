#include <gtest/gtest.h>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/processors.hpp"
#include "kernels/integrand/integral_result.hpp"
#include "kernels/riemann/tensor/tensor.hpp"
#include "support/cubature_cases.hpp"
#include "support/tensor_cases.hpp"

namespace gridstride::test {
namespace {

using quadrature::FixedRule;
using quadrature::Interval;
using quadrature::Outcome;
using quadrature::Rule;

Stream& host() {
  static Stream stream(Device::open(Backend::cpu));
  return stream;
}

TEST(Tensor, EqualsTheSumWrittenOut) {
  for (auto const& one : tensor_cases()) compare_with_nested_loops<double>(host(), one);
}

TEST(Tensor, GaussIsExactUpToItsDegree) {
  // x^5·y^3·z^9 with 3, 2 and 5 points, over boxes away from the origin.
  std::array<Interval, 3> const box = {{{-1, 2}, {0.5, 1}, {-0.25, 1.5}}};
  std::array<FixedRule, 3> const rules = {
      {{Rule::gauss_legendre, 2, 3}, {Rule::gauss_legendre, 2, 2}, {Rule::gauss_legendre, 2, 5}}};
  auto const result =
      quadrature::tensor<double>(host(), integrand_of("v0^5*v1^3*v2^9", 3), box, rules);
  double value = 1;
  for (auto const& [k, degree] : {std::pair{0, 5}, {1, 3}, {2, 9}})
    value *=
        (std::pow(box[k].upper, degree + 1) - std::pow(box[k].lower, degree + 1)) / (degree + 1);
  EXPECT_EQ(result.estimate.outcome, Outcome::reached);
  EXPECT_NEAR(result.estimate.value, value, 1e-14 * 64 * value);
}

/// The error of a composite rule of order p falls by 2^p with twice the panels; the smooth
/// integrand is far in the asymptotic range, so that half an order is left for higher terms.
TEST(Tensor, ErrorsFallWithTheOrderAndAreBounded) {
  auto const integrand = integrand_of("exp(v0 + v1/2)*cos(v1)", 2);
  std::array<Interval, 2> const box = {{{0, 1}, {-1, 1}}};
  // ∫ e^{y/2} cos y dy = e^{y/2}(cos(y)/2 + sin y)/(1/4 + 1).
  auto const antiderivative = [](double y) {
    return std::exp(y / 2) * (std::cos(y) / 2 + std::sin(y)) / 1.25;
  };
  double const value = std::expm1(1.0) * (antiderivative(1) - antiderivative(-1));
  for (auto const& [rule, points, order] : {std::tuple{Rule::left, 0, 1},
                                            {Rule::midpoint, 0, 2},
                                            {Rule::trapezoid, 0, 2},
                                            {Rule::simpson, 0, 4},
                                            {Rule::boole, 0, 6},
                                            {Rule::gauss_legendre, 2, 4}}) {
    double previous = 0;
    for (int panels : {8, 16}) {
      std::vector<FixedRule> const rules(2, FixedRule{rule, panels, points});
      auto const result = quadrature::tensor<double>(host(), integrand, box, rules);
      double const error = std::fabs(result.estimate.value - value);
      EXPECT_LE(error, result.estimate.error) << name_of(rule) << ", " << panels;
      if (previous > 0) {
        EXPECT_NEAR(std::log2(previous / error), order, 0.5) << name_of(rule);
      }
      previous = error;
    }
  }
}

TEST(Tensor, GenzFunctionsByGauss) {
  for (int d : {2, 4, 6}) {
    auto const one = genz_case(Genz::oscillatory, d, 4);
    std::vector<FixedRule> const rules(d, {Rule::gauss_legendre, 2, 5});
    auto const result =
        quadrature::tensor<double>(host(), one.integrand, std::vector<Interval>(d), rules);
    EXPECT_NEAR(result.estimate.value, one.value, 1e-8 * std::fabs(one.value)) << one.name;
    EXPECT_LE(std::fabs(result.estimate.value - one.value), result.estimate.error) << one.name;
  }
}

TEST(Tensor, TellsASampleThatIsNotFinite) {
  for (char const* formula : {"1/(v0-0.5)", "log(v1-0.3)", "sqrt(0.4-v0)*v1"}) {
    auto const integrand = integrand_of(formula, 2);
    std::vector<FixedRule> const rules(2, {Rule::trapezoid, 100, 0});
    auto const result =
        quadrature::tensor<double>(host(), integrand, std::vector<Interval>(2), rules);
    EXPECT_EQ(result.estimate.outcome, Outcome::non_finite) << formula;
    ASSERT_EQ(result.non_finite_at.size(), 2u) << formula;
    EXPECT_FALSE(std::isfinite(integrand.formula.evaluate(result.non_finite_at))) << formula;
  }
}

TEST(Tensor, BitsDoNotDependOnTheThreads) {
  auto const one = genz_case(Genz::gaussian, 3, 5);
  std::vector<FixedRule> const rules(3, {Rule::simpson, 26, 0});
  int const threads = host_threads();
  std::vector<std::uint64_t> bits;
  for (int count : {1, 2, 3}) {
    set_host_threads(count);
    auto const result =
        quadrature::tensor<double>(host(), one.integrand, std::vector<Interval>(3), rules);
    bits.push_back(std::bit_cast<std::uint64_t>(result.estimate.value));
    EXPECT_EQ(bits.back(), bits.front());
  }
  set_host_threads(threads);
}

TEST(Tensor, RefusesWhatIsNoProblem) {
  auto const plane = integrand_of("v0*v1", 2);
  FixedRule const midpoint = {Rule::midpoint, 8, 0};
  auto const run = [](quadrature::Integrand const& integrand, std::vector<Interval> const& box,
                      std::vector<FixedRule> const& rules, std::vector<double> const& parameters) {
    quadrature::tensor<double>(host(), integrand, box, rules, parameters);
  };
  using Fault = std::invalid_argument;
  EXPECT_THROW(run(integrand_of("v0", 1), {{0, 1}}, {midpoint}, {}), Fault);
  EXPECT_THROW(run(plane, {{0, 1}}, {midpoint, midpoint}, {}), Fault);
  EXPECT_THROW(run(plane, {{0, 1}, {0, 1}}, {midpoint}, {}), Fault);
  EXPECT_THROW(run(plane, {{0, 1}, {0, INFINITY}}, {midpoint, midpoint}, {}), Fault);
  EXPECT_THROW(run(plane, {{0, 1}, {2, 1}}, {midpoint, midpoint}, {}), Fault);
  EXPECT_THROW(run(plane, {{0, 1}, {0, 1}}, {midpoint, midpoint}, {1.0}), Fault);
  EXPECT_THROW(run(plane, {{0, 1}, {0, 1}}, {midpoint, {Rule::midpoint, 1 << 28, 0}}, {}), Fault);
  std::vector<FixedRule> const many(6, {Rule::midpoint, 128, 0});
  EXPECT_THROW(run(integrand_of("v0", 6), std::vector<Interval>(6), many, {}), Fault);
}

TEST(Tensor, DeviceCodeCompiles) {
  std::string const locate[] = {"LOCATE_NON_FINITE"};
  auto const file = "kernels/riemann/tensor/tensor.cuh";
  try {
    auto const in_plane = integrand_of("exp(-p0*v0)*v1", 2, 1);
    auto const in_twenty = integrand_of("exp(-p0*v0)*v19", 20, 1);
    EXPECT_FALSE(compile_cubin(quadrature::source_of<float>(in_plane, file), 75).empty());
    EXPECT_FALSE(compile_cubin(quadrature::source_of<double>(in_twenty, file, locate), 90).empty());
  } catch (RuntimeCompilerMissing const& missing) {
    GTEST_SKIP() << missing.what();
  }
}

}  // namespace
}  // namespace gridstride::test

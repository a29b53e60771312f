#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/riemann/tensor/tensor.hpp"
#include "support/tensor_cases.hpp"
#include "unit/gpu/gpu.hpp"

namespace gridstride {
namespace {

using quadrature::FixedRule;
using quadrature::Interval;
using quadrature::Outcome;
using quadrature::Rule;

class TensorGpu : public testing::Test {
 protected:
  void SetUp() override {
    GRIDSTRIDE_SKIP_WITHOUT_GPU();
    stream_.emplace(Device::open(Backend::cuda));
  }
  std::optional<Stream> stream_;
};

TEST_F(TensorGpu, EqualsTheSumWrittenOut) {
  for (auto const& one : test::tensor_cases()) {
    test::compare_with_nested_loops<double>(*stream_, one);
    test::compare_with_nested_loops<float>(*stream_, one);
  }
}

TEST_F(TensorGpu, EqualsTheHostInTwentyDimensions) {
  auto const one = test::genz_case(test::Genz::gaussian, 20, 3);
  std::vector<FixedRule> const rules(20, {Rule::left, 2, 0});
  std::vector<Interval> const box(20);
  Stream host(Device::open(Backend::cpu));
  auto const expected = quadrature::tensor<double>(host, one.integrand, box, rules);
  auto const result = quadrature::tensor<double>(*stream_, one.integrand, box, rules);
  EXPECT_EQ(result.estimate.evaluations, expected.estimate.evaluations);
  // The integrand is positive: 100·ε for its samples, whose exponents are sums of 20 terms.
  EXPECT_NEAR(result.estimate.value, expected.estimate.value,
              100 * 2.2e-16 * expected.estimate.value);
}

TEST_F(TensorGpu, ManySamplesLoseNoDigits) {
  // ∫∫ e^x sin x · e^y sin y over [0, 10]², 2^28 samples: their rounding is all that is left.
  std::vector<Interval> const box(2, {0, 10});
  std::vector<FixedRule> const rules(2, {Rule::boole, 1 << 12, 0});
  auto const result = quadrature::tensor<double>(
      *stream_, test::integrand_of("exp(v0)*sin(v0)*exp(v1)*sin(v1)", 2), box, rules);
  double const line = (std::exp(10.0) * (std::sin(10.0) - std::cos(10.0)) + 1) / 2;
  EXPECT_NEAR(result.estimate.value, line * line, 1e-13 * line * line);
  EXPECT_LE(std::fabs(result.estimate.value - line * line), result.estimate.error);
}

TEST_F(TensorGpu, TheSameBitsEveryTime) {
  auto const one = test::genz_case(test::Genz::oscillatory, 3, 8);
  std::vector<FixedRule> const rules(3, {Rule::midpoint, 100, 0});
  std::uint64_t first = 0;
  for (int run = 0; run < 3; ++run) {
    auto const result =
        quadrature::tensor<double>(*stream_, one.integrand, std::vector<Interval>(3), rules);
    auto const bits = std::bit_cast<std::uint64_t>(result.estimate.value);
    if (run == 0) first = bits;
    EXPECT_EQ(bits, first);
  }
}

TEST_F(TensorGpu, TellsASampleThatIsNotFinite) {
  for (char const* formula : {"1/(v0-0.5)", "log(v1-0.3)", "sqrt(0.4-v0)*v1"}) {
    auto const integrand = test::integrand_of(formula, 2);
    std::vector<FixedRule> const rules(2, {Rule::trapezoid, 100, 0});
    auto const result =
        quadrature::tensor<double>(*stream_, integrand, std::vector<Interval>(2), rules);
    EXPECT_EQ(result.estimate.outcome, Outcome::non_finite) << formula;
    ASSERT_EQ(result.non_finite_at.size(), 2u) << formula;
    EXPECT_FALSE(std::isfinite(integrand.formula.evaluate(result.non_finite_at))) << formula;
  }
}

}  // namespace
}  // namespace gridstride

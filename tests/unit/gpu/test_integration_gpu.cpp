#include <gtest/gtest.h>

#include "support/integral_cases.hpp"
#include "unit/gpu/gpu.hpp"

namespace gridstride::test {
namespace {

TEST(IntegrationGpu, FindsKnownIntegrals) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  expect_known_integrals(Backend::cuda);
}

TEST(IntegrationGpu, EndsWherePartsCancel) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  expect_cancelled_integrals(Backend::cuda);
}

TEST(IntegrationGpu, ASampleThatIsNoNumberCostsItsIntegralAlone) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  expect_gaps(Backend::cuda);
}

TEST(IntegrationGpu, RunsInFloat32) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  for (auto const& integral : known_integrals()) {
    if (integral.rule != "midpoint" && integral.rule != "gauss_legendre") continue;
    KnownIntegral single = integral;
    single.relative = 1e-4;
    auto const found = integrate(integral_yaml(single, "float32"), Backend::cuda);
    double const exact = expression::Expression::parse(integral.exact).evaluate(0);
    EXPECT_NEAR(found.value, exact, 1e-5 * std::abs(exact)) << integral.name;
  }
}

/// Riemann sums of 2^34 points lose no digits to rounding.
TEST(IntegrationGpu, KeepsItsDigitsInLongSums) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  KnownIntegral const integral{
      "", "exp(x)*sin(x)",      "x: [0, 10]", "(exp(10)*(sin(10)-cos(10))+1)/2", "midpoint",
      1,  "points: 17179869184"};
  double const exact = expression::Expression::parse(integral.exact).evaluate(0);
  EXPECT_NEAR(integrate(integral_yaml(integral), Backend::cuda).value, exact, 1e-14 * exact);
}

}  // namespace
}  // namespace gridstride::test

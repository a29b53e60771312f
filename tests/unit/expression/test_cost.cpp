#include "expression/cost.hpp"

#include <gtest/gtest.h>

#include "core/device.hpp"

namespace gridstride::expression {
namespace {

double cost_of(std::string_view text) { return arithmetic_cost(Expression::parse(text)); }

TEST(ArithmeticCost, AddsUpTheOperations) {
  EXPECT_EQ(cost_of("1"), 0);
  EXPECT_EQ(cost_of("x"), 0);
  EXPECT_EQ(cost_of("x*y + z"), 2);
  EXPECT_EQ(cost_of("if(x < 0, -x, abs(y))"), 4);
  EXPECT_EQ(cost_of("exp(x)*sin(x)"), 15 + 16 + 1);
  EXPECT_EQ(cost_of("x/y"), 9);
  EXPECT_EQ(cost_of("x + sin(2)^3"), 1);
}

TEST(ArithmeticCost, CountsTheProductsOfWholePowers) {
  double const products[] = {0, 1, 2, 2, 3, 3, 4, 3};
  for (int n = 1; n <= 8; ++n) EXPECT_EQ(cost_of("x^" + std::to_string(n)), products[n - 1]) << n;
  EXPECT_EQ(cost_of("x^(-2)"), products[1] + cost_of("1/x"));
  EXPECT_EQ(cost_of("x^0.5"), cost_of("x^y"));
  EXPECT_EQ(cost_of("x^9"), cost_of("x^y"));
}

TEST(ArithmeticRate, IsNotKnownOfTheHost) {
  auto const host = Device::open(Backend::cpu);
  EXPECT_EQ(host.arithmetic_rate(Precision::float32), 0);
  EXPECT_EQ(host.arithmetic_rate(Precision::float64), 0);
}

}  // namespace
}  // namespace gridstride::expression

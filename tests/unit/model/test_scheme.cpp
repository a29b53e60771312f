#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>
#include <vector>

#include "model/scheme.hpp"

namespace gridstride {
namespace {

/// What a step makes of u_t = λu from 1, with z = dt·λ.
double growth(Scheme const& scheme, double z) {
  std::vector<double> u(static_cast<std::size_t>(scheme.buffers), 1);
  auto const at = [&](int buffer) -> double& { return u[static_cast<std::size_t>(buffer)]; };
  for (Stage const& stage : scheme.stages) {
    double const base = at(stage.base), in = at(stage.in);
    double out = base + stage.factor * z * in + stage.in_weight * (in - base);
    for (auto const& [buffer, weight] : stage.terms) out += weight * (at(buffer) - base);
    at(stage.out) = out;
  }
  return at(scheme.alternates ? 1 : 0);
}

/// A Runge-Kutta method of s stages and order s makes the Taylor polynomial of degree s of exp(z).
double taylor(int degree, double z) {
  double sum = 1, term = 1;
  for (int k = 1; k <= degree; ++k) sum += term *= z / k;
  return sum;
}

TEST(Scheme, MakesTheTaylorPolynomialOfItsOrder) {
  for (double const z : {-2.0, -0.3, 0.1, 1.0}) {
    EXPECT_NEAR(growth(find_scheme("euler"), z), taylor(1, z), 1e-15);
    EXPECT_NEAR(growth(find_scheme("midpoint"), z), taylor(1, z), 1e-15);
    EXPECT_NEAR(growth(find_scheme("ssp_rk2"), z), taylor(2, z), 1e-15);
    EXPECT_NEAR(growth(find_scheme("ssp_rk3"), z), taylor(3, z), 1e-15);
    EXPECT_NEAR(growth(find_scheme("rk4"), z), taylor(4, z), 1e-15);
  }
}

TEST(Scheme, IsStableAsFarAsItSaysAndNoFurther) {
  for (Scheme const& scheme : schemes()) {
    double const extent = scheme.stability_extent;
    for (int i = 0; i < 1000; ++i)
      EXPECT_LE(std::abs(growth(scheme, -extent * i / 1000)), 1) << scheme.name << i;
    EXPECT_GT(std::abs(growth(scheme, -extent * (1 + 1e-12))), 1) << scheme.name;
  }
}

/// A side that keeps its value has that value in every stage.
TEST(Scheme, WeighsTheValuesOnSidesToOne) {
  for (Scheme const& scheme : schemes())
    for (Stage const& stage : scheme.stages)
      EXPECT_EQ(stage.sides[0] + stage.sides[1] + stage.sides[2], 1) << scheme.name;
  EXPECT_TRUE(find_scheme("ssp_rk3").mixes_sides());
  EXPECT_FALSE(find_scheme("rk4").mixes_sides());
  EXPECT_FALSE(find_scheme("euler").mixes_sides());
}

TEST(Scheme, IsFoundByItsNameAlone) {
  EXPECT_THROW(find_scheme("leapfrog"), std::invalid_argument);
}

}  // namespace
}  // namespace gridstride

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

/// The same by slopes, and the error that it finds beside it.
std::pair<double, double> growth(SlopeScheme const& scheme, double z) {
  std::vector<double> slopes(static_cast<std::size_t>(scheme.scheme.buffers - 2));
  auto const slope = [&](std::size_t stage) -> double& {
    return slopes[static_cast<std::size_t>(scheme.stages[stage].slope)];
  };
  auto const sum = [&](std::vector<double> const& weights) {
    double total = 0;
    for (std::size_t i = 0; i < weights.size(); ++i)
      if (weights[i] != 0) total += weights[i] * slope(i);
    return total;
  };
  double value = 1;
  for (std::size_t i = 0; i < scheme.stages.size(); ++i) {
    value = 1 + z * sum(scheme.stages[i].weights);
    slope(i) = value;
  }
  if (!scheme.first_is_last()) value = 1 + z * sum(scheme.weights);
  return {value, z * sum(scheme.error)};
}

// leapfrog is for equations of order 2 alone: tests/unit/driver/test_pde_order_two.cpp.
constexpr char const* slope_schemes[] = {"euler", "ssp_rk2", "ssp_rk3", "rk4", "rk45"};

TEST(SlopeScheme, MakesThePolynomialOfItsScheme) {
  for (char const* name : slope_schemes) {
    SlopeScheme const& scheme = find_slope_scheme(name);
    for (double const z : {-2.0, -0.3, 0.1, 1.0}) {
      double expected = taylor(std::min(scheme.degree, 5), z);
      if (scheme.degree == 6) expected += std::pow(z, 6) / 600;
      EXPECT_NEAR(growth(scheme, z).first, expected, 1e-14) << name;
    }
  }
}

TEST(SlopeScheme, HasAnErrorOfItsOrder) {
  for (char const* name : slope_schemes) {
    SlopeScheme const& scheme = find_slope_scheme(name);
    double const coarse = growth(scheme, 0.02).second, fine = growth(scheme, 0.01).second;
    EXPECT_NEAR(std::log2(coarse / fine), scheme.error_order, 0.05) << name;
  }
}

/// Weights of a stage sum to its time, also those of the error (to 0), and integrate polynomials in
/// time as far as the order says: also a source alone makes an error.
TEST(SlopeScheme, IntegratesWhatDependsOnTimeAlone) {
  for (char const* name : slope_schemes) {
    SlopeScheme const& scheme = find_slope_scheme(name);
    auto const sum = [&](std::vector<double> const& weights, int power) {
      double total = 0;
      for (std::size_t i = 0; i < weights.size(); ++i)
        total += weights[i] * std::pow(scheme.stages[i].moment.time, power);
      return total;
    };
    auto const& weights = scheme.first_is_last() ? scheme.stages.back().weights : scheme.weights;
    int const order = std::min(scheme.degree, 5);
    for (int power = 0; power < order; ++power)
      EXPECT_NEAR(sum(weights, power), 1.0 / (power + 1), 1e-14) << name << power;
    for (int power = 0; power < scheme.error_order - 1; ++power)
      EXPECT_NEAR(sum(scheme.error, power), 0, 1e-14) << name << power;
    EXPECT_GT(std::abs(sum(scheme.error, scheme.error_order - 1)), 1e-4) << name;
    for (SlopeStage const& stage : scheme.stages)
      EXPECT_NEAR(sum(stage.weights, 0), stage.moment.time, 1e-14) << name;
  }
  EXPECT_THROW(find_slope_scheme("midpoint"), std::invalid_argument);
}

TEST(Scheme, IsFoundByItsNameAlone) {
  EXPECT_THROW(find_scheme("leapfrog"), std::invalid_argument);
}

}  // namespace
}  // namespace gridstride

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "core/error.hpp"
#include "kernels/factorize/measures/symmetry.hpp"
#include "support/linear_system_cases.hpp"

namespace gridstride::test {
namespace {

TEST(LinearSystem, FindsKnownSolutions) { expect_known_solutions(cpu, {6, 64}); }

TEST(LinearSystem, OneRow) {
  auto const solved = solve_system(system_yaml("4", 1, "2", 1, "auto", "float64"), cpu);
  EXPECT_EQ(solved.error("0.5"), 0);
  EXPECT_EQ(solved.x.field.grid, (Grid{1, {1, 1, 1}, {0, 0, 0}, {1, 1, 1}}));
}

TEST(LinearSystem, FieldsHaveARowForEachRow) {
  auto const several = solve_system(system_yaml("i==j", 4, "10*i+j", 3, "lu", "float64"), cpu);
  EXPECT_EQ(several.x.field.grid, (Grid{2, {3, 4, 1}, {0, 0, 0}, {1, 1, 1}}));
  auto const* const x = static_cast<double const*>(several.x.field.data);
  EXPECT_EQ(x[3 * 2 + 1], 21);
  auto const one = solve_system(system_yaml("i==j", 4, "i", 1, "lu", "float64"), cpu);
  EXPECT_EQ(one.x.field.grid, (Grid{1, {4, 1, 1}, {0, 0, 0}, {1, 1, 1}}));
}

TEST(LinearSystem, MeasuresWhatIsKnown) {
  int const n = 32;
  // Elimination doubles the last column in each step, without any rounding.
  auto const wilkinson =
      solve_system(system_yaml("if(j==n-1 , 1, (i==j) - (i>j))", n, "1", 1, "lu", "float64"), cpu);
  EXPECT_EQ(wilkinson.diagnostic("growth_factor"), std::ldexp(1.0, n - 1));
  auto const minimum = solve_system(system_yaml("min(i,j)+1", n, "i", 1, "lu", "float64"), cpu);
  EXPECT_NEAR(minimum.diagnostic("condition_estimate"), 2 * n * (n + 1), 1e-6);
  EXPECT_EQ(minimum.diagnostic("iterations"), 0);
  EXPECT_GT(minimum.diagnostic("gflops"), 0);
  for (std::string const phase : {"read", "transfer", "factorize", "solve", "check"})
    EXPECT_GE(minimum.diagnostic("seconds." + phase), 0) << phase;
  // Hilbert's matrix: a small residual, and a condition number that says what it is worth.
  auto const hilbert =
      solve_system(system_yaml("1/(i+j+1)", 12, "1", 1, "cholesky", "float64"), cpu);
  EXPECT_LE(hilbert.diagnostic("backward_error"), 50 * 12 * 0x1p-53);
  EXPECT_GT(hilbert.diagnostic("condition_estimate"), 1e15);
  EXPECT_TRUE(std::isnan(hilbert.diagnostic("growth_factor")));
}

TEST(LinearSystem, AutoTakesWhatFits) {
  auto const with = [](std::string const& matrix) {
    return solve_system(system_yaml(matrix, 3, "1", 1, "auto", "float64"), cpu);
  };
  EXPECT_EQ(with("2*(i==j)").method, "cholesky");
  EXPECT_EQ(with("2*(i==j) + (i>j)").method, "lu");
  EXPECT_EQ(with("-2*(i==j)").method, "lu");
  EXPECT_TRUE(with("-2*(i==j)").fallbacks.empty());
  auto const indefinite = with("if(i==j,1,2)");
  EXPECT_EQ(indefinite.method, "lu");
  EXPECT_EQ(
      indefinite.fallbacks,
      std::vector<std::string>{"method: cholesky gave way to lu (pivot 2 of 3 is not positive)"});
}

std::string message_of(std::string const& matrix, std::string const& method,
                       std::string const& rhs = "1") {
  try {
    solve_system(system_yaml(matrix, 20, rhs, 1, method, "float64"), cpu);
  } catch (NumericalError const& error) {
    return error.what();
  }
  return "";
}

TEST(LinearSystem, NamesThePivotThatFails) {
  EXPECT_EQ(message_of("(i==j)*(i!=16)", "lu"),
            "linear_system: pivot 17 of 20 is exactly zero: the matrix is singular in float64");
  // What is behind a pivot of 1e-309, whose reciprocal is infinite.
  EXPECT_NE(message_of("(i==j)*((i==0) + (i>0)*1e-309)", "lu")
                .find("is not a number: the factors overflow in float64, as they may do where a "
                      "pivot before it is below 2.2e-308 (in larger units it is not)"),
            std::string::npos);
  EXPECT_EQ(message_of("(i==j)*(i!=16)", "lu_mixed"), message_of("(i==j)*(i!=16)", "auto"));
  EXPECT_EQ(message_of("if(i==j, 1, (i<2)*(j<2)*2)", "cholesky"),
            "linear_system: pivot 2 of 20 is not positive: the matrix is not positive definite "
            "(method: lu solves other systems)");
}

TEST(LinearSystem, WhatFloat32DoesNotHoldIsRefused) {
  auto const refused = [](std::string const& matrix, std::string const& rhs) {
    try {
      solve_system(system_yaml(matrix, 9, rhs, 1, "auto", "float32"), cpu);
    } catch (Error const& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_NE(refused("1e-42*(2*(i==j) + 1)", "1")
                .find("has no element larger than 3e-42, which "
                      "float32 does not hold with its digits"),
            std::string::npos);
  EXPECT_NE(refused("2*(i==j) + 1", "1e-50").find("has no element larger than 1e-50"),
            std::string::npos);
  EXPECT_EQ(
      refused("1e30*(i==j)", "1e-20"),
      "linear_system: x has no place in float32: its largest element is 0 (precision: float64, "
      "or another unit of the matrix or the right-hand side)");
  EXPECT_EQ(refused("1e-30*(i==j)", "1e-30"), "");
}

TEST(LinearSystem, WhatOverflowsIsRefused) {
  for (std::string const method : {"lu", "cholesky", "lu_mixed", "auto"})
    EXPECT_EQ(message_of("1e-290*(2*(i==j) + 1)*1e-10", method, "1e30*(i==7)"),
              "linear_system: x has no place in float64: row 0, counted from 0, is infinite or not "
              "a number (another unit of the matrix or the right-hand side)")
        << method;
}

TEST(LinearSystem, CholeskyNeedsASymmetricMatrix) {
  try {
    solve_system(system_yaml("(i==j) + 3*(i==4)*(j==7)", 9, "1", 1, "cholesky", "float32"), cpu);
    FAIL();
  } catch (ConfigError const& error) {
    EXPECT_NE(std::string(error.what()).find("(here A(4, 7) = 3 and A(7, 4) = 0)"),
              std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace gridstride::test

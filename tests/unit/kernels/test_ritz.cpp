#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <vector>

#include "kernels/krylov/ritz.hpp"
#include "support/linear_system_sparse_cases.hpp"

namespace gridstride::test {
namespace {

/// 1, 1 and 1, 2 have (3 ± √5)/2; a beginning anew is a block by itself.
TEST(Ritz, ConditionsByHand) {
  using krylov::ritz_condition;
  EXPECT_EQ(ritz_condition({}, {}), 1);
  std::vector<double> const alphas = {1, 1}, betas = {0, 1};
  EXPECT_NEAR(ritz_condition(alphas, betas), (3 + std::sqrt(5.0)) / (3 - std::sqrt(5.0)), 1e-12);
  std::vector<double> const apart = {0.5, 0.125}, none = {0, 0};
  EXPECT_NEAR(ritz_condition(apart, none), 4, 1e-12);
  std::vector<double> const units = {1e200, 1e200};
  EXPECT_NEAR(ritz_condition(units, betas), (3 + std::sqrt(5.0)) / (3 - std::sqrt(5.0)), 1e-12);
}

/// The 5 points of −Δ on n² points have cot²(π/(2n + 2)), and their diagonal changes nothing.
TEST(Ritz, ConditionsOfConjugateGradients) {
  for (std::string const more : {"cg, preconditioner: none", "cg, preconditioner: jacobi"})
    for (int const n : {7, 20, 33}) {
      double const exact = std::pow(std::tan(std::numbers::pi / (2 * n + 2)), -2);
      double const found =
          solve_system(sparse_yaml(fmt::format("{{stencil: 5-point, points: [{0}, {0}]}}", n),
                                   "sin(1000*i*i)", "tolerance: 1e-12, method: " + more),
                       cpu)
              .diagnostic("condition_estimate");
      EXPECT_NEAR(found, exact, 1e-3 * exact) << more;
    }
}

/// What the right-hand side has no part of is not met, so that it is a bound from below.
TEST(Ritz, EvenWavesAreNotMet) {
  double const found =
      solve_system(sparse_yaml("{stencil: 3-point, points: 60}", "1",
                               "method: cg, preconditioner: none, tolerance: 1e-11"),
                   cpu)
          .diagnostic("condition_estimate");
  double const least = std::sin(std::numbers::pi / 122),
               most = std::sin(59 * std::numbers::pi / 122);
  EXPECT_NEAR(found, std::pow(most / least, 2), 1e-3 * found);
  EXPECT_TRUE(std::isnan(
      solve_system(sparse_yaml("{stencil: 3-point, points: 60}", "1", "method: minres"), cpu)
          .diagnostic("condition_estimate")));
}

}  // namespace
}  // namespace gridstride::test

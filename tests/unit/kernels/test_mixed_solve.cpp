#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "support/mixed_solve_cases.hpp"

namespace gridstride {
namespace {

class MixedSolve : public testing::Test {
 protected:
  Stream stream_{Device::open(Backend::cpu)};
};

TEST_F(MixedSolve, ReachesTheBackwardErrorOfFloat64) {
  test::check_mixed_solves(stream_, {1, 2, 3, 17, 33, 130, 257});
}

TEST_F(MixedSolve, SolvesWhereTheDiagonalDoesNotDo) { test::check_mixed_exchanges(stream_, 130); }

TEST_F(MixedSolve, GmresMendsASinglePivot) { test::check_mixed_stall(stream_); }

TEST_F(MixedSolve, SaysWhyItDoesNotConverge) { test::check_mixed_failures(stream_); }

// Factors in float32 of a matrix with κ = 10^10 are too poor for plain refinement.
TEST_F(MixedSolve, GoesOnWithGmresWhereRefinementStalls) {
  auto const a = test::matrix_of_condition(100, 1e10);
  auto const b = test::right_side_of(a);
  auto const solved = test::mixed_solved(stream_, a, b);
  EXPECT_TRUE(solved.report.converged) << solved.report.reason;
  EXPECT_TRUE(solved.report.used_gmres);
  EXPECT_LE(solved.report.backward_error, test::mixed_goal(100));
}

TEST_F(MixedSolve, ReachesItsGoalForAnyFactorsInFloat32) {
  test::check_mixed_gmres(stream_, {"reference", "auto"});
}

// The float32 copy is scaled: these elements are beyond its range.
TEST_F(MixedSolve, TakesMatricesOfAnyMagnitude) {
  for (double const magnitude : {1e-300, 1e-60, 1e60, 1e290}) {
    auto a = test::well_conditioned_matrix<double>(40);
    for (double& value : a.values) value *= magnitude;
    auto b = test::random_matrix<double>(40, 1, 0, 7);
    for (double& value : b.values) value *= magnitude;
    auto const solved = test::mixed_solved(stream_, a, b);
    EXPECT_TRUE(solved.report.converged) << magnitude << ": " << solved.report.reason;
    EXPECT_LE(solved.report.backward_error, test::mixed_goal(40));
  }
}

TEST_F(MixedSolve, NothingToSolve) {
  Matrix<double> const none(nullptr, 0, 0);
  EXPECT_TRUE(factorize::mixed_solve(stream_, none, none, none).converged);
  auto const a = test::well_conditioned_matrix<double>(9);
  auto const zeros = test::HostMatrix<double>(9, 1).fill([](auto, auto) { return 0; });
  auto const solved = test::mixed_solved(stream_, a, zeros);
  EXPECT_TRUE(solved.report.converged);
  EXPECT_EQ(solved.x.values[0], 0);
}

TEST_F(MixedSolve, ShapesHaveToFit) {
  Buffer<double> memory(stream_, MemorySpace::device, 12);
  Matrix<double> const a(memory.data(), 3, 4), b(memory.data(), 3, 1);
  try {
    factorize::mixed_solve(stream_, a, b, b);
    FAIL();
  } catch (std::invalid_argument const& error) {
    EXPECT_NE(std::string(error.what()).find("A is 3 x 4"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace gridstride

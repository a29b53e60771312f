#include <gtest/gtest.h>

#include "support/mixed_solve_cases.hpp"
#include "unit/gpu/gpu.hpp"

namespace gridstride {
namespace {

TEST(MixedSolveGpu, ReachesTheBackwardErrorOfFloat64) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  test::check_mixed_solves(stream, {1, 2, 17, 33, 130, 257, 600});
}

TEST(MixedSolveGpu, ExchangesRowsWhereTheDiagonalDoesNotDo) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  for (std::int64_t const n : {20, 300, 700}) test::check_mixed_exchanges(stream, n);
}

TEST(MixedSolveGpu, ExchangesRowsWhereTheRefinementStalls) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  test::check_mixed_stall(stream);
}

TEST(MixedSolveGpu, ReachesItsGoalForAnyFactorsInFloat32) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  test::check_mixed_gmres(stream, {"auto", "blocked"});
}

TEST(MixedSolveGpu, SaysWhyItDoesNotConverge) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  test::check_mixed_failures(stream);
}

TEST(MixedSolveGpu, ReachesItWhereTheConditionIsHigh) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  auto const a = test::matrix_of_condition(300, 1e6);
  auto const b = test::right_side_of(a);
  auto const solved = test::mixed_solved(stream, a, b);
  EXPECT_TRUE(solved.report.converged) << solved.report.reason;
  EXPECT_LE(solved.report.backward_error, test::mixed_goal(300));
}

}  // namespace
}  // namespace gridstride

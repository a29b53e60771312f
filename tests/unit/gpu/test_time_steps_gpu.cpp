#include <gtest/gtest.h>

#include "support/step_cases.hpp"
#include "unit/gpu/gpu.hpp"

namespace gridstride {
namespace {

TEST(TimeStepsGpu, NoTimeGoesByWithoutThem) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  test::expect_no_time_without_steps(Backend::cuda);
}
TEST(TimeStepsGpu, SeeWhatChangesInTime) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  test::expect_changes_in_time_to_count(Backend::cuda);
}
TEST(TimeStepsGpu, GoFromOutputToOutputWhereNothingMoves) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  test::expect_nothing_to_move(Backend::cuda);
}
TEST(TimeStepsGpu, FollowAVelocityThatSwings) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  test::expect_the_distance_of_a_velocity_that_swings(Backend::cuda);
}
TEST(TimeStepsGpu, FollowANarrowJet) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  test::expect_a_narrow_jet_to_be_met(Backend::cuda);
}
TEST(TimeStepsGpu, EndWhereAVelocityIsNotFinite) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  test::expect_a_velocity_to_stay_finite(Backend::cuda);
}
TEST(TimeStepsGpu, RepeatInTheSameBits) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  test::expect_steps_to_repeat(Backend::cuda);
}

}  // namespace
}  // namespace gridstride

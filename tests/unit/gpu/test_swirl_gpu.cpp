#include <gtest/gtest.h>

#include "support/swirl_cases.hpp"
#include "unit/gpu/gpu.hpp"

namespace gridstride {
namespace {

class SwirlGpu : public testing::Test {
 protected:
  void SetUp() override { GRIDSTRIDE_SKIP_WITHOUT_GPU(); }
};

TEST_F(SwirlGpu, VectorsByHand) {
  test::expect_vectors_by_hand<float>(Backend::cuda);
  test::expect_vectors_by_hand<double>(Backend::cuda);
}

TEST_F(SwirlGpu, GapsOfAComponentAreItsOwn) { test::expect_gaps_in_components(Backend::cuda); }

TEST_F(SwirlGpu, IsInTheFiles) { test::expect_swirl_in_files("cuda"); }

TEST_F(SwirlGpu, HasDiagnostics) { test::expect_swirl_diagnostics("cuda"); }

TEST_F(SwirlGpu, IsVerified) { test::expect_swirl_to_be_verified("cuda"); }

TEST_F(SwirlGpu, IsFinite) { test::expect_swirl_to_be_finite("cuda"); }

TEST_F(SwirlGpu, Continues) { test::expect_swirl_to_continue("cuda"); }

TEST_F(SwirlGpu, StartsFromResults) { test::expect_swirl_to_start_from_results("cuda"); }

TEST_F(SwirlGpu, TablesInOneGo) { test::expect_tables_in_one_go("cuda"); }

TEST_F(SwirlGpu, IsForecast) { test::expect_swirl_forecast(Backend::cuda); }

}  // namespace
}  // namespace gridstride

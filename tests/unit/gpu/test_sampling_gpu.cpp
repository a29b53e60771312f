#include <gtest/gtest.h>

#include "support/sampling_cases.hpp"
#include "unit/gpu/gpu.hpp"

namespace gridstride {
namespace {

/// Dimensions whose samples take a part of a Philox block, a whole number of them, and between.
template <class T>
void compare() {
  auto const random = quadrature::monte_carlo_variants<T>();
  EXPECT_EQ(test::compare_sampling_rows<T>(random, Backend::cuda, {1, 4, 6, 13}), 4 * 10);
  EXPECT_EQ(test::compare_sampling_rows<T>(random, Backend::cuda, {6}, true), 10);
  EXPECT_EQ(test::compare_sampling_rows<T>(quadrature::quasi_monte_carlo_variants<T>(),
                                           Backend::cuda, {1, 6, 13}),
            3 * 10 * quadrature::sobol_replicas);
  EXPECT_EQ(test::compare_vegas_rows<T>(Backend::cuda, {2, 13}), 4 * (2 * 128 + 13 * 48));
}

TEST(SamplingGpu, RowsEqualTheReferenceInFloat32) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  compare<float>();
}

TEST(SamplingGpu, RowsEqualTheReferenceInFloat64) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  compare<double>();
}

TEST(SamplingGpu, GridsAreMadeOfTheFirstSamplesOfLongTiles) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  EXPECT_EQ(test::count_grid_samples(Backend::cuda), 1220 * 2048 + 2048);
}

TEST(SamplingGpu, SameBitsEveryTime) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  test::expect_same_bits_of_samples<float>(Backend::cuda);
  test::expect_same_bits_of_samples<double>(Backend::cuda);
}

TEST(SamplingGpu, MeetsTolerances) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  test::expect_six_gaussians<float>(Backend::cuda);
  test::expect_six_gaussians<double>(Backend::cuda);
}

TEST(SamplingGpu, ResultsScaleWithTheIntegrand) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  test::expect_sampling_scales<float>(Backend::cuda, {-120, -60, 60, 120});
  test::expect_sampling_scales<double>(Backend::cuda, {-1000, -400, 400, 1000});
}

TEST(SamplingGpu, SamplesThatAreAllZeroSayNothing) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  test::expect_zeros_say_nothing<float>(Backend::cuda);
  test::expect_zeros_say_nothing<double>(Backend::cuda);
}

TEST(SamplingGpu, FindsTheFirstSampleThatIsNoNumber) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  test::expect_first_non_finite<float>(Backend::cuda);
  test::expect_first_non_finite<double>(Backend::cuda);
}

}  // namespace
}  // namespace gridstride

#include <gtest/gtest.h>

#include "support/pde_step_cases.hpp"
#include "support/slope_cases.hpp"
#include "unit/gpu/gpu.hpp"

namespace gridstride {
namespace {

TEST(PdeStepsGpu, HaveTheBitsOfAnyBatch) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  test::expect_bits_of_any_batch(Backend::cuda);
}
TEST(PdeStepsGpu, ErrorFollowsTheTolerance) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  test::expect_error_to_follow_tolerance(Backend::cuda);
}
TEST(PdeStepsGpu, FindWhatIsStable) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  test::expect_stability_to_be_found(Backend::cuda);
}
TEST(PdeStepsGpu, SeeAJump) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  test::expect_a_jump_to_be_seen(Backend::cuda);
}
TEST(PdeStepsGpu, KnowCoefficientsOfTimeBefore) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  test::expect_coefficients_of_time_to_be_known(Backend::cuda);
}
TEST(PdeStepsGpu, MeetEveryMoment) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  test::expect_moments_to_be_met(Backend::cuda);
}
TEST(PdeStepsGpu, TellWhereTheyEnd) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  test::expect_ends_to_be_told(Backend::cuda);
}

template <class T>
void expect_slopes_of_the_host(double rounding) {
  Stream host(Device::open(Backend::cpu)), gpu(Device::open(Backend::cuda));
  for (Grid const& grid : test::slope_grids()) {
    auto const expected = test::run_slopes<T>(host, grid, 0.5);
    auto const found = test::run_slopes<T>(gpu, grid, 0.5);
    EXPECT_NEAR(found.worst.value, expected.worst.value, 8 * rounding * expected.worst.value);
    for (std::size_t c = 0; c < 2; ++c)
      for (std::size_t i = 0; i < found.values[c].size(); ++i)
        ASSERT_NEAR(found.values[c][i], expected.values[c][i], 8 * rounding) << c << ' ' << i;
    auto const spoilt = test::run_slopes<T>(gpu, grid, 0.5, grid.size() - 1);
    EXPECT_TRUE(std::isinf(spoilt.worst.value));
    EXPECT_EQ(spoilt.worst.point, grid.size() - 1);
    EXPECT_EQ(test::run_slopes<T>(gpu, grid, 0).worst.value, -1);
  }
}

TEST(PdeStepsGpu, FindErrorsOfStrips) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  for (auto const& along : std::vector<std::vector<std::size_t>>{{0}, {1}, {0, 1}}) {
    test::expect_errors_of_strips<float>(stream, along);
    test::expect_errors_of_strips<double>(stream, along);
  }
}

TEST(PdeStepsGpu, CombineSlopesAsTheHost) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  expect_slopes_of_the_host<float>(std::numeric_limits<float>::epsilon());
  expect_slopes_of_the_host<double>(std::numeric_limits<double>::epsilon());
}

/// Steps of one length, in graphs and by themselves.
TEST(PdeStepsGpu, OfOneLengthAgreeWithTheHost) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  for (char const* scheme : {"rk45", "leapfrog"}) {
    auto const yaml = fmt::format(
        "simulation: pde\ngrid: {{points: [40, 33]}}\n"
        "boundary: {{x: {{dirichlet: \"sin(9*t)\"}}, y: periodic}}\n"
        "fields: {{u: {{order: 2}}}}\n"
        "equations: {{u: \"div((1 + u^2)*grad(u)) + sin(40*t)\"}}\n"
        "initial: {{u: 0, u_t: 0}}\ntime: {{scheme: {}, end: 0.7, step: 1e-3}}\n",
        scheme);
    auto const host = test::run_pde(yaml), gpu = test::run_pde(yaml, Backend::cuda);
    auto const parts = test::run_pde(yaml, Backend::cuda, 7);
    EXPECT_EQ(host.steps, gpu.steps) << scheme;
    EXPECT_EQ(gpu.fields, parts.fields) << scheme;
    for (std::size_t f = 0; f < host.fields.size(); ++f)
      for (std::size_t i = 0; i < host.fields[f].size(); ++i)
        ASSERT_NEAR(host.fields[f][i], gpu.fields[f][i], 1e-9) << scheme;
  }
}

/// Errors and steps differ by rounding from those of the host.
TEST(PdeStepsGpu, AgreeWithTheHost) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  for (char const* scheme : test::adaptive_schemes) {
    auto const yaml = test::busy_pde(scheme, "float64");
    auto const host = test::run_pde(yaml), gpu = test::run_pde(yaml, Backend::cuda);
    EXPECT_NEAR(static_cast<double>(host.steps), static_cast<double>(gpu.steps), 1) << scheme;
    for (std::size_t f = 0; f < host.fields.size(); ++f)
      for (std::size_t i = 0; i < host.fields[f].size(); ++i)
        ASSERT_NEAR(host.fields[f][i], gpu.fields[f][i], 1e-6) << scheme;
  }
}

}  // namespace
}  // namespace gridstride

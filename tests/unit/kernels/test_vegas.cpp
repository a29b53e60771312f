#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

#include "support/sampling_cases.hpp"

namespace gridstride {
namespace {

using namespace quadrature;
using test::sampled;

TEST(VegasGrid, StartsEven) {
  auto const grid = even_vegas_grid(2);
  ASSERT_EQ(grid.size(), 2u * 129);
  EXPECT_EQ(grid[0], 0);
  EXPECT_EQ(grid[1], 1.0 / 128);
  EXPECT_EQ(grid[128], 1);
  EXPECT_EQ(grid[129], 0);
  EXPECT_EQ(even_vegas_grid(9).size(), 9u * 49);
}

TEST(VegasGrid, StaysWhereSumsAreEvenOrThereAreNone) {
  auto const grid = even_vegas_grid(1);
  for (double const sum : {0.0, 3.0, std::numeric_limits<double>::infinity()}) {
    auto const refined = refined_vegas_grid(
        grid, {{}, std::vector<double>(128, sum), std::vector<double>(128, 2)}, 1);
    for (std::size_t i = 0; i < grid.size(); ++i) EXPECT_NEAR(refined[i], grid[i], 1e-14);
  }
}

/// All of the integrand in one interval of the second axis: after mixing, three quarters of the
/// weight there, so that the interval is cut into many, those far away are joined, and the first
/// axis stays.
TEST(VegasGrid, FollowsTheIntegrand) {
  auto grid = even_vegas_grid(2);
  VegasSums sums{{}, std::vector<double>(2 * 128), std::vector<double>(2 * 128, 10)};
  std::fill_n(sums.intervals.begin(), 128, 1.0);
  sums.intervals[128 + 40] = 5;
  auto const refined = refined_vegas_grid(grid, sums, 2);
  int inside = 0;
  for (std::size_t i = 0; i <= 128; ++i) {
    EXPECT_NEAR(refined[i], grid[i], 1e-14);
    double const end = refined[129 + i];
    inside += end > 40.0 / 128 && end < 41.0 / 128;
    EXPECT_GE(end, refined[129 + (i > 0 ? i - 1 : 0)]);
  }
  EXPECT_GT(inside, 40);
  EXPECT_EQ(refined[129], 0);
  EXPECT_EQ(refined[129 + 128], 1);
}

/// Where all samples were 0 a tenth of an even density stays.
TEST(VegasGrid, KeepsAPartOfAnEvenDensity) {
  auto grid = even_vegas_grid(1);
  VegasSums sums{{}, std::vector<double>(128), std::vector<double>(128, 10)};
  std::fill_n(sums.intervals.begin(), 64, 1.0);
  for (int i = 0; i < 20; ++i) grid = refined_vegas_grid(grid, sums, 1);
  double widest = 0;
  for (std::size_t i = 0; i < 128; ++i) widest = std::max(widest, grid[i + 1] - grid[i]);
  EXPECT_LE(widest, 11.0 / 128);
  EXPECT_GE(widest, 5.0 / 128);
}

/// The map takes the ends of a word to the ends of the intervals.
TEST(VegasGrid, MapsWords) {
  auto const check = [](auto zero) {
    using T = decltype(zero);
    std::array<T, 5> const ends = {0, T(0.5), T(0.75), T(0.875), 1};
    std::array<unsigned, 2> const first = {0, 0}, third = {0x80000000u, 0}, last = {~0u, ~0u};
    auto const a = vegas_point(first.data(), ends.data(), 4);
    EXPECT_EQ(a.interval, 0);
    EXPECT_EQ(a.density, 2);
    EXPECT_GT(a.y, 0);
    EXPECT_LT(a.y, 1e-6);
    auto const b = vegas_point(third.data(), ends.data(), 4);
    EXPECT_EQ(b.interval, 2);
    EXPECT_EQ(b.density, T(0.5));
    EXPECT_NEAR(b.y, 0.75, 1e-6);
    auto const c = vegas_point(last.data(), ends.data(), 4);
    EXPECT_EQ(c.interval, 3);
    EXPECT_LT(c.y, 1);
    EXPECT_GT(c.y, 0.999999);
  };
  check(0.0f);
  check(0.0);
}

TEST(Vegas, RowsEqualTheReference) {
  int const expected = 4 * (128 * (1 + 3 + 6) + 48 * 13);
  EXPECT_EQ(test::compare_vegas_rows<float>(Backend::cpu, {1, 3, 6, 13}), expected);
  EXPECT_EQ(test::compare_vegas_rows<double>(Backend::cpu, {1, 3, 6, 13}), expected);
}

TEST(Vegas, GridsAreMadeOfTheFirstSamplesOfLongTiles) {
  EXPECT_EQ(test::count_grid_samples(Backend::cpu), 1220 * 2048 + 2048);
}

class VegasIntegrals : public testing::Test {
 protected:
  VegasIntegral integrate(Integrand const& f, std::span<Interval const> box,
                          SamplingOptions const& options) {
    return vegas<double>(stream_, f, box, {}, options);
  }
  Stream stream_{Device::open(Backend::cpu)};
};

/// A hill of width 0.07 in four dimensions: where random samples have a relative error of some per
/// cent, importance sampling has less than a tenth of that.
TEST_F(VegasIntegrals, FindAHill) {
  std::vector<Interval> const box(4);
  auto const f = sampled(test::of_all_axes(4, "*", "exp(-100*({0}-0.4)^2)"), 4);
  double const pi = std::acos(-1.0);
  double const exact = std::pow(std::sqrt(pi) / 20 * (std::erf(6.0) + std::erf(4.0)), 4);
  SamplingOptions const options{.points = 1 << 18, .seed = 2};
  auto const found = integrate(f, box, options);
  auto const random = monte_carlo<double>(stream_, f, box, {}, options).estimate;
  EXPECT_LE(std::abs(found.estimate.value - exact), found.estimate.error);
  EXPECT_LT(found.estimate.error, 0.1 * random.error);
  EXPECT_EQ(found.estimate.evaluations, 1 << 18);
  EXPECT_GT(found.iterations, 3);
  EXPECT_LT(found.chi_squared, 5);
}

TEST_F(VegasIntegrals, MostEstimatesAreAboveTheError) {
  std::array<Interval, 2> const box = {{{0, 2}, {1, -1}}};
  auto const f = sampled("exp(a)*(1+b^2)", 2);
  double const exact = -(std::exp(2.0) - 1) * 8 / 3;
  int below = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    auto const found = integrate(f, box, {.points = 8192, .seed = seed}).estimate;
    below += std::abs(found.value - exact) > found.error;
  }
  EXPECT_LE(below, 3);
}

/// An interval without a sample that is not 0 grows until it has a jump in it. Iterations that miss
/// the sliver beside the jump agree better than those that do not.
TEST_F(VegasIntegrals, JumpsDoNotMakeThemTooLow) {
  constexpr double place = 0.4597957;
  for (auto const& [formula, exact] :
       {std::pair("if(a < 0.4597957, 1, 0)", place), {"if(a < 0.4597957, 1, 0)*b", place / 2}}) {
    int const dimensions = exact == place ? 1 : 2;
    std::vector<Interval> const box(static_cast<std::size_t>(dimensions));
    auto const f = sampled(formula, dimensions);
    int beyond = 0;
    double mean = 0, estimate = 0;
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
      auto const found = integrate(f, box, {.points = 1 << 16, .seed = seed}).estimate;
      double const error = (found.value - exact) / found.error;
      beyond += std::abs(error) > 1;
      mean += error / 100;
      estimate += found.error / 100;
    }
    EXPECT_LE(beyond, 2) << formula;
    EXPECT_LT(estimate, 0.006 * exact) << formula;  // of even samples it would be 0.013 and more
    EXPECT_LT(std::abs(mean), 0.1) << formula;      // three times what chance does
  }
}

TEST_F(VegasIntegrals, ConstantsAreExactButForRounding) {
  std::array<Interval, 1> const box = {{{0, 2}}};
  auto const found = integrate(sampled("3", 1), box, {.points = 4096, .goal = {1e-12, 0}}).estimate;
  EXPECT_NEAR(found.value, 6, 1e-12);
  EXPECT_EQ(found.outcome, Outcome::reached);
}

TEST_F(VegasIntegrals, SaysWhenAToleranceIsNotReached) {
  std::vector<Interval> const box(2);
  auto const found = integrate(sampled("exp(a*b)", 2), box, {.points = 5000, .goal = {1e-8, 0}});
  EXPECT_EQ(found.estimate.outcome, Outcome::not_reached);
  EXPECT_LE(found.estimate.evaluations, 5000);
  EXPECT_GE(3 * found.estimate.evaluations, 2 * 5000);
}

TEST_F(VegasIntegrals, RefusesBadArguments) {
  std::vector<Interval> const box(1);
  auto const f = sampled("a", 1);
  EXPECT_THROW(integrate(f, box, {.points = 1023}), std::invalid_argument);
  EXPECT_THROW(integrate(f, box, {.antithetic = true}), std::invalid_argument);
  EXPECT_THROW(integrate(sampled("a", 2), box, {}), std::invalid_argument);
  EXPECT_THROW(vegas<double>(stream_, f, box, {}, {}, "fastest"), std::invalid_argument);
}

}  // namespace
}  // namespace gridstride

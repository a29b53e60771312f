#include <gtest/gtest.h>
#include <array>
#include <limits>
#include <set>
#include <stdexcept>
#include <string>

#include "core/processors.hpp"
#include "kernels/sampling/points.hpp"
#include "kernels/sampling/rows.hpp"
#include "kernels/sampling/sobol.hpp"
#include "support/sampling_cases.hpp"

namespace gridstride {
namespace {

using namespace quadrature;
using test::sampled;

// ------------------------------------------------------------------------------------------ Philox

/// The known answers that its authors publish for ten rounds.
TEST(Philox, GivesTheKnownAnswers) {
  struct Case {
    PhiloxBlock counter;
    PhiloxKey key;
    PhiloxBlock answer;
  };
  static constexpr Case cases[] = {
      {{{0, 0, 0, 0}}, {0, 0}, {{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}}},
      {{{~0u, ~0u, ~0u, ~0u}}, {~0u, ~0u}, {{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}}},
      {{{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}},
       {0xa4093822, 0x299f31d0},
       {{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}},
  };
  for (auto const& [counter, key, answer] : cases)
    for (int k = 0; k < 4; ++k) EXPECT_EQ(philox(counter, key).word[k], answer.word[k]);
}

/// Samples of 1, 2, 3 and 4 words are numbered in groups of 4, 2, 4 and 1.
TEST(Philox, WordsAreThoseOfTheGroup) {
  PhiloxKey const key = philox_key(0x0123456789abcdefull);
  for (int const dimensions : {1, 2, 3, 4, 6, 20}) {
    for (std::int64_t const first : {std::int64_t{0}, std::int64_t{4}, std::int64_t{1} << 34}) {
      std::vector<unsigned> words(static_cast<std::size_t>(8 * dimensions));
      random_words(key, dimensions, first, 7, words);
      for (int i = 0; i < 7; ++i)
        for (int axis = 0; axis < dimensions; ++axis)
          EXPECT_EQ(words[static_cast<std::size_t>(i * dimensions + axis)],
                    words_of<float>(key, dimensions, first + i, axis)[0]);
    }
  }
  EXPECT_EQ(words_of<float>(key, 3, 6, 2)[0], philox_block(1, 2, key).word[0]);
  EXPECT_EQ(words_of<double>(key, 3, 3, 0)[1], philox_block(1, 1, key).word[3]);
  EXPECT_EQ(words_of<double>(key, 2, 1ll << 40, 1)[0], philox_block(1ull << 40, 0, key).word[2]);
}

TEST(Philox, ScramblingHasBlocksOfItsOwn) {
  auto const samples = philox_block(5, 0, philox_key(1));
  auto const scrambling = philox_block(5, 0, philox_key(1), PhiloxTag::scrambling);
  EXPECT_NE(samples.word[0], scrambling.word[0]);
}

TEST(Uniform, IsAnOddMultipleOfItsResolution) {
  EXPECT_EQ(uniform(0u), 0x1p-24f);
  EXPECT_EQ(uniform(~0u), 1 - 0x1p-24f);
  EXPECT_EQ(uniform(0x80000000u), 0.5f + 0x1p-24f);
  EXPECT_EQ(uniform(0x1ffu), 0x1p-24f);  // the lowest 9 bits do not count
  EXPECT_EQ(uniform(0x200u), 3 * 0x1p-24f);
  EXPECT_EQ(uniform(0u, 0u), 0x1p-53);
  EXPECT_EQ(uniform(~0u, ~0u), 1 - 0x1p-53);
  EXPECT_EQ(uniform(0u, 0x1000u), 3 * 0x1p-53);
  EXPECT_EQ(1 - uniform(0u), uniform(~0u));
}

/// Mean and variance of the coordinates of a million samples: 1/2 and 1/12, within five standard
/// errors, sqrt(1/12/n) and sqrt(1/180/n).
TEST(Uniform, HasTheMomentsOfTheUniformDistribution) {
  std::vector<unsigned> words(1 << 20);
  random_words(philox_key(42), 1, 0, 1 << 20, words);
  double sum = 0, squares = 0;
  for (unsigned const word : words) {
    double const u = uniform(word) - 0.5;
    sum += u;
    squares += u * u;
  }
  double const n = static_cast<double>(words.size());
  EXPECT_LT(std::abs(sum / n), 5 * std::sqrt(1 / (12 * n)));
  EXPECT_LT(std::abs(squares / n - 1.0 / 12), 5 * std::sqrt(1 / (180 * n)));
}

// ------------------------------------------------------------------------------------------- Sobol

/// Digits of point `index` in the order of the Gray code.
std::uint32_t sobol_digits(std::span<std::uint32_t const> numbers, int dimensions, int axis,
                           std::uint32_t index) {
  auto const number = [&](int row) {
    return numbers[static_cast<std::size_t>(row * sobol_stride(dimensions) + axis)];
  };
  std::uint32_t digits = number(sobol_shift_row);
  for (int bit = 0; bit < sobol_bits; ++bit)
    if ((index ^ index >> 1) >> bit & 1) digits ^= number(bit);
  return digits;
}

std::vector<std::uint32_t> plain_sobol(int dimensions) {
  auto const stride = static_cast<std::size_t>(sobol_stride(dimensions));
  std::vector<std::uint32_t> numbers(sobol_rows * stride);
  for (int axis = 0; axis < dimensions; ++axis)
    for (int bit = 0; bit < sobol_bits; ++bit)
      numbers[static_cast<std::size_t>(bit) * stride + static_cast<std::size_t>(axis)] =
          sobol_direction(axis, bit);
  return numbers;
}

/// Points of the sequence as SciPy 1.10 has it, from the same table: the first eight of five axes,
/// in eighths, and number 3001 of all 20.
TEST(Sobol, HasTheKnownPoints) {
  static constexpr int first[8][5] = {{0, 0, 0, 0, 0}, {4, 4, 4, 4, 4}, {6, 2, 2, 2, 6},
                                      {2, 6, 6, 6, 2}, {3, 3, 5, 7, 3}, {7, 7, 1, 3, 7},
                                      {5, 1, 7, 5, 5}, {1, 5, 3, 1, 1}};
  auto const five = plain_sobol(5);
  for (std::uint32_t i = 0; i < 8; ++i)
    for (int axis = 0; axis < 5; ++axis)
      EXPECT_EQ(sobol_digits(five, 5, axis, i) >> 29, static_cast<unsigned>(first[i][axis]));
  static constexpr std::uint32_t later[20] = {0xa67, 0xd69, 0x153, 0xec7, 0x781, 0x5e1, 0x44f,
                                              0xe47, 0x1d7, 0xeaf, 0x91b, 0x23b, 0xa49, 0xb5b,
                                              0xc2f, 0x93d, 0x971, 0x5b5, 0x23d, 0x4fd};
  auto const all = plain_sobol(20);
  for (int axis = 0; axis < 20; ++axis)
    EXPECT_EQ(sobol_digits(all, 20, axis, 3001) >> 20, later[axis]) << axis;
}

/// Every axis has one of the first 2^m points in each of 2^m equal parts, and the first two axes
/// one in each rectangle of 2^-j by 2^-(m−j), scrambled or not.
TEST(Sobol, IsANetBeforeAndAfterScrambling) {
  constexpr int dimensions = 20, m = 8;
  for (auto const& numbers : {plain_sobol(dimensions), scrambled_sobol(dimensions, 7, 0),
                              scrambled_sobol(dimensions, 7, 15)}) {
    for (int axis = 0; axis < dimensions; ++axis) {
      std::set<std::uint32_t> parts;
      for (std::uint32_t i = 0; i < 1u << m; ++i)
        parts.insert(sobol_digits(numbers, dimensions, axis, i) >> (32 - m));
      EXPECT_EQ(parts.size(), 1u << m) << axis;
    }
    for (int j = 1; j < m; ++j) {
      std::set<std::pair<std::uint32_t, std::uint32_t>> rectangles;
      for (std::uint32_t i = 0; i < 1u << m; ++i)
        rectangles.insert({sobol_digits(numbers, dimensions, 0, i) >> (32 - j),
                           sobol_digits(numbers, dimensions, 1, i) >> (32 - m + j)});
      EXPECT_EQ(rectangles.size(), 1u << m) << j;
    }
  }
}

TEST(Sobol, ReplicasAndSeedsDiffer) {
  auto const a = scrambled_sobol(3, 1, 0);
  EXPECT_EQ(a, scrambled_sobol(3, 1, 0));
  EXPECT_NE(a, scrambled_sobol(3, 1, 1));
  EXPECT_NE(a, scrambled_sobol(3, 2, 0));
  EXPECT_NE(a[0], a[1]);
}

TEST(Sobol, RefusesWhatItDoesNotHave) {
  EXPECT_THROW(sobol_direction(20, 0), std::invalid_argument);
  EXPECT_THROW(sobol_direction(0, 32), std::invalid_argument);
  EXPECT_THROW(sobol_direction(-1, 0), std::invalid_argument);
  EXPECT_THROW(scrambled_sobol(21, 1, 0), std::invalid_argument);
}

// -------------------------------------------------------------------------------------------- rows

template <class T>
void compare() {
  auto const random = monte_carlo_variants<T>();
  EXPECT_EQ(test::compare_sampling_rows<T>(random, Backend::cpu, {1, 2, 3, 4, 20}), 5 * 10);
  EXPECT_EQ(test::compare_sampling_rows<T>(random, Backend::cpu, {3, 6}, true), 2 * 10);
  EXPECT_EQ(test::compare_sampling_rows<T>(quasi_monte_carlo_variants<T>(), Backend::cpu, {1, 6}),
            2 * 10 * sobol_replicas);
}

TEST(MonteCarlo, RowsEqualTheReference) {
  compare<float>();
  compare<double>();
}

TEST(MonteCarlo, SameBitsForAnyNumberOfThreads) {
  test::expect_same_bits_of_samples<double>(Backend::cpu);
  Stream stream(Device::open(Backend::cpu));
  auto const problem = test::smooth_problem(4);
  auto const batch = monte_carlo_variants<double>()[1].run(stream, problem);
  int const threads = host_threads();
  set_host_threads(1);
  auto const alone = batch(0, 50'001);
  set_host_threads(3);
  auto const shared = batch(0, 50'001);
  set_host_threads(threads);
  EXPECT_EQ(alone[0].sum, shared[0].sum);
  EXPECT_EQ(alone[0].squares, shared[0].squares);
}

TEST(Tiles, HoldAllSamplesInPowersOfTwo) {
  for (std::int64_t const samples : {1l, 2047l, 2048l, 2049l, 1l << 25, (1l << 25) + 1, 1l << 40}) {
    Tiles const tiles = tiles_of(samples, most_tiles, least_tile);
    EXPECT_GE(tiles.size, least_tile);
    EXPECT_EQ(tiles.size & (tiles.size - 1), 0);
    EXPECT_LE(tiles.count, most_tiles);
    EXPECT_GE(tiles.count * tiles.size, samples);
    EXPECT_LT((tiles.count - 1) * tiles.size, samples);
  }
}

// ----------------------------------------------------------------------------------- the integrals

/// The kernels that a GPU runs, by NVRTC, for the oldest and a present GPU, and the most dimensions
/// that each number of intervals has.
TEST(MonteCarlo, KernelsCompile) {
  try {
    compile_cubin({.name = "nothing", .text = "", .options = {}}, 90);
  } catch (RuntimeCompilerMissing const& missing) {
    GTEST_SKIP() << missing.what();
  }
  std::vector<std::string> const none, mirrored = {"ANTITHETIC"};
  auto const check = [](std::string_view file, int dimensions,
                        std::vector<std::string> const& with) {
    SCOPED_TRACE(fmt::format("{} in {} dimensions", file, dimensions));
    auto const integrand = test::smooth_problem(dimensions).integrand;
    auto const path = fmt::format("kernels/sampling/{}.cuh", file);
    EXPECT_NO_THROW(compile_cubin(source_of<float>(integrand, path, with), 90));
    EXPECT_NO_THROW(compile_cubin(source_of<double>(integrand, path, with), 75));
  };
  check("monte_carlo", 20, none);
  check("monte_carlo", 3, mirrored);
  check("sobol", 5, none);
  check("vegas/vegas", 8, none);
  check("vegas/vegas", 20, none);
}

class Sampling : public testing::Test {
 protected:
  Estimate random(Integrand const& f, std::span<Interval const> box,
                  SamplingOptions const& options) {
    return monte_carlo<double>(stream_, f, box, {}, options).estimate;
  }
  Estimate quasi(Integrand const& f, std::span<Interval const> box,
                 SamplingOptions const& options) {
    return quasi_monte_carlo<double>(stream_, f, box, {}, options).estimate;
  }
  Stream stream_{Device::open(Backend::cpu)};
};

TEST_F(Sampling, ConstantsAreExact) {
  std::array<Interval, 2> const box = {{{1, 3}, {5, 0}}};
  auto const f = sampled("4", 2);
  EXPECT_EQ(random(f, box, {.points = 1000}).value, -40);
  EXPECT_EQ(quasi(f, box, {.points = 1000}).value, -40);
  EXPECT_LT(random(f, box, {.points = 1000}).error, 1e-13);
  EXPECT_EQ(quasi(f, box, {.points = 1000}).evaluations, 16 * 32);
  EXPECT_EQ(random(f, box, {.points = 1000}).evaluations, 1000);
}

TEST_F(Sampling, AntitheticSamplesOfLinearFunctionsAreExact) {
  std::array<Interval, 2> const box = {{{0, 1}, {-1, 3}}};
  auto const found = random(sampled("2*a-b", 2), box, {.points = 1001, .antithetic = true});
  EXPECT_NEAR(found.value, 0, found.error);
  EXPECT_LT(found.error, 1e-13);
  EXPECT_EQ(found.evaluations, 1000);
}

/// 400 seeds: by the normal distribution three standard errors hold for 99.7 % of them; a mean of
/// squares of z = error/standard error has the expectation 1 (of Student's t with 15 degrees of
/// freedom 15/13, and less as earlier batches count) and here a standard deviation of about 0.08.
TEST_F(Sampling, EstimatesAreAboveTheError) {
  std::vector<Interval> const box(3);
  auto const product = sampled("exp(a)*cos(b)*(1+c^2)", 3);
  double const exact = (std::exp(1.0) - 1) * std::sin(1.0) * 4 / 3;
  for (bool const is_quasi : {false, true}) {
    int below = 0;
    double squares = 0;
    for (std::uint64_t seed = 1; seed <= 400; ++seed) {
      SamplingOptions const options{.points = 2048, .seed = seed};
      auto const found = is_quasi ? quasi(product, box, options) : random(product, box, options);
      double const z = (found.value - exact) / found.error;
      below += std::abs(z) > 1;
      squares += z * z * (is_quasi ? 3.59 * 3.59 : 9) / 400;
    }
    EXPECT_LE(below, 6);
    EXPECT_NEAR(squares, 1, is_quasi ? 0.45 : 0.3);
  }
}

/// Root mean square errors over 30 seeds: n^(-1/2) of random samples, and at least n^(-1.2) of
/// Sobol points for a smooth integrand.
TEST_F(Sampling, ErrorsFallAtTheirRates) {
  std::vector<Interval> const box(3);
  auto const f = sampled("exp(a)*cos(b)*(1+c^2)", 3);
  double const exact = (std::exp(1.0) - 1) * std::sin(1.0) * 4 / 3;
  auto const error = [&](bool is_quasi, std::int64_t points) {
    double squares = 0;
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
      SamplingOptions const options{.points = points, .seed = seed};
      auto const found = is_quasi ? quasi(f, box, options) : random(f, box, options);
      squares += (found.value - exact) * (found.value - exact);
    }
    return std::sqrt(squares / 30);
  };
  double const of_random = std::log2(error(false, 1 << 10) / error(false, 1 << 14)) / 4;
  EXPECT_NEAR(of_random, 0.5, 0.15);
  double const of_quasi = std::log2(error(true, 1 << 10) / error(true, 1 << 15)) / 5;
  EXPECT_GT(of_quasi, 1.2);
}

TEST_F(Sampling, MeetsTolerances) {
  test::expect_six_gaussians<float>(Backend::cpu);
  test::expect_six_gaussians<double>(Backend::cpu);
}

TEST_F(Sampling, SaysWhenAToleranceIsNotReached) {
  std::vector<Interval> const box(2);
  auto const f = sampled("exp(a+b)", 2);
  auto const found = random(f, box, {.points = 100'000, .goal = {1e-9, 0}});
  EXPECT_EQ(found.outcome, Outcome::not_reached);
  EXPECT_EQ(found.evaluations, 100'000);
  EXPECT_NEAR(found.value, std::pow(std::exp(1.0) - 1, 2), found.error);
  EXPECT_EQ(quasi(f, box, {.points = 4096, .goal = {1e-12, 0}}).outcome, Outcome::not_reached);
  EXPECT_EQ(quasi(f, box, {.points = 1 << 20, .goal = {0, 1e-3}}).evaluations, 1 << 16);
}

/// Where all replicas have as many points on each side of a jump, their means say nothing.
TEST_F(Sampling, ReplicasThatAgreeByAccidentAreNotBelieved) {
  for (int const dimensions : {1, 2, 9})
    for (double const end : {0.003, 0.0022, 0.01, 0.02, 0.00125, 0.004, 0.008}) {
      auto const found = quasi(sampled(fmt::format("if(a < {}, 1, 0)", end), dimensions),
                               std::vector<Interval>(static_cast<std::size_t>(dimensions)),
                               {.goal = {1e-3, 0}, .seed = 1});
      EXPECT_EQ(found.outcome, Outcome::reached);
      EXPECT_LT(std::abs(found.value - end), std::min(found.error, 1e-3 * end)) << end;
    }
  std::vector<Interval> const box(3);
  int beyond = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    double const end = (static_cast<double>(seed) + 0.5) / 200.3;
    auto const found = quasi(sampled(fmt::format("if(a < {}, 1, 3)+0.1*b*c", end), 3), box,
                             {.points = 1 << 14, .seed = seed});
    double const error = std::abs(found.value - (3.025 - 2 * end));
    beyond += error > found.error;
    EXPECT_LT(error, 3 * found.error) << end;
  }
  EXPECT_LE(beyond, 4);
}

/// Smooth integrands of many variables take no more samples for that.
TEST_F(Sampling, SmoothIntegrandsTakeFewSamples) {
  auto const gaussians = sampled(test::of_all_axes(9, "*", "exp(-{0}^2)"), 9);
  std::vector<Interval> const box(9);
  EXPECT_EQ(quasi(gaussians, box, {.goal = {1e-3, 0}, .seed = 1}).evaluations, 1 << 16);
  EXPECT_LE(quasi(gaussians, box, {.goal = {1e-4, 0}, .seed = 1}).evaluations, 1 << 20);
}

/// No sample of the first batch hits the peak; it must not pass for an integral of 0.
TEST_F(Sampling, ZerosDoNotPassForAResult) {
  std::vector<Interval> const box(1);
  auto const peak = sampled("if(a < 1e-6, 1e6, 0)", 1);
  auto const found = random(peak, box, {.points = 1 << 22, .goal = {0.9, 1e-3}});
  EXPECT_GT(found.evaluations, 1 << 16);
  EXPECT_GT(found.value, 0);
}

TEST_F(Sampling, SamplesThatAreAllZeroSayNothing) {
  test::expect_zeros_say_nothing<float>(Backend::cpu);
  test::expect_zeros_say_nothing<double>(Backend::cpu);
}

TEST_F(Sampling, ResultsScaleWithTheIntegrand) {
  test::expect_sampling_scales<double>(Backend::cpu, {-1000, -400, 400, 1000});
}

/// A peak that none of the samples that the scale comes from meets, so small that its squares are
/// no numbers.
TEST_F(Sampling, AnErrorThatIsNotKnownIsInfinite) {
  auto const peak = sampled("if(a < 2e-6, 1e-250, 0)", 1);
  for (auto const& found : {random(peak, std::vector<Interval>(1), {.points = 1 << 22}),
                            quasi(peak, std::vector<Interval>(1), {.points = 1 << 22})})
    EXPECT_TRUE(std::isinf(found.error)) << found.error;
}

/// Points of float32 come as near to 0 as those of float64, and do not meet 1.
TEST(SobolPoints, UseAllDigits) {
  for (unsigned const digits : {0u, 1u, 255u, 511u, 512u, 0x80000000u, 0x80000100u, 0xc0001234u}) {
    EXPECT_EQ(sobol_uniform<double>(digits), (digits + 0.5) * 0x1p-32);
    EXPECT_EQ(sobol_uniform<float>(digits), static_cast<float>((digits + 0.5) * 0x1p-32));
  }
  EXPECT_EQ(sobol_uniform<float>(0xffffffffu), 1 - 0x1p-24f);
  EXPECT_EQ(sobol_uniform<double>(0xffffffffu), 1 - 0x1p-33);
}

TEST_F(Sampling, FindsTheFirstSampleThatIsNoNumber) {
  test::expect_first_non_finite<float>(Backend::cpu);
  test::expect_first_non_finite<double>(Backend::cpu);
  auto const integrand = sampled("log(a-0.0001)", 1);
  std::array<Interval, 1> const box = {{{0, 1}}};
  SamplingOptions const options{.points = 100'000, .seed = 9};
  auto const found = monte_carlo<double>(stream_, integrand, box, {}, options);
  SamplingProblem const problem{
      .integrand = integrand, .box = {{0, 1}}, .parameters = {}, .seed = 9};
  std::int64_t first = 0;
  while (random_point<double>(problem, first, false)[0] > 0.0001) ++first;
  EXPECT_GT(first, 4);
  EXPECT_EQ(found.non_finite_at, random_point<double>(problem, first, false));
}

/// log(1 − u) is no number at the mirror image of a small u.
TEST_F(Sampling, FindsAMirrorImageThatIsNoNumber) {
  auto const integrand = sampled("log(0.999-a)", 1);
  std::array<Interval, 1> const box = {{{0, 1}}};
  auto const found = monte_carlo<double>(stream_, integrand, box, {},
                                         {.points = 100'000, .seed = 9, .antithetic = true});
  ASSERT_EQ(found.non_finite_at.size(), 1u);
  EXPECT_GT(found.non_finite_at[0], 0.999);
}

template <class T>
void expect_inside(Interval const& interval) {
  auto const box = sample_box<T>(std::span(&interval, 1), {});
  auto const lower = static_cast<T>(std::min(interval.lower, interval.upper));
  auto const upper = static_cast<T>(std::max(interval.lower, interval.upper));
  for (T const u : {T(1) - greatest_uniform<T>, T(0.5), greatest_uniform<T>}) {
    EXPECT_GE(coordinate(box, 0, u), lower);
    EXPECT_LE(coordinate(box, 0, u), upper);
  }
}

TEST(SampleBox, KeepsCoordinatesInside) {
  for (int i = 1; i < 200; ++i) {
    Interval const interval{-0.1 * i, 0.7 / i};
    expect_inside<float>(interval);
    expect_inside<double>(interval);
    expect_inside<float>({interval.upper, interval.lower});
    expect_inside<double>({interval.upper, interval.lower});
  }
}

TEST_F(Sampling, RefusesBadArguments) {
  std::array<Interval, 1> const line = {{{0, 1}}};
  std::array<Interval, 1> const endless = {{{0, std::numeric_limits<double>::infinity()}}};
  std::array<Interval, 2> const square = {};
  auto const f = sampled("a", 1);
  EXPECT_THROW(random(f, square, {}), std::invalid_argument);
  EXPECT_THROW(random(f, endless, {}), std::invalid_argument);
  EXPECT_THROW(random(f, line, {.points = 0}), std::invalid_argument);
  EXPECT_THROW(random(f, line, {.points = 1, .antithetic = true}), std::invalid_argument);
  EXPECT_THROW(quasi(f, line, {.points = 15}), std::invalid_argument);
  EXPECT_THROW(quasi(f, line, {.antithetic = true}), std::invalid_argument);
  EXPECT_THROW(random(f, line, {.goal = {-1, 0}}), std::invalid_argument);
  EXPECT_THROW(random(f, line, {.goal = {0, std::nan("")}}), std::invalid_argument);
  EXPECT_THROW(random(sampled("a*b", 1, 1), line, {}), std::invalid_argument);
  EXPECT_THROW(monte_carlo<double>(stream_, f, line, {}, {}, "fastest"), std::invalid_argument);
}

}  // namespace
}  // namespace gridstride

#include <gtest/gtest.h>

#include <stdexcept>

#include "kernels/histogram/weights.hpp"
#include "support/histogram_cases.hpp"
#include "support/refusal.hpp"

namespace gridstride {
namespace {

using Counts = std::vector<std::int64_t>;
using Sums = std::vector<double>;
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

template <class T>
Counts count_even(std::vector<T> const& x, T lower, T upper, std::size_t bins,
                  std::string_view variant = "reference") {
  Stream stream(Device::open(Backend::cpu));
  Counts counts(bins, -1);
  histogram::count_even(stream, std::span(x), lower, upper, std::span(counts), variant);
  return counts;
}

Sums weigh_even(std::vector<double> const& x, std::vector<double> const& w, double lower,
                double upper, std::size_t bins) {
  Stream stream(Device::open(Backend::cpu));
  Sums sums(bins, -1);
  histogram::weigh_even(stream, std::span(x), std::span(w), lower, upper, std::span(sums),
                        "reference");
  return sums;
}

TEST(HistogramReference, EvenBinsByHand) {
  std::vector<double> const x = {-0.1, 0, -0.0, 1.9, 2, 9.99, 10, nan, infinity, -infinity};
  EXPECT_EQ(count_even(x, 0.0, 10.0, 5), (Counts{3, 1, 0, 0, 1}));
}

TEST(HistogramReference, WhatRoundsUpToTheUpperEndIsInTheLastBin) {
  // 1 − 2^−24 − (−1) rounds to 2, which is bin 64 of 64.
  EXPECT_EQ(count_even<float>({1 - 0x1p-24f, 1}, -1, 1, 64).back(), 1);
}

TEST(HistogramReference, EdgesByHand) {
  Stream stream(Device::open(Backend::cpu));
  std::vector<float> const x = {-1, 0, 0.5, 1, 9, 10, 99, 100, 1e30f, static_cast<float>(nan)};
  std::vector<float> edges = {0, 1, 10, 100};
  Counts counts(3);
  histogram::count_edges(stream, std::span<float const>(x), std::span<float const>(edges),
                         std::span(counts), "reference");
  EXPECT_EQ(counts, (Counts{2, 2, 2}));
  edges.front() = -std::numeric_limits<float>::infinity();
  edges.back() = std::numeric_limits<float>::infinity();
  histogram::count_edges(stream, std::span<float const>(x), std::span<float const>(edges),
                         std::span(counts), "reference");
  EXPECT_EQ(counts, (Counts{3, 2, 4}));
}

TEST(HistogramReference, BytesByHand) {
  Stream stream(Device::open(Backend::cpu));
  auto const counts = test::count_bytes(stream, {0, 255, 255, 7, 255, 0}, "reference");
  Counts expected(256);
  expected[0] = 2;
  expected[7] = 1;
  expected[255] = 3;
  EXPECT_EQ(counts, expected);
}

TEST(HistogramReference, SumsOfWeightsByHand) {
  EXPECT_EQ(weigh_even({0.5, 1.5, 0.25, 7}, {1, 0.5, 0.125, 1e9}, 0, 3, 3), (Sums{1.125, 0.5, 0}));
  // In float64 the first two would swallow the third.
  EXPECT_EQ(weigh_even({0, 0, 0}, {1e16, -1e16, 1}, 0, 1, 1), Sums{1});
  EXPECT_EQ(weigh_even({0, 0, 0}, {-0x1p100, 1, -1}, 0, 1, 1), Sums{-0x1p100});
}

TEST(HistogramReference, SumsCarryFromWordToWord) {
  // n = 4 and E = 1: two of 2^−60 are 2^63 each, which together leave the low word.
  EXPECT_EQ(weigh_even({0, 0, 0, 1}, {0x1p-60, 0x1p-60, 0x1p-70, 1}, 0, 2, 2),
            (Sums{0x1p-59 + 0x1p-70, 1}));
  EXPECT_EQ(weigh_even({0, 0, 0, 1}, {-0x1p-60, -0x1p-60, 0x1p-70, 1}, 0, 2, 2),
            (Sums{-0x1p-59 + 0x1p-70, 1}));
  EXPECT_EQ(weigh_even({0, 0, 0, 1}, {0x1p-70, -0x1p-70, 0x1p-20, 1}, 0, 2, 2), (Sums{0x1p-20, 1}));
}

TEST(HistogramReference, SumsOfExtremeWeights) {
  double const least = std::numeric_limits<double>::denorm_min();
  double const most = std::numeric_limits<double>::max();
  EXPECT_EQ(weigh_even({0, 0, 1}, {least, 2 * least, -least}, 0, 2, 2), (Sums{3 * least, -least}));
  EXPECT_EQ(weigh_even({0, 0, 1}, {most, most, -most}, 0, 2, 2), (Sums{infinity, -most}));
  EXPECT_EQ(weigh_even({0, 0, 0}, {most, most, -most}, 0, 1, 1), Sums{most});
  EXPECT_EQ(weigh_even({0, 0}, {0, -0.0}, 0, 1, 1), Sums{0});
}

TEST(HistogramReference, WeightsAreRoundedAsDocumented) {
  // n = 2 and E = 1: the integers count 2^−124, and half of one goes to the even neighbour.
  EXPECT_EQ(weigh_even({0, 1}, {1, 0x1p-125}, 0, 2, 2), (Sums{1, 0}));
  EXPECT_EQ(weigh_even({0, 1}, {1, 0x1.8p-125}, 0, 2, 2), (Sums{1, 0x1p-124}));
  EXPECT_EQ(weigh_even({0, 1}, {1, -0x1.8p-124}, 0, 2, 2), (Sums{1, -0x1p-123}));
}

TEST(HistogramReference, AWeightThatIsNotFiniteSpoilsItsBinOnly) {
  auto const sums = weigh_even({0, 0, 1, 2, 3, 9}, {1, nan, infinity, 5, -infinity, nan}, 0, 4, 4);
  EXPECT_TRUE(std::isnan(sums[0]));
  EXPECT_TRUE(std::isnan(sums[1]));
  EXPECT_EQ(sums[2], 5);
  EXPECT_TRUE(std::isnan(sums[3]));
}

TEST(HistogramReference, EmptyInputCountsNothing) {
  EXPECT_EQ(count_even<double>({}, 0, 1, 3), (Counts{0, 0, 0}));
  EXPECT_EQ(weigh_even({}, {}, 0, 1, 2), (Sums{0, 0}));
}

// ---------------------------------------------------------------------------- fixed-point weights

__extension__ using Integer = __int128;

Integer integer_of(histogram::Fixed value) {
  return static_cast<Integer>(value.high) << 64 | static_cast<Integer>(value.low);
}

/// w·2^shift, rounded to nearest even with integer arithmetic.
Integer rounded_integer(double w, int shift) {
  if (w == 0) return 0;
  int exponent = 0;
  Integer const mantissa = static_cast<Integer>(std::ldexp(std::abs(std::frexp(w, &exponent)), 53));
  int const up = exponent - 53 + shift;
  Integer result = 0;
  if (up >= 0) {
    result = mantissa << up;
  } else if (up > -60) {
    Integer const unit = Integer{1} << -up;
    result = mantissa / unit;
    Integer const twice_rest = 2 * (mantissa % unit);
    if (twice_rest > unit || (twice_rest == unit && result % 2 == 1)) ++result;
  }
  return w < 0 ? -result : result;
}

TEST(HistogramWeights, SplitIsTheRoundedInteger) {
  std::mt19937_64 generator(5);
  for (std::int64_t const count : {1, 2, 1000, 1 << 30}) {
    int bits = 0;
    while ((std::int64_t{1} << bits) < count) ++bits;
    for (int const top : {-1022, -1000, 0, 1, 700, 1024}) {
      histogram::WeightScale const scale(top + 1022, count);
      for (int i = 0; i < 2000; ++i) {
        double const fraction = static_cast<double>(generator() >> 11) * 0x1p-53;
        double const w = std::ldexp(fraction, top - i % 150) * (i % 2 == 0 ? 1 : -1);
        Integer const expected = rounded_integer(w, 126 - bits - top);
        ASSERT_TRUE(integer_of(scale.split(w)) == expected) << w << ", " << count << ", " << top;
      }
    }
  }
}

TEST(HistogramWeights, JoinRoundsOnce) {
  std::mt19937_64 generator(6);
  histogram::WeightScale const scale(1022 + 20, 1024);
  for (int i = 0; i < 20000; ++i) {
    // Ends in a run of zeros or ones, so that ties and what is just beside them come up.
    Integer value = (static_cast<Integer>(generator() >> 2) << 64) + generator();
    value = value >> (i % 126) << (i % 64) >> (i % 3);
    value = (value << 9 >> 9) + i % 3 - 1;
    if (i % 2 == 1) value = -value;
    histogram::Fixed const fixed = {static_cast<unsigned long long>(value),
                                    static_cast<unsigned long long>(value >> 64)};
    ASSERT_EQ(scale.join(fixed), std::ldexp(static_cast<double>(value), -(126 - 10 - 20))) << i;
  }
}

TEST(HistogramWeights, FullSumsDoNotOverflow) {
  for (int const count : {1, 3, 64}) {
    double const w = std::nextafter(1.0, 0.0);
    histogram::WeightScale const scale(1022, count);
    histogram::Fixed up, down;
    for (int i = 0; i < count; ++i) {
      up = up + scale.split(w);
      down = down + scale.split(-w);
    }
    EXPECT_EQ(scale.join(up), count * w);
    EXPECT_EQ(scale.join(down), -count * w);
  }
}

// ------------------------------------------------------------------------------------- every row

template <class T>
void compare_rows(std::int64_t size) {
  Stream stream(Device::open(Backend::cpu));
  int compared = 0;
  for (auto const& one : test::histogram_cases_of<T>(size)) {
    test::HistogramProblem<T> problem(stream, one, 1);
    for (auto const& row : histogram::variants<T>()) {
      if (row.backend != Backend::cpu || row.name == "reference") continue;
      EXPECT_EQ(problem.count_even(row.name), problem.count_even("reference")) << one.name;
      EXPECT_EQ(problem.count_edges(row.name), problem.count_edges("reference")) << one.name;
      EXPECT_EQ(problem.weigh_even(row.name), problem.weigh_even("reference")) << one.name;
      EXPECT_EQ(problem.weigh_edges(row.name), problem.weigh_edges("reference")) << one.name;
      ++compared;
    }
  }
  EXPECT_EQ(compared, 8);
}

TEST(HistogramHost, RowsEqualTheReference) {
  for (auto const size : test::histogram_sizes) {
    compare_rows<float>(size);
    compare_rows<double>(size);
  }
}

TEST(HistogramHost, LargeRowsEqualTheReference) {
  compare_rows<float>(test::large_histogram_size);
  compare_rows<double>(test::large_histogram_size);
}

TEST(HistogramHost, EvenEdgesAndNumbersEqualAnyEdges) {
  Stream stream(Device::open(Backend::cpu));
  for (auto const& row : histogram::variants<float>()) {
    if (row.backend != Backend::cpu) continue;
    test::expect_even_edges<float>(stream, row.name);
    test::expect_even_edges<double>(stream, row.name);
    test::expect_numbers<float>(stream, row.name);
    test::expect_numbers<double>(stream, row.name);
  }
}

TEST(HistogramHost, BytesEqualTheReference) {
  Stream stream(Device::open(Backend::cpu));
  for (auto const size : {std::int64_t{0}, std::int64_t{1}, std::int64_t{5}, std::int64_t{1025},
                          test::large_histogram_size})
    for (unsigned const distinct : {1u, 3u, 256u}) {
      auto const bytes = test::random_bytes(size, distinct);
      auto const expected = test::count_bytes(stream, bytes, "reference");
      EXPECT_EQ(test::count_bytes(stream, bytes, "auto", 1), expected);
      std::int64_t counted = 0;
      for (auto const count : expected) counted += count;
      EXPECT_EQ(counted, size);
    }
}

TEST(HistogramHost, CountsAndSumsAreThoseOfTheValues) {
  // Weights that are all one bin's number: the sum tells the bin of every value.
  std::int64_t const size = 100003;
  auto one = test::histogram_case<double>(test::HistogramData::random, size, 37, -1, 1);
  Counts expected(37);
  Sums expected_sums(37);
  for (std::size_t i = 0; i < one.values.size(); ++i) {
    double const place = std::floor((one.values[i] + 1) * 18.5);
    one.weights[i] = place;
    if (place < 0 || place >= 37) continue;
    ++expected[static_cast<std::size_t>(place)];
    expected_sums[static_cast<std::size_t>(place)] += place;
  }
  Stream stream(Device::open(Backend::cpu));
  test::HistogramProblem<double> problem(stream, one);
  EXPECT_EQ(problem.count_even("auto"), expected);
  EXPECT_EQ(problem.weigh_even("auto"), test::bits_of(expected_sums));
}

// -------------------------------------------------------------------------------------- arguments

TEST(HistogramArguments, RangesOfNumbersAndEvenEdgesAreChecked) {
  Stream stream(Device::open(Backend::cpu));
  std::vector<double> const x(10), edges(5);
  Counts counts(4);
  auto const numbers = [&](std::vector<histogram::NumberRange> const& ranges) {
    return test::refusal([&] { histogram::count_numbers<double>(stream, x, ranges, counts); });
  };
  EXPECT_EQ(numbers({}), "count_numbers: there are 0 ranges, 1 to 8 may be");
  EXPECT_EQ(numbers(std::vector<histogram::NumberRange>(9)),
            "count_numbers: there are 9 ranges, 1 to 8 may be");
  EXPECT_NE(numbers({{0, 2, 0}, {9, 3, 0}}).find("counts has 4 elements"), std::string::npos);
  EXPECT_EQ(numbers({{0, 1, 0}, {9, 3, 0}}), "nothing");
  EXPECT_EQ(
      test::refusal([&] { histogram::count_even_edges<double>(stream, x, edges, 1, 1, counts); }),
      "count_even_edges: first 1 is not below last 1");
}

TEST(HistogramArguments, SizesAndRangesAreChecked) {
  Stream stream(Device::open(Backend::cpu));
  std::vector<double> const x(10), w(9), edges(4);
  Counts counts(4), many(8193);
  Sums sums(4);
  auto const even = [&](double lower, double upper, std::span<std::int64_t> results) {
    return test::refusal(
        [&] { histogram::count_even(stream, std::span(x), lower, upper, results); });
  };
  EXPECT_EQ(even(1, 1, counts), "count_even: lower 1 is not below upper 1");
  EXPECT_EQ(even(nan, 1, counts), "count_even: lower nan is not below upper 1");
  EXPECT_EQ(even(0, 1, {}), "count_even: counts has 0 elements, it needs 1 to 8192");
  EXPECT_EQ(even(0, 1, many), "count_even: counts has 8193 elements, it needs 1 to 8192");
  std::string const no_width =
      " have no width (upper - lower and bins/(upper - lower) must be finite)";
  EXPECT_EQ(even(0, infinity, counts), "count_even: 4 bins from lower 0 to upper inf" + no_width);
  EXPECT_EQ(even(-1.5e308, 1.5e308, counts),
            "count_even: 4 bins from lower -1.5e+308 to upper 1.5e+308" + no_width);
  EXPECT_EQ(even(0, 1e-310, counts), "count_even: 4 bins from lower 0 to upper 1e-310" + no_width);
  EXPECT_EQ(test::refusal([&] {
              histogram::count_edges(stream, std::span(x), std::span(edges), std::span(counts));
            }),
            "count_edges: edges has 4 elements, it needs 5");
  EXPECT_EQ(test::refusal([&] {
              histogram::weigh_even(stream, std::span(x), std::span(w), 0.0, 1.0, std::span(sums));
            }),
            "weigh_even: input has 10 elements and weights has 9 (they must agree)");
  EXPECT_EQ(test::refusal([&] {
              histogram::count_bytes(stream, std::span<std::uint8_t const>(), std::span(counts));
            }),
            "count_bytes: counts has 4 elements, it needs 256");
}

TEST(HistogramArguments, ResultsOverlapNothing) {
  Stream stream(Device::open(Backend::cpu));
  std::vector<double> x(10), other(10), edges(5);
  auto const weigh = [&](std::span<double const> input, std::span<double const> weights,
                         std::span<double> sums) {
    return test::refusal([&] {
      histogram::weigh_edges(stream, input, weights, std::span<double const>(edges), sums);
    });
  };
  EXPECT_EQ(weigh(x, other, std::span(x).last(4)),
            "weigh_edges: input (10 elements) and sums (4 elements) overlap");
  EXPECT_EQ(weigh(x, other, std::span(other).first(4)),
            "weigh_edges: weights (10 elements) and sums (4 elements) overlap");
  EXPECT_EQ(weigh(x, x, std::span(edges).first(4)),
            "weigh_edges: edges (5 elements) and sums (4 elements) overlap");
  EXPECT_EQ(weigh(x, x, std::span(other).first(4)), "nothing");
}

TEST(HistogramArguments, UnknownVariantsAreRefused) {
  EXPECT_EQ(test::refusal([] { count_even<float>({1}, 0, 1, 4, "fastest"); }),
            "histogram: cpu has no variant 'fastest'");
  EXPECT_EQ(test::refusal([] { count_even<float>({}, 0, 1, 4, "shared_atomic"); }),
            "histogram: cpu has no variant 'shared_atomic'");
}

}  // namespace
}  // namespace gridstride

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <stdexcept>

#include "core/processors.hpp"
#include "kernels/reduce/pieces.hpp"
#include "kernels/reduce/reduce.hpp"
#include "support/reduce_cases.hpp"

namespace gridstride {
namespace {

using test::ReduceProblem;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

template <class T>
test::Reduced<T> reference(std::vector<T> const& x, std::vector<T> const& y) {
  Stream stream(Device::open(Backend::cpu));
  return ReduceProblem<T>(stream, x, y).run("reference");
}

template <class T>
test::Reduced<T> reference(std::vector<T> const& x) {
  return reference(x, x);
}

template <class T>
void reduce_eight_values() {
  auto const found = reference<T>({2, 4, 4, 4, 5, 5, 7, 9}, {1, 0, 2, 0, 3, 0, 0, 1});
  EXPECT_EQ(found.sum, 40);
  EXPECT_EQ(found.minimum, 2);
  EXPECT_EQ(found.maximum, 9);
  EXPECT_EQ(found.dot, 2 + 8 + 15 + 9);
  EXPECT_EQ(found.mean, 5);
  EXPECT_EQ(found.variance, 4);  // (9 + 1 + 1 + 1 + 0 + 0 + 4 + 16)/8
  EXPECT_EQ(found.l2_norm, std::sqrt(232.0));
  EXPECT_EQ(found.moments.minimum, 2);
  EXPECT_EQ(found.moments.maximum, 9);
  EXPECT_EQ(found.moments.sum, 40);
  EXPECT_EQ(found.moments.sum_of_squares, 232);
  EXPECT_EQ(found.moments.first_non_finite, -1);
}

TEST(ReduceReference, EightValuesByHand) {
  reduce_eight_values<std::int32_t>();
  reduce_eight_values<std::int64_t>();
  reduce_eight_values<float>();
  reduce_eight_values<double>();
}

TEST(ReduceReference, OneNegativeValue) {
  auto const found = reference<float>({-2.5f});
  EXPECT_EQ(found.sum, -2.5);
  EXPECT_EQ(found.minimum, -2.5f);
  EXPECT_EQ(found.maximum, -2.5f);
  EXPECT_EQ(found.dot, 6.25);
  EXPECT_EQ(found.mean, -2.5);
  EXPECT_EQ(found.variance, 0);
  EXPECT_EQ(found.l2_norm, 2.5);
}

template <class T>
void reduce_nothing(T greatest, T least) {
  auto const found = reference<T>({});
  EXPECT_EQ(found.sum, 0);
  EXPECT_EQ(found.minimum, greatest);
  EXPECT_EQ(found.maximum, least);
  EXPECT_EQ(found.dot, 0);
  EXPECT_TRUE(std::isnan(found.mean));
  EXPECT_TRUE(std::isnan(found.variance));
  EXPECT_EQ(found.l2_norm, 0);
  EXPECT_EQ(found.moments.minimum, greatest);
  EXPECT_EQ(found.moments.maximum, least);
  EXPECT_EQ(found.moments.sum, 0);
  EXPECT_EQ(found.moments.sum_of_squares, 0);
  EXPECT_EQ(found.moments.first_non_finite, -1);
}

TEST(ReduceReference, NothingGivesTheIdentity) {
  reduce_nothing<std::int32_t>(2147483647, -2147483647 - 1);
  reduce_nothing<std::int64_t>(9223372036854775807, -9223372036854775807 - 1);
  reduce_nothing<float>(std::numeric_limits<float>::infinity(),
                        -std::numeric_limits<float>::infinity());
  reduce_nothing<double>(infinity, -infinity);
}

TEST(ReduceReference, IntegersAreSummedIn64BitsAndWrap) {
  auto const narrow = reference<std::int32_t>({2147483647, 2147483647, 2147483647});
  EXPECT_EQ(narrow.sum, 6442450941);
  EXPECT_EQ(narrow.mean, 2147483647.0);
  // 3·(2^31 - 1)² = 3·2^62 - 3·2^32 + 3, of which 2^64 is taken
  EXPECT_EQ(narrow.dot, -(std::int64_t{1} << 62) - 3 * (std::int64_t{1} << 32) + 3);
  auto const wide = reference<std::int64_t>({9223372036854775807, 1}, {2, 0});
  EXPECT_EQ(wide.sum, -9223372036854775807 - 1);
  EXPECT_EQ(wide.dot, -2);
}

TEST(ReduceReference, Float32IsSummedInFloat64) {
  // In float32 16777216 + 1 is 16777216.
  auto const found = reference<float>({16777216, 1, 1, -16777216});
  EXPECT_EQ(found.sum, 2);
  EXPECT_EQ(found.mean, 0.5);
  EXPECT_EQ(found.dot, 2 * 281474976710656.0 + 2);
}

TEST(ReduceReference, LargeMeanTakesNoDigitsFromTheVariance) {
  EXPECT_EQ(reference<double>({1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16}).variance, 22.5);
}

TEST(ReduceReference, NanIsKept) {
  for (std::vector<double> const& x :
       {std::vector<double>{nan, 1, 2}, {1, nan, 2}, {1, 2, nan}, {infinity, 1, nan}}) {
    auto const found = reference(x);
    EXPECT_TRUE(std::isnan(found.sum));
    EXPECT_TRUE(std::isnan(found.minimum));
    EXPECT_TRUE(std::isnan(found.maximum));
    EXPECT_TRUE(std::isnan(found.dot));
    EXPECT_TRUE(std::isnan(found.mean));
    EXPECT_TRUE(std::isnan(found.variance));
    EXPECT_TRUE(std::isnan(found.l2_norm));
    EXPECT_TRUE(std::isnan(found.moments.minimum));
    EXPECT_TRUE(std::isnan(found.moments.maximum));
    EXPECT_TRUE(std::isnan(found.moments.sum));
    EXPECT_TRUE(std::isnan(found.moments.sum_of_squares));
    auto const first = std::find_if(x.begin(), x.end(), [](double v) { return !std::isfinite(v); });
    EXPECT_EQ(found.moments.first_non_finite, first - x.begin());
  }
}

TEST(ReduceReference, InfinitiesAreValues) {
  auto const found = reference<double>({1, infinity, 3, -infinity});
  EXPECT_TRUE(std::isnan(found.sum));
  EXPECT_EQ(found.minimum, -infinity);
  EXPECT_EQ(found.maximum, infinity);
  EXPECT_EQ(found.l2_norm, infinity);
  EXPECT_EQ(found.moments.minimum, -infinity);
  EXPECT_EQ(found.moments.maximum, infinity);
  EXPECT_EQ(found.moments.first_non_finite, 1);
  EXPECT_EQ(reference<double>({1, infinity}).sum, infinity);
}

TEST(ReduceReference, SquaresThatOverflowAreNoNonFiniteElements) {
  auto const found = reference<double>({1e200, -1e200});
  EXPECT_EQ(found.moments.sum_of_squares, infinity);
  EXPECT_EQ(found.moments.minimum, -1e200);
  EXPECT_EQ(found.moments.first_non_finite, -1);
}

// ------------------------------------------------------------------------------ the other rows

/// The sizes at which the host's blocks begin and end, with every kind of data.
template <class T>
void compare_rows() {
  auto cases = test::small_reduce_cases();
  for (std::size_t const size : {8191, 8193, 65535, 65536, 65537, 196613})
    for (std::size_t k = 0; k < 6; ++k)
      cases.push_back({size, static_cast<test::ReduceData>(k), k % 2, k % 3});
  EXPECT_EQ(test::compare_reduce_rows<T>(Backend::cpu, cases), 40 + 36);
}

TEST(ReduceHost, RowsEqualTheReferenceInInt32) { compare_rows<std::int32_t>(); }
TEST(ReduceHost, RowsEqualTheReferenceInInt64) { compare_rows<std::int64_t>(); }
TEST(ReduceHost, RowsEqualTheReferenceInFloat32) { compare_rows<float>(); }
TEST(ReduceHost, RowsEqualTheReferenceInFloat64) { compare_rows<double>(); }

TEST(ReduceHost, LargeRowsEqualTheReference) {
  auto const cases = test::large_reduce_cases();
  EXPECT_EQ(test::compare_reduce_rows<std::int32_t>(Backend::cpu, cases), 6);
  EXPECT_EQ(test::compare_reduce_rows<std::int64_t>(Backend::cpu, cases), 6);
  EXPECT_EQ(test::compare_reduce_rows<float>(Backend::cpu, cases), 6);
  EXPECT_EQ(test::compare_reduce_rows<double>(Backend::cpu, cases), 6);
}

TEST(ReduceHost, RowsKeepNanAndInfinity) {
  EXPECT_EQ(test::compare_reduce_rows_of_non_finite<float>(Backend::cpu), 144);
  EXPECT_EQ(test::compare_reduce_rows_of_non_finite<double>(Backend::cpu), 144);
}

TEST(ReduceHost, SquaresThatOverflowAreNoNonFiniteElements) {
  Stream stream(Device::open(Backend::cpu));
  std::vector<double> x(100003, 1e200);
  x[90001] = -1e300;
  auto const found = ReduceProblem<double>(stream, x, x).run("threads");
  EXPECT_EQ(found.moments.sum_of_squares, infinity);
  EXPECT_EQ(found.moments.minimum, -1e300);
  EXPECT_EQ(found.moments.first_non_finite, -1);
}

TEST(ReduceHost, LargeBitsDoNotDependOnTheNumberOfThreads) {
  Stream stream(Device::open(Backend::cpu));
  ReduceProblem<double> problem(stream, {999983, test::ReduceData::random, 1, 0});
  int const threads = host_threads();
  set_host_threads(1);
  auto const alone = problem.run("threads");
  for (int const count : {2, 3, 5, 8}) {
    set_host_threads(count);
    auto const shared = problem.run("threads");
    EXPECT_EQ(std::memcmp(&alone, &shared, sizeof alone), 0) << count << " threads";
  }
  set_host_threads(threads);
}

TEST(ReduceHost, SameBitsEveryTime) {
  test::expect_same_bits<float>(Backend::cpu, 70001);
  test::expect_same_bits<double>(Backend::cpu, 70001);
}

// --------------------------------------------------------------------------------------- blocks

TEST(ReduceBlocks, ArePartsOfAnyArray) {
  test::expect_blocks_of_parts<float>(Backend::cpu);
  test::expect_blocks_of_parts<double>(Backend::cpu);
}

TEST(ReduceBlocks, OfLengths) {
  test::expect_blocks_of_lengths<float>(Backend::cpu);
  test::expect_blocks_of_lengths<double>(Backend::cpu);
}

TEST(ReduceBlocks, TogetherAreTheWhole) {
  Stream stream(Device::open(Backend::cpu));
  for (std::size_t const size : test::block_sizes()) {
    auto const values = test::values_of_any_size<double>(size, size % 2 == 0, 3);
    auto const blocks = test::found_blocks<double>(Backend::cpu, {values}, 0);
    reduce::Moments<double> whole{};
    reduce::moments<double>(stream, values, std::span(&whole, 1), "threads");
    test::expect_same(reduce::combined_moments<double>(blocks), whole, std::to_string(size));
  }
}

/// The lanes of a warp, as the GPU has them: each by itself, then the upper half onto the lower.
template <class T, class Source>
reduce::Moments<T> moments_of_lanes(Source const& x, std::int64_t size, std::int64_t offset) {
  auto block = reduce::MomentsOperation<T>::identity();
  for (std::int64_t begin = 0; begin < size; begin += reduce::piece_elements) {
    auto const count = static_cast<int>(std::min(reduce::piece_elements, size - begin));
    std::vector<reduce::LaneMoments<T>> lanes;
    auto first = reduce::no_index;
    for (int lane = 0; lane < reduce::lanes; ++lane) {
      lanes.push_back(reduce::lane_moments<T>(x, begin, count, lane));
      first = std::min(first, reduce::first_bad_of_lane<T>(x, begin, count, lane));
    }
    for (std::size_t half = lanes.size() / 2; half > 0; half /= 2)
      for (std::size_t lane = 0; lane < half; ++lane) lanes[lane].combine(lanes[lane + half]);
    reduce::Moments<T> piece{lanes[0].minimum, lanes[0].maximum, lanes[0].sum,
                             lanes[0].sum_of_squares, reduce::no_index};
    if (!reduce::is_finite(piece.sum_of_squares) && first != reduce::no_index)
      piece.first_non_finite = offset + begin + first;
    reduce::MomentsOperation<T>::combine(block, piece);
  }
  return block;
}

template <class T>
void compare_lanes() {
  for (std::size_t const size : test::block_sizes()) {
    if (size == 0 || size > reduce::host_block) continue;
    for (bool const finite : {true, false}) {
      auto const values = test::values_of_any_size<T>(size, finite, 7);
      auto const others = test::values_of_any_size<T>(size, true, 8);
      auto const blocks = test::found_blocks<T>(Backend::cpu, {values}, reduce::host_block);
      auto const of_lengths =
          test::found_blocks<T>(Backend::cpu, {values, others}, reduce::host_block);
      auto const bits = std::to_string(size);
      auto const count = static_cast<std::int64_t>(size);
      auto finished = [](auto moments) { return reduce::MomentsOperation<T>::finish(moments); };
      test::expect_same(finished(moments_of_lanes<T>(reduce::Elements<T>{values.data()}, count,
                                                     reduce::host_block)),
                        finished(blocks[0]), bits);
      reduce::Lengths<T, 2> const lengths{{values.data(), others.data()}, 2};
      test::expect_same(finished(moments_of_lanes<T>(lengths, count, reduce::host_block)),
                        finished(of_lengths[0]), bits + " lengths");
    }
  }
}

TEST(ReduceBlocks, OfLanesHaveTheSameBits) {
  compare_lanes<float>();
  compare_lanes<double>();
}

// ------------------------------------------------------------------------------------ arguments

void expect_refused(std::function<void()> const& call, std::string const& message) {
  try {
    call();
    ADD_FAILURE() << "not refused: " << message;
  } catch (std::invalid_argument const& error) {
    EXPECT_EQ(error.what(), message);
  }
}

TEST(ReduceArguments, BadOnesAreNamed) {
  Stream stream(Device::open(Backend::cpu));
  std::vector<double> memory(8, 1), other(7, 1);
  std::span<double const> const x(memory);
  std::span<double const> const shorter(other);
  double one = 0;
  std::span<double> const result(&one, 1), two = std::span(other).first(2);
  std::span<double> const inside = std::span(memory).subspan(3, 1);
  expect_refused([&] { reduce::sum(stream, x, two); },
                 "reduce::sum: result has 2 elements, it needs 1");
  expect_refused([&] { reduce::mean(stream, x, two.first(0)); },
                 "reduce::mean: result has 0 elements, it needs 1");
  expect_refused([&] { reduce::variance(stream, x, two); },
                 "reduce::variance: result has 2 elements, it needs 1");
  expect_refused([&] { reduce::moments(stream, x, std::span<reduce::Moments<double>>()); },
                 "reduce::moments: result has 0 elements, it needs 1");
  expect_refused([&] { reduce::minimum(stream, x, inside); },
                 "reduce::minimum: input (8 elements) and result (1 elements) overlap");
  expect_refused([&] { reduce::maximum(stream, x, inside); },
                 "reduce::maximum: input (8 elements) and result (1 elements) overlap");
  expect_refused([&] { reduce::l2_norm(stream, x, inside); },
                 "reduce::l2_norm: input (8 elements) and result (1 elements) overlap");
  expect_refused([&] { reduce::variance(stream, x, inside); },
                 "reduce::variance: input (8 elements) and result (1 elements) overlap");
  expect_refused([&] { reduce::dot(stream, x, shorter, result); },
                 "reduce::dot: a has 8 elements and b has 7 (they must agree)");
  expect_refused([&] { reduce::dot(stream, shorter, x.first(7), inside); },
                 "reduce::dot: b (7 elements) and result (1 elements) overlap");
  expect_refused([&] { reduce::sum(stream, x, result, "vectorized"); },
                 "reduce: cpu has no variant 'vectorized'");
  expect_refused([&] { reduce::mean(stream, x, result, "fastest"); },
                 "reduce: cpu has no variant 'fastest'");
  EXPECT_EQ(one, 0);
  std::vector<reduce::Moments<double>> blocks(2);
  expect_refused([&] { reduce::block_moments(stream, x, 0, std::span(blocks)); },
                 "reduce::block_moments: blocks has 2 elements, it needs 1");
  auto const block = std::span(blocks).first(1);
  expect_refused([&] { reduce::block_moments(stream, x, 8, block); },
                 "reduce::block_moments: values that begin within a block");
  std::span<double const> const pair[] = {x, shorter};
  std::vector<std::span<double const>> const many(25, x);
  expect_refused(
      [&] { reduce::block_moments<double>(stream, pair, 0, block); },
      "reduce::block_moments: components has 8 elements and components has 7 (they must agree)");
  expect_refused([&] { reduce::block_moments<double>(stream, many, 0, block); },
                 "reduce::block_moments: vectors of no components, or of too many");
}

TEST(ReduceArguments, AutoIsTheDefaultOfTheTable) {
  Stream stream(Device::open(Backend::cpu));
  ReduceProblem<double> problem(stream, {70001, test::ReduceData::random, 0, 0});
  auto const chosen = problem.run("auto");
  auto const named = problem.run(reduce::default_variant(Backend::cpu));
  EXPECT_EQ(std::memcmp(&chosen, &named, sizeof chosen), 0);
  EXPECT_NE(chosen.sum, problem.run("reference").sum);  // the order of summation differs
}

TEST(ReduceTable, HoldsTheWholeLadderForEveryType) {
  std::vector<std::string_view> const names = {"reference",
                                               "threads",
                                               "global",
                                               "atomic",
                                               "interleaved",
                                               "interleaved_strided",
                                               "sequential",
                                               "first_add_on_load",
                                               "unroll_last_warp",
                                               "unrolled",
                                               "grid_stride",
                                               "warp_shuffle",
                                               "cooperative_groups",
                                               "vectorized",
                                               "blocks",
                                               "cub"};
  auto const names_of = [](auto rows) {
    std::vector<std::string_view> found;
    for (auto const& row : rows) found.push_back(row.name);
    return found;
  };
  EXPECT_EQ(names_of(reduce::variants<std::int32_t>()), names);
  EXPECT_EQ(names_of(reduce::variants<std::int64_t>()), names);
  EXPECT_EQ(names_of(reduce::variants<float>()), names);
  EXPECT_EQ(names_of(reduce::variants<double>()), names);
  EXPECT_EQ(reduce::default_variant(Backend::cpu), "threads");
  EXPECT_EQ(reduce::default_variant(Backend::cuda), "vectorized");
  EXPECT_EQ(reduce::variant_of_blocks("auto", Backend::cpu), "threads");
  EXPECT_EQ(reduce::variant_of_blocks("auto", Backend::cuda), "blocks");
  EXPECT_EQ(reduce::variant_of_blocks("sequential", Backend::cuda), "sequential");
}

}  // namespace
}  // namespace gridstride

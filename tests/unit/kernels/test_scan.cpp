#include <gtest/gtest.h>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

#include "core/processors.hpp"
#include "kernels/scan/scan.hpp"
#include "support/refusal.hpp"
#include "support/scan_cases.hpp"

namespace gridstride {
namespace {

using scan::Kind;
using scan::Operation;
using test::ScanData;

constexpr test::ScanCase inclusive_sum{Operation::sum, Kind::inclusive};
constexpr test::ScanCase exclusive_sum{Operation::sum, Kind::exclusive};
constexpr test::ScanCase inclusive_maximum{Operation::maximum, Kind::inclusive};
constexpr test::ScanCase exclusive_maximum{Operation::maximum, Kind::exclusive};

template <class T>
std::vector<T> reference(test::ScanCase const& one, std::vector<T> const& values) {
  Stream stream(Device::open(Backend::cpu));
  return test::scanned(stream, one, values, "reference");
}

template <class T>
class ScanReference : public testing::Test {};
using Types = testing::Types<std::int32_t, std::int64_t, float, double>;
TYPED_TEST_SUITE(ScanReference, Types);

TYPED_TEST(ScanReference, ByHand) {
  using Values = std::vector<TypeParam>;
  Values const x = {3, 1, 4, -1, 5, -9};
  TypeParam const least = std::is_integral_v<TypeParam>
                              ? std::numeric_limits<TypeParam>::min()
                              : -std::numeric_limits<TypeParam>::infinity();
  EXPECT_EQ(reference(inclusive_sum, x), (Values{3, 4, 8, 7, 12, 3}));
  EXPECT_EQ(reference(exclusive_sum, x), (Values{0, 3, 4, 8, 7, 12}));
  EXPECT_EQ(reference(inclusive_maximum, x), (Values{3, 3, 4, 4, 5, 5}));
  EXPECT_EQ(reference(exclusive_maximum, x), (Values{least, 3, 3, 4, 4, 5}));
}

TYPED_TEST(ScanReference, NothingAndOneElement) {
  using Values = std::vector<TypeParam>;
  for (auto const& one : test::scan_cases) EXPECT_EQ(reference(one, Values{}), Values{});
  EXPECT_EQ(reference(inclusive_sum, Values{5}), Values{5});
  EXPECT_EQ(reference(exclusive_sum, Values{5}), Values{0});
  EXPECT_EQ(reference(inclusive_maximum, Values{5}), Values{5});
}

TEST(ScanReferenceOfIntegers, SumsWrap) {
  EXPECT_EQ(reference(inclusive_sum, std::vector<std::int32_t>{2147483647, 1, -1, 2147483647}),
            (std::vector<std::int32_t>{2147483647, -2147483647 - 1, 2147483647, -2}));
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(reference(exclusive_sum, std::vector<std::int64_t>{most, 1, 0}),
            (std::vector<std::int64_t>{0, most, -most - 1}));
}

TEST(ScanReferenceOfFloats, NanStaysAndInfinitiesCancelToIt) {
  using Values = std::vector<double>;
  constexpr double inf = std::numeric_limits<double>::infinity();
  double const nan = std::numeric_limits<double>::quiet_NaN();
  Values const spoiled = {1, nan, 2, inf}, opposed = {1, inf, 2, -inf, 3};
  for (auto const& one : {inclusive_sum, inclusive_maximum}) {
    auto const result = reference(one, spoiled);
    EXPECT_EQ(result[0], 1);
    for (std::size_t i = 1; i < 4; ++i) EXPECT_TRUE(std::isnan(result[i])) << one.text();
  }
  auto const sums = reference(inclusive_sum, opposed);
  EXPECT_EQ(Values(sums.begin(), sums.begin() + 3), (Values{1, inf, inf}));
  EXPECT_TRUE(std::isnan(sums[3]) && std::isnan(sums[4]));
  EXPECT_EQ(reference(inclusive_maximum, opposed), (Values{1, inf, inf, inf, inf}));
  EXPECT_EQ(reference(exclusive_maximum, Values{-inf, -3, -5}), (Values{-inf, -inf, -3}));
}

template <class T>
class ScanHost : public testing::Test {};
TYPED_TEST_SUITE(ScanHost, Types);

TYPED_TEST(ScanHost, VariantsEqualTheReference) {
  Stream stream(Device::open(Backend::cpu));
  int compared = 0;
  for (std::size_t const size :
       {0, 1, 31, 32, 33, 255, 1023, 1025, 3999, 4000, 4001, 15999, 16000, 16001, 20011, 131101})
    test::compare_scans<TypeParam>(stream, size, test::scan_data_kinds<TypeParam>(), compared);
  test::compare_scans<TypeParam>(stream, 999983, {ScanData::random, ScanData::whole}, compared);
  EXPECT_GE(compared, 16 * 6 * 4 * 2);
}

/// The bits of what `threads` makes of values whose sums round.
template <class T>
std::vector<T> threads_with(int count, std::size_t size) {
  Stream stream(Device::open(Backend::cpu));
  int const before = host_threads();
  set_host_threads(count);
  auto const result =
      test::scanned(stream, inclusive_sum, test::scan_data<T>(ScanData::random, size), "threads");
  set_host_threads(before);
  return result;
}

TEST(ScanHostOfFloats, BitsDoNotDependOnTheNumberOfThreads) {
  for (std::size_t const size : {4001, 131101, 999983}) {
    auto const alone = threads_with<float>(1, size);
    for (int const count : {2, 3, 7})
      EXPECT_TRUE(test::same_bits(alone, threads_with<float>(count, size))) << size << ' ' << count;
  }
}

TEST(ScanHostOfFloats, OneBlockHasTheBitsOfTheReference) {
  for (std::size_t const size : {1025, 4000})
    EXPECT_TRUE(
        test::same_bits(threads_with<float>(3, size),
                        reference(inclusive_sum, test::scan_data<float>(ScanData::random, size))));
}

TEST(Scan, RefusesBadArguments) {
  Stream stream(Device::open(Backend::cpu));
  std::vector<float> x(8, 1), y(7);
  auto const all = std::span(x);
  EXPECT_EQ(test::refusal([&] { scan::inclusive_sum<float>(stream, x, y); }),
            "inclusive_sum: input has 8 elements and output has 7 (they must agree)");
  EXPECT_EQ(test::refusal([&] { scan::exclusive_sum<float>(stream, x, y); }),
            "exclusive_sum: input has 8 elements and output has 7 (they must agree)");
  EXPECT_EQ(
      test::refusal([&] { scan::inclusive_maximum<float>(stream, all.first(5), all.last(5)); }),
      "inclusive_maximum: input (5 elements) and output (5 elements) overlap");
  EXPECT_EQ(
      test::refusal([&] { scan::exclusive_maximum<float>(stream, all.last(5), all.first(5)); }),
      "exclusive_maximum: input (5 elements) and output (5 elements) overlap");
  EXPECT_EQ(test::refusal([&] { scan::inclusive_sum<float>(stream, x, x, "fastest"); }),
            "scan: cpu has no variant 'fastest'");
  EXPECT_EQ(test::refusal([&] { scan::inclusive_sum<float>(stream, x, x, "blelloch"); }),
            "scan: cpu has no variant 'blelloch'");
  EXPECT_EQ(test::refusal([&] { scan::inclusive_sum<float>(stream, {}, {}, "fastest"); }),
            "scan: cpu has no variant 'fastest'");
  EXPECT_EQ(x, std::vector<float>(8, 1));
}

TEST(Scan, AutoIsTheDefault) {
  Stream stream(Device::open(Backend::cpu));
  auto const values = test::scan_data<float>(ScanData::random, 20011);
  EXPECT_TRUE(test::same_bits(
      test::scanned(stream, inclusive_sum, values, "auto"),
      test::scanned(stream, inclusive_sum, values, scan::default_variant(Backend::cpu))));
  EXPECT_FALSE(test::same_bits(test::scanned(stream, inclusive_sum, values, "auto"),
                               test::scanned(stream, inclusive_sum, values, "reference")));
}

}  // namespace
}  // namespace gridstride

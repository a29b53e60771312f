#include <gtest/gtest.h>

#include <stdexcept>

#include "kernels/sort/order.hpp"
#include "support/refusal.hpp"
#include "support/sort_cases.hpp"

namespace gridstride {
namespace {

template <class T>
std::vector<T> reference(std::vector<T> const& keys) {
  Stream stream(Device::open(Backend::cpu));
  return test::sorted(stream, keys, false, "reference").keys;
}

TEST(SortReference, IntegersByHand) {
  EXPECT_EQ(reference<std::int32_t>({3, -1, 2147483647, 0, -2147483648, 3}),
            (std::vector<std::int32_t>{-2147483648, -1, 0, 3, 3, 2147483647}));
  EXPECT_EQ(reference<std::int64_t>({1ll << 40, -(1ll << 40), 7}),
            (std::vector<std::int64_t>{-(1ll << 40), 7, 1ll << 40}));
}

template <class T>
void total_order() {
  constexpr T nan = std::numeric_limits<T>::quiet_NaN();
  constexpr T infinity = std::numeric_limits<T>::infinity();
  constexpr T tiny = std::numeric_limits<T>::denorm_min();
  std::vector<T> const expected = {-nan, -infinity, -1, -tiny, -T{0}, 0, tiny, 1, infinity, nan};
  std::vector<T> const mixed = {1, nan, -tiny, -T{0}, -infinity, 0, infinity, -nan, tiny, -1};
  EXPECT_EQ(test::key_bits(reference(mixed)), test::key_bits(expected));
}

TEST(SortReference, FloatingPointIsInTotalOrder) {
  total_order<float>();
  total_order<double>();
}

TEST(SortReference, ValuesTravelWithTheirKeysAndStayInOrder) {
  Stream stream(Device::open(Backend::cpu));
  std::vector<double> keys = {2, 1, 2, 0, 1};
  std::vector<std::uint32_t> values = {10, 11, 12, 13, 14};
  sort::pairs(stream, std::span(keys), std::span(values), "reference");
  EXPECT_EQ(keys, (std::vector<double>{0, 1, 1, 2, 2}));
  EXPECT_EQ(values, (std::vector<std::uint32_t>{13, 11, 14, 10, 12}));
}

TEST(SortReference, IsStable) {
  Stream stream(Device::open(Backend::cpu));
  auto const keys = test::sort_keys<float>(test::SortData::few, 1000);
  auto const found = test::sorted(stream, keys, true, "reference");
  EXPECT_EQ(test::fault_of(sort::variants<float>().front(), keys, found, found), "");
}

template <class T>
void round_trip() {
  std::mt19937_64 generator(4);
  auto keys = test::special_keys<T>();
  for (int i = 0; i < 1000; ++i) keys.push_back(test::random_key<T>(generator));
  std::vector<T> back;
  for (T const key : keys) back.push_back(sort::from_ordered<T>(sort::to_ordered(key)));
  EXPECT_EQ(test::key_bits(back), test::key_bits(keys));
}

TEST(SortOrder, KeysComeBackFromTheirIntegers) {
  round_trip<std::int32_t>();
  round_trip<std::int64_t>();
  round_trip<float>();
  round_trip<double>();
}

template <class T>
void compare_rows(std::int64_t size, std::span<test::SortData const> kinds = test::sort_data) {
  Stream stream(Device::open(Backend::cpu));
  std::size_t compared = 0;
  for (auto const data : kinds) {
    auto const keys = test::sort_keys<T>(data, size);
    auto const expected = test::sorted(stream, keys, true, "reference");
    for (auto const& row : sort::variants<T>()) {
      if (row.backend != Backend::cpu || row.name == "reference") continue;
      for (bool const with_values : {false, true})
        EXPECT_EQ(test::fault_of(row, keys, expected,
                                 test::sorted(stream, keys, with_values, row.name, 1)),
                  "")
            << row.name << ", " << size << " keys, " << test::name_of(data);
      ++compared;
    }
  }
  EXPECT_EQ(compared, kinds.size());
}

constexpr test::SortData few_kinds[] = {test::SortData::random, test::SortData::few,
                                        test::SortData::special};

TEST(SortHost, RowsEqualTheReference) {
  for (auto const size : test::sort_sizes) {
    compare_rows<std::int32_t>(size);
    compare_rows<std::int64_t>(size);
    compare_rows<float>(size);
    compare_rows<double>(size);
  }
}

TEST(SortHost, RunsOfEveryLengthAreMerged) {
  // Pieces of 32,768: one and a bit, an even and an odd number, the last of one key or nearly full.
  for (std::int64_t const size : {32768, 32769, 65535, 98304, 98305, 163841, 300007})
    compare_rows<std::int32_t>(size, few_kinds);
}

TEST(SortHost, LargeRowsEqualTheReference) {
  compare_rows<float>(test::large_sort_size, few_kinds);
}

TEST(SortArguments, BadOnesAreRefused) {
  Stream stream(Device::open(Backend::cpu));
  std::vector<std::int32_t> keys(5);
  std::vector<std::uint32_t> values(4);
  EXPECT_EQ(test::refusal([&] { sort::pairs(stream, std::span(keys), std::span(values)); }),
            "pairs: keys has 5 elements and values has 4 (they must agree)");
  auto* const inside = reinterpret_cast<std::uint32_t*>(keys.data()) + 1;
  EXPECT_EQ(
      test::refusal([&] { sort::pairs(stream, std::span(keys).first(4), std::span(inside, 4)); }),
      "pairs: keys (4 elements) and values (4 elements) overlap");
  EXPECT_EQ(test::refusal([&] { sort::keys(stream, std::span(keys), "bitonic"); }),
            "sort: cpu has no variant 'bitonic'");
  EXPECT_EQ(test::refusal([&] { sort::keys(stream, std::span(keys).first(0), "fastest"); }),
            "sort: cpu has no variant 'fastest'");
}

}  // namespace
}  // namespace gridstride

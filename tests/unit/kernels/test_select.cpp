#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "core/processors.hpp"
#include "kernels/select/select.hpp"
#include "support/refusal.hpp"
#include "support/select_cases.hpp"

namespace gridstride {
namespace {

template <class T>
class Select : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(Select, Types);

TYPED_TEST(Select, ByHand) {
  using T = TypeParam;
  constexpr T nan = std::numeric_limits<T>::quiet_NaN();
  Stream stream(Device::open(Backend::cpu));
  auto const result = test::selected<T>(stream, {0, 2, nan, T(-0.0), -1}, "reference", 0, 100);
  EXPECT_EQ(result.count, 3);
  EXPECT_EQ(result.values, (std::vector<T>{1.5, 2.5, 4.5, -7, -7, -7}));
  EXPECT_EQ(result.indices, (std::vector<std::int64_t>{101, 102, 104, -7, -7, -7}));
}

TYPED_TEST(Select, VariantsEqualTheReference) {
  Stream stream(Device::open(Backend::cpu));
  int compared = 0;
  for (std::size_t const size : {0, 1, 31, 32, 33, 1023, 32767, 32768, 32769, 200003})
    test::compare_selections<TypeParam>(stream, size, compared);
  EXPECT_EQ(compared, 10 * 7 * 2);
}

TYPED_TEST(Select, PiecesGiveTheWhole) {
  using T = TypeParam;
  Stream stream(Device::open(Backend::cpu));
  auto const flags = test::flags_of<T>(test::Flags::random, 1000);
  auto const whole = test::selected<T>(stream, flags, "auto");
  std::vector<std::int64_t> indices;
  for (std::size_t first = 0; first < flags.size(); first += 300) {
    std::vector<T> const piece(flags.begin() + static_cast<std::ptrdiff_t>(first),
                               flags.begin() + std::min<std::ptrdiff_t>(first + 300, 1000));
    auto const part = test::selected<T>(stream, piece, "auto", 0, static_cast<std::int64_t>(first));
    indices.insert(indices.end(), part.indices.begin(), part.indices.begin() + part.count);
  }
  ASSERT_EQ(std::ssize(indices), whole.count);
  EXPECT_TRUE(std::equal(indices.begin(), indices.end(), whole.indices.begin()));
}

TEST(SelectArguments, AreChecked) {
  Stream stream(Device::open(Backend::cpu));
  std::vector<float> x(8, 1), y(7), out(8);
  std::vector<std::int64_t> places(8), count(1);
  auto const all = std::span(x);
  auto const call = [&](std::span<float const> values, std::span<float const> flags,
                        std::span<float> selected, std::span<std::int64_t> indices,
                        std::span<std::int64_t> number, std::string_view variant = "auto") {
    return test::refusal([&] {
      select::flagged<float>(stream, values, flags, selected, indices, number, 0, variant);
    });
  };
  EXPECT_EQ(call(x, y, out, {}, count),
            "select::flagged: values has 8 elements and flags has 7 (they must agree)");
  EXPECT_EQ(call(x, x, y, {}, count),
            "select::flagged: values has 8 elements and selected has 7 (they must agree)");
  EXPECT_EQ(call(x, x, out, std::span(places).first(3), count),
            "select::flagged: values has 8 elements and indices has 3 (they must agree)");
  EXPECT_EQ(call(x, x, out, places, {}), "select::flagged: count has 0 elements, it needs 1");
  EXPECT_EQ(call(all.first(4), all.first(4), all.subspan(3, 4), {}, count),
            "select::flagged: values (4 elements) and selected (4 elements) overlap");
  EXPECT_EQ(call(x, x, out, places, std::span(places).last(1)),
            "select::flagged: indices (8 elements) and count (1 elements) overlap");
  EXPECT_EQ(call(x, x, out, places, count, "ballot"), "select: cpu has no variant 'ballot'");
  EXPECT_EQ(call(x, x, out, places, count), "nothing");
}

}  // namespace
}  // namespace gridstride

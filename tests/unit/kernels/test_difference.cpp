#include <gtest/gtest.h>

#include <vector>

#include "kernels/difference/difference.hpp"
#include "support/difference_cases.hpp"
#include "support/refusal.hpp"

namespace gridstride {
namespace {

using difference::Shape;

template <class T>
class Difference : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(Difference, Types);

/// Without the elements behind it.
template <class T>
std::vector<T> reference(Shape const& shape, int order, std::vector<T> const& values) {
  Stream stream(Device::open(Backend::cpu));
  auto result = test::differences(stream, shape, order, values, "reference");
  result.resize(result.size() - 2);
  return result;
}

TYPED_TEST(Difference, ByHand) {
  using Values = std::vector<TypeParam>;
  Values const x = {1, 4, 9, 16, 25, 37};
  EXPECT_EQ(reference<TypeParam>({{6, 1, 1}, 0}, 1, x), (Values{3, 5, 7, 9, 12}));
  EXPECT_EQ(reference<TypeParam>({{6, 1, 1}, 0}, 2, x), (Values{2, 2, 2, 3}));
  EXPECT_EQ(reference<TypeParam>({{6, 1, 1}, 0}, 6, x), Values{});
  EXPECT_EQ(reference<TypeParam>({{3, 2, 1}, 0}, 1, x), (Values{3, 5, 9, 12}));
  EXPECT_EQ(reference<TypeParam>({{3, 2, 1}, 1}, 1, x), (Values{15, 21, 28}));
  EXPECT_EQ(reference<TypeParam>({{1, 2, 3}, 2}, 2, x), (Values{8, 9}));
  EXPECT_EQ(reference<TypeParam>({{3, 2, 1}, 2}, 1, x), Values{});
}

TYPED_TEST(Difference, VariantsEqualTheReference) {
  Stream stream(Device::open(Backend::cpu));
  int compared = 0;
  for (auto const& points : test::difference_shapes)
    for (int order = 1; order <= difference::max_order; ++order)
      test::compare_differences<TypeParam>(stream, points, order, compared);
  test::compare_differences<TypeParam>(stream, {40009, 3, 2}, 3, compared);
  EXPECT_EQ(compared, (12 * 8 + 1) * 3 * 2);
}

/// Pieces along the axis, with the points behind them that their results depend on.
TYPED_TEST(Difference, PiecesWithTheirHaloGiveTheWhole) {
  using T = TypeParam;
  Stream stream(Device::open(Backend::cpu));
  constexpr int order = 3;
  constexpr std::size_t row = 7, rows = 50;
  auto const values = test::rough_values<T>(row * rows);
  auto const whole = reference<T>({{row, rows, 1}, 1}, order, values);
  std::vector<T> joined;
  for (std::size_t first = 0; first + order < rows; first += 20) {
    std::size_t const count = std::min<std::size_t>(20 + order, rows - first);
    std::vector<T> const piece(values.begin() + static_cast<std::ptrdiff_t>(row * first),
                               values.begin() + static_cast<std::ptrdiff_t>(row * (first + count)));
    Shape const shape{{row, static_cast<std::int64_t>(count), 1}, 1};
    auto const part = reference(shape, order, piece);
    joined.insert(joined.end(), part.begin(), part.end());
  }
  EXPECT_TRUE(test::same_bits(joined, whole));
}

TEST(DifferenceArguments, AreChecked) {
  Stream stream(Device::open(Backend::cpu));
  std::vector<float> x(8, 1), out(8);
  auto const call = [&](Shape const& shape, int order, std::span<float> output,
                        std::string_view variant = "auto") {
    return test::refusal(
        [&] { difference::difference<float>(stream, shape, order, x, output, variant); });
  };
  auto const seven = std::span(out).first(7);
  EXPECT_EQ(call({{8, 1, 1}, 0}, 0, seven), "difference: the order is 0 (it is from 1 to 8)");
  EXPECT_EQ(call({{8, 1, 1}, 0}, 9, seven), "difference: the order is 9 (it is from 1 to 8)");
  EXPECT_EQ(call({{8, 1, 1}, 3}, 1, seven), "difference: axis 3 of 8 x 1 x 1 points");
  EXPECT_EQ(call({{9, 1, 1}, 0}, 1, out), "difference: input has 8 elements, it needs 9");
  EXPECT_EQ(call({{8, 1, 1}, 0}, 1, out), "difference: output has 8 elements, it needs 7");
  EXPECT_EQ(call({{8, 1, 1}, 0}, 1, std::span(x).first(7)),
            "difference: input (8 elements) and output (7 elements) overlap");
  EXPECT_EQ(call({{8, 1, 1}, 0}, 1, seven, "naive"), "difference: cpu has no variant 'naive'");
  EXPECT_EQ(call({{8, 1, 1}, 0}, 1, seven), "nothing");
}

}  // namespace
}  // namespace gridstride

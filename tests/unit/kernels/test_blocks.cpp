#include <gtest/gtest.h>

#include "core/processors.hpp"
#include "support/blocks_cases.hpp"
#include "support/refusal.hpp"

namespace gridstride::sparse {
namespace {

template <class T>
class BlockInversesOf : public testing::Test {};
using BlockTypes = testing::Types<float, double>;
TYPED_TEST_SUITE(BlockInversesOf, BlockTypes);

TYPED_TEST(BlockInversesOf, SolveTheirBlocks) {
  Stream stream(Device::open(Backend::cpu));
  test::expect_block_solves<TypeParam>(stream);
}

TYPED_TEST(BlockInversesOf, OfKnownBlocks) {
  // | 2 1 |            | 0 4 |
  // | 1 2 | and 5, and | 2 0 |: a pivot that is 0.
  auto const a = test::csr_of<TypeParam>(
      4, 4,
      {{{0, 0}, 2}, {{0, 1}, 1}, {{1, 0}, 1}, {{1, 1}, 2}, {{1, 2}, 7}, {{2, 3}, 4}, {{3, 2}, 2}});
  auto const inverses = invert_blocks(a, 2, Blocks::any);
  EXPECT_EQ(inverses.failed, -1);
  constexpr TypeParam third = TypeParam{1} / 3;
  std::vector<TypeParam> const expected = {2 * third, -third, -third, 2 * third, 0, 0.25, 0.5, 0};
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(inverses.values[i], expected[i], 4 * std::numeric_limits<TypeParam>::epsilon());
  EXPECT_EQ(invert_blocks(a, 2, Blocks::definite).failed, 1);
  // Its last block has a row, which is 0.
  EXPECT_EQ(invert_blocks(a, 3, Blocks::any).failed, 0);
  EXPECT_EQ(invert_blocks(a, 1, Blocks::any).failed, 2);
}

TYPED_TEST(BlockInversesOf, DefiniteOnesAreSymmetricToTheLastBit) {
  auto const a = test::banded<TypeParam>(200, Blocks::definite);
  for (std::int64_t const size : {2, 5, 64}) {
    auto const inverses = invert_blocks(a, size, Blocks::definite);
    for (std::int64_t k = 0; k < a.rows / size; ++k)
      for (std::int64_t i = 0; i < size; ++i)
        for (std::int64_t j = 0; j < i; ++j)
          ASSERT_EQ(inverses.values[static_cast<std::size_t>((k * size + j) * size + i)],
                    inverses.values[static_cast<std::size_t>((k * size + i) * size + j)]);
  }
}

TYPED_TEST(BlockInversesOf, SingularUpToRoundings) {
  // Thirds are rounded: elimination leaves some ε of them.
  auto const singular = [](double scale) {
    test::Entries entries;
    for (std::int64_t i = 0; i < 3; ++i)
      for (std::int64_t j = 0; j < 3; ++j)
        entries[{i, j}] = scale * static_cast<double>((i + 1) * (j + 1)) / 3;
    return test::csr_of<TypeParam>(3, 3, entries);
  };
  for (double const scale : {1.0, 1e-20, 1e20})
    for (auto const kind : {Blocks::any, Blocks::definite})
      EXPECT_EQ(invert_blocks(singular(scale), 3, kind).failed, 0) << scale;
  // An inverse that has no place.
  TypeParam const least = std::numeric_limits<TypeParam>::denorm_min();
  EXPECT_EQ(invert_blocks(test::csr_of<TypeParam>(1, 1, {{{0, 0}, least}}), 1, Blocks::any).failed,
            0);
}

TEST(BlockJacobi, DoesNotDependOnThreads) {
  auto const a = test::banded<double>(20'001, Blocks::any);
  int const before = host_threads();
  set_host_threads(1);
  auto const alone = invert_blocks(a, 7, Blocks::any);
  set_host_threads(5);
  auto const together = invert_blocks(a, 7, Blocks::any);
  // The last block has fewer rows than there is room for.
  auto const whole = static_cast<std::ptrdiff_t>(a.rows / 7 * 49);
  EXPECT_TRUE(
      std::equal(alone.values.begin(), alone.values.begin() + whole, together.values.begin()));
  auto broken = a;
  for (std::int64_t const row : {4'321, 15'000})
    for (auto k = broken.offsets[static_cast<std::size_t>(row)];
         k < broken.offsets[static_cast<std::size_t>(row) + 1]; ++k)
      broken.values[static_cast<std::size_t>(k)] = 0;
  EXPECT_EQ(invert_blocks(broken, 7, Blocks::any).failed, 4'321 / 7);
  set_host_threads(before);
}

TEST(BlockJacobi, Refusals) {
  using gridstride::test::refusal;
  auto const wide = test::csr_of<double>(2, 3, {{{0, 0}, 1}});
  auto const one = test::csr_of<double>(2, 2, {{{0, 0}, 1}, {{1, 1}, 1}});
  EXPECT_EQ(refusal([&] { invert_blocks(wide, 1, Blocks::any); }),
            "sparse: a matrix of 2 x 3 is not square");
  EXPECT_EQ(refusal([&] { invert_blocks(one, 0, Blocks::any); }),
            "sparse: a block has 1 to 64 rows, not 0");
  EXPECT_EQ(refusal([&] { invert_blocks(one, 65, Blocks::any); }),
            "sparse: a block has 1 to 64 rows, not 65");
  Stream stream(Device::open(Backend::cpu));
  BlockInverses<double> failed{2, 1, {1, 1}, 0};
  EXPECT_EQ(refusal([&] { BlockJacobi<double>(stream, failed); }),
            "sparse: block 0 has no inverse");
  BlockJacobi<double> const blocks(stream, invert_blocks(one, 2, Blocks::any));
  std::vector<double> r(2), z(3);
  EXPECT_EQ(refusal([&] { blocks.solve(stream, r, z); }), "sparse: z has 3 elements, it needs 2");
  EXPECT_EQ(refusal([&] { blocks.solve(stream, r, r); }),
            "sparse: r (2 elements) and z (2 elements) overlap");
}

}  // namespace
}  // namespace gridstride::sparse

#include <gtest/gtest.h>

#include <cstdlib>

#include "core/processors.hpp"
#include "kernels/sparse/locality.hpp"
#include "kernels/sparse/slices.hpp"
#include "support/refusal.hpp"
#include "support/sparse_cases.hpp"

namespace gridstride::sparse {
namespace {

template <class T>
class SparseProducts : public testing::Test {};
using SparseTypes = testing::Types<float, double>;
TYPED_TEST_SUITE(SparseProducts, SparseTypes);

TYPED_TEST(SparseProducts, OfAllKinds) {
  Stream stream(Device::open(Backend::cpu));
  EXPECT_EQ(test::check_products<TypeParam>(stream), 2 * 21);
}

TYPED_TEST(SparseProducts, OfAKnownMatrix) {
  Stream stream(Device::open(Backend::cpu));
  auto const rows = test::csr_of<TypeParam>(
      3, 4, {{{0, 1}, 2}, {{0, 3}, -1}, {{2, 0}, 5}, {{2, 1}, 1}, {{2, 2}, 3}});
  for (std::string_view const variant : {"reference", "threads", "auto"}) {
    Matrix<TypeParam> const matrix(stream, rows, variant);
    EXPECT_EQ(test::product<TypeParam>(stream, matrix, {1, 10, 100, 1000}),
              (std::vector<TypeParam>{-980, 0, 315}));
  }
}

TYPED_TEST(SparseProducts, DoNotDependOnThreads) {
  Stream stream(Device::open(Backend::cpu));
  auto const rows =
      test::random_csr<TypeParam>(30000, 30000, 11, [](std::int64_t i) { return i % 97; });
  auto const x = test::random_vector<TypeParam>(30000, 12);
  auto const expected = test::product(stream, Matrix<TypeParam>(stream, rows, "reference"), x);
  int const before = host_threads();
  for (int const threads : {1, 2, 7}) {
    set_host_threads(threads);
    EXPECT_EQ(test::product(stream, Matrix<TypeParam>(stream, rows, "threads"), x), expected);
  }
  set_host_threads(before);
}

/// The rows that slices stand for.
template <class T>
Csr<T> rows_of(Slices<T> const& slices, std::int64_t columns) {
  test::Entries entries;
  for (std::size_t s = 0; s + 1 < slices.begins.size(); ++s) {
    auto value = static_cast<std::size_t>(slices.begins[s].value);
    EXPECT_EQ(slices.begins[s].value % Slices<T>::alignment, 0);
    for (auto d = slices.begins[s].diagonal; d < slices.begins[s + 1].diagonal; ++d) {
      auto const& diagonal = slices.diagonals[static_cast<std::size_t>(d)];
      for (int i = 0; i < 32; ++i) {
        if ((diagonal.rows >> i & 1) == 0) continue;
        auto const row = static_cast<std::int64_t>(s) * 32 + i;
        entries[{row, row + diagonal.offset}] = static_cast<double>(slices.values[value++]);
      }
    }
    EXPECT_LE(static_cast<std::int64_t>(value), slices.begins[s + 1].value);
  }
  return test::csr_of<T>(slices.rows, columns, entries);
}

TYPED_TEST(SparseProducts, SlicesHoldAllElements) {
  for (auto const& [kind, matrix] : test::matrices_of_all_kinds<TypeParam>()) {
    SCOPED_TRACE(kind);
    Slices<TypeParam> const slices(matrix);
    auto const again = rows_of(slices, matrix.columns);
    EXPECT_EQ(again.offsets, matrix.offsets);
    EXPECT_EQ(again.column_indices, matrix.column_indices);
    EXPECT_EQ(again.values, matrix.values);
    auto const all = static_cast<std::int64_t>(slices.diagonals.size());
    EXPECT_EQ(count_diagonals(matrix, all), all);
    if (all > 0) {
      EXPECT_EQ(count_diagonals(matrix, all - 1), all);
    }
  }
}

TEST(SparseMatrices, AreChosenByTheirDiagonals) {
  auto const chosen = [](Csr<double> const& matrix) { return choose(Backend::cuda, matrix); };
  EXPECT_EQ(chosen(stencil_matrix<double>(Neighbours::all, {40, 20, 20})), "slices");
  EXPECT_EQ(chosen(stencil_matrix<double>(Neighbours::axes, {1000, 1, 1})), "slices");
  EXPECT_EQ(chosen(test::random_csr<double>(1000, 1000, 1, [](std::int64_t) { return 9; })),
            "adaptive");
  EXPECT_EQ(chosen(test::csr_of<double>(5, 5, {})), "adaptive");
  EXPECT_EQ(choose(Backend::cpu, stencil_matrix<double>(Neighbours::axes, {9, 9, 9})), "threads");
}

/// 2²¹ elements all over 2²¹ columns touch all of their 16 MiB in float64; those about a diagonal a part.
TEST(SparseMatrices, VectorsThatACacheHolds) {
  constexpr std::int64_t n = std::int64_t{1} << 21;
  Csr<double> wide{n / 16, n, {}, {}, {}};
  for (std::int64_t row = 0; row <= wide.rows; ++row) wide.offsets.push_back(16 * row);
  wide.values.resize(static_cast<std::size_t>(n));
  for (std::int64_t k = 0; k < n; ++k)
    wide.column_indices.push_back(static_cast<std::int32_t>(k * 40503 % n));
  EXPECT_EQ(vectors_in_cache(wide), 2);
  Csr<float> narrow{wide.rows, n, wide.offsets, wide.column_indices, {}};
  narrow.values.resize(wide.values.size());
  EXPECT_EQ(vectors_in_cache(narrow), 4);
  for (std::int32_t& column : wide.column_indices) column /= 4;
  EXPECT_EQ(vectors_in_cache(wide), 8);
  EXPECT_EQ(vectors_in_cache(test::csr_of<double>(3, 5, {})), 8);
}

TEST(SparseMatrices, Refusals) {
  Stream stream(Device::open(Backend::cpu));
  auto rows = test::csr_of<double>(2, 3, {{{0, 1}, 2}});
  Matrix<double> const matrix(stream, rows);
  EXPECT_EQ(matrix.variant(), "threads");
  std::vector<double> x(3), y(2);
  auto const refused = [&](auto in, auto out) {
    return gridstride::test::refusal([&] { matrix.multiply(stream, in, out); });
  };
  EXPECT_EQ(refused(std::span(x).first(2), std::span(y)), "sparse: x has 2 elements, it needs 3");
  EXPECT_EQ(refused(std::span(x), std::span(x)), "sparse: y has 3 elements, it needs 2");
  EXPECT_EQ(gridstride::test::refusal([&] { matrix.multiply(stream, x, std::span(y), 2); }),
            "sparse: x has 3 elements, it needs 6");
  EXPECT_EQ(gridstride::test::refusal([&] { matrix.multiply(stream, x, std::span(y), -1); }),
            "sparse: a product takes no fewer than 0 vectors");
  EXPECT_EQ(refused(std::span(x), std::span(x).first(2)),
            "sparse: x (3 elements) and y (2 elements) overlap");
  EXPECT_EQ(gridstride::test::refusal([&] { Matrix<double>(stream, rows, "merge"); }),
            "sparse: cpu has no variant 'merge'");
  rows.column_indices[0] = 3;
  EXPECT_EQ(gridstride::test::refusal([&] { Matrix<double>(stream, rows); }),
            "sparse: row 0 has an element in column 3 (of 3, counted from 0)");
  EXPECT_EQ(gridstride::test::refusal([&] {
              stencil_matrix<double>(Neighbours::axes, {1 << 16, 1 << 15, 1});
            }),
            "stencil_matrix: a grid has 1 to 2^31 - 1 points");
}

TEST(SparseMatrices, OfStencils) {
  for (GridPoints const points :
       {GridPoints{1, 1, 1}, {5, 1, 1}, {1, 4, 1}, {2, 3, 1}, {3, 2, 4}, {1, 5, 3}})
    for (auto const kind : {Neighbours::axes, Neighbours::all}) {
      int own = 0;
      for (auto const extent : points) own += extent > 1;
      for (int const dims : {0, 1, 2, 3}) {
        if (dims != 0 && dims < own) continue;
        auto const matrix = stencil_matrix<double>(kind, points, dims);
        EXPECT_EQ(fault_of(matrix), "");
        EXPECT_EQ(matrix.nonzeros(), stencil_elements(kind, points));
        EXPECT_EQ(matrix.rows, points[0] * points[1] * points[2]);
        int const axes = dims > 0 ? dims : std::max(own, 1);
        double const inside = kind == Neighbours::axes ? 2.0 * axes : std::pow(3, axes) - 1;
        for (std::int64_t i = 0; i < matrix.rows; ++i)
          for (std::int64_t j = 0; j < matrix.columns; ++j) {
            auto const apart = [&](std::int64_t step, std::int64_t extent) {
              return std::abs(i / step % extent - j / step % extent);
            };
            auto const x = apart(1, points[0]), y = apart(points[0], points[1]),
                       z = apart(points[0] * points[1], points[2]);
            bool const near = kind == Neighbours::axes ? x + y + z == 1 : std::max({x, y, z}) == 1;
            EXPECT_EQ(element(matrix, i, j), i == j ? inside : near ? -1 : 0);
          }
      }
    }
}

TEST(SparseMatrices, OfStencilsByManyThreads) {
  int const before = host_threads();
  for (auto const kind : {Neighbours::axes, Neighbours::all}) {
    set_host_threads(1);
    auto const alone = stencil_matrix<float>(kind, {33, 40, 50});
    set_host_threads(7);
    auto const together = stencil_matrix<float>(kind, {33, 40, 50});
    EXPECT_EQ(fault_of(together), "");
    EXPECT_TRUE(examine(together).symmetric());
    EXPECT_EQ(together.offsets, alone.offsets);
    EXPECT_EQ(together.column_indices, alone.column_indices);
    EXPECT_EQ(together.values, alone.values);
  }
  set_host_threads(before);
}

}  // namespace
}  // namespace gridstride::sparse

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "core/processors.hpp"
#include "support/sparse_cases.hpp"

namespace gridstride {
namespace {

using test::csr_of;

Csr<double> small() {
  return csr_of<double>(3, 4, {{{0, 1}, 2}, {{0, 3}, -1}, {{2, 0}, 5}, {{2, 1}, 0}});
}

TEST(Csr, FaultsAreTold) {
  EXPECT_EQ(fault_of(small()), "");
  EXPECT_EQ(fault_of(csr_of<double>(0, 0, {})), "");
  auto matrix = small();
  matrix.column_indices[1] = 4;
  EXPECT_EQ(fault_of(matrix), "row 0 has an element in column 4 (of 4, counted from 0)");
  matrix.column_indices[1] = -1;
  EXPECT_EQ(fault_of(matrix), "row 0 has an element in column -1 (of 4, counted from 0)");
  matrix.column_indices[1] = 1;
  EXPECT_EQ(fault_of(matrix), "row 0 has column 1 after column 1 (columns have to ascend)");
  matrix = small();
  matrix.offsets[2] = 1;
  EXPECT_EQ(fault_of(matrix), "offset 2 is 1, less than the one before it, 2");
  matrix = small();
  matrix.offsets[3] = 3;
  EXPECT_EQ(fault_of(matrix), "the last offset is 3 (there are 4 values)");
  matrix.offsets[0] = 1;
  EXPECT_EQ(fault_of(matrix), "the first offset is 1, not 0");
  matrix.offsets.pop_back();
  EXPECT_EQ(fault_of(matrix), "3 rows need 4 offsets, not 3");
  matrix = small();
  matrix.values.push_back(1);
  EXPECT_EQ(fault_of(matrix), "4 column indices do not fit 5 values");
  matrix.rows = std::int64_t{1} << 31;
  EXPECT_EQ(fault_of(matrix),
            "2147483648 x 4 is no size of a sparse matrix (0 to 2147483647 rows and columns)");
}

TEST(Csr, ElementsAndTheirTransposed) {
  auto const matrix = small();
  auto const turned = transposed(matrix);
  EXPECT_EQ(fault_of(turned), "");
  EXPECT_EQ(turned.rows, 4);
  EXPECT_EQ(turned.columns, 3);
  for (std::int64_t i = 0; i < 3; ++i)
    for (std::int64_t j = 0; j < 4; ++j)
      EXPECT_EQ(element(matrix, i, j), element(turned, j, i)) << i << ", " << j;
  EXPECT_EQ(element(matrix, 0, 3), -1);
  EXPECT_EQ(element(matrix, 1, 1), 0);
}

TEST(Csr, SymmetryIsFound) {
  auto const found = [](test::Entries const& entries) {
    auto const result = examine(csr_of<double>(4, 4, entries));
    return std::pair(result.row, result.column);
  };
  std::pair<std::int64_t, std::int64_t> const none(-1, -1);
  EXPECT_EQ(found({}), none);
  EXPECT_EQ(found({{{0, 0}, 1}, {{1, 2}, 3}, {{2, 1}, 3}, {{3, 0}, -1}, {{0, 3}, -1}}), none);
  EXPECT_EQ(found({{{1, 2}, 3}, {{2, 1}, 4}}), std::pair(1L, 2L));
  // What stands on one side alone; a 0 may.
  EXPECT_EQ(found({{{1, 2}, 3}}), std::pair(1L, 2L));
  EXPECT_EQ(found({{{2, 1}, 3}}), std::pair(1L, 2L));
  EXPECT_EQ(found({{{1, 2}, 0}}), none);
  EXPECT_EQ(found({{{3, 1}, 0}}), none);
  // The first by rows, in whatever order they are met.
  EXPECT_EQ(found({{{0, 3}, 7}, {{1, 2}, 3}}), std::pair(0L, 3L));
  EXPECT_EQ(found({{{3, 0}, 7}, {{2, 1}, 3}}), std::pair(0L, 3L));
  EXPECT_EQ(found({{{0, 1}, 1}, {{0, 2}, 9}, {{0, 3}, 1}, {{1, 0}, 1}, {{3, 0}, 1}}),
            std::pair(0L, 2L));
}

TEST(Csr, RowsThatAreOfNoUse) {
  auto const found = examine(
      csr_of<double>(4, 4, {{{0, 0}, 1}, {{1, 1}, 2}, {{1, 0}, 1}, {{2, 2}, 0}, {{3, 3}, -1}}));
  EXPECT_EQ(found.not_positive, 2);
  EXPECT_EQ(found.empty, 2);
  EXPECT_EQ(examine(csr_of<double>(2, 2, {{{0, 0}, 1}, {{1, 1}, 1}})).not_positive, -1);
  EXPECT_EQ(examine(csr_of<double>(2, 2, {{{0, 0}, 1}, {{1, 0}, 1}})).not_positive, 1);
  EXPECT_EQ(examine(csr_of<double>(2, 2, {{{0, 0}, 1}, {{1, 0}, 1}})).empty, -1);
  auto nan = csr_of<double>(1, 1, {{{0, 0}, std::numeric_limits<double>::quiet_NaN()}});
  EXPECT_EQ(examine(nan).not_positive, 0);
}

/// Second differences with faults in rows that different threads have.
TEST(Csr, ManyThreadsFindTheFirst) {
  constexpr std::int64_t n = 40'000;
  auto const line = sparse::stencil_matrix<double>(sparse::Neighbours::axes, {n, 1, 1});
  // Rows but the first begin with the element left of the diagonal.
  auto const left_of = [&](std::int64_t row) {
    return static_cast<std::size_t>(line.offsets[static_cast<std::size_t>(row)]);
  };
  auto changed = line, broken = line;
  changed.values[left_of(31'000)] = 7;
  changed.values[left_of(12'345)] = 7;
  for (std::size_t k = 0; k < 3; ++k) changed.values[left_of(39'000) + k] = 0;
  changed.values[left_of(20'000) + 1] = -2;
  broken.column_indices[left_of(39'999)] = -4;
  broken.column_indices[left_of(27'001) + 1] = n + 5;
  int const before = host_threads();
  for (int const threads : {1, 2, 7}) {
    set_host_threads(threads);
    auto const none = examine(line);
    EXPECT_TRUE(none.symmetric());
    EXPECT_EQ(none.not_positive, -1);
    auto const found = examine(changed);
    EXPECT_EQ(std::pair(found.row, found.column), std::pair(12'344L, 12'345L));
    EXPECT_EQ(found.not_positive, 20'000);
    EXPECT_EQ(found.empty, 39'000);
    EXPECT_EQ(fault_of(line), "");
    EXPECT_EQ(fault_of(broken),
              "row 27001 has an element in column 40005 (of 40000, counted from 0)");
    auto const diagonal = diagonal_of(changed);
    EXPECT_EQ(diagonal[20'000], -2);
    EXPECT_EQ(std::count(diagonal.begin(), diagonal.end(), 2), n - 2);
  }
  set_host_threads(before);
}

}  // namespace
}  // namespace gridstride

#include <gtest/gtest.h>

#include "core/processors.hpp"
#include "support/incomplete_cases.hpp"
#include "support/refusal.hpp"

namespace gridstride::sparse {
namespace {

template <class T>
class IncompleteFactorsOf : public testing::Test {};
using IncompleteTypes = testing::Types<float, double>;
TYPED_TEST_SUITE(IncompleteFactorsOf, IncompleteTypes);

/// (1 + L)·D·(1 + U) at (i, j), in extended precision, and the sum of its terms' magnitudes.
std::pair<long double, long double> product_at(IncompleteFactors const& factors, std::int64_t i,
                                               std::int64_t j) {
  long double sum = 0, magnitude = 0;
  for (std::int64_t k = 0; k <= std::min(i, j); ++k) {
    long double const l = k == i ? 1 : element(factors.lower, i, k);
    long double const u = k == j ? 1 : element(factors.upper, k, j);
    auto const term = l * factors.diagonal[static_cast<std::size_t>(k)] * u;
    sum += term;
    magnitude += std::abs(term);
  }
  return {sum, magnitude};
}

/// M agrees with A where that has elements; each factor is rounded once or twice for each of a row's.
TYPED_TEST(IncompleteFactorsOf, AgreeWithTheMatrixWhereItHasElements) {
  for (auto const& [name, matrix, kind] : test::cases_of_factors<TypeParam>()) {
    SCOPED_TRACE(name);
    auto const factors = factorize(matrix, kind);
    EXPECT_EQ(factors.failed, -1);
    EXPECT_EQ(factors.lower.nonzeros() + factors.upper.nonzeros() + matrix.rows, matrix.nonzeros());
    for (std::int64_t i = 0; i < matrix.rows; i += 1 + matrix.rows / 97) {
      auto const first = matrix.offsets[static_cast<std::size_t>(i)];
      auto const last = matrix.offsets[static_cast<std::size_t>(i) + 1];
      for (auto k = first; k < last; k += 1 + (last - first) / 30) {
        auto const j = matrix.column_indices[static_cast<std::size_t>(k)];
        auto const [found, magnitude] = product_at(factors, i, j);
        double const expected = static_cast<double>(matrix.values[static_cast<std::size_t>(k)]);
        ASSERT_NEAR(static_cast<double>(found), expected,
                    static_cast<double>(magnitude) * static_cast<double>(last - first + 4) * 3e-16)
            << i << ' ' << j;
      }
    }
  }
}

TYPED_TEST(IncompleteFactorsOf, AreSolvedByLevels) {
  Stream stream(Device::open(Backend::cpu));
  test::expect_solves<TypeParam>(stream);
}

/// Rows (i, j) wait for those with a smaller i + j; a line's for the one before; of a diagonal for none.
TEST(Incomplete, Levels) {
  Stream stream(Device::open(Backend::cpu));
  auto const levels = [&](Csr<double> const& matrix) {
    return IncompleteSolver<double>(stream, factorize(matrix, Incomplete::cholesky)).levels();
  };
  EXPECT_EQ(levels(stencil_matrix<double>(Neighbours::axes, {9, 7, 5})), 9 + 7 + 5 - 2);
  EXPECT_EQ(levels(test::second_differences<double>(50)), 50);
  EXPECT_EQ(levels(test::csr_of<double>(2, 2, {{{0, 0}, 1}, {{1, 1}, 2}})), 1);
}

TEST(Incomplete, FactorsWithoutFillAreAllOfTheMatrix) {
  Stream stream(Device::open(Backend::cpu));
  test::expect_exact_factors(stream);
}

TEST(Incomplete, FactorsTakeFewerIterationsThanTheDiagonal) {
  Stream stream(Device::open(Backend::cpu));
  test::expect_fewer_iterations(stream);
}

/// Levels of several steps, which threads share.
TEST(Incomplete, TheSameBitsOnAnyNumberOfThreads) {
  Stream stream(Device::open(Backend::cpu));
  int const before = host_threads();
  auto const matrix = test::convection_diffusion<double>({60, 50, 20}, 0.9);
  auto const r = test::random_vector<double>(matrix.rows, 1);
  std::vector<double> found[2];
  for (int const threads : {1, 3}) {
    set_host_threads(threads);
    auto const factors = factorize(matrix, Incomplete::lu);
    found[threads / 2] = test::solved(stream, IncompleteSolver<double>(stream, factors), r);
  }
  set_host_threads(before);
  EXPECT_EQ(found[0], found[1]);
}

/// Where pivots are 0 or negative the diagonal is raised, and M⁻¹ is as large as its elements allow.
TEST(Incomplete, PivotsThatDoNotServeAreRaised) {
  Stream stream(Device::open(Backend::cpu));
  // Kershaw's matrix is positive definite, and has no factors of this kind: its last pivot is -5.
  auto const kershaw = test::csr_of<double>(4, 4,
                                            {{{0, 0}, 3},
                                             {{0, 1}, -2},
                                             {{0, 3}, 2},
                                             {{1, 0}, -2},
                                             {{1, 1}, 3},
                                             {{1, 2}, -2},
                                             {{2, 1}, -2},
                                             {{2, 2}, 3},
                                             {{2, 3}, -2},
                                             {{3, 0}, 2},
                                             {{3, 2}, -2},
                                             {{3, 3}, 3}});
  auto const raised = factorize(kershaw, Incomplete::cholesky);
  EXPECT_EQ(raised.failed, 3);
  EXPECT_GE(raised.shift, 0x1p-10);
  EXPECT_LE(raised.shift, 1);
  for (double const pivot : raised.diagonal) EXPECT_GT(pivot, 0);
  EXPECT_EQ(factorize(kershaw, Incomplete::lu).failed, -1);
  // Rows without an element on the diagonal; singular ones.
  auto const turn = test::csr_of<double>(2, 2, {{{0, 1}, 1}, {{1, 0}, -1}});
  EXPECT_EQ(factorize(turn, Incomplete::lu).failed, 0);
  EXPECT_GT(factorize(turn, Incomplete::lu).shift, 0);
  auto const free = test::free_differences<double>(40);
  EXPECT_EQ(factorize(free, Incomplete::cholesky).failed, 39);
  for (auto const& [matrix, kind] :
       {std::pair(kershaw, Incomplete::cholesky), std::pair(turn, Incomplete::lu),
        std::pair(free, Incomplete::cholesky)}) {
    IncompleteSolver<double> const solver(stream, factorize(matrix, kind));
    for (double const value :
         test::solved(stream, solver, test::random_vector<double>(matrix.rows, 1)))
      EXPECT_LE(std::abs(value), 1e6);
  }
}

TEST(Incomplete, Refusals) {
  using gridstride::test::refusal;
  auto const of = [](std::int64_t rows, std::int64_t columns, test::Entries const& entries,
                     Incomplete kind) {
    return refusal([&] { factorize(test::csr_of<double>(rows, columns, entries), kind); });
  };
  EXPECT_EQ(of(2, 3, {{{0, 0}, 1}}, Incomplete::lu),
            "sparse: 2 rows of 3 columns (factors are of square matrices)");
  EXPECT_EQ(of(2, 2, {{{0, 0}, 1}, {{1, 1}, 1}, {{1, 0}, 3}}, Incomplete::cholesky),
            "sparse: a(0, 1) and a(1, 0) differ (ic0 is of symmetric matrices)");
  for (double const value :
       {0.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()})
    EXPECT_EQ(of(2, 2, {{{0, 0}, 1}, {{1, 1}, value}}, Incomplete::lu),
              "sparse: row 1, counted from 0, has no pivot, whatever is added to the diagonal: its "
              "elements are 0 or not finite");
}

}  // namespace
}  // namespace gridstride::sparse

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/factorize/factorize.hpp"
#include "support/factorize_checks.hpp"
#include "support/refusal.hpp"

namespace gridstride {
namespace {

using test::HostMatrix;

template <class T>
class FactorizeHost : public testing::Test {
 protected:
  Stream stream_{Device::open(Backend::cpu)};
};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(FactorizeHost, Types);

template <class T>
HostMatrix<T> matrix_of(std::vector<std::vector<double>> const& rows) {
  return HostMatrix<T>(static_cast<std::int64_t>(rows.size()),
                       static_cast<std::int64_t>(rows.front().size()))
      .fill([&](auto i, auto j) {
        return rows[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)];
      });
}

TYPED_TEST(FactorizeHost, ByHand) {
  using T = TypeParam;
  auto& stream = this->stream_;
  auto const a = matrix_of<T>({{4, 4, 5}, {2, 2, 6.5}, {8, 4, 2}});
  test::for_each_row<T>(stream, [&](std::string_view row) {
    auto const lu = test::lu_of(stream, a, row);
    EXPECT_EQ(lu.status, 0);
    EXPECT_EQ(lu.pivots, (std::vector<std::int32_t>{2, 2, 2}));
    EXPECT_EQ(lu.matrix.values, (std::vector<T>{8, 4, 2, 0.5, 2, 4, 0.25, 0.5, 4}));
    EXPECT_EQ(test::lu_solved(stream, Op::none, lu, matrix_of<T>({{27}, {25.5}, {22}}), row).values,
              (std::vector<T>{1, 2, 3}));
    EXPECT_EQ(
        test::lu_solved(stream, Op::transpose, lu, matrix_of<T>({{32}, {20}, {24}}), row).values,
        (std::vector<T>{1, 2, 3}));

    EXPECT_EQ(test::lu_unpivoted_of(stream, matrix_of<T>({{2, 1, 3}, {4, 4, 7}, {-2, 5, 0}}), row)
                  .matrix.values,
              (std::vector<T>{2, 1, 3, 2, 2, 1, -1, 3, 0}));

    auto const l =
        test::cholesky_of(stream, matrix_of<T>({{4, 77, 77}, {2, 17, 77}, {-2, 7, 9}}), row);
    EXPECT_EQ(l.status, 0);
    EXPECT_EQ(l.matrix.values, (std::vector<T>{2, 77, 77, 1, 4, 77, -1, 2, 2}));
    EXPECT_EQ(test::cholesky_solved(stream, l, matrix_of<T>({{2}, {57}, {39}}), row).values,
              (std::vector<T>{1, 2, 3}));
  });
}

TYPED_TEST(FactorizeHost, LuOfAllSizes) {
  test::check_lu<TypeParam>(this->stream_, test::factorize_sizes);
}

TYPED_TEST(FactorizeHost, LuUnpivotedOfAllSizes) {
  test::check_lu_unpivoted<TypeParam>(this->stream_, {1, 2, 31, 32, 33, 255, 257, 500});
}

TYPED_TEST(FactorizeHost, LuUnpivotedNamesTheFirstBadPivot) {
  test::check_unpivoted_failures<TypeParam>(this->stream_);
}

TYPED_TEST(FactorizeHost, LuUnpivotedStopsWhereItIsTold) {
  test::check_unpivoted_stops<TypeParam>(this->stream_);
}

TYPED_TEST(FactorizeHost, CholeskyOfAllSizes) {
  test::check_cholesky<TypeParam>(this->stream_, {1, 2, 3, 31, 32, 33, 65, 97, 130, 257, 500});
}

TYPED_TEST(FactorizeHost, SolvesAreBackwardStable) {
  test::check_solves<TypeParam>(this->stream_, {1, 2, 12, 33, 65, 130});
}

TYPED_TEST(FactorizeHost, TriangularSolves) {
  test::check_triangular_solves<TypeParam>(this->stream_, {1, 2, 33, 65, 130});
}

TYPED_TEST(FactorizeHost, StatusNamesTheFirstBadPivot) {
  test::check_failures<TypeParam>(this->stream_);
}

TYPED_TEST(FactorizeHost, GrowthIsSeen) { test::check_growth<TypeParam>(this->stream_); }

TYPED_TEST(FactorizeHost, SameBitsEveryTime) {
  test::check_same_bits<TypeParam>(this->stream_, 130, 5);
}

TYPED_TEST(FactorizeHost, Norms) {
  for (auto const& [rows, columns] : {std::pair{1, 1}, {1, 600}, {600, 1}, {33, 65}, {700, 1100}})
    test::check_norms<TypeParam>(this->stream_, rows, columns);
}

TYPED_TEST(FactorizeHost, NormsByHand) {
  auto const a = matrix_of<TypeParam>({{1, -2, 3}, {-9, 0, 1}});
  test::DeviceMatrix<TypeParam> matrix(this->stream_, a);
  auto const norms = factorize::matrix_norms(this->stream_, matrix.constant());
  EXPECT_EQ(norms.one, 10);
  EXPECT_EQ(norms.infinity, 10);
  EXPECT_EQ(norms.maximum, 9);
  EXPECT_EQ(factorize::upper_triangle_maximum(this->stream_, matrix.constant()), 3);
  EXPECT_EQ(factorize::lower_triangle_maximum(this->stream_, matrix.constant()), 9);
}

TYPED_TEST(FactorizeHost, SolutionErrors) {
  for (std::int64_t const n : {1, 33, 200})
    for (std::int64_t const columns : {1, 2, 40})
      test::check_solution_errors<TypeParam>(this->stream_, n, columns);
}

TYPED_TEST(FactorizeHost, ConditionEstimates) {
  test::check_condition_estimates<TypeParam>(this->stream_);
}

TYPED_TEST(FactorizeHost, NothingToDo) {
  using T = TypeParam;
  auto& stream = this->stream_;
  test::for_each_row<T>(stream, [&](std::string_view row) {
    auto const none = test::lu_of(stream, HostMatrix<T>(0, 0), row);
    EXPECT_EQ(none.status, 0);
    EXPECT_EQ(test::lu_unpivoted_of(stream, HostMatrix<T>(0, 0), row).status, 0);
    EXPECT_EQ(test::cholesky_of(stream, HostMatrix<T>(0, 0), row).status, 0);
    test::lu_solved(stream, Op::none, none, HostMatrix<T>(0, 3), row);
    auto const lu = test::lu_of(stream, test::random_matrix<T>(3, 3), row);
    test::lu_solved(stream, Op::none, lu, HostMatrix<T>(3, 0), row);
    test::cholesky_solved(stream, lu, HostMatrix<T>(3, 0), row);
  });
  test::DeviceMatrix<T> empty(stream, HostMatrix<T>(0, 0));
  EXPECT_EQ(factorize::matrix_norms(stream, empty.constant()).one, 0);
  EXPECT_EQ(factorize::upper_triangle_maximum(stream, empty.constant()), 0);
  EXPECT_EQ(factorize::lower_triangle_maximum(stream, empty.constant()), 0);
  EXPECT_EQ(
      factorize::solution_errors(stream, empty.constant(), 0, empty.constant(), empty.constant())
          .residual_norm,
      0);
}

TYPED_TEST(FactorizeHost, ConditionOfWhatIsAsGoodAsSingularIsInfinite) {
  using T = TypeParam;
  T const tiny = std::numeric_limits<T>::denorm_min();
  test::DeviceMatrix<T> lu(this->stream_, matrix_of<T>({{1, 2}, {0, tiny}}));
  std::vector<std::int32_t> const pivots = {0, 1};
  EXPECT_EQ(factorize::lu_condition_estimate(this->stream_, lu.constant(), pivots, 3),
            std::numeric_limits<double>::infinity());
}

TEST(Factorize, RefusesBadArguments) {
  Stream stream(Device::open(Backend::cpu));
  std::vector<double> memory(64, 1);
  std::vector<std::int32_t> pivots(3), status(1);
  auto const matrix = [&](std::int64_t rows, std::int64_t columns, std::int64_t leading) {
    return Matrix<double>(memory.data(), rows, columns, leading);
  };
  auto const square = matrix(3, 3, 3);
  auto const lu = [&](Matrix<double> a, std::size_t pivot_count, std::size_t status_count,
                      factorize::Variants const& variants = {}) {
    pivots.resize(pivot_count);
    status.resize(status_count);
    return test::refusal([&] { factorize::lu(stream, a, pivots, status, variants); });
  };
  EXPECT_EQ(lu(matrix(3, 4, 4), 3, 1), "lu: a is 3 x 4 (it must be square)");
  EXPECT_EQ(lu(matrix(3, 3, 2), 3, 1),
            "lu: a is 3 x 3 with leading dimension 2 (it must be at least 3)");
  EXPECT_EQ(lu(square, 2, 1), "lu: pivots has 2 elements, it needs 3");
  EXPECT_EQ(lu(square, 3, 0), "lu: status has 0 elements, it needs 1");
  EXPECT_EQ(lu(square, 3, 1, {"fastest"}), "factorize: cpu has no variant 'fastest'");
  EXPECT_EQ(lu(square, 3, 1, {"look_ahead"}), "factorize: cpu has no variant 'look_ahead'");
  EXPECT_EQ(lu(square, 3, 1, {"auto", "dmma"}), "matmul: cpu has no variant 'dmma'");
  EXPECT_EQ(lu(matrix(0, 0, 0), 0, 1, {"fastest"}), "factorize: cpu has no variant 'fastest'");
  pivots.resize(3);
  EXPECT_EQ(test::refusal([&] { factorize::lu_unpivoted(stream, matrix(2, 1, 1), status); }),
            "lu_unpivoted: a is 2 x 1 (it must be square)");
  EXPECT_EQ(test::refusal([&] { factorize::cholesky(stream, matrix(2, 1, 1), status); }),
            "cholesky: a is 2 x 1 (it must be square)");
  auto const solve = [&](Matrix<double> b) {
    return test::refusal([&] { factorize::lu_solve(stream, Op::none, square, pivots, b); });
  };
  EXPECT_EQ(solve(matrix(4, 2, 2)), "lu_solve: b has 4 rows, a has 3 (they must agree)");
  EXPECT_EQ(solve(matrix(3, 2, 1)),
            "lu_solve: b is 3 x 2 with leading dimension 1 (it must be at least 2)");
  EXPECT_EQ(test::refusal([&] { factorize::cholesky_solve(stream, square, matrix(2, 2, 2)); }),
            "cholesky_solve: b has 2 rows, a has 3 (they must agree)");
  EXPECT_EQ(test::refusal([&] {
              factorize::triangular_solve(stream, factorize::Triangle::lower, Op::none,
                                          factorize::Diagonal::unit, matrix(3, 2, 2),
                                          matrix(3, 2, 2));
            }),
            "triangular_solve: a is 3 x 2 (it must be square)");
  EXPECT_EQ(test::refusal([&] {
              factorize::solution_errors<double>(stream, square, 1, matrix(3, 2, 2),
                                                 matrix(3, 1, 1));
            }),
            "solution_errors: a is 3 x 3, x is 3 x 2, b is 3 x 1 (they must fit)");
  EXPECT_EQ(memory, std::vector<double>(64, 1));
}

TEST(Factorize, AutoIsTheDefault) {
  Stream stream(Device::open(Backend::cpu));
  auto const a = test::random_matrix<double>(97, 97);
  EXPECT_TRUE(test::same_bits(
      test::lu_of(stream, a, "auto").matrix.values,
      test::lu_of(stream, a, factorize::default_variant(Backend::cpu)).matrix.values));
}

}  // namespace
}  // namespace gridstride

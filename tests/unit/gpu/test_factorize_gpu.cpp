#include <gtest/gtest.h>

#include "support/factorize_checks.hpp"
#include "unit/gpu/gpu.hpp"

namespace gridstride {
namespace {

using test::HostMatrix;

template <class T>
class FactorizeGpu : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(FactorizeGpu, Types);

TYPED_TEST(FactorizeGpu, LuOfAllSizes) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  test::check_lu<TypeParam>(stream, test::factorize_sizes);
}

TYPED_TEST(FactorizeGpu, LargeLu) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  test::check_lu<TypeParam>(stream, {2049});
}

TYPED_TEST(FactorizeGpu, LuUnpivotedOfAllSizes) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  test::check_lu_unpivoted<TypeParam>(
      stream, {1, 2, 31, 32, 33, 127, 128, 129, 255, 256, 257, 383, 500, 1000, 2049});
}

TYPED_TEST(FactorizeGpu, LuUnpivotedNamesTheFirstBadPivot) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  test::check_unpivoted_failures<TypeParam>(stream);
}

TYPED_TEST(FactorizeGpu, LuUnpivotedStopsWhereItIsTold) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  test::check_unpivoted_stops<TypeParam>(stream);
}

TYPED_TEST(FactorizeGpu, LargeSystem) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  test::check_large_system<TypeParam>(stream, 5001);
}

TYPED_TEST(FactorizeGpu, CholeskyOfAllSizes) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  test::check_cholesky<TypeParam>(stream, test::factorize_sizes);
}

TYPED_TEST(FactorizeGpu, SolvesAreBackwardStable) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  test::check_solves<TypeParam>(stream, {1, 2, 12, 33, 65, 130, 257});
}

TYPED_TEST(FactorizeGpu, TriangularSolves) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  test::check_triangular_solves<TypeParam>(stream, {1, 2, 33, 65, 130, 257});
}

TYPED_TEST(FactorizeGpu, StatusNamesTheFirstBadPivot) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  test::check_failures<TypeParam>(stream);
}

TYPED_TEST(FactorizeGpu, GrowthIsSeen) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  test::check_growth<TypeParam>(stream);
}

TYPED_TEST(FactorizeGpu, SameBitsEveryTime) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  test::check_same_bits<TypeParam>(stream, 130, 20);
  test::check_same_bits<TypeParam>(stream, 700, 10);
}

TYPED_TEST(FactorizeGpu, Norms) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  for (auto const& [rows, columns] :
       {std::pair{1, 1}, {1, 600}, {600, 1}, {33, 65}, {255, 257}, {700, 1100}})
    test::check_norms<TypeParam>(stream, rows, columns);
}

TYPED_TEST(FactorizeGpu, SolutionErrors) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  for (std::int64_t const n : {1, 33, 200, 1100})
    for (std::int64_t const columns : {1, 2, 5, 40})
      test::check_solution_errors<TypeParam>(stream, n, columns);
}

TYPED_TEST(FactorizeGpu, ConditionEstimates) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  test::check_condition_estimates<TypeParam>(stream);
}

TYPED_TEST(FactorizeGpu, CanBeCapturedInAGraph) {
  using T = TypeParam;
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  constexpr std::int64_t n = 300;
  auto const a = test::random_matrix<T>(n, n);
  auto const b = test::random_matrix<T>(n, 3);
  test::for_each_row<T>(stream, [&](std::string_view row) {
    auto const lu = test::lu_of(stream, a, row);  // a kernel is loaded when it is first launched
    auto const x = test::lu_solved(stream, Op::none, lu, b, row);
    test::DeviceMatrix<T> matrix(stream, a), right(stream, b);
    Buffer<std::int32_t> pivots(stream, MemorySpace::device, n),
        status(stream, MemorySpace::device, 1);
    auto const graph = Graph::capture(stream, [&] {
      factorize::lu(stream, matrix.view(), pivots.span(), status.span(), {row});
      factorize::lu_solve<T>(stream, Op::none, matrix.constant(), pivots.span(), right.view(),
                             {row});
    });
    EXPECT_TRUE(test::same_bits(matrix.back().values, a.values)) << "not only captured";
    graph.launch(stream);
    EXPECT_TRUE(test::same_bits(matrix.back().values, lu.matrix.values));
    EXPECT_TRUE(test::same_bits(right.back().values, x.values));
    EXPECT_EQ(test::to_host(pivots.span(), stream), lu.pivots);
    EXPECT_EQ(test::fetch(status, stream), 0);
  });
}

TEST(FactorizeGpuOfDoubles, RefusesVariantsOfTheHost) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  try {
    test::lu_of(stream, HostMatrix<double>(2, 2), "lapack");
    FAIL() << "not refused";
  } catch (std::invalid_argument const& error) {
    EXPECT_STREQ(error.what(), "factorize: cuda has no variant 'lapack'");
  }
}

}  // namespace
}  // namespace gridstride

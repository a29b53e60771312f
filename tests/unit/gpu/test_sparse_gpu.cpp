#include <gtest/gtest.h>

#include "support/blocks_cases.hpp"
#include "support/incomplete_cases.hpp"
#include "unit/gpu/gpu.hpp"

namespace gridstride {
namespace {

template <class T>
class SparseGpu : public testing::Test {
 protected:
  void SetUp() override { GRIDSTRIDE_SKIP_WITHOUT_GPU(); }
};
using SparseGpuTypes = testing::Types<float, double>;
TYPED_TEST_SUITE(SparseGpu, SparseGpuTypes);

TYPED_TEST(SparseGpu, ProductsOfAllKinds) {
  Stream stream(Device::open(Backend::cuda));
  EXPECT_GE(test::check_products<TypeParam>(stream), 5 * 21);
}

/// Rows are summed in the order of their columns by both.
TYPED_TEST(SparseGpu, SlicesHaveTheBitsOfScalar) {
  Stream stream(Device::open(Backend::cuda));
  using sparse::Neighbours;
  for (auto const& matrix : {sparse::stencil_matrix<TypeParam>(Neighbours::all, {19, 17, 5}),
                             sparse::stencil_matrix<TypeParam>(Neighbours::axes, {64, 3, 9})}) {
    auto const x = test::random_vector<TypeParam>(matrix.columns, 3);
    sparse::Matrix<TypeParam> const chosen(stream, matrix);
    EXPECT_EQ(chosen.variant(), "slices");
    EXPECT_EQ(test::product(stream, chosen, x),
              test::product(stream, sparse::Matrix<TypeParam>(stream, matrix, "scalar"), x));
  }
}

TYPED_TEST(SparseGpu, BlocksAreSolved) {
  Stream stream(Device::open(Backend::cuda));
  test::expect_block_solves<TypeParam>(stream);
}

/// Tridiagonal systems (a task of many levels), grids, and levels of several tasks.
TYPED_TEST(SparseGpu, IncompleteFactorsAreSolvedByLevels) {
  Stream stream(Device::open(Backend::cuda));
  test::expect_solves<TypeParam>(stream);
}

/// Narrow and wide levels by turns, over and over: the bits stay, and the host's are near.
TYPED_TEST(SparseGpu, IncompleteFactorsOfAGridOfManyTasks) {
  Stream stream(Device::open(Backend::cuda)), host(Device::open(Backend::cpu));
  auto const matrix = test::convection_diffusion<TypeParam>({70, 65, 60}, 0.5);
  auto const factors = sparse::factorize(matrix, sparse::Incomplete::lu);
  sparse::IncompleteSolver<TypeParam> const there(stream, factors), here(host, factors);
  auto const r = test::random_vector<TypeParam>(matrix.rows, 5);
  auto const found = test::solved(stream, there, r), expected = test::solved(host, here, r);
  // ‖|M⁻¹|·r‖ is at most that of the levels' number; each rounds some ε of it.
  for (std::size_t i = 0; i < found.size(); ++i)
    ASSERT_NEAR(found[i], expected[i], 8 * 193 * std::numeric_limits<TypeParam>::epsilon() * 10)
        << i;
  for (int repeat = 0; repeat < 20; ++repeat)
    ASSERT_EQ(test::solved(stream, there, r), found) << repeat;
}

TEST(IncompleteGpu, FactorsOfLinesAreExactAndOthersTakeFewIterations) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  test::expect_exact_factors(stream);
  test::expect_fewer_iterations(stream);
}

}  // namespace
}  // namespace gridstride

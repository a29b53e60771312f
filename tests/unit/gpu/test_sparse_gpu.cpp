#include <gtest/gtest.h>

#include "support/sparse_cases.hpp"
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

}  // namespace
}  // namespace gridstride

#include <gtest/gtest.h>

#include "support/lattice_cases.hpp"
#include "unit/gpu/gpu.hpp"

namespace gridstride {
namespace {

template <class T>
class LatticeGpu : public testing::Test {
 protected:
  void SetUp() override { GRIDSTRIDE_SKIP_WITHOUT_GPU(); }
};
using LatticeGpuTypes = testing::Types<float, double>;
TYPED_TEST_SUITE(LatticeGpu, LatticeGpuTypes);

TYPED_TEST(LatticeGpu, ProductsAreThoseOfRows) {
  Stream stream(Device::open(Backend::cuda));
  EXPECT_EQ(test::check_lattice_products<TypeParam>(stream),
            2 * 2 * static_cast<int>(test::awkward_grids().size()));
}

TYPED_TEST(LatticeGpu, CyclesTakeAsManyIterationsOnAnyGrid) {
  Stream stream(Device::open(Backend::cuda));
  test::expect_cycles<TypeParam>(stream,
                                 {{1, 1, 1},
                                  {5, 1, 1},
                                  {1, 100, 1},
                                  {31, 33, 1},
                                  {2, 2, 2},
                                  {2, 37, 40},
                                  {64, 64, 64},
                                  {97, 96, 95}},
                                 sizeof(TypeParam) == 8 ? 1e-10 : 1e-4);
}

}  // namespace
}  // namespace gridstride

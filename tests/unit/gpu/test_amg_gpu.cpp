#include <gtest/gtest.h>

#include "support/amg_cases.hpp"
#include "unit/gpu/gpu.hpp"

namespace gridstride {
namespace {

class AmgGpu : public testing::Test {
 protected:
  void SetUp() override { GRIDSTRIDE_SKIP_WITHOUT_GPU(); }
};

TEST_F(AmgGpu, HierarchiesAreGalerkins) {
  Stream stream(Device::open(Backend::cuda));
  test::expect_hierarchies<double>(stream);
  test::expect_hierarchies<float>(stream);
}

TEST_F(AmgGpu, CyclesAreSymmetric) {
  Stream stream(Device::open(Backend::cuda));
  test::expect_symmetric_cycles(stream);
}

TEST_F(AmgGpu, IterationsDoNotGrow) {
  Stream stream(Device::open(Backend::cuda));
  test::expect_amg_solutions(stream);
}

TEST_F(AmgGpu, GraphsOfAllKinds) {
  Stream stream(Device::open(Backend::cuda));
  test::expect_odd_graphs(stream);
}

TEST_F(AmgGpu, InFloat32) {
  Stream stream(Device::open(Backend::cuda));
  test::expect_amg_in_float32(stream);
}

/// The second level is that of the host to the last unknown; further on rounding decides what is strong.
TEST_F(AmgGpu, LevelsAreThoseOfTheHost) {
  Stream stream(Device::open(Backend::cuda)), host(Device::open(Backend::cpu));
  auto const matrix = sparse::stencil_matrix<double>(sparse::Neighbours::axes, {50, 40, 30});
  auto const b = test::random_vector<double>(matrix.rows, 3);
  auto const there = test::solve_amg(stream, matrix, b), here = test::solve_amg(host, matrix, b);
  ASSERT_EQ(there.unknowns.size(), here.unknowns.size());
  EXPECT_EQ(there.unknowns[1], here.unknowns[1]);
  EXPECT_NEAR(there.complexity, here.complexity, 0.01);
  EXPECT_NEAR(static_cast<double>(there.result.iterations),
              static_cast<double>(here.result.iterations), 2);
}

}  // namespace
}  // namespace gridstride

#include <gtest/gtest.h>

#include <string>

#include "support/poisson_cases.hpp"
#include "support/poisson_kernel_cases.hpp"
#include "unit/gpu/gpu.hpp"

namespace gridstride {
namespace {

class PoissonGpu : public testing::Test {
 protected:
  void SetUp() override { GRIDSTRIDE_SKIP_WITHOUT_GPU(); }
};

TEST_F(PoissonGpu, KernelsHaveTheEquationsOfMatrices) {
  Stream stream(Device::open(Backend::cuda));
  poisson::test::expect_known_equations(stream);
  poisson::test::expect_coefficients<double>(stream);
  poisson::test::expect_coefficients<float>(stream);
  poisson::test::expect_large(stream);
}

TEST_F(PoissonGpu, ModesComeBackFromEliminationAlongLines) {
  for (std::string const sides : {"pp", "dd", "nn", "dn", "nd"})
    for (int const points : {3, 31, 64})
      test::expect_modes({{points}, sides}, "direct", Backend::cuda);
}

TEST_F(PoissonGpu, EliminationIsOfOrderTwoForEveryKindOfSide) {
  for (std::string const sides : {"pp", "dd", "nn", "dn", "nd"})
    for (double const reaction : {0.0, -2.0})
      test::expect_order_two(sides, 32, 0, reaction, "direct", Backend::cuda);
}

}  // namespace
}  // namespace gridstride

#include <gtest/gtest.h>

#include <string>

#include "core/error.hpp"
#include "support/linear_system_cases.hpp"
#include "support/symmetry_cases.hpp"
#include "unit/gpu/gpu.hpp"

namespace gridstride {
namespace {

class LinearSystemGpu : public testing::Test {
 protected:
  void SetUp() override { GRIDSTRIDE_SKIP_WITHOUT_GPU(); }
};

TEST_F(LinearSystemGpu, FindsKnownSolutions) {
  test::expect_known_solutions(Backend::cuda, {6, 64, 258});
}

TEST_F(LinearSystemGpu, Symmetry) {
  Stream stream(Device::open(Backend::cuda));
  factorize::test::expect_what_is_there<float>(stream);
  factorize::test::expect_what_is_there<double>(stream);
}

TEST_F(LinearSystemGpu, NamesThePivotThatFails) {
  for (int const n : {20, 300})
    for (std::string const precision : {"float64", "float32"}) {
      auto const solve = [&](std::string const& matrix, std::string const& method) {
        try {
          test::solve_system(test::system_yaml(matrix, n, "1", 1, method, precision),
                             Backend::cuda);
        } catch (NumericalError const& error) {
          return std::string(error.what());
        }
        return std::string();
      };
      EXPECT_EQ(solve("(i==j)*(i!=16)", "lu"),
                fmt::format("linear_system: pivot 17 of {} is exactly zero: the matrix is singular "
                            "in {}",
                            n, precision));
      EXPECT_EQ(solve("if(i==j, 1, (i<2)*(j<2)*2)", "cholesky"),
                fmt::format("linear_system: pivot 2 of {} is not positive: the matrix is not "
                            "positive definite (method: lu solves other systems)",
                            n));
    }
}

TEST_F(LinearSystemGpu, GivesTheSameBitsEveryTime) {
  for (std::string const method : {"lu", "cholesky", "lu_mixed"}) {
    auto const yaml =
        test::system_yaml("1/(1 + (i-j)^2)", 500, "cos(i*(j+1))", 2, method, "float64");
    EXPECT_EQ(test::solve_system(yaml, Backend::cuda).x.memory,
              test::solve_system(yaml, Backend::cuda).x.memory)
        << method;
  }
}

}  // namespace
}  // namespace gridstride

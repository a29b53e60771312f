#include <gtest/gtest.h>

#include "support/linear_system_stencil_cases.hpp"
#include "unit/gpu/gpu.hpp"

namespace gridstride::test {
namespace {

class LinearSystemStencilGpu : public testing::Test {
 protected:
  void SetUp() override { GRIDSTRIDE_SKIP_WITHOUT_GPU(); }
};

TEST_F(LinearSystemStencilGpu, FindsWhatRowsHave) { expect_solutions_of_rows(Backend::cuda); }

TEST_F(LinearSystemStencilGpu, ResidualsAreAsTold) {
  expect_residuals_as_told(Backend::cuda);
  expect_residuals_beyond_rounding(Backend::cuda);
}

TEST_F(LinearSystemStencilGpu, AsManyIterationsOnAnyGrid) {
  expect_iterations_of_any_size(Backend::cuda);
}

TEST_F(LinearSystemStencilGpu, UnitsOfTheRightSideDoNotMatter) {
  expect_any_scale_of_stencils(Backend::cuda);
}

}  // namespace
}  // namespace gridstride::test

#include <gtest/gtest.h>

#include "support/parameter_sweep_cases.hpp"
#include "unit/gpu/gpu.hpp"

namespace gridstride {
namespace {

TEST(ParameterSweepGpu, RunsHaveTheBitsThatTheyHaveAlone) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  test::expect_bits_of_runs_alone("device: cuda\n");
}

}  // namespace
}  // namespace gridstride

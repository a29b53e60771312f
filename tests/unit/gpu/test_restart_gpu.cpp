#include <gtest/gtest.h>

#include "support/restart_runs.hpp"
#include "unit/gpu/gpu.hpp"

namespace gridstride {
namespace {

TEST(RestartGpu, GoesOnWithTheSameBits) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  test::expect_bits_to_continue("device: cuda\n");
}

}  // namespace
}  // namespace gridstride

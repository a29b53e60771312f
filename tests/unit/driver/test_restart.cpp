#include <gtest/gtest.h>

#include "support/restart_runs.hpp"

namespace gridstride {
namespace {

TEST(Restart, GoesOnWithTheSameBits) { test::expect_bits_to_continue("device: cpu\n"); }

}  // namespace
}  // namespace gridstride

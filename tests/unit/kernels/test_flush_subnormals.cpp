#include <gtest/gtest.h>

#include <limits>

#include "kernels/support/flush_subnormals.hpp"

namespace gridstride {
namespace {

template <class T>
struct FlushSubnormalsOf : testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(FlushSubnormalsOf, Types);

TYPED_TEST(FlushSubnormalsOf, LastsAsLongAsTheObject) {
  constexpr TypeParam least = std::numeric_limits<TypeParam>::min();
  // Volatile, so that the processor computes and not the compiler.
  TypeParam volatile normal = least, subnormal = least / 8, half = TypeParam(0.5), many = 1024;
  EXPECT_EQ(normal * half, least / 2);
  EXPECT_EQ(subnormal * many, least * 128);
  TypeParam volatile out, in;
  {
    FlushSubnormals const flush;
    out = normal * half;
    in = subnormal * many;
    { FlushSubnormals const again; }
    EXPECT_EQ(out, normal * half);  // still in force
  }
  EXPECT_EQ(out, FlushSubnormals::has_effect ? 0 : least / 2);
  EXPECT_EQ(in, FlushSubnormals::has_effect ? 0 : least * 128);
  EXPECT_EQ(normal * half, least / 2);
}

}  // namespace
}  // namespace gridstride

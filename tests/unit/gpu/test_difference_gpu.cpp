#include <gtest/gtest.h>

#include "support/difference_cases.hpp"
#include "unit/gpu/gpu.hpp"

namespace gridstride {
namespace {

template <class T>
class DifferenceGpu : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(DifferenceGpu, Types);

TYPED_TEST(DifferenceGpu, VariantsEqualTheReference) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  int compared = 0;
  for (auto const& points : test::difference_shapes)
    for (int order = 1; order <= difference::max_order; ++order)
      test::compare_differences<TypeParam>(stream, points, order, compared);
  for (int const order : {1, 4}) {
    test::compare_differences<TypeParam>(stream, {1000003, 1, 1}, order, compared);
    test::compare_differences<TypeParam>(stream, {260, 70, 90}, order, compared);
  }
  EXPECT_GE(compared, (12 * 8 + 4) * 3 * 2);
}

/// Indices beyond 2^32, in rows and in columns.
TEST(DifferenceGpuOfFloats, BeyondTwoToThe32) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  constexpr std::int64_t rows = 65539, columns = 65536;
  if (stream.device().free_memory() < static_cast<std::size_t>(9 * rows * columns))
    GTEST_SKIP() << "the device has too little free memory";
  Buffer<float> input(stream, MemorySpace::device, rows * columns),
      output(stream, MemorySpace::device, rows * columns);
  zero_async(input.span(), stream);
  std::vector<float> const one = {1};
  std::int64_t const last = rows * columns - 1;
  copy_async(input.span().last(1), std::span(one), stream);
  for (auto const& row : difference::variants<float>()) {
    if (row.backend != Backend::cuda) continue;
    for (int axis = 0; axis < 2; ++axis) {
      difference::Shape const shape{{columns, rows, 1}, axis};
      auto const result = output.span().first(static_cast<std::size_t>(shape.size_of_result(1)));
      difference::difference<float>(stream, shape, 1, input.span(), result, row.name);
      EXPECT_EQ(test::to_host(result.last(2), stream), (std::vector<float>{0, 1}))
          << row.name << " along axis " << axis << " to " << last;
    }
  }
}

}  // namespace
}  // namespace gridstride

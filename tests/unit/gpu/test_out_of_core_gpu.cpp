#include <gtest/gtest.h>

#include "support/out_of_core_cases.hpp"
#include "unit/gpu/gpu.hpp"

namespace gridstride {
namespace {

using test::SortData;

template <class T>
class OutOfCoreGpu : public testing::Test {
 protected:
  void SetUp() override { GRIDSTRIDE_SKIP_WITHOUT_GPU(); }
};
using Types = testing::Types<std::int32_t, std::int64_t, float, double>;
TYPED_TEST_SUITE(OutOfCoreGpu, Types);

TYPED_TEST(OutOfCoreGpu, HasTheBitsOfOneSort) {
  Stream stream(Device::open(Backend::cuda));
  for (auto const variant : {"bitonic", "cub"})
    for (SortData const data : test::sort_data)
      for (std::int64_t const size : {1, 1366, 20011})
        test::expect_sorted_out_of_core<TypeParam>(stream, data, size, sort::least_device_bytes,
                                                   variant);
  for (SortData const data : {SortData::random, SortData::special, SortData::few})
    for (std::size_t const bytes : {std::size_t{8} << 20, std::size_t{100} << 20})
      test::expect_sorted_out_of_core<TypeParam>(stream, data, 5'000'003, bytes, "auto");
}

}  // namespace
}  // namespace gridstride

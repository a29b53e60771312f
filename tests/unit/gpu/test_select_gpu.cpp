#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "kernels/machine/machine.hpp"
#include "kernels/select/select.hpp"
#include "support/select_cases.hpp"
#include "unit/gpu/gpu.hpp"

namespace gridstride {
namespace {

template <class T>
class SelectGpu : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(SelectGpu, Types);

TYPED_TEST(SelectGpu, VariantsEqualTheReference) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  int compared = 0;
  for (std::size_t const size :
       {0, 1, 31, 32, 33, 255, 256, 257, 2047, 2048, 2049, 4095, 4096, 4097, 50021})
    test::compare_selections<TypeParam>(stream, size, compared);
  EXPECT_GE(compared, 15 * 7 * 4);
}

TYPED_TEST(SelectGpu, LargeArrays) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  int compared = 0;
  test::compare_selections<TypeParam>(stream, 3000017, compared);
  EXPECT_GE(compared, 7 * 4);
}

TEST(SelectGpuOfFloats, CanBeCapturedInAGraph) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  std::size_t const size = 100003;
  auto const flags = test::flags_of<float>(test::Flags::random, size);
  auto const mask = test::to_device(std::span(flags), stream);
  for (auto const& row : select::variants<float>()) {
    if (row.backend != Backend::cuda) continue;
    Buffer<float> out(stream, MemorySpace::device, size);
    Buffer<std::int64_t> count(stream, MemorySpace::device, 1);
    zero_async(count.span(), stream);
    auto const graph = Graph::capture(stream, [&] {
      select::flagged<float>(stream, mask.span(), mask.span(), out.span(), {}, count.span(), 0,
                             row.name);
    });
    for (int run = 0; run < 3; ++run) graph.launch(stream);
    EXPECT_EQ(test::to_host(count.span(), stream)[0],
              std::ranges::count_if(flags, [](float flag) { return flag != 0; }))
        << row.name;
  }
}

TEST(SelectGpuOfFloats, BeyondTwoToThe32) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  constexpr std::int64_t size = (std::int64_t{1} << 32) + 4099;
  if (stream.device().free_memory() < 13 * static_cast<std::size_t>(size))
    GTEST_SKIP() << "the device has too little free memory";
  Buffer<float> values(stream, MemorySpace::device, size), out(stream, MemorySpace::device, size);
  zero_async(values.span(), stream);
  // The only flags that are set, one of them in the last tile.
  std::vector<std::int64_t> const places = {0, (std::int64_t{1} << 32) - 1, std::int64_t{1} << 32,
                                            size - 1};
  std::vector<float> const one = {2};
  for (std::int64_t const place : places)
    copy_async(values.span().subspan(static_cast<std::size_t>(place), 1), std::span(one), stream);
  Buffer<std::int64_t> count(stream, MemorySpace::device, 1);
  for (auto const& row : select::variants<float>()) {
    if (row.backend != Backend::cuda) continue;
    zero_async(out.span().first(8), stream);
    select::flagged<float>(stream, values.span(), values.span(), out.span(), {}, count.span(), 0,
                           row.name);
    EXPECT_EQ(test::to_host(count.span(), stream)[0], std::ssize(places)) << row.name;
    EXPECT_EQ(test::to_host(out.span().first(5), stream), (std::vector<float>{2, 2, 2, 2, 0}))
        << row.name;
  }
}

}  // namespace
}  // namespace gridstride

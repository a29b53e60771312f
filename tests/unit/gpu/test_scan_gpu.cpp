#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "kernels/scan/scan.hpp"
#include "support/scan_cases.hpp"
#include "unit/gpu/gpu.hpp"

namespace gridstride {
namespace {

using scan::Kind;
using scan::Operation;
using test::ScanData;

constexpr test::ScanCase inclusive_sum{Operation::sum, Kind::inclusive};

/// The names of the rows for the GPU.
template <class T>
std::vector<std::string_view> gpu_variants() {
  std::vector<std::string_view> names;
  for (auto const& row : scan::variants<T>())
    if (row.backend == Backend::cuda) names.push_back(row.name);
  return names;
}

template <class T>
class ScanGpu : public testing::Test {};
using Types = testing::Types<std::int32_t, std::int64_t, float, double>;
TYPED_TEST_SUITE(ScanGpu, Types);

TYPED_TEST(ScanGpu, VariantsEqualTheReference) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  int compared = 0;
  for (std::size_t const size : {0, 1, 31, 32, 33, 255, 511, 512, 513, 1023, 1024, 1025, 4097})
    test::compare_scans<TypeParam>(stream, size, test::scan_data_kinds<TypeParam>(), compared);
  // Several tiles of every rung.
  test::compare_scans<TypeParam>(stream, 50021, {ScanData::random, ScanData::whole}, compared);
  EXPECT_GE(compared, 13 * 6 * 4 * 7);
}

TYPED_TEST(ScanGpu, LargeArrays) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  int compared = 0;
  test::compare_scans<TypeParam>(stream, 999983,
                                 {ScanData::random, ScanData::whole, ScanData::rising}, compared);
  test::compare_scans<TypeParam>(stream, 3000017, {ScanData::whole}, compared);
  EXPECT_GE(compared, 4 * 4 * 7);
}

/// Whether the variants make the same bits in 100 runs.
template <class T>
void repeat(std::size_t size, std::vector<std::string_view> const& names) {
  Stream stream(Device::open(Backend::cuda));
  auto const values = test::scan_data<T>(ScanData::random, size);
  auto const input = test::to_device(std::span(values), stream);
  for (auto const name : names) {
    std::vector<T> first;
    for (int run = 0; run < 100; ++run) {
      Buffer<T> output(stream, MemorySpace::device, size);
      scan::inclusive_sum<T>(stream, input.span(), output.span(), name);
      auto const result = test::to_host(output.span(), stream);
      if (run == 0) first = result;
      ASSERT_TRUE(test::same_bits(first, result)) << name << ", run " << run;
    }
  }
}

/// All but the one whose row says that its float sums differ.
std::vector<std::string_view> deterministic_variants() {
  auto names = gpu_variants<float>();
  std::erase(names, "cub");
  return names;
}

TEST(ScanGpuOfFloats, VariantsGiveTheSameBitsEveryTime) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  repeat<float>(50021, deterministic_variants());
}

TEST(ScanGpuOfFloats, LargeArraysGiveTheSameBitsEveryTime) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  repeat<float>(999983, deterministic_variants());
  repeat<double>(5000011, {scan::default_variant(Backend::cuda)});
}

TEST(ScanGpuOfIntegers, QueuesOneAfterTheOther) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  auto const values = test::scan_data<std::int64_t>(ScanData::random, 30011);
  auto const input = test::to_device(std::span(values), stream);
  auto const names = gpu_variants<std::int64_t>();
  // Scratch memory goes from call to call while the calls before are still at work.
  std::vector<Buffer<std::int64_t>> outputs;
  for (std::size_t i = 0; i < names.size(); ++i)
    outputs.emplace_back(stream, MemorySpace::device, values.size());
  for (std::size_t i = 0; i < names.size(); ++i)
    scan::inclusive_sum<std::int64_t>(stream, input.span(), outputs[i].span(), names[i]);
  Stream host(Device::open(Backend::cpu));
  auto const expected = test::scanned(host, inclusive_sum, values, "reference");
  for (std::size_t i = 0; i < names.size(); ++i)
    EXPECT_EQ(test::to_host(outputs[i].span(), stream), expected) << names[i];
}

TEST(ScanGpuOfIntegers, CanBeCapturedInAGraph) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  auto const values = test::scan_data<std::int32_t>(ScanData::random, 30011);
  Stream host(Device::open(Backend::cpu));
  auto const once = test::scanned(host, inclusive_sum, values, "reference");
  auto const twice = test::scanned(host, inclusive_sum, once, "reference");
  for (auto const name : gpu_variants<std::int32_t>()) {
    auto data = test::to_device(std::span(values), stream);
    auto const graph = Graph::capture(
        stream, [&] { scan::inclusive_sum<std::int32_t>(stream, data.span(), data.span(), name); });
    EXPECT_EQ(test::to_host(data.span(), stream), values) << name;
    graph.launch(stream);
    EXPECT_EQ(test::to_host(data.span(), stream), once) << name;
    graph.launch(stream);
    EXPECT_EQ(test::to_host(data.span(), stream), twice) << name;
  }
}

TEST(ScanGpuOfIntegers, LargeBeyondTwoToThe31) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  constexpr std::size_t size = (std::size_t{1} << 31) + 4099, period = std::size_t{1} << 24;
  constexpr std::size_t window = 1024;
  if (stream.device().free_memory() < 4 * size * sizeof(std::int32_t))
    GTEST_SKIP() << "the device has too little free memory";

  // The same numbers again and again: what the scan makes of them is known everywhere.
  auto const values = test::scan_data<std::int32_t>(ScanData::random, period);
  std::vector<std::uint32_t> sums(values.begin(), values.end());
  std::partial_sum(sums.begin(), sums.end(), sums.begin());
  auto const expected = [&](std::size_t i) {
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(i / period) * sums.back() +
                                     sums[i % period]);
  };
  auto const once = test::to_device(std::span(values), stream);
  Buffer<std::int32_t> input(stream, MemorySpace::device, size),
      output(stream, MemorySpace::device, size);
  for (std::size_t first = 0; first < size; first += period) {
    std::size_t const count = std::min(period, size - first);
    copy_async(input.span().subspan(first, count), once.span().first(count), stream);
  }
  std::vector<std::size_t> windows = {0, (std::size_t{1} << 31) - window / 2, size - window};
  for (std::size_t i = 1; i < 64; ++i) windows.push_back(i * (size / 64) + 17 * i);
  for (auto const name : gpu_variants<std::int32_t>()) {
    zero_async(output.span(), stream);
    scan::inclusive_sum<std::int32_t>(stream, input.span(), output.span(), name);
    for (std::size_t const first : windows) {
      auto const part = test::to_host(output.span().subspan(first, window), stream);
      for (std::size_t i = 0; i < window; ++i)
        ASSERT_EQ(part[i], expected(first + i)) << name << " at " << first + i;
    }
  }
}

TEST(ScanGpuOfFloats, RefusesVariantsOfTheHost) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  Buffer<float> data(stream, MemorySpace::device, 4);
  try {
    scan::inclusive_sum<float>(stream, data.span(), data.span(), "threads");
    FAIL() << "not refused";
  } catch (std::invalid_argument const& error) {
    EXPECT_STREQ(error.what(), "scan: cuda has no variant 'threads'");
  }
}

}  // namespace
}  // namespace gridstride

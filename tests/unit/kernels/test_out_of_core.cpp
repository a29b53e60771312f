#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <vector>

#include "kernels/sort/out_of_core.hpp"
#include "support/out_of_core_cases.hpp"
#include "support/refusal.hpp"

namespace gridstride {
namespace {

using test::SortData;

template <class T>
class OutOfCore : public testing::Test {};
using Types = testing::Types<std::int32_t, std::int64_t, float, double>;
TYPED_TEST_SUITE(OutOfCore, Types);

TYPED_TEST(OutOfCore, HasTheBitsOfOneSort) {
  Stream stream(Device::open(Backend::cpu));
  for (auto const variant : {"reference", "threads"})
    for (SortData const data : test::sort_data)
      for (std::int64_t const size : {0, 1, 2, 1365, 1366, 1367, 20011, 200003})
        test::expect_sorted_out_of_core<TypeParam>(stream, data, size, sort::least_device_bytes,
                                                   variant);
}

TEST(OutOfCoreOfFloats, ReadsAndWritesEveryKeyOnce) {
  Stream stream(Device::open(Backend::cpu));
  auto const keys = test::sort_keys<float>(SortData::random, 100'003);
  std::vector<std::atomic<int>> read(keys.size()), written(keys.size());
  std::vector<float> runs(keys.size()), sorted(keys.size());
  auto const report = sort::out_of_core<float>(
      stream,
      [&](std::int64_t first, std::span<float> target) {
        for (std::size_t i = 0; i < target.size(); ++i) {
          auto const place = static_cast<std::size_t>(first) + i;
          target[i] = keys[place];
          ++read[place];
        }
      },
      runs,
      [&](std::int64_t first, std::span<float const> source) {
        for (std::size_t i = 0; i < source.size(); ++i) {
          auto const place = static_cast<std::size_t>(first) + i;
          sorted[place] = source[i];
          ++written[place];
        }
      },
      1 << 18);
  for (std::size_t i = 0; i < keys.size(); ++i) ASSERT_TRUE(read[i] == 1 && written[i] == 1) << i;
  auto const expected = test::sorted(stream, keys, false, "threads").keys;
  EXPECT_EQ(test::key_bits(sorted), test::key_bits(expected));
  double const bytes = static_cast<double>(keys.size() * sizeof(float));
  for (auto const& pass : {report.runs, report.ranges})
    for (auto const& stage : pass.stages) EXPECT_EQ(stage.bytes, bytes) << stage.name;
}

TEST(OutOfCoreOfFloats, WhatAReaderThrowsEndsIt) {
  Stream stream(Device::open(Backend::cpu));
  std::vector<float> runs(100'003);
  EXPECT_THROW(sort::out_of_core<float>(
                   stream,
                   [](std::int64_t first, std::span<float>) {
                     if (first > 50'000) throw std::runtime_error("truncated");
                   },
                   runs, [](std::int64_t, std::span<float const>) { FAIL() << "written"; },
                   sort::least_device_bytes),
               std::runtime_error);
}

TEST(OutOfCoreOfFloats, RefusesBadArguments) {
  Stream stream(Device::open(Backend::cpu));
  std::vector<float> keys(5), sorted(4);
  auto const call = [&](std::span<float> target, std::size_t bytes, std::string_view variant) {
    return test::refusal([&] { sort::out_of_core<float>(stream, keys, target, bytes, variant); });
  };
  EXPECT_EQ(call(sorted, 1 << 20, "auto"),
            "sort::out_of_core: keys has 5 elements and sorted has 4 (they must agree)");
  EXPECT_EQ(call(keys, 1 << 20, "auto"),
            "sort::out_of_core: keys (5 elements) and sorted (5 elements) overlap");
  sorted.resize(5);
  EXPECT_EQ(call(sorted, 65535, "auto"),
            "sort: 65535 bytes of device memory are too few (65536 are needed)");
  EXPECT_EQ(call(sorted, 1 << 20, "bitonic"), "sort: cpu has no variant 'bitonic'");
}

}  // namespace
}  // namespace gridstride

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "support/sort_cases.hpp"
#include "unit/gpu/gpu.hpp"

namespace gridstride {
namespace {

using Names = std::vector<std::string_view>;

/// Kernels that launch kernels have tests of their own, for compute-sanitizer cannot run them.
Names const plain_rows = {"bitonic", "cub"}, dynamic_rows = {"quicksort_dynamic"},
            all_rows = {"bitonic", "quicksort_dynamic", "cub"};

/// Rows against the reference, with arrays that begin at and beside a boundary of 16 bytes.
template <class T>
void compare_rows(Names const& names, std::int64_t size,
                  std::span<test::SortData const> kinds = test::sort_data) {
  Stream host(Device::open(Backend::cpu));
  Stream device(Device::open(Backend::cuda));
  std::size_t compared = 0;
  for (auto const data : kinds) {
    auto const keys = test::sort_keys<T>(data, size);
    auto const expected = test::sorted(host, keys, true, "reference");
    for (auto const& row : sort::variants<T>()) {
      if (row.backend != Backend::cuda || std::ranges::count(names, row.name) == 0) continue;
      for (bool const with_values : {false, true})
        EXPECT_EQ(test::fault_of(row, keys, expected,
                                 test::sorted(device, keys, with_values, row.name, with_values)),
                  "")
            << row.name << ", " << size << " keys, " << test::name_of(data)
            << (with_values ? ", with values" : "");
      ++compared;
    }
  }
  EXPECT_EQ(compared, names.size() * kinds.size());
}

template <class T>
void compare_sizes(Names const& names) {
  for (auto const size : test::sort_sizes) compare_rows<T>(names, size);
  // About a tile of shared memory, and enough for several blocks.
  for (std::int64_t const size : {2047, 2048, 2049, 20011}) compare_rows<T>(names, size);
}

TEST(SortGpu, RowsEqualTheReferenceInInt32) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  compare_sizes<std::int32_t>(plain_rows);
}

TEST(SortGpu, RowsEqualTheReferenceInInt64) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  compare_sizes<std::int64_t>(plain_rows);
}

TEST(SortGpu, RowsEqualTheReferenceInFloat32) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  compare_sizes<float>(plain_rows);
}

TEST(SortGpu, RowsEqualTheReferenceInFloat64) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  compare_sizes<double>(plain_rows);
}

TEST(SortGpu, DynamicRowsEqualTheReference) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  compare_sizes<std::int32_t>(dynamic_rows);
  compare_sizes<std::int64_t>(dynamic_rows);
  compare_sizes<float>(dynamic_rows);
  compare_sizes<double>(dynamic_rows);
}

TEST(SortGpu, LargeRowsEqualTheReference) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  compare_rows<float>(all_rows, test::large_sort_size);
  static constexpr test::SortData kinds[] = {test::SortData::random, test::SortData::special};
  compare_rows<std::int32_t>(all_rows, test::large_sort_size, kinds);
  compare_rows<std::int64_t>(all_rows, test::large_sort_size, kinds);
  compare_rows<double>(all_rows, test::large_sort_size, kinds);
}

TEST(SortGpu, LargeBeyondTwoToThe31Bytes) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream device(Device::open(Backend::cuda));
  // A mebi of keys 512 times, and the largest key three times more.
  std::mt19937_64 generator(8);
  std::vector<std::int32_t> chunk(1 << 20);
  for (auto& key : chunk) key = test::random_key<std::int32_t>(generator);
  std::size_t const repeats = 512, repeated = chunk.size() * repeats;
  std::vector<std::int32_t> const tail(3, std::numeric_limits<std::int32_t>::max());
  Buffer<std::int32_t> keys(device, MemorySpace::device, repeated + tail.size());
  for (auto const& row : sort::variants<std::int32_t>()) {
    if (row.backend != Backend::cuda) continue;
    copy_async(keys.span().first(chunk.size()), std::span(chunk), device);
    for (std::size_t filled = chunk.size(); filled < repeated; filled *= 2)
      copy_async(keys.span().subspan(filled, filled), keys.span().first(filled), device);
    copy_async(keys.span().subspan(repeated), std::span(tail), device);
    sort::keys(device, keys.span(), row.name);
    auto const result = test::to_host(keys.span(), device);
    auto expected = chunk;
    std::sort(expected.begin(), expected.end());
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < repeated; ++i) wrong += result[i] != expected[i / repeats];
    for (std::size_t i = repeated; i < result.size(); ++i) wrong += result[i] != tail[0];
    EXPECT_EQ(wrong, 0u) << row.name;
  }
}

TEST(SortGpu, TheSameBitsEveryTime) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream device(Device::open(Backend::cuda));
  // Many equal keys, so that values could be exchanged unnoticed.
  auto const keys = test::sort_keys<float>(test::SortData::saw, 20011);
  for (auto const& row : sort::variants<float>()) {
    if (row.backend != Backend::cuda) continue;
    auto const first = test::sorted(device, keys, true, row.name);
    for (int run = 0; run < 100; ++run) {
      auto const again = test::sorted(device, keys, true, row.name);
      ASSERT_EQ(test::key_bits(again.keys), test::key_bits(first.keys)) << row.name;
      ASSERT_EQ(again.values, first.values) << row.name;
    }
  }
}

TEST(SortGpu, RowsCanBeCaptured) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream host(Device::open(Backend::cpu));
  Stream device(Device::open(Backend::cuda));
  auto const keys = test::sort_keys<double>(test::SortData::random, 20011);
  auto const expected = test::key_bits(test::sorted(host, keys, false, "reference").keys);
  Buffer<double> buffer(device, MemorySpace::device, keys.size());
  for (auto const& row : sort::variants<double>()) {
    if (row.backend != Backend::cuda) continue;
    if (row.name == "quicksort_dynamic") {
      EXPECT_THROW(Graph::capture(device, [&] { sort::keys(device, buffer.span(), row.name); }),
                   std::invalid_argument);
      continue;
    }
    auto const graph = Graph::capture(device, [&] { sort::keys(device, buffer.span(), row.name); });
    for (int launch = 0; launch < 2; ++launch) {
      copy_async(buffer.span(), std::span(keys), device);
      graph.launch(device);
      EXPECT_EQ(test::key_bits(test::to_host(buffer.span(), device)), expected) << row.name;
    }
  }
}

TEST(SortGpu, UnknownVariantsAreRefused) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream device(Device::open(Backend::cuda));
  Buffer<float> keys(device, MemorySpace::device, 4);
  EXPECT_THROW(sort::keys(device, keys.span(), "threads"), std::invalid_argument);
}

}  // namespace
}  // namespace gridstride

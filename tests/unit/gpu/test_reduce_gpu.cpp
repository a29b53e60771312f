#include <gtest/gtest.h>

#include <limits>
#include <stdexcept>

#include "kernels/reduce/reduce.hpp"
#include "support/reduce_cases.hpp"
#include "unit/gpu/gpu.hpp"

namespace gridstride {
namespace {

using test::ReduceProblem;

constexpr int rungs = 14;

template <class T>
void compare_small() {
  EXPECT_EQ(test::compare_reduce_rows<T>(Backend::cuda, test::small_reduce_cases()), 40 * rungs);
}

template <class T>
void compare_large() {
  EXPECT_EQ(test::compare_reduce_rows<T>(Backend::cuda, test::large_reduce_cases()), 6 * rungs);
}

TEST(ReduceGpu, RowsEqualTheReferenceInInt32) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  compare_small<std::int32_t>();
}

TEST(ReduceGpu, RowsEqualTheReferenceInInt64) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  compare_small<std::int64_t>();
}

TEST(ReduceGpu, RowsEqualTheReferenceInFloat32) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  compare_small<float>();
}

TEST(ReduceGpu, RowsEqualTheReferenceInFloat64) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  compare_small<double>();
}

TEST(ReduceGpu, LargeRowsEqualTheReferenceInInt32) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  compare_large<std::int32_t>();
}

TEST(ReduceGpu, LargeRowsEqualTheReferenceInInt64) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  compare_large<std::int64_t>();
}

TEST(ReduceGpu, LargeRowsEqualTheReferenceInFloat32) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  compare_large<float>();
}

TEST(ReduceGpu, LargeRowsEqualTheReferenceInFloat64) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  compare_large<double>();
}

TEST(ReduceGpu, RowsKeepNanAndInfinity) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  EXPECT_EQ(test::compare_reduce_rows_of_non_finite<float>(Backend::cuda), 144 * rungs);
  EXPECT_EQ(test::compare_reduce_rows_of_non_finite<double>(Backend::cuda), 144 * rungs);
}

/// Of all that `blocks` finds, those of the host's `threads`.
template <class T>
void compare_with_the_host() {
  Stream host(Device::open(Backend::cpu)), device(Device::open(Backend::cuda));
  auto cases = test::small_reduce_cases();
  for (std::size_t const size : test::block_sizes())
    for (std::size_t k = 0; k < 6; ++k)
      cases.push_back({size, static_cast<test::ReduceData>(k), k % 2, k % 3});
  for (auto const& one : cases) {
    auto const expected = ReduceProblem<T>(host, one).run("threads");
    auto const found = ReduceProblem<T>(device, one).run("blocks");
    EXPECT_TRUE(test::is_same(found.sum, expected.sum)) << one.text();
    EXPECT_TRUE(test::is_same(found.minimum, expected.minimum)) << one.text();
    EXPECT_TRUE(test::is_same(found.maximum, expected.maximum)) << one.text();
    EXPECT_TRUE(test::is_same(found.dot, expected.dot)) << one.text();
    EXPECT_TRUE(test::is_same(found.mean, expected.mean)) << one.text();
    EXPECT_TRUE(test::is_same(found.variance, expected.variance)) << one.text();
    EXPECT_TRUE(test::is_same(found.l2_norm, expected.l2_norm)) << one.text();
    test::expect_same(found.moments, expected.moments, one.text());
  }
}

TEST(ReduceGpu, BlocksHaveTheBitsOfTheHost) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  compare_with_the_host<std::int32_t>();
  compare_with_the_host<std::int64_t>();
  compare_with_the_host<float>();
  compare_with_the_host<double>();
}

/// With more blocks than are combined at a time.
TEST(ReduceGpu, ManyBlocksHaveTheBitsOfTheHost) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream host(Device::open(Backend::cpu)), device(Device::open(Backend::cuda));
  auto const values = test::values_of_any_size<float>((std::size_t{1} << 27) + 5003, false, 11);
  auto const on_device = test::to_device(std::span(values), device);
  reduce::Moments<float> expected{};
  reduce::moments<float>(host, values, std::span(&expected, 1), "threads");
  Buffer<reduce::Moments<float>> found(device, MemorySpace::device, 1);
  reduce::moments<float>(device, on_device.span(), found.span(), "blocks");
  test::expect_same(test::to_host(found.span(), device)[0], expected, "many blocks");
}

TEST(ReduceGpu, BlocksOfPartsAndOfLengths) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  test::expect_blocks_of_parts<float>(Backend::cuda);
  test::expect_blocks_of_parts<double>(Backend::cuda);
  test::expect_blocks_of_lengths<float>(Backend::cuda);
  test::expect_blocks_of_lengths<double>(Backend::cuda);
}

TEST(ReduceGpu, BlocksPassIndicesOfTwoToTheThirtyOne) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  constexpr std::size_t size = (std::size_t{1} << 31) + 70001;
  if (stream.device().free_memory() < size * sizeof(float) + (std::size_t{1} << 30))
    GTEST_SKIP() << "the device has too little memory";
  Buffer<float> all(stream, MemorySpace::device, size);
  elementwise::fill<float>(stream, 0.5F, all.span());
  elementwise::fill<float>(stream, -2, all.span().last(1));
  Buffer<reduce::Moments<float>> found(stream, MemorySpace::device, 1);
  reduce::moments<float>(stream, all.span(), found.span(), "blocks");
  auto const finite = test::to_host(found.span(), stream)[0];
  constexpr auto others = static_cast<double>(size - 1);
  test::expect_same(finite, {-2, 0.5F, others / 2 - 2, others / 4 + 4, -1}, "finite values");
  elementwise::fill<float>(stream, std::numeric_limits<float>::infinity(), all.span().last(1));
  reduce::moments<float>(stream, all.span(), found.span(), "blocks");
  EXPECT_EQ(test::to_host(found.span(), stream)[0].first_non_finite,
            static_cast<std::int64_t>(size - 1));
}

TEST(ReduceGpu, SameBitsEveryTime) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  test::expect_same_bits<float>(Backend::cuda, 5003);
  test::expect_same_bits<double>(Backend::cuda, 5003);
}

TEST(ReduceGpu, LargeSameBitsEveryTime) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  test::expect_same_bits<float>(Backend::cuda, 999983);
  test::expect_same_bits<double>(Backend::cuda, 999983);
}

/// int32 beyond 2^31, and float32 that needs the digits of float64: every row but CUB's has them.
TEST(ReduceGpu, SumsAreWiderThanTheirElements) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  std::vector<std::int32_t> const greatest(1025, std::numeric_limits<std::int32_t>::max());
  std::vector<float> ones(1025, 1);
  ones.front() = 16777216;
  ones.back() = -16777216;
  ReduceProblem<std::int32_t> integers(stream, greatest, greatest);
  ReduceProblem<float> floats(stream, ones, ones);
  for (auto const& row : reduce::variants<float>()) {
    if (row.backend != Backend::cuda) continue;
    EXPECT_EQ(integers.run(row.name).sum, 1025 * std::int64_t{2147483647}) << row.name;
    if (row.name != "cub") {
      EXPECT_EQ(floats.run(row.name).sum, 1023) << row.name;
    }
  }
}

TEST(ReduceGpu, RowsCanBeCapturedInAGraph) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  auto const first = test::reduce_values<double>(5003, test::ReduceData::small, 1);
  auto const second = test::reduce_values<double>(5003, test::ReduceData::small, 7);
  for (auto const& row : reduce::variants<double>()) {
    if (row.backend != Backend::cuda) continue;
    auto x = test::to_device(std::span(first), stream);
    Buffer<double> result(stream, MemorySpace::device, 1);
    auto const queue = [&] {
      reduce::sum(stream, std::span<double const>(x.span()), result.span(), row.name);
    };
    queue();  // a kernel is loaded when it is first launched
    auto const graph = Graph::capture(stream, queue);
    for (auto const& values : {first, second}) {
      copy_async(x.span(), std::span(values), stream);
      graph.launch(stream);
      double expected = 0;
      for (double const value : values) expected += value;
      EXPECT_EQ(test::to_host(result.span(), stream)[0], expected) << row.name;
    }
  }
}

TEST(ReduceGpu, RowsRefuseWhatTheyDoNotTake) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  std::vector<float> const values = {1, 2, 3};
  auto const x = test::to_device(std::span(values), stream);
  Buffer<reduce::Moments<float>> result(stream, MemorySpace::device, 1);
  Buffer<double> sum(stream, MemorySpace::device, 1);
  auto const message = [&](auto const& call) -> std::string {
    try {
      call();
    } catch (std::invalid_argument const& error) {
      return error.what();
    }
    return "not refused";
  };
  for (std::string const row : {"atomic", "cub"})
    EXPECT_EQ(message([&] { reduce::moments(stream, x.span(), result.span(), row); }),
              "reduce: variant '" + row + "' does not take moments");
  EXPECT_EQ(message([&] { reduce::sum(stream, x.span(), sum.span(), "threads"); }),
            "reduce: cuda has no variant 'threads'");
}

}  // namespace
}  // namespace gridstride

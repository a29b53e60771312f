#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "kernels/elementwise/elementwise.hpp"
#include "support/elementwise_cases.hpp"
#include "unit/gpu/gpu.hpp"

namespace gridstride {
namespace {

constexpr std::array variants = {"naive", "grid_stride", "vectorized"};

Stream gpu_stream() { return Stream(Device::open(Backend::cuda)); }

template <class T>
Buffer<T> on_device(std::vector<T> const& values, Stream& stream) {
  return test::to_device(std::span(values), stream);
}

template <class T>
void compare_rows(std::vector<test::ElementwiseCase> const& cases) {
  int const compared = test::compare_elementwise<T>(
      Backend::cuda, cases, [](auto row, auto const& one, std::int64_t where) {
        ADD_FAILURE() << row << ": " << one.text() << " differs at " << where;
      });
  EXPECT_EQ(compared, static_cast<int>(variants.size() * cases.size()));
}

class ElementwiseGpuSizes : public testing::TestWithParam<std::int64_t> {};

TEST_P(ElementwiseGpuSizes, RowsEqualTheReference) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  compare_rows<float>(test::elementwise_cases(GetParam()));
  compare_rows<double>(test::elementwise_cases(GetParam()));
}
INSTANTIATE_TEST_SUITE_P(ElementwiseGpu, ElementwiseGpuSizes,
                         testing::Values(0, 1, 31, 32, 33, 255, 1023, 1025));

TEST(ElementwiseGpu, LargeArraysEqualTheReference) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  compare_rows<float>(test::large_elementwise_cases(999983));
  compare_rows<double>(test::large_elementwise_cases(999983));
}

TEST(ElementwiseGpu, VectorsOfWholeBlocksEqualTheReference) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  // Whole blocks of 1024 vectors, one element less and one more, in both precisions.
  for (std::int64_t const size : {4096, 8191, 8192, 8193}) {
    compare_rows<float>(test::large_elementwise_cases(size));
    compare_rows<double>(test::large_elementwise_cases(size));
  }
}

TEST(ElementwiseGpu, RoundsProductsAndSumsSeparately) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  auto stream = gpu_stream();
  // (1 + 2⁻¹²)² = 1 + 2⁻¹¹ + 2⁻²⁴ rounds to 1 + 2⁻¹¹ in float32; fused, 2⁻²⁴ would be left.
  float const a = 1 + std::ldexp(1.0F, -12), less = -(1 + std::ldexp(1.0F, -11));
  for (auto const* variant : variants) {
    auto const x = on_device(std::vector<float>(9, a), stream);
    auto y = on_device(std::vector<float>(9, less), stream);
    elementwise::axpy<float>(stream, a, x.span(), y.span(), variant);
    EXPECT_EQ(test::to_host(y.span(), stream), std::vector<float>(9, 0.0F)) << variant;
    auto const u = on_device(std::vector<float>{less, a, 0}, stream);
    auto const v = on_device(std::vector<float>{1, a, 0}, stream);
    Buffer<float> c(stream, MemorySpace::device, 1);
    elementwise::dot3<float>(stream, u.span(), v.span(), c.span(), variant);
    EXPECT_EQ(test::to_host(c.span(), stream)[0], 0.0F) << variant;
  }
}

TEST(ElementwiseGpu, RepeatsBitForBit) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  auto stream = gpu_stream();
  for (auto const operation : {elementwise::Operation::axpy, elementwise::Operation::dot3}) {
    test::ElementwiseCase const one{operation, 10007, {1, 1, 1}, false, 0, {}};
    for (auto const* variant : variants) {
      auto const first = test::ElementwiseProblem<float>(stream, one).run(variant);
      for (int repeat = 1; repeat < 100; ++repeat)
        ASSERT_EQ(test::first_difference(first,
                                         test::ElementwiseProblem<float>(stream, one).run(variant)),
                  -1)
            << variant << " " << one.text() << ", run " << repeat;
    }
  }
}

TEST(ElementwiseGpu, AddsInTheRowsOfOneMatrix) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  auto stream = gpu_stream();
  constexpr std::int64_t matrix_rows = 37, stride = 3 * 21 + 2, columns = 21;
  std::vector<double> expected(matrix_rows * stride);
  std::iota(expected.begin(), expected.end(), 0);
  auto const values = expected;
  for (std::size_t row = 0; row < matrix_rows; ++row)
    for (std::size_t j = row * stride; j < row * stride + columns; ++j)
      expected[j + 2 * columns] = values[j] + values[j + columns];
  for (auto const* variant : variants) {
    auto all = on_device(values, stream);
    double* const data = all.data();
    elementwise::matrix_add<double>(stream, {data, matrix_rows, columns, stride},
                                    {data + columns, matrix_rows, columns, stride},
                                    {data + 2 * columns, matrix_rows, columns, stride}, variant);
    EXPECT_EQ(test::to_host(all.span(), stream), expected) << variant;
  }
}

TEST(ElementwiseGpu, LargeTallMatrixGoesBeyondTheGridLimit) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  auto stream = gpu_stream();
  // More rows than 65,535 blocks of 16 hold.
  constexpr std::int64_t count = 65535 * 16 + 17, stride = 3;
  std::vector<float> expected(count * stride);
  for (std::size_t i = 0; i < expected.size(); ++i) expected[i] = static_cast<float>(i % 1021);
  auto const values = expected;
  for (std::size_t i = 0; i < expected.size(); ++i)
    if (i % stride < 2) expected[i] *= 2;
  for (auto const* variant : variants) {
    auto all = on_device(values, stream);
    elementwise::Matrix<float> const c{all.data(), count, 2, stride};
    elementwise::Matrix<float const> const a{all.data(), count, 2, stride};
    elementwise::matrix_add<float>(stream, a, a, c, variant);
    EXPECT_EQ(test::first_difference(test::to_host(all.span(), stream), expected), -1) << variant;
  }
}

/// The last `count` values.
std::vector<float> last(Buffer<float> const& buffer, std::size_t count, Stream& stream) {
  return test::to_host(buffer.span().last(count), stream);
}

TEST(ElementwiseGpu, LargeIndicesPassTwoToTheThirtyOne) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  auto stream = gpu_stream();
  constexpr std::size_t size = (std::size_t{1} << 31) + 1029;
  if (stream.device().free_memory() < (size + size / 3) * sizeof(float) + (std::size_t{1} << 30))
    GTEST_SKIP() << "the device has too little memory";
  Buffer<float> all(stream, MemorySpace::device, size);
  Buffer<float> dots(stream, MemorySpace::device, size / 3);
  constexpr std::int64_t columns = 46341, stride = 46345;
  constexpr auto matrix_rows = static_cast<std::int64_t>(size) / stride;
  Buffer<float> gathered(stream, MemorySpace::device, 3);
  auto const index =
      on_device(std::vector<std::int64_t>{0, (std::int64_t{1} << 31) + 1, size - 1}, stream);
  for (auto const* variant : variants) {
    zero_async(all.span(), stream);
    zero_async(dots.span(), stream);
    elementwise::fill<float>(stream, 3, all.span(), variant);
    EXPECT_EQ(last(all, 5000, stream), std::vector<float>(5000, 3)) << variant;
    elementwise::scale<float>(stream, 0.5F, all.span(), variant);
    EXPECT_EQ(last(all, 5000, stream), std::vector<float>(5000, 1.5F)) << variant;
    elementwise::axpy<float>(stream, 1, all.span(), all.span(), variant);
    EXPECT_EQ(last(all, 5000, stream), std::vector<float>(5000, 3)) << variant;
    elementwise::dot3<float>(stream, all.span().first(size / 3 * 3), all.span().first(size / 3 * 3),
                             dots.span(), variant);
    EXPECT_EQ(last(dots, 5000, stream), std::vector<float>(5000, 27)) << variant;
    elementwise::Matrix<float> const c{all.data(), matrix_rows, columns, stride};
    elementwise::Matrix<float const> const a{all.data(), matrix_rows, columns, stride};
    elementwise::matrix_add<float>(stream, a, a, c, variant);
    auto const row = test::to_host(
        std::span<float const>(all.data() + (matrix_rows - 1) * stride, stride), stream);
    for (std::size_t j = 0; j < row.size(); ++j)
      ASSERT_EQ(row[j], j < columns ? 6 : 3) << variant << " at column " << j;
    elementwise::gather<float>(stream, all.span(), index.span(), gathered.span(), variant);
    EXPECT_EQ(test::to_host(gathered.span(), stream),
              (std::vector<float>{6, last(all, 1028, stream)[0], last(all, 1, stream)[0]}))
        << variant;
  }
}

TEST(ElementwiseGpu, CanBeCapturedInAGraph) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  auto stream = gpu_stream();
  for (auto const* variant : variants) {
    auto x = on_device(std::vector<float>(1000, 1), stream);
    auto const graph =
        Graph::capture(stream, [&] { elementwise::scale<float>(stream, 2, x.span(), variant); });
    for (int launch = 0; launch < 3; ++launch) graph.launch(stream);
    EXPECT_EQ(test::to_host(x.span(), stream), std::vector<float>(1000, 8)) << variant;
  }
}

}  // namespace
}  // namespace gridstride

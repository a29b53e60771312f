#include <gtest/gtest.h>

#include <cstdint>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "kernels/matmul/matmul.hpp"
#include "support/matmul_cases.hpp"
#include "unit/gpu/gpu.hpp"

namespace gridstride {
namespace {

using test::MatmulCase;

constexpr Op plain = Op::none, transposed = Op::transpose;

template <class T>
class MatmulGpu : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(MatmulGpu, Types);

/// Whether the device has what the variant needs.
template <class T>
bool runs_here(Stream& stream, std::string_view variant) {
  MatmulCase const one{1, 1, 1};
  test::MatmulData<T> const data(one);
  try {
    test::MatmulOnDevice<T>(stream, one, data).product(variant);
  } catch (std::invalid_argument const&) {
    return false;
  }
  return true;
}

TYPED_TEST(MatmulGpu, VariantsEqualTheReference) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  int compared = 0;
  for (auto const& one : test::small_matmul_cases(test::matmul_sizes))
    test::compare_products<TypeParam>(stream, one, compared);
  EXPECT_GE(compared, 12 * 12 * 12 * 7);
}

TYPED_TEST(MatmulGpu, LargeAndOddShapes) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  int compared = 0;
  for (auto const& one : {
           MatmulCase{1000, 1000, 1000},
           MatmulCase{513, 513, 513, transposed, transposed, -1, 1},
           MatmulCase{1023, 4097, 65, plain, plain, 0.5, 0.5},
           MatmulCase{1023, 65, 4097, transposed, plain, 1, -1},
           MatmulCase{384, 640, 1024, plain, transposed, 1, 1, {4, 8, 4}},
           MatmulCase{512, 256, 768, transposed, plain, -1, 1, {0, 0, 0}, {1, 0, 0}},
       })
    test::compare_products<TypeParam>(stream, one, compared, "threads");
  EXPECT_GE(compared, 6 * 7);
}

TYPED_TEST(MatmulGpu, FewRowsOrColumns) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  int compared = 0;
  for (auto const op_a : {plain, transposed})
    for (auto const op_b : {plain, transposed})
      for (auto const& shape :
           {std::array{8193, 1, 1025}, std::array{1, 4099, 2049}, std::array{3, 5, 60003},
            std::array{16, 1500, 513}, std::array{2049, 12, 776}, std::array{1, 1, 65537},
            std::array{4096, 2, 64}, std::array{7, 3001, 33}}) {
        MatmulCase one{shape[0], shape[1], shape[2], op_a, op_b, 1, 1};
        test::compare_products<TypeParam>(stream, one, compared, "threads");
        // Every row in memory of a length that is a multiple of 16 bytes.
        one.gap[0] = (8 - (op_a == plain ? one.k : one.m) % 8) % 8;
        one.gap[1] = (8 - (op_b == plain ? one.n : one.k) % 8) % 8;
        test::compare_products<TypeParam>(stream, one, compared, "threads");
      }
  EXPECT_GE(compared, 4 * 8 * 2 * 7);
}

TYPED_TEST(MatmulGpu, SameBitsEveryTime) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  for (auto const& one : {MatmulCase{513, 257, 1031}, MatmulCase{256, 384, 2048},
                          MatmulCase{3000, 7, 5000}, MatmulCase{65, 33, 20011}}) {
    test::MatmulData<TypeParam> const data(one);
    test::MatmulOnDevice<TypeParam> on_device(stream, one, data);
    for (auto const name : test::matmul_variants<TypeParam>(Backend::cuda)) {
      if (!runs_here<TypeParam>(stream, name)) continue;
      auto const first = on_device.product(name);
      for (int run = 1; run < 20; ++run)
        ASSERT_TRUE(test::same_bits(first, on_device.product(name)))
            << name << ", run " << run << ", " << one.text();
    }
  }
}

TYPED_TEST(MatmulGpu, CanBeCapturedInAGraph) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  // Whole numbers, so that C + 2·A·B is known exactly.
  for (MatmulCase one :
       {MatmulCase{130, 97, 515}, MatmulCase{700, 3, 3001}, MatmulCase{128, 128, 128}}) {
    one.beta = 1;
    one.whole = true;
    MatmulCase twice = one;
    twice.alpha = 2;
    test::MatmulData<TypeParam> const data(one);
    auto const after_two = test::expected_product(twice, data, "reference");
    test::MatmulOnDevice<TypeParam> on_device(stream, one, data);
    for (auto const name : test::matmul_variants<TypeParam>(Backend::cuda)) {
      if (!runs_here<TypeParam>(stream, name)) continue;
      auto result = data.c;
      auto c = on_device.uploaded(result);
      stream.synchronize();
      auto const graph = Graph::capture(stream, [&] { on_device.multiply(c, name); });
      graph.launch(stream);
      graph.launch(stream);
      result.memory = test::to_host(c.span(), stream);
      EXPECT_TRUE(test::is_product(twice, after_two, result, 0)) << name << ", " << one.text();
    }
  }
}

TEST(MatmulGpuOfFloats, SparedMultiprocessorsDoNotChangeTheResult) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  MatmulCase const one{700, 1100, 96};
  test::MatmulData<float> const data(one);
  test::MatmulOnDevice<float> on_device(stream, one, data);
  for (std::string_view const name : {"tf32", "tf32x3", "warp_tiled"}) {
    if (!runs_here<float>(stream, name)) continue;
    auto const expected = on_device.product(name);
    for (int const spared : {1, 16, stream.device().processors() + 3})
      EXPECT_TRUE(test::same_bits(expected, on_device.product(name, spared))) << name << spared;
  }
}

/// Fills device memory with the same numbers again and again.
template <class T>
void repeat(Buffer<T>& to, std::vector<T> const& values, Stream& stream) {
  copy_async(to.span().first(values.size()), std::span(values), stream);
  for (std::size_t done = values.size(); done < to.size();) {
    std::size_t const more = std::min(done, to.size() - done);
    copy_async(to.span().subspan(done, more), to.span().first(more), stream);
    done += more;
  }
}

TEST(MatmulGpuOfFloats, OperandsBeyondTwoToThe31Elements) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  constexpr std::int64_t m = 66000, k = 33000, period = 8;
  if (stream.device().free_memory() < 2 * std::size_t{m} * k * sizeof(float))
    GTEST_SKIP() << "the device has too little free memory";
  // A's rows repeat, and so do those of C.
  MatmulCase const one{period, 24, k};
  test::MatmulData<float> const data(one);
  auto const expected = test::expected_product(one, data, "threads");
  Buffer<float> a(stream, MemorySpace::device, m * k), c(stream, MemorySpace::device, m * one.n);
  std::vector<float> const rows(data.a.memory.begin(), data.a.memory.begin() + period * k);
  repeat(a, rows, stream);
  auto const b = test::to_device(std::span(data.b.memory), stream);
  for (auto const name : test::matmul_variants<float>(Backend::cuda)) {
    if (name == "naive" || !runs_here<float>(stream, name)) continue;
    zero_async(c.span(), stream);
    matmul::multiply<float>(stream, 1, Matrix<float const>(a.data(), m, k),
                            Matrix<float const>(b.data(), k, one.n), 0,
                            Matrix<float>(c.data(), m, one.n), name);
    auto const result = test::to_host(std::span<float const>(c.span()), stream);
    for (std::int64_t const first : {std::int64_t{0}, m / 2 / period * period, m - period}) {
      auto part = data.c;
      std::copy_n(result.begin() + first * one.n, period * one.n, part.memory.begin());
      EXPECT_TRUE(test::is_product(one, expected, part, test::operand_rounding(name)))
          << name << ", row " << first;
    }
  }
}

TEST(MatmulGpuOfFloats, ResultsBeyondTwoToThe31Elements) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  constexpr std::int64_t size = 46400, window = 512;
  if (stream.device().free_memory() < 2 * std::size_t{size} * size * sizeof(float))
    GTEST_SKIP() << "the device has too little free memory";
  // Columns times rows of small whole numbers.
  test::StoredMatrix<float> a(size, 2, 0, 0, 0), b(2, size, 0, 0, 0);
  int next = 0;
  auto const whole = [&] { return static_cast<float>((next = (next * 5 + 3) % 17) - 8); };
  a.fill(whole);
  b.fill(whole);
  auto const a_there = test::to_device(std::span(a.memory), stream);
  auto const b_there = test::to_device(std::span(b.memory), stream);
  Buffer<float> c(stream, MemorySpace::device, size * size);
  for (auto const name : test::matmul_variants<float>(Backend::cuda)) {
    if (!runs_here<float>(stream, name)) continue;
    zero_async(c.span(), stream);
    matmul::multiply<float>(stream, 1, Matrix<float const>(a_there.data(), size, 2),
                            Matrix<float const>(b_there.data(), 2, size), 0,
                            Matrix<float>(c.data(), size, size), name);
    for (std::int64_t const i : {std::int64_t{0}, size / 3, size - 2, size - 1}) {
      std::int64_t const j = i == 0 ? 0 : size - window;
      auto const row =
          test::to_host(std::span<float const>(c.span()).subspan(i * size + j, window), stream);
      for (std::int64_t v = 0; v < window; ++v)
        ASSERT_EQ(row[v], a.at(i, 0) * b.at(0, j + v) + a.at(i, 1) * b.at(1, j + v))
            << name << " at " << i << ", " << j + v;
    }
  }
}

TEST(MatmulGpuOfDoubles, ChoosesARowThatTheDeviceHas) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  auto const device = Device::open(Backend::cuda);
  Stream stream(device);
  matmul::Arguments<double> work;
  work.m = work.k = 1000;
  for (std::int64_t const n : {1, 4, 5, 1000}) {
    work.n = n;
    EXPECT_TRUE(runs_here<double>(stream, matmul::choose(device, work))) << n;
    EXPECT_EQ(matmul::choose(device, work) == "thin", n <= 4) << n;
  }
  if (device.compute_capability() >= 90) {
    EXPECT_EQ(matmul::choose(device, work), matmul::default_variant<double>(Backend::cuda));
  }
}

TEST(MatmulGpuOfDoubles, RefusesVariantsOfTheHostAndOfFloats) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  Buffer<double> data(stream, MemorySpace::device, 3);
  Matrix<double> const a(data.data(), 1, 1), b(data.data() + 1, 1, 1), c(data.data() + 2, 1, 1);
  for (auto const name : {"threads", "tf32", "cublas_tf32"}) {
    try {
      matmul::multiply<double>(stream, 1, a, b, 0, c, name);
      FAIL() << "not refused";
    } catch (std::invalid_argument const& error) {
      EXPECT_EQ(error.what(), "matmul: cuda has no variant '" + std::string(name) + "'");
    }
  }
}

}  // namespace
}  // namespace gridstride

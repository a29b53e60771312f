// Quotients, reciprocals and roots of `system` against those of IEEE 754, to the last bit.

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "kernels/support/launch.cuh"
#include "kernels/system/arithmetic.cuh"
#include "unit/gpu/gpu.hpp"

namespace gridstride {
namespace {

/// What was not alike: of quotients, of reciprocals, of roots.
struct Faults {
  unsigned quotients, reciprocals, roots;
};

/// Number n has the fraction n mod 2^23 and is from [2^k, 2^(k+1)), where k goes from `first` on.
__global__ void faults_kernel(Faults* faults, int first, unsigned numbers) {
  using system::QuickArithmetic;
  for (unsigned n = blockIdx.x * blockDim.x + threadIdx.x; n < numbers;
       n += gridDim.x * blockDim.x) {
    float const b = __uint_as_float(((127 + first + (n >> 23)) << 23) | (n & 0x7fffffu));
    unsigned const mixed = n * 2654435761u;  // another one, of either sign and any size near 1
    float const a = __uint_as_float((mixed & 0x80ffffffu) + 0x3f000000u);
    QuickArithmetic<float> quick;
    auto const by = quick.divisor(b);
    float const quotient = quick.quotient(a, by), root = quick.root(b);
    float const reciprocal = quick.reciprocal(by);
    if (!quick.is_good || quotient != __fdiv_rn(a, b)) atomicAdd(&faults->quotients, 1u);
    if (reciprocal != __frcp_rn(b)) atomicAdd(&faults->reciprocals, 1u);
    if (root != __fsqrt_rn(b)) atomicAdd(&faults->roots, 1u);
  }
}

TEST(ArithmeticGpu, QuickIsAsIeeeHasIt) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  Buffer<Faults> faults(stream, MemorySpace::device, 1);
  zero_async(faults.span(), stream);
  for (int const first : {-60, -1, 0, 30, 58})  // two of each, odd and even
    faults_kernel<<<1024, 256, 0, native(stream)>>>(faults.data(), first, 2u << 23);
  auto const found = test::to_host(faults.span(), stream).front();
  EXPECT_EQ(found.quotients, 0U);
  EXPECT_EQ(found.reciprocals, 0U);
  EXPECT_EQ(found.roots, 0U);
}

/// Operands that are not safe, each by itself.
__global__ void unsafe_kernel(int* good, float const* operands, int count) {
  using system::QuickArithmetic;
  for (int i = 0; i < count; ++i) {
    QuickArithmetic<float> divisor, dividend, root;
    divisor.divisor(operands[i]);
    dividend.quotient(operands[i], dividend.divisor(1.0f));
    root.root(operands[i]);
    good[3 * i] = divisor.is_good;
    good[3 * i + 1] = dividend.is_good;
    good[3 * i + 2] = root.is_good;
  }
}

TEST(ArithmeticGpu, QuickKnowsWhatItIsNotGoodFor) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  float const inf = INFINITY, nan = NAN;
  std::vector<float> const operands = {0, -0.0f, 1e-42f, 1e-20f, 1, 1e20f, 3e38f, -1, inf, nan};
  auto const in = test::to_device(std::span(operands), stream);
  Buffer<int> good(stream, MemorySpace::device, 3 * operands.size());
  unsafe_kernel<<<1, 1, 0, native(stream)>>>(good.data(), in.data(),
                                             static_cast<int>(operands.size()));
  auto const found = test::to_host(good.span(), stream);
  std::vector<int> const divisors = {0, 0, 0, 0, 1, 0, 0, 1, 0, 0};
  std::vector<int> const dividends = {1, 1, 1, 1, 1, 0, 0, 1, 0, 0};
  std::vector<int> const roots = {0, 0, 0, 1, 1, 1, 0, 0, 0, 0};
  for (std::size_t i = 0; i < operands.size(); ++i) {
    EXPECT_EQ(found[3 * i], divisors[i]) << operands[i];
    EXPECT_EQ(found[3 * i + 1], dividends[i]) << operands[i];
    EXPECT_EQ(found[3 * i + 2], roots[i]) << operands[i];
  }
}

}  // namespace
}  // namespace gridstride

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "kernels/convolve/convolve.hpp"
#include "support/convolve_cases.hpp"
#include "unit/gpu/gpu.hpp"

namespace gridstride {
namespace {

using convolve::Boundary;
using test::ConvolveCase;

template <class T>
class ConvolveGpu : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(ConvolveGpu, Types);

TYPED_TEST(ConvolveGpu, VariantsEqualTheReference) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  int compared = 0;
  test::compare_small_filters<TypeParam>(stream, compared);
  EXPECT_GE(compared, 21 * 9 * 3 * 5);
}

TYPED_TEST(ConvolveGpu, LongSignalsAndFilters) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  int compared = 0;
  auto const compare = [&](ConvolveCase const& one) {
    test::compare_filters<TypeParam>(stream, one, compared);
  };
  for (std::int64_t const taps : {9, 64, 255}) {
    compare({{{100003, 1, 1}, 0}, taps, taps / 2, Boundary::reflect});
    compare({{{100000, 1, 1}, 0}, taps, taps / 3, Boundary::constant});
    compare({{{700, 131, 1}, 1}, taps, taps / 2, Boundary::mirror});
    compare({{{65, 9, 131}, 2}, taps, 0, Boundary::wrap});
    compare({{{2, 5000, 1}, 1}, taps, taps / 2, Boundary::nearest});
  }
  for (auto const boundary : test::convolve_boundaries) {  // more taps than a kernel takes at once
    compare({{{3001, 1, 1}, 0}, 2500, 1111, boundary});
    compare({{{40, 151, 1}, 1}, 1500, 700, boundary});
    compare({{{7, 1, 1}, 0}, 65535, 65000, boundary});
  }
}

/// The variants that sum only the products there are.
template <class T>
std::vector<std::string_view> direct_variants() {
  std::vector<std::string_view> names;
  for (auto const& row : convolve::variants<T>())
    if (test::can_run(row, Backend::cuda) && row.name != "tensor_core" &&
        !test::transforms(row.name))
      names.push_back(row.name);
  return names;
}

TYPED_TEST(ConvolveGpu, NanStaysWhereTapsMeetIt) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  using T = TypeParam;
  Stream stream(Device::open(Backend::cuda)), host(Device::open(Backend::cpu));
  for (std::int64_t const count : {1, 6, 9, 17, 30, 64, 255})
    for (std::int64_t const center : {std::int64_t{0}, count / 2, count - 1}) {
      auto const taps = test::random_values<double>(count, 3);
      for (auto const& shape :
           {convolve::Shape{{4096, 2, 1}, 0}, convolve::Shape{{8, 1024, 1}, 1}}) {
        ConvolveCase const one{shape, count, center, Boundary::nearest};
        auto values = test::random_values<T>(shape.size(), 4);
        values[1502] = std::numeric_limits<T>::quiet_NaN();
        values[6013] = std::numeric_limits<T>::infinity();
        auto const expected = test::convolved(host, one, taps, values, "reference");
        for (auto const name : direct_variants<T>()) {
          auto const result = test::convolved(stream, one, taps, values, name);
          for (std::size_t i = 0; i < expected.size(); ++i)
            ASSERT_EQ(std::isfinite(result[i]), std::isfinite(expected[i]))
                << name << ", " << one.text() << ", at " << i;
        }
      }
    }
}

TYPED_TEST(ConvolveGpu, BitsAreTheSameEachTime) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  using T = TypeParam;
  Stream stream(Device::open(Backend::cuda));
  auto const taps = test::random_values<double>(1100, 5);
  for (int const axis : {0, 1}) {
    ConvolveCase const one{{{1237, 1031, 1}, axis}, 1100, 500, Boundary::wrap};
    auto const values = test::random_values<T>(one.shape.size(), 6);
    for (auto const& row : convolve::variants<T>()) {
      if (!test::can_run(row, Backend::cuda)) continue;
      auto const first = test::convolved(stream, one, taps, values, row.name);
      for (int run = 0; run < 3; ++run)
        EXPECT_EQ(first, test::convolved(stream, one, taps, values, row.name)) << row.name;
    }
  }
}

TEST(ConvolveGpuFilter, StaysWithItsDevice) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda)), host(Device::open(Backend::cpu));
  convolve::Filter<float> const filter(host, std::vector<double>{1, 2}, 0);
  Buffer<float> in(stream, MemorySpace::device, 8), out(stream, MemorySpace::device, 8);
  EXPECT_THROW(convolve::convolve<float>(stream, filter, {{8, 1, 1}, 0}, Boundary::wrap, in.span(),
                                         out.span()),
               std::invalid_argument);
}

}  // namespace
}  // namespace gridstride

#include <gtest/gtest.h>

#include "support/pentadiagonal_cases.hpp"
#include "unit/gpu/gpu.hpp"

namespace gridstride {
namespace {

using test::Rows;

template <class T>
class PentadiagonalGpu : public testing::Test {
 protected:
  void SetUp() override { GRIDSTRIDE_SKIP_WITHOUT_GPU(); }
};
using PentadiagonalGpuTypes = testing::Types<float, double>;
TYPED_TEST_SUITE(PentadiagonalGpu, PentadiagonalGpuTypes);

TYPED_TEST(PentadiagonalGpu, AllSizesAndShapes) {
  Stream stream(Device::open(Backend::cuda));
  int solved = 0;
  test::check_pentadiagonal<TypeParam>(stream, {1, 2, 3, 15, 16, 17, 31, 33, 127, 129, 257},
                                       solved);
  EXPECT_EQ(solved, 11 * 12 * 2 * 2);
}

TYPED_TEST(PentadiagonalGpu, LongSystems) {
  Stream stream(Device::open(Backend::cuda));
  for (std::int64_t const n : {1024, 1025, 4607, 4609, 8191, 70001})
    for (auto const& shape : {tridiagonal::contiguous(n, 2), tridiagonal::interleaved(n, 3)}) {
      auto const all = test::random_five<TypeParam>(shape, Rows::dominant, 7);
      for (auto const name : test::pentadiagonal_variants(Backend::cuda))
        for (bool const in_place : {false, true})
          test::expect_solved(all, test::solved(stream, all, name, in_place), std::to_string(n));
    }
}

/// The last pairs of tiles have tiles of their own, and those again.
TYPED_TEST(PentadiagonalGpu, OneLongSystem) {
  Stream stream(Device::open(Backend::cuda));
  auto const all =
      test::random_five<TypeParam>(tridiagonal::contiguous(2700001, 1), Rows::dominant, 9);
  test::expect_solved(all, test::solved(stream, all, "hybrid"), "hybrid");
}

TYPED_TEST(PentadiagonalGpu, BiharmonicSteps) {
  Stream stream(Device::open(Backend::cuda));
  for (std::int64_t const n : {1, 2, 3, 13, 96})
    for (double const step : {0.2, 1.0, 30.0}) test::check_eigenvectors<TypeParam>(stream, n, step);
}

TYPED_TEST(PentadiagonalGpu, SameBitsWhateverTheBatch) {
  Stream stream(Device::open(Backend::cuda));
  test::check_five_batches<TypeParam>(stream, 100);
  test::check_five_batches<TypeParam>(stream, 300);
}

TYPED_TEST(PentadiagonalGpu, NamesZeroPivots) {
  Stream stream(Device::open(Backend::cuda));
  for (std::int64_t const n : {1, 2, 3, 9, 16, 17, 100, 1000})
    test::check_five_bad_pivots<TypeParam>(stream, n);
}

TYPED_TEST(PentadiagonalGpu, JudgesRowsThatAreNotDominant) {
  Stream stream(Device::open(Backend::cuda));
  test::check_five_judgement<TypeParam>(stream);
}

TEST(PentadiagonalGpuOfDoubles, EqualsDenseEliminationAndLapack) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  for (std::int64_t const n : {1, 2, 3, 4, 50, 101})
    test::expect_gbsv(stream,
                      test::random_five<double>(tridiagonal::contiguous(n, 1), Rows::dominant, 21));
}

}  // namespace
}  // namespace gridstride

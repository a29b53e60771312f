#include <gtest/gtest.h>

#include <exception>
#include <mutex>
#include <string>
#include <thread>

#include "kernels/support/openblas.hpp"
#include "support/tridiagonal_cases.hpp"
#include "unit/gpu/gpu.hpp"

namespace gridstride {
namespace {

using test::Rows;

template <class T>
class TridiagonalGpu : public testing::Test {
 protected:
  void SetUp() override { GRIDSTRIDE_SKIP_WITHOUT_GPU(); }
};
using TridiagonalGpuTypes = testing::Types<float, double>;
TYPED_TEST_SUITE(TridiagonalGpu, TridiagonalGpuTypes);

TYPED_TEST(TridiagonalGpu, AllSizesAndShapes) {
  Stream stream(Device::open(Backend::cuda));
  int solved = 0;
  test::check_tridiagonal<TypeParam>(stream, {1, 2, 3, 8, 9, 10, 19, 101, 257}, solved);
  EXPECT_GE(solved, 9 * 12 * 2 * (4 + 1));
}

TYPED_TEST(TridiagonalGpu, SizesAboutThoseOfBlocksAndTiles) {
  Stream stream(Device::open(Backend::cuda));
  int solved = 0;
  test::check_tridiagonal<TypeParam>(stream, {511, 513, 863, 865, 1024, 1025, 1153}, solved);
  for (std::int64_t const n : {5759, 5761, 7919, 13825, 100003})
    for (bool const periodic : {false, true})
      for (auto shape : {tridiagonal::contiguous(n, 1), tridiagonal::contiguous(n, 3),
                         tridiagonal::interleaved(n, 11)}) {
        shape.periodic = periodic;
        auto const all = test::random_systems<TypeParam>(shape, Rows::dominant, 7);
        for (bool const in_place : {false, true})
          test::expect_solved(all, test::solved(stream, all, "hybrid", in_place),
                              std::to_string(n));
      }
}

/// The last unknowns of tiles have tiles of their own, and those again.
TYPED_TEST(TridiagonalGpu, OneLongSystem) {
  Stream stream(Device::open(Backend::cuda));
  for (bool const periodic : {false, true}) {
    auto shape = tridiagonal::contiguous(8100001, 1);
    shape.periodic = periodic;
    auto const all = test::random_systems<TypeParam>(shape, Rows::dominant, 9);
    test::expect_solved(all, test::solved(stream, all, "hybrid"), "hybrid");
  }
}

TYPED_TEST(TridiagonalGpu, SameBitsWhateverTheBatch) {
  Stream stream(Device::open(Backend::cuda));
  for (auto const name : test::tridiagonal_variants<TypeParam>(Backend::cuda)) {
    if (name.starts_with("cusparse")) continue;
    if (name != "constant") test::check_batches<TypeParam>(stream, 100, name);
  }
  for (std::int64_t const n : {1500, 9000}) test::check_batches<TypeParam>(stream, n, "hybrid");
}

TYPED_TEST(TridiagonalGpu, SameBitsEveryTime) {
  Stream stream(Device::open(Backend::cuda));
  auto const all =
      test::random_systems<TypeParam>(tridiagonal::contiguous(3000, 40), Rows::dominant, 13);
  for (std::string_view const name : {"hybrid", "pivoted"}) {
    auto const first = test::solved(stream, all, name);
    for (int run = 0; run < 20; ++run)
      ASSERT_EQ(test::solved(stream, all, name).x, first.x) << name << ", run " << run;
  }
}

/// As runs of a sweep do: each with systems, and so blocks, of a size of its own.
TYPED_TEST(TridiagonalGpu, ThreadsSolveBesideEachOther) {
  std::mutex mutex;
  std::string faults;
  {
    std::vector<std::jthread> threads;
    for (std::int64_t const n : {9, 100, 700, 1100})
      threads.emplace_back([n, &mutex, &faults] {
        try {
          Stream stream(Device::open(Backend::cuda));
          auto shape = tridiagonal::contiguous(n, 50);
          shape.coefficients = {0, {0, 0, 0}};
          auto const all = test::random_systems<TypeParam>(shape, Rows::dominant, 5);
          for (int run = 0; run < 200; ++run)
            for (std::string_view const name : {"constant", "hybrid", "pivoted"})
              test::solved(stream, all, name);
        } catch (std::exception const& error) {
          std::scoped_lock const lock(mutex);
          faults += error.what();
        }
      });
  }
  EXPECT_EQ(faults, "");
}

TYPED_TEST(TridiagonalGpu, SharedCoefficients) {
  Stream stream(Device::open(Backend::cuda));
  for (auto const name : {"constant", "hybrid"})
    test::check_shared_coefficients<TypeParam>(stream, {1, 10, 100, 1024, 1153, 3456}, name);
  auto shape = tridiagonal::contiguous(3457, 2);
  shape.coefficients = {0, {0, 0, 0}};
  EXPECT_THROW(
      test::solved(stream, test::random_systems<TypeParam>(shape, Rows::dominant, 1), "constant"),
      std::invalid_argument);
}

/// Any rows, by pivots from other rows: few ε where elimination without them loses all digits.
TYPED_TEST(TridiagonalGpu, PivotedTakesAnyRows) {
  using T = TypeParam;
  Stream stream(Device::open(Backend::cuda));
  for (std::int64_t const n : {2, 3, 15, 16, 17, 18, 33, 34, 35, 68, 101, 257, 1000, 70000})
    for (bool const periodic : {false, true})
      for (auto shape : {tridiagonal::contiguous(n, 3), tridiagonal::interleaved(n, 5)}) {
        shape.periodic = periodic;
        auto const all = test::random_systems<T>(shape, Rows::any, 1);
        auto const found = test::solved(stream, all, "pivoted");
        EXPECT_EQ(found.report.template fault<T>(), "") << n;
        ASSERT_TRUE(found.report.backward_error.has_value());
        EXPECT_LE(*found.report.backward_error, 32 * std::numeric_limits<T>::epsilon()) << n;
      }
}

/// `pivoted` judges rows by the largest unknown of 544, where they lie one after the other.
TYPED_TEST(TridiagonalGpu, PivotedJudgesItsRows) {
  using T = TypeParam;
  Stream stream(Device::open(Backend::cuda));
  auto const all = test::random_systems<T>(tridiagonal::contiguous(3000, 2), Rows::any, 8);
  auto const found = test::solved(stream, all, "pivoted");
  ASSERT_TRUE(found.report.backward_error.has_value());
  auto const rows = test::residuals(all, found.x);
  double expected = 0;
  for (std::int64_t s = 0; s < 2; ++s)
    for (std::int64_t i = 0; i < 3000; ++i) {
      std::int64_t const first = i / 544 * 544, last = std::min<std::int64_t>(first + 544, 3000);
      long double x = 0;
      for (std::int64_t k = first; k < last; ++k)
        x = std::max(x, std::abs(static_cast<long double>(found.x[all.value(s, k)])));
      auto const c = all.coefficient(s, i);
      long double row = std::abs(all.diagonal[c]);
      if (i > 0) row += std::abs(all.lower[c]);
      if (i + 1 < 3000) row += std::abs(all.upper[c]);
      auto const r = std::abs(rows[static_cast<std::size_t>(s * 3000 + i)]);
      expected = std::max(
          expected, static_cast<double>(r / (row * x + std::abs(all.right[all.value(s, i)]))));
    }
  EXPECT_NEAR(*found.report.backward_error, expected, 8 * std::numeric_limits<double>::epsilon());
  EXPECT_NE(test::solved(stream, all, "pivoted", true)
                .report.template fault<T>()
                .find("cannot be judged"),
            std::string::npos);
}

/// Zeros all along the diagonal, and pairs of unknowns exchanged, wherever the pieces are cut.
TYPED_TEST(TridiagonalGpu, PivotedNeedsNoDiagonal) {
  using T = TypeParam;
  Stream stream(Device::open(Backend::cuda));
  for (std::int64_t const n : {2, 34, 70, 1000}) {
    auto all = test::random_systems<T>(tridiagonal::contiguous(n, 3), Rows::dominant, 4);
    for (auto& b : all.diagonal) b = 0;
    EXPECT_EQ(test::solved(stream, all, "pivoted").report.template fault<T>(), "") << n;
    EXPECT_NE(test::solved(stream, all, "hybrid").report.template fault<T>(), "") << n;
  }
  for (std::size_t const offset : {0, 1}) {
    auto all = test::random_systems<T>(tridiagonal::contiguous(1000, 1), Rows::dominant, 4);
    for (std::size_t i = 0; i < 1000; ++i) {
      bool const alone = offset == 1 && (i == 0 || i == 999), begins = i % 2 == offset;
      all.diagonal[i] = alone ? 1 : 0;
      all.upper[i] = begins && !alone ? 2 : 0;
      all.lower[i] = begins || alone ? 0 : 3;
    }
    EXPECT_EQ(test::solved(stream, all, "pivoted").report.template fault<T>(), "") << offset;
  }
}

/// LAPACK's gtsv exchanges rows too; both are as good as rounding lets them be.
TEST(TridiagonalGpuOfDoubles, PivotedEqualsLapack) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  if (!openblas().available()) GTEST_SKIP() << openblas().reason();
  Stream stream(Device::open(Backend::cuda));
  for (std::int64_t const n : {2, 3, 50, 101}) test::expect_lapack(stream, n, "pivoted");
}

TYPED_TEST(TridiagonalGpu, NamesZeroPivots) {
  Stream stream(Device::open(Backend::cuda));
  for (auto const name : test::tridiagonal_variants<TypeParam>(Backend::cuda)) {
    if (name.starts_with("cusparse") || name == "constant") continue;
    for (std::int64_t const n : {1, 2, 3, 9, 10, 11, 100, 1000})
      test::check_bad_pivots<TypeParam>(stream, n, name);
  }
  for (std::int64_t const n : {2000, 7000, 20000})
    test::check_bad_pivots<TypeParam>(stream, n, "hybrid");
  // A zero in the coefficients of all systems is one of the first.
  auto shape = tridiagonal::contiguous(100, 6);
  shape.coefficients.of = {0, 0, 0};
  for (std::size_t const row : {0, 8, 50, 99}) {
    auto all = test::random_systems<TypeParam>(shape, Rows::dominant, 3);
    all.lower[row] = all.diagonal[row] = all.upper[row] = 0;
    auto const found = test::solved(stream, all, "constant");
    ASSERT_TRUE(found.report.bad_pivot.has_value());
    EXPECT_EQ(found.report.bad_pivot->system, 0);
    EXPECT_EQ(found.report.bad_pivot->row, static_cast<std::int64_t>(row));
  }
}

TYPED_TEST(TridiagonalGpu, JudgesRowsThatAreNotDominant) {
  using T = TypeParam;
  Stream stream(Device::open(Backend::cuda));
  for (auto const& shape : {tridiagonal::contiguous(200, 7), tridiagonal::interleaved(200, 7)}) {
    auto all = test::random_systems<T>(shape, Rows::dominant, 17);
    auto const at = all.coefficient(4, 77);
    all.diagonal[at] /= 4;
    auto const found = test::solved(stream, all, "hybrid");
    ASSERT_TRUE(found.report.backward_error.has_value());
    EXPECT_GT(*found.report.backward_error, 0);
    EXPECT_LE(*found.report.backward_error, 64 * std::numeric_limits<T>::epsilon());
    // The judgement, once more in extended precision.
    double largest = 0;
    auto const rows = test::residuals(all, found.x);
    for (std::int64_t s = 0; s < shape.count(); ++s) {
      long double x = 0;
      for (auto const value : test::of_system(all, found.x, s))
        x = std::max(x, std::abs(static_cast<long double>(value)));
      for (std::int64_t i = 0; i < shape.size; ++i) {
        auto const c = all.coefficient(s, i);
        long double row = std::abs(all.diagonal[c]);
        if (i > 0) row += std::abs(all.lower[c]);
        if (i + 1 < shape.size) row += std::abs(all.upper[c]);
        auto const r = std::abs(rows[static_cast<std::size_t>(s * shape.size + i)]);
        largest = std::max(
            largest, static_cast<double>(r / (row * x + std::abs(all.right[all.value(s, i)]))));
      }
    }
    EXPECT_NEAR(*found.report.backward_error, largest, 4 * std::numeric_limits<double>::epsilon());
    EXPECT_NE(test::solved(stream, all, "hybrid", true)
                  .report.template fault<T>()
                  .find("cannot be judged"),
              std::string::npos);
  }
}

TYPED_TEST(TridiagonalGpu, NumbersThatAreNoneAreNotSilent) {
  using T = TypeParam;
  Stream stream(Device::open(Backend::cuda));
  for (T const value : {std::numeric_limits<T>::quiet_NaN(), std::numeric_limits<T>::infinity()})
    for (auto const name : test::tridiagonal_variants<T>(Backend::cuda))
      for (int which = 0; which < 3 && !name.starts_with("c"); ++which) {
        auto all = test::random_systems<T>(tridiagonal::contiguous(20, 3), Rows::dominant, 1);
        (which == 0 ? all.lower : which == 1 ? all.diagonal : all.upper)[25] = value;
        EXPECT_NE(test::solved(stream, all, name).report.template fault<T>(), "")
            << name << ' ' << which << ' ' << value;
      }
}

TYPED_TEST(TridiagonalGpu, CanBeCapturedInAGraph) {
  using T = TypeParam;
  Stream stream(Device::open(Backend::cuda));
  auto const all = test::random_systems<T>(tridiagonal::contiguous(9000, 2), Rows::dominant, 19);
  auto const once = test::solved(stream, all, "hybrid");
  auto const lower = test::to_device(std::span(all.lower), stream),
             diagonal = test::to_device(std::span(all.diagonal), stream),
             upper = test::to_device(std::span(all.upper), stream),
             right = test::to_device(std::span(all.right), stream);
  Buffer<T> x(stream, MemorySpace::device, right.size());
  Buffer<tridiagonal::Findings> findings(stream, MemorySpace::device, 1);
  zero_async(findings.span(), stream);
  auto const graph = Graph::capture(stream, [&] {
    tridiagonal::solve<T>(stream, all.shape, {lower.span(), diagonal.span(), upper.span()},
                          right.span(), x.span(), findings.span());
  });
  for (int run = 0; run < 2; ++run) {
    zero_async(x.span(), stream);
    graph.launch(stream);
    EXPECT_EQ(test::to_host(x.span(), stream), once.x);
  }
}

}  // namespace
}  // namespace gridstride

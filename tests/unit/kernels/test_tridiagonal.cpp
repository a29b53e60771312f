#include "kernels/tridiagonal/tridiagonal.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/support/openblas.hpp"
#include "support/refusal.hpp"
#include "support/tridiagonal_cases.hpp"

namespace gridstride {
namespace {

using test::Rows;
using test::Tridiagonal;
using tridiagonal::Strides;

template <class T>
class TridiagonalHost : public testing::Test {
 protected:
  Stream stream_{Device::open(Backend::cpu)};
};
using TridiagonalTypes = testing::Types<float, double>;
TYPED_TEST_SUITE(TridiagonalHost, TridiagonalTypes);

TYPED_TEST(TridiagonalHost, ByHand) {
  using T = TypeParam;
  // x = 1, 2, 3; what stands beyond the ends is of no influence.
  Tridiagonal<T> all{tridiagonal::contiguous(3, 1), {9, 1, 2}, {4, 4, 8}, {2, -1, 9}, {8, 6, 28}};
  for (auto const name : test::tridiagonal_variants<T>(Backend::cpu))
    EXPECT_EQ(test::solved(this->stream_, all, name).x, (std::vector<T>{1, 2, 3})) << name;
  // The same with x_(−1) = x_2 and x_3 = x_0.
  all.shape.periodic = true;
  all.right = {8 + 27, 6, 28 + 9};
  for (auto const name : {"reference", "threads"}) {
    auto const found = test::solved(this->stream_, all, name);
    for (std::size_t i = 0; i < 3; ++i)
      EXPECT_NEAR(found.x[i], static_cast<T>(i + 1), 64 * std::numeric_limits<T>::epsilon())
          << name;
  }
}

TYPED_TEST(TridiagonalHost, AllSizesAndShapes) {
  int solved = 0;
  test::check_tridiagonal<TypeParam>(this->stream_, {1, 2, 3, 4, 8, 9, 17, 101, 256}, solved);
  EXPECT_EQ(solved, 9 * 12 * 2 * (3 + 2));
}

TYPED_TEST(TridiagonalHost, LongSystems) {
  for (std::int64_t const n : {32768, 32769, 40961, 65537})
    for (bool const periodic : {false, true})
      for (auto shape : {tridiagonal::contiguous(n, 1), tridiagonal::interleaved(n, 3)}) {
        shape.periodic = periodic;
        auto const all = test::random_systems<TypeParam>(shape, Rows::dominant, 7);
        for (bool const in_place : {false, true})
          test::expect_solved(all, test::solved(this->stream_, all, "threads", in_place),
                              std::to_string(n));
      }
}

TYPED_TEST(TridiagonalHost, ThreadsHaveTheBitsOfTheReference) {
  for (std::int64_t const n : {1, 2, 7, 100, 32768})
    for (auto const& shape : test::tridiagonal_shapes(n, n == 7 || n == 100)) {
      if (n > 1000 && shape.count() > 12) continue;
      auto const all = test::random_systems<TypeParam>(shape, Rows::dominant, 11);
      auto const threads = test::solved(this->stream_, all, "threads"),
                 reference = test::solved(this->stream_, all, "reference");
      for (std::int64_t s = 0; s < shape.count(); ++s)
        EXPECT_EQ(test::of_system(all, threads.x, s), test::of_system(all, reference.x, s)) << n;
    }
}

TYPED_TEST(TridiagonalHost, PivotsOfZeroAreFoundInAnyOfManySystems) {
  for (auto shape : {tridiagonal::interleaved(9, 40), tridiagonal::contiguous(9, 23)})
    for (bool const periodic : {false, true})
      for (std::int64_t const system : {0, 7, 15, 16, 22})
        for (std::int64_t const row : {0, 4, 8}) {
          shape.periodic = periodic;
          auto all = test::random_systems<TypeParam>(shape, Rows::dominant, 13);
          auto const at = static_cast<std::size_t>(system * shape.coefficients.of[0] +
                                                   row * shape.coefficients.element);
          all.lower[at] = all.diagonal[at] = 0;
          auto const found = test::solved(this->stream_, all, "threads").report.bad_pivot;
          auto const expected = test::solved(this->stream_, all, "reference").report.bad_pivot;
          ASSERT_EQ(found.has_value(), expected.has_value()) << system << ' ' << row;
          // Around a circle the last row has the first unknown, too.
          ASSERT_TRUE(found.has_value() || (periodic && row == 8));
          if (!found) continue;
          EXPECT_EQ(found->system, system);
          EXPECT_EQ(found->row, row);
        }
}

TYPED_TEST(TridiagonalHost, SameBitsWhateverTheBatch) {
  for (std::string_view const name : {"threads", "pivoted"}) {
    test::check_batches<TypeParam>(this->stream_, 100, name);
    test::check_batches<TypeParam>(this->stream_, 33000, name);
  }
}

TYPED_TEST(TridiagonalHost, NamesZeroPivots) {
  for (auto const name : test::tridiagonal_variants<TypeParam>(Backend::cpu))
    for (std::int64_t const n : {1, 2, 3, 9, 10, 100, 40000})
      test::check_bad_pivots<TypeParam>(this->stream_, n, name);
}

/// A point between two of a chain: singular where the chain is closed, or ends in its mean.
TYPED_TEST(TridiagonalHost, SingularOnesAreNotSilent) {
  using T = TypeParam;
  std::int64_t const n = 16;
  auto const filled = [n](T value) { return std::vector<T>(static_cast<std::size_t>(n), value); };
  Tridiagonal<T> all{tridiagonal::contiguous(n, 1), filled(-1), filled(2), filled(-1), filled(0)};
  all.right[3] = 1;
  all.shape.periodic = true;
  for (auto const name : {"reference", "threads"}) {
    auto const found = test::solved(this->stream_, all, name);
    double largest = 0;
    for (auto const x : found.x) largest = std::max<double>(largest, std::abs(x));
    EXPECT_TRUE(!found.report.template fault<T>().empty() ||
                largest > 1e-2 / std::numeric_limits<T>::epsilon())
        << name;
  }
}

TYPED_TEST(TridiagonalHost, PivotedSolvesWhatTheOthersCannot) {
  using T = TypeParam;
  // Zeros on the diagonal: x_1 from the first row, x_0 from the second.
  Tridiagonal<T> const all{
      tridiagonal::contiguous(4, 1), {0, 2, 0, 8}, {0, 0, 0, 0}, {4, 0, 5, 0}, {8, 2, 20, 24}};
  auto const pivoted = test::solved(this->stream_, all, "pivoted");
  EXPECT_EQ(pivoted.x, (std::vector<T>{1, 2, 3, 4}));
  EXPECT_EQ(pivoted.report.backward_error, 0.0);
  EXPECT_EQ(pivoted.report.template fault<T>(), "");
  auto const plain = test::solved(this->stream_, all, "threads");
  ASSERT_TRUE(plain.report.bad_pivot.has_value());
  EXPECT_EQ(plain.report.bad_pivot->row, 0);
}

TYPED_TEST(TridiagonalHost, BadBackwardErrorsAreReported) {
  using T = TypeParam;
  T const tiny = std::numeric_limits<T>::epsilon() / 1024;
  // The first pivot is tiny: what the second row says of x_0 is lost without exchanges.
  Tridiagonal<T> const all{
      tridiagonal::contiguous(2, 1), {0, 1}, {tiny, 1}, {1, 0}, {1, static_cast<T>(2.5)}};
  auto const plain = test::solved(this->stream_, all, "reference");
  ASSERT_TRUE(plain.report.backward_error.has_value());
  EXPECT_GT(*plain.report.backward_error, 1024 * std::numeric_limits<T>::epsilon());
  EXPECT_NE(plain.report.template fault<T>().find("not diagonally dominant"), std::string::npos);
  auto const pivoted = test::solved(this->stream_, all, "pivoted");
  EXPECT_LE(*pivoted.report.backward_error, 8 * std::numeric_limits<T>::epsilon());
  // What has lost its right-hand side cannot be judged.
  EXPECT_NE(test::solved(this->stream_, all, "pivoted", true)
                .report.template fault<T>()
                .find("cannot be judged"),
            std::string::npos);
}

TYPED_TEST(TridiagonalHost, NumbersThatAreNoneAreNotSilent) {
  using T = TypeParam;
  T const nan = std::numeric_limits<T>::quiet_NaN(), infinity = std::numeric_limits<T>::infinity();
  for (T const value : {nan, infinity})
    for (auto const name : test::tridiagonal_variants<T>(Backend::cpu))
      for (int which = 0; which < 3; ++which) {
        auto all = test::random_systems<T>(tridiagonal::contiguous(20, 3), Rows::dominant, 1);
        (which == 0 ? all.lower : which == 1 ? all.diagonal : all.upper)[25] = value;
        EXPECT_NE(test::solved(this->stream_, all, name).report.template fault<T>(), "")
            << name << ' ' << which << ' ' << value;
      }
}

/// λ = 4·sin²(πk/(2(n+1))) are the eigenvalues of −1, 2, −1, and sin(πk(i+1)/(n+1)) the vectors.
TEST(TridiagonalHostOfDoubles, Eigenvectors) {
  Stream stream(Device::open(Backend::cpu));
  for (std::int64_t const n : {13, 97})
    for (std::int64_t const k : {1, 5, 12}) {
      auto const size = static_cast<std::size_t>(n);
      double const angle = std::numbers::pi * static_cast<double>(k) / static_cast<double>(n + 1);
      double const lambda = 4 * std::pow(std::sin(angle / 2), 2);
      Tridiagonal<double> all{tridiagonal::contiguous(n, 1),
                              std::vector<double>(size, -1),
                              std::vector<double>(size, 2),
                              std::vector<double>(size, -1),
                              {}};
      for (std::size_t i = 0; i < size; ++i)
        all.right.push_back(lambda * std::sin(angle * static_cast<double>(i + 1)));
      for (auto const name : test::tridiagonal_variants<double>(Backend::cpu)) {
        auto const found = test::solved(stream, all, name);
        // ‖A⁻¹‖ ≤ (n+1)²/8, and the right-hand side is rounded.
        double const allowed = static_cast<double>((n + 1) * (n + 1)) / 8 * 4 * 8e-16;
        for (std::size_t i = 0; i < size; ++i)
          EXPECT_NEAR(found.x[i], std::sin(angle * static_cast<double>(i + 1)), allowed) << name;
      }
    }
}

TEST(TridiagonalHostOfDoubles, EqualsLapack) {
  if (!openblas().available()) GTEST_SKIP() << openblas().reason();
  Stream stream(Device::open(Backend::cpu));
  double const epsilon = std::numeric_limits<double>::epsilon();
  for (std::int64_t const n : {2, 3, 50, 101}) {
    auto const all =
        test::random_systems<double>(tridiagonal::contiguous(n, 1), Rows::dominant, 21);
    auto const lapack = test::by_lapack(all);
    for (auto const name : test::tridiagonal_variants<double>(Backend::cpu)) {
      auto const found = test::solved(stream, all, name).x;
      double largest = 0;
      for (auto const x : lapack) largest = std::max(largest, std::abs(x));
      for (std::size_t i = 0; i < found.size(); ++i)
        EXPECT_NEAR(found[i], lapack[i], 2 * 450 * epsilon * largest) << name;
    }
  }
  for (std::int64_t const n : {2, 3, 50, 101}) test::expect_lapack(stream, n, "pivoted");
}

TEST(Tridiagonal, RefusesWhatDoesNotFit) {
  Stream stream(Device::open(Backend::cpu));
  std::vector<double> coefficients(10, 1), right(10, 1), x(10);
  std::vector<tridiagonal::Findings> findings(1);
  auto const refusal = [&](tridiagonal::Shape const& shape, std::span<double> solution,
                           std::string_view variant = "auto") {
    return test::refusal([&] {
      tridiagonal::solve<double>(stream, shape, {coefficients, coefficients, coefficients}, right,
                                 solution, findings, variant);
    });
  };
  using tridiagonal::contiguous;
  EXPECT_EQ(refusal(contiguous(5, 2), x), "nothing");
  EXPECT_EQ(refusal(contiguous(0, 2), x), "nothing");
  EXPECT_EQ(refusal(contiguous(5, 0), x), "nothing");
  EXPECT_EQ(refusal(contiguous(11, 1), x), "tridiagonal: lower has 10 elements, it needs 11");
  EXPECT_EQ(refusal({11, {1, 1, 1}, {0, {}}, {1, {}}, false}, x),
            "tridiagonal: right has 10 elements, it needs 11");
  EXPECT_EQ(refusal(contiguous(5, 2), std::span(x).first(9)),
            "tridiagonal: solution has 9 elements, it needs 10");
  EXPECT_EQ(refusal(contiguous(5, 2), coefficients),
            "tridiagonal: lower (10 elements) and solution (10 elements) overlap");
  EXPECT_EQ(refusal(contiguous(-1, 2), x), "tridiagonal: sizes and strides cannot be negative");
  // Systems of five, four apart.
  EXPECT_EQ(refusal({5, {2, 1, 1}, {0, {}}, {1, {4, 0, 0}}, false}, x),
            "tridiagonal: a stride of 4 lets values share memory (it must be at least 5)");
  EXPECT_EQ(refusal(contiguous(5, 2), x, "hybrid"), "tridiagonal: cpu has no variant 'hybrid'");
  auto circle = contiguous(5, 2);
  circle.periodic = true;
  EXPECT_EQ(refusal(circle, x, "pivoted"), "tridiagonal: 'pivoted' takes no periodic systems");
}

}  // namespace
}  // namespace gridstride

#include "kernels/pentadiagonal/pentadiagonal.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "support/pentadiagonal_cases.hpp"
#include "support/refusal.hpp"

namespace gridstride {
namespace {

using test::Rows;

template <class T>
class PentadiagonalHost : public testing::Test {
 protected:
  Stream stream_{Device::open(Backend::cpu)};
};
using PentadiagonalTypes = testing::Types<float, double>;
TYPED_TEST_SUITE(PentadiagonalHost, PentadiagonalTypes);

TYPED_TEST(PentadiagonalHost, ByHand) {
  using T = TypeParam;
  // x = 1, 2, 3, 4; what stands beyond the ends is of no influence.
  test::Pentadiagonal<T> all{{tridiagonal::contiguous(4, 1)}, {}, {}};
  all.of = {std::vector<T>{9, 9, 1, 1}, {9, 1, 1, 2}, {4, 4, 8, 8}, {2, -1, 1, 9}, {1, 1, 9, 9}};
  all.right = {11, 10, 31, 40};
  for (auto const name : test::pentadiagonal_variants(Backend::cpu)) {
    auto const found = test::solved(this->stream_, all, name);
    for (std::size_t i = 0; i < 4; ++i)
      EXPECT_NEAR(found.x[i], static_cast<T>(i + 1), 32 * std::numeric_limits<T>::epsilon())
          << name;
    EXPECT_EQ(found.report.template fault<T>(), "");
  }
}

TYPED_TEST(PentadiagonalHost, AllSizesAndShapes) {
  int solved = 0;
  test::check_pentadiagonal<TypeParam>(this->stream_, {1, 2, 3, 4, 5, 8, 9, 17, 101}, solved);
  EXPECT_EQ(solved, 9 * 12 * 2 * 2);
}

TYPED_TEST(PentadiagonalHost, LongSystems) {
  for (std::int64_t const n : {16384, 16385, 16387, 40001})
    for (auto const& shape : {tridiagonal::contiguous(n, 2), tridiagonal::interleaved(n, 3)}) {
      auto const all = test::random_five<TypeParam>(shape, Rows::dominant, 7);
      for (bool const in_place : {false, true})
        test::expect_solved(all, test::solved(this->stream_, all, "threads", in_place),
                            std::to_string(n));
    }
}

TYPED_TEST(PentadiagonalHost, BiharmonicSteps) {
  for (std::int64_t const n : {1, 2, 3, 13, 96})
    for (double const step : {0.2, 1.0, 30.0})
      test::check_eigenvectors<TypeParam>(this->stream_, n, step);
}

TYPED_TEST(PentadiagonalHost, SameBitsWhateverTheBatch) {
  test::check_five_batches<TypeParam>(this->stream_, 100);
  test::check_five_batches<TypeParam>(this->stream_, 17001);
}

TYPED_TEST(PentadiagonalHost, NamesZeroPivots) {
  for (std::int64_t const n : {1, 2, 3, 9, 10, 100, 40000})
    test::check_five_bad_pivots<TypeParam>(this->stream_, n);
}

TYPED_TEST(PentadiagonalHost, JudgesRowsThatAreNotDominant) {
  test::check_five_judgement<TypeParam>(this->stream_);
}

TEST(PentadiagonalHostOfDoubles, EqualsDenseEliminationAndLapack) {
  Stream stream(Device::open(Backend::cpu));
  for (std::int64_t const n : {1, 2, 3, 4, 50, 101}) {
    test::expect_gbsv(stream,
                      test::random_five<double>(tridiagonal::contiguous(n, 1), Rows::dominant, 21));
    auto step = test::biharmonic<double>(n, 10);
    for (std::size_t i = 0; i < step.right.size(); ++i)
      step.right[i] = std::cos(3.0 * static_cast<double>(i * i));
    test::expect_gbsv(stream, step);
  }
}

TEST(Pentadiagonal, RefusesWhatDoesNotFit) {
  Stream stream(Device::open(Backend::cpu));
  std::vector<double> a(10, 1), right(10, 1), x(10);
  std::vector<tridiagonal::Findings> findings(1);
  auto const refusal = [&](tridiagonal::Shape const& shape, std::span<double> solution,
                           std::string_view variant = "auto") {
    return test::refusal([&] {
      pentadiagonal::solve<double>(stream, shape, {a, a, a, a, a}, right, solution, findings,
                                   variant);
    });
  };
  using tridiagonal::contiguous;
  EXPECT_EQ(refusal(contiguous(5, 2), x), "nothing");
  EXPECT_EQ(refusal(contiguous(0, 2), x), "nothing");
  EXPECT_EQ(refusal(contiguous(5, 0), x), "nothing");
  EXPECT_EQ(refusal(contiguous(11, 1), x), "pentadiagonal: a has 10 elements, it needs 11");
  EXPECT_EQ(refusal({11, {1, 1, 1}, {0, {}}, {1, {}}, false}, x),
            "pentadiagonal: right has 10 elements, it needs 11");
  EXPECT_EQ(refusal(contiguous(5, 2), std::span(x).first(9)),
            "pentadiagonal: solution has 9 elements, it needs 10");
  EXPECT_EQ(refusal(contiguous(5, 2), a),
            "pentadiagonal: a (10 elements) and solution (10 elements) overlap");
  EXPECT_EQ(refusal(contiguous(-1, 2), x), "pentadiagonal: sizes and strides cannot be negative");
  EXPECT_EQ(refusal({5, {2, 1, 1}, {0, {}}, {1, {4, 0, 0}}, false}, x),
            "pentadiagonal: a stride of 4 lets values share memory (it must be at least 5)");
  EXPECT_EQ(refusal(contiguous(5, 2), x, "pieces"), "pentadiagonal: cpu has no variant 'pieces'");
  auto circle = contiguous(5, 2);
  circle.periodic = true;
  EXPECT_EQ(refusal(circle, x), "pentadiagonal: systems cannot be periodic");
}

}  // namespace
}  // namespace gridstride

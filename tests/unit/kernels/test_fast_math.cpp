#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "kernels/riemann/fast_math.cuh"

namespace gridstride {
namespace {

namespace fast = quadrature::fast;

/// The largest error of `function` in units of the last place of T, on arguments up to `largest`
/// of all sizes; errors below `absolute` do not count.
template <class T, class Function, class Exact>
double worst_error(Function const& function, Exact const& exact, double largest, double absolute) {
  std::mt19937_64 generator(1);
  double worst = 0;
  for (int i = 0; i < 300'000; ++i) {
    double const range = std::min(largest, std::exp2(i % 20 - 2));
    auto const x = static_cast<T>(std::uniform_real_distribution<double>(-range, range)(generator));
    long double const value = exact(static_cast<long double>(x));
    int exponent = 0;
    std::frexp(static_cast<double>(value), &exponent);
    long double const unit = std::ldexp(1.0L, exponent - std::numeric_limits<T>::digits);
    long double const error = std::abs(static_cast<long double>(function(x)) - value) - absolute;
    worst = std::max(worst, static_cast<double>(error / unit));
  }
  return worst;
}

/// The bounds are those that the header states.
TEST(FastMath, IsAccurateInFloat64) {
  EXPECT_LE(worst_error<double>([](double x) { return fast::exp(x); },
                                [](long double x) { return std::exp(x); }, 704, 0),
            1.0);
  EXPECT_LE(worst_error<double>([](double x) { return fast::sin(x); },
                                [](long double x) { return std::sin(x); }, 65536, 7e-29),
            1.8);
  EXPECT_LE(worst_error<double>([](double x) { return fast::cos(x); },
                                [](long double x) { return std::cos(x); }, 65536, 7e-29),
            1.8);
}

TEST(FastMath, IsAccurateInFloat32) {
  EXPECT_LE(worst_error<float>([](float x) { return fast::exp(x); },
                               [](long double x) { return std::exp(x); }, 86, 0),
            1.0);
  EXPECT_LE(worst_error<float>([](float x) { return fast::sin(x); },
                               [](long double x) { return std::sin(x); }, 8192, 9e-12),
            2.2);
  EXPECT_LE(worst_error<float>([](float x) { return fast::cos(x); },
                               [](long double x) { return std::cos(x); }, 8192, 9e-12),
            2.2);
}

template <class T>
class FastMathRange : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(FastMathRange, Types);

/// Arguments up to `most` are in range, of both signs; greater ones and what is no number are not.
template <class T, class InRange>
void expect_range(InRange const& in_range, T most) {
  using Limits = std::numeric_limits<T>;
  for (T const x : {T(0), Limits::denorm_min(), T(1), most}) {
    EXPECT_TRUE(in_range(x)) << x;
    EXPECT_TRUE(in_range(-x)) << -x;
  }
  for (T const x : {T(1.01) * most, T(1e30), Limits::infinity(), Limits::quiet_NaN()}) {
    EXPECT_FALSE(in_range(x)) << x;
    EXPECT_FALSE(in_range(-x)) << -x;
  }
}

TYPED_TEST(FastMathRange, OfAnglesIsNoted) {
  using T = TypeParam;
  auto const in_range = [](T x) {
    quadrature::FastMath math, other;
    math.sin(x);
    other.cos(x);
    EXPECT_EQ(math.in_range, other.in_range);
    return math.in_range;
  };
  expect_range<T>(in_range, sizeof(T) == 4 ? T(8192) : T(65535.9));
}

TYPED_TEST(FastMathRange, OfExponentsIsNoted) {
  using T = TypeParam;
  auto const in_range = [](T x) {
    quadrature::FastMath math;
    math.exp(x);
    return math.in_range;
  };
  expect_range<T>(in_range, sizeof(T) == 4 ? T(86) : T(703.9));
}

TYPED_TEST(FastMathRange, OneArgumentBeyondItIsRemembered) {
  quadrature::FastMath math;
  math.cos(TypeParam(100'000));
  math.sin(TypeParam(1));
  EXPECT_FALSE(math.in_range);
}

}  // namespace
}  // namespace gridstride

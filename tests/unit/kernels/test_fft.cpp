#include "kernels/fft/fft.hpp"

#include <gtest/gtest.h>

#include <numbers>

#include "kernels/fft/block_plan.hpp"
#include "kernels/fft/host.hpp"
#include "support/fft_cases.hpp"
#include "support/refusal.hpp"

namespace gridstride {
namespace {

using namespace test;

template <class T>
class FftHost : public testing::Test {
 protected:
  Stream stream_{Device::open(Backend::cpu)};
};
using FftTypes = testing::Types<float, double>;
TYPED_TEST_SUITE(FftHost, FftTypes);

fft::Shape line(std::int64_t n, Kind kind) {
  return fft::dense({n, 1, 1}, {kind, Kind::none, Kind::none});
}

TYPED_TEST(FftHost, ByHand) {
  using T = TypeParam;
  struct Case {
    Kind kind;
    std::vector<double> values, coefficients;
  };
  double const h = std::numbers::sqrt2 / 2, s3 = std::numbers::sqrt3;
  Case const cases[] = {
      {Kind::periodic, {3}, {3}},
      {Kind::periodic, {3, 1}, {4, 2}},
      {Kind::periodic, {1, 2, 4}, {7, -2, s3}},
      {Kind::periodic, {1, 2, 4, 9}, {16, -3, -6, 7}},
      {Kind::dirichlet_dirichlet, {3}, {6}},
      {Kind::dirichlet_dirichlet, {1, 2}, {3 * s3, -s3}},
      {Kind::dirichlet_dirichlet, {1, 2, 4}, {10 * h + 4, -6, 10 * h - 4}},
      {Kind::neumann_neumann, {3, 1}, {4, 2}},
      {Kind::neumann_neumann, {1, 2, 4}, {9, -3, 1}},
      {Kind::dirichlet_neumann, {3}, {3}},
      {Kind::dirichlet_neumann, {1, 2}, {2 * h + 2, 2 * h - 2}},
      {Kind::dirichlet_neumann, {1, 2, 4}, {1 + 2 * s3 + 4, 2 - 4, 1 - 2 * s3 + 4}},
      {Kind::neumann_dirichlet, {3}, {3}},
      {Kind::neumann_dirichlet, {1, 2}, {1 + 4 * h, 1 - 4 * h}},
      {Kind::neumann_dirichlet, {4, 2, 1}, {4 + 2 * s3 + 1, 4 - 2, 4 - 2 * s3 + 1}},
  };
  for (auto const& one : cases) {
    auto const n = static_cast<std::int64_t>(one.values.size());
    std::vector<T> const x(one.values.begin(), one.values.end());
    for (std::string_view const name : {"reference", "threads"}) {
      auto const found =
          transformed<T>(this->stream_, line(n, one.kind), Direction::forward, x, name);
      auto const back =
          transformed<T>(this->stream_, line(n, one.kind), Direction::inverse, found, name);
      for (std::size_t i = 0; i < x.size(); ++i) {
        EXPECT_NEAR(found[i], one.coefficients[i], 32 * std::numeric_limits<T>::epsilon())
            << name << ' ' << static_cast<int>(one.kind) << ' ' << n;
        EXPECT_NEAR(back[i], fft::round_trip(line(n, one.kind)) * one.values[i],
                    256 * std::numeric_limits<T>::epsilon())
            << name << ' ' << static_cast<int>(one.kind) << ' ' << n;
      }
    }
  }
  std::vector<std::complex<T>> const z = {{1, 1}, {0, 2}, {3, 0}, {0, 0}};
  for (std::string_view const name : {"reference", "threads"}) {
    auto const found =
        transformed<T>(this->stream_, line(4, Kind::complex), Direction::forward, z, name);
    std::vector<std::complex<T>> const expected = {{4, 3}, {0, 1}, {4, -1}, {-4, 1}};
    EXPECT_LE(distance(found, expected), 4 * std::numeric_limits<T>::epsilon()) << name;
  }
}

TYPED_TEST(FftHost, AllLengthsAndKinds) {
  std::vector<std::int64_t> lengths = {31, 32, 33, 35, 49, 64, 97, 100, 121, 128, 210, 509};
  for (std::int64_t n = 1; n <= 22; ++n) lengths.push_back(n);
  check_lines<TypeParam>(this->stream_, lengths, "threads");
}

TYPED_TEST(FftHost, HalfOfTheSpectrum) {
  check_halves<TypeParam>(this->stream_, {1, 2, 3, 4, 5, 8, 11, 12, 30}, "threads");
}

TYPED_TEST(FftHost, MixturesWithGaps) { check_mixtures<TypeParam>(this->stream_, "threads"); }

TYPED_TEST(FftHost, BitsDoNotDependOnTheBatch) {
  for (std::int64_t const n : {2, 7, 60, 97, 128, 4096})
    check_batch<TypeParam>(this->stream_, n, "threads");
}

TYPED_TEST(FftHost, Solves) {
  check_solves<TypeParam>(this->stream_, {7, 6, 5}, "threads");
  check_solves<TypeParam>(this->stream_, {3, 4, 5}, "reference");
  check_small_quotients<TypeParam>(this->stream_, {7, 11, 21, 22, 25, 31}, "threads");
}

/// What no side holds is not divided by 0.
TYPED_TEST(FftHost, TheMeanOfASingularSolveIsZero) {
  using T = TypeParam;
  for (Kind const kind : {Kind::periodic, Kind::neumann_neumann}) {
    std::int64_t const n = 8;
    std::vector<T> lambda;
    for (double const angle : fft::angles(kind, n))
      lambda.push_back(static_cast<T>(4 * std::pow(std::sin(angle / 2), 2)));
    ASSERT_EQ(lambda[0], T{0});
    std::vector<T> f = {3, 1, 4, 1, 5, 9, 2, 6}, u(f.size());
    fft::solve<T>(this->stream_, line(n, kind), {.axes = {lambda}}, f, std::span(u), "threads");
    double sum = 0;
    for (std::size_t j = 0; j < u.size(); ++j) {
      bool const is_end = kind == Kind::neumann_neumann && (j == 0 || j + 1 == u.size());
      sum += is_end ? u[j] / 2 : u[j];
    }
    EXPECT_NEAR(sum, 0, 64 * std::numeric_limits<T>::epsilon());
  }
}

/// Radix 2 in extended precision.
std::vector<std::complex<long double>> exact(std::vector<std::complex<long double>> x) {
  if (x.size() == 1) return x;
  std::vector<std::complex<long double>> even, odd;
  for (std::size_t i = 0; i < x.size(); i += 2) {
    even.push_back(x[i]);
    odd.push_back(x[i + 1]);
  }
  even = exact(even);
  odd = exact(odd);
  std::size_t const half = even.size();
  for (std::size_t k = 0; k < half; ++k) {
    auto const turned =
        std::polar(1.0L, -std::numbers::pi_v<long double> * static_cast<long double>(k) /
                             static_cast<long double>(half)) *
        odd[k];
    x[k] = even[k] + turned;
    x[k + half] = even[k] - turned;
  }
  return x;
}

TYPED_TEST(FftHost, ErrorsGrowWithTheRootOfTheLogarithm) {
  using T = TypeParam;
  using C = std::complex<T>;
  for (int log = 2; log <= 16; log += 2) {
    std::int64_t const n = std::int64_t{1} << log;
    auto const x = noise<C>(n, 17);
    auto const expected = exact({x.begin(), x.end()});
    auto const found =
        transformed<T>(this->stream_, line(n, Kind::complex), Direction::forward, x, "threads");
    EXPECT_LE(distance(found, expected), 0.6 * std::numeric_limits<T>::epsilon() * std::sqrt(log))
        << n;
  }
}

/// Σ|x|² = Σ|X|²/n, and back to x, where there is no oracle.
TYPED_TEST(FftHost, ParsevalAndBack) {
  using T = TypeParam;
  using C = std::complex<T>;
  for (std::int64_t const n : {1000, 1536, 4099, 8191, 65537, 100000}) {
    auto const x = noise<C>(n, 19);
    auto const found =
        transformed<T>(this->stream_, line(n, Kind::complex), Direction::forward, x, "threads");
    auto back =
        transformed<T>(this->stream_, line(n, Kind::complex), Direction::inverse, found, "threads");
    long double of_x = 0, of_found = 0;
    for (auto const& value : x) of_x += std::norm(std::complex<double>(value));
    for (auto const& value : found) of_found += std::norm(std::complex<double>(value));
    EXPECT_NEAR(static_cast<double>(of_found / static_cast<long double>(n) / of_x), 1,
                allowed_error<T>(static_cast<double>(n)));
    for (auto& value : back) value /= static_cast<T>(n);
    EXPECT_LE(distance(back, x), 2 * allowed_error<T>(static_cast<double>(n))) << n;
  }
}

TEST(Fft, AnglesAreThoseOfTheModes) {
  std::int64_t const n = 6;
  Stream stream(Device::open(Backend::cpu));
  for (Kind const kind : real_kinds) {
    auto const angles = fft::angles(kind, n);
    for (std::size_t k = 0; k < angles.size(); ++k) {
      std::vector<double> unit(n, 0.0);
      unit[k] = 1;
      auto const mode =
          transformed<double>(stream, line(n, kind), Direction::inverse, unit, "reference");
      for (std::size_t j = 0; j < mode.size(); ++j)
        EXPECT_NEAR(second_difference(mode, j, static_cast<std::int64_t>(j), n, 1, kind),
                    -4 * std::pow(std::sin(angles[k] / 2), 2) * mode[j], 1e-14)
            << static_cast<int>(kind) << ' ' << k;
    }
  }
}

/// Every length that the chip can hold has a plan that the kernel can follow.
TEST(Fft, PlansOfBlocks) {
  for (std::int64_t points = 1; points < 6000; points += points < 300 ? 1 : 37)
    for (bool const neighbours : {false, true})
      for (std::size_t const number : {8, 16}) {
        fft::BlockNeeds const needs{.points = points,
                                    .neighbours = neighbours,
                                    .element_bytes = number,
                                    .number_bytes = number,
                                    .shared_bytes = 227 << 10};
        auto const plan = fft::block_plan(needs);
        if (!plan) {
          EXPECT_GT(2 * points * static_cast<std::int64_t>(number), 227 << 10) << points;
          continue;
        }
        std::int64_t product = 1;
        for (int const radix : plan->radices) {
          product *= radix;
          EXPECT_LE((plan->points / radix + plan->line_threads - 1) / plan->line_threads * radix,
                    plan->reorders || number == 8 ? 32 : 16)
              << points;
        }
        EXPECT_EQ(product, plan->points);
        EXPECT_EQ(plan->convolves, !fft::is_smooth(points));
        EXPECT_TRUE(!plan->reorders || (plan->convolves && fft::is_prime(points))) << points;
        if (plan->reorders) {
          EXPECT_EQ(plan->points, points - 1);
        } else if (plan->convolves) {
          EXPECT_GE(plan->points, 2 * points - 1);
        } else {
          EXPECT_EQ(plan->points, points);
        }
        EXPECT_LE(plan->threads(), 1024) << points;
        EXPECT_LE(plan->shared_bytes, needs.shared_bytes) << points;
      }
  // No block holds these.
  auto const needs_of_float64 = [](std::int64_t points) {
    return fft::BlockNeeds{.points = points,
                           .neighbours = false,
                           .element_bytes = 16,
                           .number_bytes = 16,
                           .shared_bytes = 227 << 10};
  };
  EXPECT_FALSE(fft::block_plan(needs_of_float64(1 << 15)).has_value());
  EXPECT_FALSE(fft::block_plan(needs_of_float64(8209)).has_value());
  // 8190 is a product of small factors.
  auto const plan = fft::block_plan(needs_of_float64(8191));
  ASSERT_TRUE(plan.has_value());
  EXPECT_TRUE(plan->reorders);
}

/// Two passes in one kernel have as many threads, and each of both plans is one that suits alone.
TEST(Fft, PlansOfPairs) {
  auto const needs = [](std::int64_t points, bool neighbours, std::size_t number) {
    return fft::BlockNeeds{.points = points,
                           .neighbours = neighbours,
                           .element_bytes = number,
                           .number_bytes = number,
                           .shared_bytes = 227 << 10};
  };
  for (std::size_t const number : {8, 16})
    for (std::int64_t const x : {64, 100, 256, 512, 1000})
      for (std::int64_t const y : {64, 120, 256, 512}) {
        auto const plan = fft::pair_plan(needs(x, false, number), needs(y, true, number));
        if (!plan) continue;
        EXPECT_EQ(plan->first.threads(), plan->second.threads()) << x << ' ' << y;
        EXPECT_LE(plan->first.threads(), 512) << x << ' ' << y;
        EXPECT_LE(std::max(plan->first.shared_bytes, plan->second.shared_bytes), 227 << 9);
        EXPECT_GE(static_cast<std::size_t>(plan->second.block_lines) * number, 64U);
        EXPECT_EQ(plan->first.radices, fft::block_plan(needs(x, false, number))->radices);
        EXPECT_EQ(plan->second.radices, fft::block_plan(needs(y, true, number))->radices);
      }
  EXPECT_TRUE(fft::pair_plan(needs(512, false, 8), needs(512, true, 8)).has_value());
  EXPECT_TRUE(fft::pair_plan(needs(64, true, 16), needs(64, true, 16)).has_value());
  // By a convolution; too few columns.
  EXPECT_FALSE(fft::pair_plan(needs(509, false, 8), needs(512, true, 8)).has_value());
  EXPECT_FALSE(fft::pair_plan(needs(512, false, 16), needs(4096, true, 16)).has_value());
}

/// All of 1 … p − 1, each the one before times the second, modulo p.
TEST(Fft, PowersOfARoot) {
  for (std::int64_t prime = 2; prime < 300; ++prime) {
    if (!fft::is_prime(prime)) continue;
    auto powers = fft::powers_of_root(prime);
    ASSERT_EQ(std::ssize(powers), prime - 1);
    EXPECT_EQ(powers[0], 1);
    for (std::size_t q = 1; q < powers.size(); ++q)
      EXPECT_EQ(powers[q], std::int64_t{powers[q - 1]} * powers[1] % prime) << prime;
    std::ranges::sort(powers);
    for (std::size_t q = 0; q < powers.size(); ++q) EXPECT_EQ(powers[q], static_cast<int>(q) + 1);
  }
  EXPECT_FALSE(fft::is_prime(1));
  EXPECT_FALSE(fft::is_prime(8190));
  EXPECT_TRUE(fft::is_prime(8191));
}

TEST(Fft, Refusals) {
  Stream stream(Device::open(Backend::cpu));
  std::vector<double> x(24), y(24);
  std::vector<std::complex<double>> z(24);
  auto const real = [&](fft::Shape const& shape, std::string_view variant = "auto") {
    return refusal([&] {
      fft::transform<double>(stream, shape, Direction::forward, x, std::span(y), variant);
    });
  };
  EXPECT_EQ(real(line(25, Kind::periodic)), "fft: in has 24 elements, it needs 25");
  EXPECT_EQ(real(line(-1, Kind::periodic)), "fft: sizes cannot be negative");
  EXPECT_EQ(real(line(0, Kind::periodic)), "nothing");
  EXPECT_EQ(real(line(4, Kind::none)), "fft: no axis to transform");
  EXPECT_EQ(real(line(4, Kind::complex)), "fft: reals have no axes of kind complex");
  EXPECT_EQ(real(line(1, Kind::neumann_neumann)),
            "fft: an axis between two Neumann sides needs two points");
  EXPECT_EQ(real(line(4, Kind::periodic), "nonsense"), "fft: cpu has no variant 'nonsense'");
  auto shape = fft::dense({4, 3, 1}, {Kind::periodic, Kind::none, Kind::none});
  shape.out.axes[1] = 3;
  EXPECT_EQ(real(shape),
            "fft: a stride of 3 lets elements of out share memory (it must be at least 4)");
  shape.out.axes[1] = 5;
  EXPECT_EQ(
      refusal([&] { fft::transform<double>(stream, shape, Direction::forward, x, std::span(x)); }),
      "fft: in place, in and out need the same strides");
  EXPECT_EQ(refusal([&] {
              fft::transform<double>(stream, line(4, Kind::periodic), Direction::forward, z,
                                     std::span(z));
            }),
            "fft: complex numbers have axes of kind complex or none");
  EXPECT_EQ(
      refusal([&] { fft::transform<double>(stream, line(4, Kind::complex), x, std::span(z)); }),
      "fft: reals to complex numbers need one periodic axis, the others complex or none");
  EXPECT_EQ(refusal([&] {
              fft::transform<double>(stream, line(4, Kind::periodic), Direction::forward,
                                     std::span(x).first(4), std::span(x).subspan(2, 4));
            }),
            "fft: in (4 elements) and out (4 elements) overlap");
  std::vector<double> lambda(3);
  EXPECT_EQ(refusal([&] {
              fft::solve<double>(stream, line(4, Kind::periodic), {.axes = {lambda}}, x,
                                 std::span(y));
            }),
            "fft: eigenvalues has 3 elements, it needs 4");
}

}  // namespace
}  // namespace gridstride

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "core/processors.hpp"
#include "simulations/linear_system_scaled.hpp"
#include "support/sparse_cases.hpp"

namespace gridstride::linear_system {
namespace {

constexpr std::int64_t n = 5003;  // more rows than a tile has, and no multiple of it

/// 2^±300, so that squares of what is left have no place.
double unit(std::int64_t i, int period) {
  return std::ldexp(1.0, static_cast<int>(i * 7 % period - period / 2) * 600 / period);
}

/// A dominated matrix of 1 to 5 elements in a row, in units of rows and columns.
Csr<double> matrix() {
  auto rows = test::random_csr<double>(n, n, 3, [](std::int64_t i) { return i % 5; });
  test::Entries entries;
  for (std::int64_t i = 0; i < n; ++i) {
    for (auto k = rows.offsets[static_cast<std::size_t>(i)];
         k < rows.offsets[static_cast<std::size_t>(i + 1)]; ++k)
      entries[{i, rows.column_indices[static_cast<std::size_t>(k)]}] =
          rows.values[static_cast<std::size_t>(k)] / 8;
    entries[{i, i}] = 1;
  }
  for (auto& [place, value] : entries) value *= unit(place.first, 11) * unit(place.second, 7);
  return test::csr_of<double>(n, n, entries);
}

struct Case {
  Csr<double> a = matrix();
  ScaledSystem<double> system{a, false};
  std::vector<double> b = test::random_vector<double>(n, 5);
  std::vector<double> x = test::random_vector<double>(n, 6);
  ScaledSystem<double>::Values<double> right;
  int exponent = 0;

  Case() {
    for (std::size_t i = 0; i < b.size(); ++i) b[i] *= unit(static_cast<std::int64_t>(i), 11);
    right = system.scaled_right(b, exponent);
  }
  Residual residual() const { return system.residual<double>(x, right, exponent); }
};

TEST(ScaledSystem, ResidualsAreThoseOfTheRows) {
  Case const given;
  EXPECT_GE(*std::ranges::max_element(given.right), 0.5);
  EXPECT_LT(std::abs(*std::ranges::max_element(given.right)), 2);
  auto const x = given.system.solution(given.x, given.exponent);
  long double left = 0, right = 0;  // whose squares have a place
  for (std::size_t i = 0; i < x.size(); ++i) {
    long double sum = given.b[i];
    for (auto k = static_cast<std::size_t>(given.a.offsets[i]);
         k < static_cast<std::size_t>(given.a.offsets[i + 1]); ++k)
      sum -= static_cast<long double>(given.a.values[k]) *
             x[static_cast<std::size_t>(given.a.column_indices[k])];
    left += sum * sum;
    right += static_cast<long double>(given.b[i]) * given.b[i];
  }
  auto const found = given.residual();
  // Seven roundings in a row's sum, of terms that do not cancel by more than some ten times.
  double const rounding = 100 * std::numeric_limits<double>::epsilon();
  EXPECT_NEAR(found.norm / static_cast<double>(std::sqrt(left)), 1, rounding);
  EXPECT_NEAR(found.relative / static_cast<double>(std::sqrt(left / right)), 1, rounding);
  EXPECT_GT(found.scaled_relative, 0.1);
  EXPECT_LT(found.backward_error, 1 + rounding);
}

TEST(ScaledSystem, DoesNotDependOnThreads) {
  Case const given;
  int const before = host_threads();
  set_host_threads(1);
  auto const alone = given.residual();
  for (int const threads : {2, 7}) {
    set_host_threads(threads);
    Case const again;
    EXPECT_EQ(again.right, given.right);
    auto const found = again.residual();
    EXPECT_EQ(found.norm, alone.norm);
    EXPECT_EQ(found.scaled_relative, alone.scaled_relative);
    EXPECT_EQ(found.backward_error, alone.backward_error);
    EXPECT_EQ(found.scaled_backward_error, alone.scaled_backward_error);
  }
  set_host_threads(before);
}

TEST(ScaledSystem, WhatIsNoNumberStaysSo) {
  Case given;
  given.x[4321] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(std::isnan(given.residual().relative));
  given.x[4321] = std::numeric_limits<double>::infinity();
  EXPECT_FALSE(std::isfinite(given.residual().norm));
}

TEST(ScaledSystem, TheFirstElementWithoutAPlaceIsFound) {
  ScaledSystem<float> const system(test::csr_of<double>(n, n,
                                                        [] {
                                                          test::Entries entries;
                                                          for (std::int64_t i = 0; i < n; ++i)
                                                            entries[{i, i}] = 1;
                                                          return entries;
                                                        }()),
                                   true);
  std::vector<float> x(n, 1.0f);
  EXPECT_FALSE(system.first_lost(x, 0));
  EXPECT_FALSE(system.first_lost(x, 127));
  EXPECT_EQ(system.first_lost(x, 128), 0);
  x.assign(n, 0.0f);
  EXPECT_FALSE(system.first_lost(x, 300));
  x[4000] = x[2050] = 1;
  EXPECT_EQ(system.first_lost(x, 300), 2050);
  EXPECT_EQ(system.first_lost(x, -300), 2050);
}

/// Two equations whose b' is 2^-80 of that of the others.
struct Unlike {
  ScaledSystem<double> system{test::csr_of<double>(n, n,
                                                   [] {
                                                     test::Entries entries;
                                                     for (std::int64_t i = 0; i < n; ++i)
                                                       entries[{i, i}] = i < 2 ? 0x1p+80 : 1;
                                                     return entries;
                                                   }()),
                              false};
  std::vector<double> b = std::vector<double>(n, 1.0);
  int exponent = 0;
  ScaledSystem<double>::Values<double> right = system.scaled_right(b, exponent);
  std::vector<double> x{right.begin(), right.end()};
  Unlike() { x[1] = 0; }
};

TEST(ScaledSystem, WhatIsLeftOfASmallRowIsFound) {
  Unlike given;
  given.x[9] += 0x1p-52;
  auto const all = given.system.left_over(given.x, given.right, 0);
  EXPECT_EQ(all.exponent, -52);
  EXPECT_EQ(all.unit[9], -1);
  EXPECT_EQ(all.unit[1], 0x1p-28);
  auto const more = given.system.left_over(given.x, given.right, given.system.rounding());
  EXPECT_EQ(more.exponent, -80);
  EXPECT_EQ(more.unit[1], 1);
  EXPECT_EQ(more.unit[9], 0);
  EXPECT_FALSE(more.is_zero);
  given.x[1] = given.right[1];
  EXPECT_TRUE(given.system.left_over(given.x, given.right, given.system.rounding()).is_zero);
}

TEST(ScaledSystem, RoundingIsJudgedAsGiven) {
  Unlike given;
  EXPECT_LT(given.system.residual<double>(given.x, given.right, given.exponent).scaled_relative,
            1e-20);
  EXPECT_EQ(given.system.share_of_terms(given.x, given.right, given.exponent), 0.5);
  given.x[1] = given.right[1];
  EXPECT_EQ(given.system.share_of_terms(given.x, given.right, given.exponent), 0);
}

TEST(ScaledSystem, WhatARightHandSideLosesIsFound) {
  auto const entries = [](double large) {
    return test::csr_of<double>(3, 3, {{{0, 0}, 1}, {{1, 1}, large}, {{2, 2}, 1}});
  };
  std::vector<double> b = {1, 1, 1};
  for (double const large : {0x1p+100, 0x1p+140, 0x1p+200}) {
    ScaledSystem<float> const system(entries(large), false);
    int exponent = 0;
    auto const scaled = system.scaled_right(b, exponent);
    auto const lost = system.lost_of_right(b, scaled, exponent, 1e-5);
    EXPECT_EQ(lost.has_value(), large > 0x1p+150) << large;  // 2^-140 is held, though not normal
    EXPECT_EQ(lost.value_or(1), 1);
  }
  b[1] = 1e-6;
  ScaledSystem<float> const system(entries(0x1p+200), false);
  int exponent = 0;
  auto const scaled = system.scaled_right(b, exponent);
  EXPECT_FALSE(system.lost_of_right(b, scaled, exponent, 1e-5));
}

}  // namespace
}  // namespace gridstride::linear_system

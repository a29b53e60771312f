#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "kernels/system/random.cuh"
#include "support/pde_cases.hpp"

namespace gridstride {
namespace {

using test::run_pde;

struct Moments {
  double mean = 0, variance = 0, third = 0, fourth = 0;

  explicit Moments(std::vector<double> const& values) {
    auto const n = static_cast<double>(values.size());
    for (double const value : values) mean += value / n;
    for (double const value : values) {
      double const off = value - mean;
      variance += off * off / n;
      third += off * off * off / n;
      fourth += off * off * off * off / n;
    }
  }
};

double correlation(std::vector<double> const& a, std::vector<double> const& b) {
  Moments const of_a(a), of_b(b);
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - of_a.mean) * (b[i] - of_b.mean);
  return sum / static_cast<double>(a.size()) / std::sqrt(of_a.variance * of_b.variance);
}

constexpr int many = 1 << 18;
constexpr double root = 512;  // of many

template <class Make>
std::vector<double> drawn(Make const& make) {
  std::vector<double> values;
  for (int i = 0; i < many; ++i) values.push_back(make(i));
  return values;
}

/// Six standard errors each.
TEST(RandomFields, HaveTheirMoments) {
  auto const uniform = drawn([](int i) { return system::uniform_at<double>(7, i); });
  Moments const of_uniform(uniform);
  EXPECT_NEAR(of_uniform.mean, 0.5, 6 * std::sqrt(1.0 / 12) / root);
  EXPECT_NEAR(of_uniform.variance, 1.0 / 12, 6 * std::sqrt(1.0 / 180) / root);
  EXPECT_GT(*std::ranges::min_element(uniform), 0);
  EXPECT_LT(*std::ranges::max_element(uniform), 1);
  auto const normal = drawn([](int i) { return system::normal_at<double>(7, i); });
  Moments const of_normal(normal);
  EXPECT_NEAR(of_normal.mean, 0, 6 / root);
  EXPECT_NEAR(of_normal.variance, 1, 6 * std::sqrt(2) / root);
  EXPECT_NEAR(of_normal.third, 0, 6 * std::sqrt(15) / root);
  EXPECT_NEAR(of_normal.fourth, 3, 6 * std::sqrt(96) / root);
}

/// Of fields of one seed by different operators, of seeds next to each other, of points next to
/// each other and of steps.
TEST(RandomFields, AreIndependent) {
  auto const noise = [](int seed, long long steps) {
    return drawn([=](int i) { return system::noise_at<double>(seed, i, {0, 1, steps, 5}); });
  };
  auto const normal = drawn([](int i) { return system::normal_at<double>(7, i); });
  std::vector<std::vector<double>> const others = {
      drawn([](int i) { return system::uniform_at<double>(7, i); }),
      drawn([](int i) { return system::normal_at<double>(8, i); }),
      drawn([](int i) { return system::normal_at<double>(7, i + 1); }),
      noise(7, 0),
      noise(7, 1),
      noise(8, 0),
      noise(7, 1LL << 32)};
  for (auto const& other : others) EXPECT_LT(std::abs(correlation(normal, other)), 6 / root);
  for (std::size_t i = 4; i < others.size(); ++i)
    EXPECT_LT(std::abs(correlation(others[3], others[i])), 6 / root) << i;
  // The number of the step is that of the run, wherever the present equal steps began.
  EXPECT_EQ(system::noise_at<double>(3, 5, {0, 1, 7, 4}),
            system::noise_at<double>(3, 5, {2, 1, 0, 11}));
  EXPECT_EQ(system::noise_at<double>(3, 5, {0, 0.25, 7, 4}),
            2 * system::noise_at<double>(3, 5, {0, 1, 7, 4}));
}

/// Fixed once and for all: files of results name seeds.
TEST(RandomFields, AreTheseNumbers) {
  EXPECT_EQ(system::uniform_at<double>(7, 0), 0x1.b2807f764a494p-3);
  EXPECT_EQ(system::uniform_at<double>(7, 1LL << 40), 0x1.253f635e18623p-1);
  EXPECT_NEAR(system::normal_at<double>(7, 1), -1.5458981235867535, 1e-14);
  EXPECT_NEAR(system::noise_at<double>(7, 1, {0, 1, 3, 0}), -0.65476083752079, 1e-14);
}

TEST(RandomFields, AreThoseOfFloat64Rounded) {
  for (int i = 0; i < 1000; ++i) {
    EXPECT_NEAR(system::uniform_at<float>(3, i), system::uniform_at<double>(3, i), 0x1p-24);
    EXPECT_EQ(system::normal_at<float>(3, i), static_cast<float>(system::normal_at<double>(3, i)));
  }
}

TEST(RandomFields, BeyondASideAreThoseOfAPointInside) {
  constexpr long long points[3] = {5, 4, 3};
  constexpr bool wraps[3] = {true, false, true};
  auto const place = [&](long long i, long long j, long long k) {
    return system::random_place(wraps, points, {i, j, k});
  };
  EXPECT_EQ(place(4, 3, 2), 59);
  EXPECT_EQ(place(-1, 0, 0), place(4, 0, 0));
  EXPECT_EQ(place(6, 0, -3), place(1, 0, 0));
  EXPECT_EQ(place(0, -2, 0), place(0, 2, 0));
  EXPECT_EQ(place(0, 6, 4), place(0, 0, 1));
}

std::string noisy(std::string const& equation, double step, double end,
                  std::string const& more = {}) {
  return fmt::format(
      "simulation: pde\ngrid: {{points: [512, 512]}}\nboundary: {{x: periodic, y: periodic}}\n"
      "equations: {{u: \"{}\"}}\ninitial: {{u: 0}}\n"
      "time: {{scheme: euler, step: {}, end: {}}}\noutput: {{every: {{count: 1}}}}\n{}",
      equation, step, end, more);
}

/// du = dW: normal with variance t; six standard errors of a variance.
TEST(PdeNoise, GrowsAsTheRootOfTime) {
  for (double const step : {0.1, 0.025}) {
    Moments const found(run_pde(noisy("noise(1)", step, 0.3)).fields[0]);
    EXPECT_NEAR(found.variance, 0.3, 6 * std::sqrt(2) * 0.3 / root);
    EXPECT_NEAR(found.mean, 0, 6 * std::sqrt(0.3) / root);
    EXPECT_NEAR(found.fourth / (found.variance * found.variance), 3, 6 * std::sqrt(96) / root);
  }
}

/// du = −a·u·dt + b·dW by steps of dt goes to the variance b²/(a·(2 − a·dt)); what is left of the
/// beginning is (1 − a·dt)^(2n).
TEST(PdeNoise, OrnsteinUhlenbeck) {
  double const a = 2, b = 3, step = 0.1;
  int const steps = 40;
  Moments const found(run_pde(noisy("-2*u + 3*noise(4)", step, steps * step)).fields[0]);
  double const expected = b * b / (a * (2 - a * step)) * (1 - std::pow(1 - a * step, 2 * steps));
  EXPECT_NEAR(found.variance, expected, 6 * std::sqrt(2) * expected / root);
  EXPECT_NEAR(found.mean, 0, 6 * std::sqrt(expected) / root);
}

TEST(PdeNoise, SchemesOfHigherOrderRefuseIt) {
  for (char const* equation : {"noise(1)", "mean(noise(1))"}) {
    auto const config =
        test::config_of(fmt::format("simulation: pde\ngrid: {{points: 9}}\nequations: {{u: {}}}\n"
                                    "initial: {{u: 0}}\ntime: {{end: 1}}\n",
                                    equation));
    auto const problems = entry_of(config).problems(config, {});
    ASSERT_EQ(problems.size(), 1);
    EXPECT_EQ(problems[0].message,
              "rk4 takes no noise (its order needs rates that are smooth in time); did you mean "
              "'euler'?");
  }
}

/// div keeps the sum, whatever flows.
TEST(PdeNoise, OfFluxesIsConservative) {
  auto const found = run_pde(
      "simulation: pde\ngrid: {points: [40, 30]}\nboundary: {x: periodic, y: periodic}\n"
      "equations: {u: \"div(0.01*grad(u) + 0.1*[noise(1), noise(2)])\"}\ninitial: {u: 1}\n"
      "time: {scheme: euler, end: 0.1}\n");
  Moments const moments(found.fields[0]);
  EXPECT_NEAR(moments.mean, 1, 1e-12);
  EXPECT_GT(moments.variance, 1e-3);
}

/// The same bits from both variants, whatever steps are asked for at once; other seeds are others.
TEST(PdeNoise, HasTheSameBits) {
  for (char const* precision : {"float32", "float64"}) {
    auto const of = [&](char const* variant, int seed, std::int64_t steps) {
      return run_pde(
                 fmt::format("simulation: pde\nprecision: {}\ngrid: {{points: [19, 13]}}\n"
                             "boundary: {{x: periodic, y: {{neumann: 0}}}}\n"
                             "equations: {{u: \"0.001*laplace(u + normal(3)) + u*noise({}) + "
                             "mean(noise(9)) + uniform(2)\"}}\n"
                             "initial: {{u: x}}\ntime: {{scheme: euler, step: 0.01, end: 0.5}}\n"
                             "output: {{every: {{time: 0.07}}}}\nkernels: {{system: {}}}\n",
                             precision, seed, variant),
                 Backend::cpu, steps)
          .fields;
    };
    auto const expected = of("threads", 1, 1'000'000);
    EXPECT_EQ(of("reference", 1, 1'000'000), expected);
    EXPECT_EQ(of("threads", 1, 3), expected);
    EXPECT_NE(of("threads", 2, 1'000'000), expected);
  }
}

}  // namespace
}  // namespace gridstride

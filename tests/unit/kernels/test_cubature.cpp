#include <gtest/gtest.h>
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "core/processors.hpp"
#include "kernels/cubature/cubature.hpp"
#include "kernels/cubature/genz_malik.hpp"
#include "kernels/cubature/list.hpp"
#include "support/cubature_cases.hpp"

namespace gridstride::test {
namespace {

using quadrature::CubatureOptions;
using quadrature::Interval;
using quadrature::Outcome;
namespace genz_malik = quadrature::genz_malik;

constexpr double rounding = 2.220446049250313e-16;

Stream& host() {
  static Stream stream(Device::open(Backend::cpu));
  return stream;
}

// ------------------------------------------------------------------------------------- the rule

/// Every set of exponents of total degree up to `degree`.
void for_each_monomial(int dimensions, int degree, std::vector<int>& exponents, auto const& use) {
  if (static_cast<int>(exponents.size()) == dimensions) return use(exponents);
  for (int e = 0; e <= degree; ++e) {
    exponents.push_back(e);
    for_each_monomial(dimensions, degree - e, exponents, use);
    exponents.pop_back();
  }
}

TEST(GenzMalik, EveryOrbitHasItsSamplesAndNoTwoAreTheSame) {
  for (int d : {2, 3, 4, 5, 6, 9}) {
    std::set<std::vector<double>> places;
    std::map<int, int> of_orbit;
    for (int i = 0; i < genz_malik::points(d); ++i) {
      auto const point = genz_malik::point(d, i, rounding);
      std::vector<double> place(d);
      for (int k = 0; k < d; ++k) place[k] = genz_malik::coordinate(point, k, 0.0, 1.0);
      places.insert(place);
      ++of_orbit[point.orbit];
    }
    EXPECT_EQ(std::ssize(places), genz_malik::points(d)) << d;
    EXPECT_EQ(genz_malik::points(d), (1 << d) + 2 * d * d + 4 * d + 1);
    for (int orbit = 0; orbit <= genz_malik::orbits; ++orbit)
      EXPECT_EQ(of_orbit[orbit], genz_malik::orbit_points(d, orbit)) << d << ", orbit " << orbit;
  }
}

/// The mean of a monomial over [−1, 1]^d, which the rule of degree 7 has to give for all monomials
/// up to that degree. The weights add to at most 60 in size in these dimensions, and each sample is
/// a product of up to 7 rounded numbers.
TEST(GenzMalik, MonomialsUpToDegreeSevenAreExact) {
  for (int d : {2, 3, 5, 7}) {
    std::vector<int> none;
    for_each_monomial(d, d < 7 ? 7 : 6, none, [&](std::vector<int> const& exponents) {
      std::array<double, genz_malik::orbits + 1> sums = {};
      for (int i = 0; i < genz_malik::points(d); ++i) {
        auto const point = genz_malik::point(d, i, rounding);
        double product = 1;
        for (int k = 0; k < d; ++k)
          product *= std::pow(genz_malik::coordinate(point, k, 0.0, 1.0), exponents[k]);
        sums[point.orbit] += product;
      }
      double mean = 1;
      for (int e : exponents) mean *= e % 2 != 0 ? 0 : 1.0 / (e + 1);
      std::vector<genz_malik::AxisCheck> const axes(static_cast<std::size_t>(d));
      auto const value = genz_malik::value_of(d, sums.data(), axes.data(), 1, rounding);
      EXPECT_NEAR(value.integral, mean, 60 * 10 * rounding) << testing::PrintToString(exponents);
    });
  }
}

TEST(GenzMalik, TheSamplesOfAnAxisShowFourthDerivativesAndWhatTheRuleDoesNotSee) {
  auto const check = [](auto const& f) {
    std::array<double, genz_malik::axis_points(2)> samples = {};
    for (int i = 0; i < genz_malik::axis_points(2); ++i)
      samples[i] = f(genz_malik::coordinate(genz_malik::point(2, i, rounding), 0, 0.0, 1.0));
    return genz_malik::check_axis(samples.data(), 0, rounding);
  };
  auto const cubic = check([](double x) { return 1 + x * (2 + x * (3 + x)); });
  EXPECT_EQ(cubic.fourth, 0);
  EXPECT_EQ(cubic.fifth, 0);
  EXPECT_EQ(cubic.unseen, 0);
  // 2·(λ₂⁴ − λ₄⁴/7) of x⁴, with λ₂² = 9/70 and λ₄² = 9/10.
  auto const quartic = check([](double x) { return x * x * x * x; });
  EXPECT_NEAR(quartic.fourth, 2 * (81.0 / 700 - 81.0 / 4900), 1e-15);
  EXPECT_EQ(quartic.unseen, 0);
  EXPECT_EQ(check([](double x) { return std::exp(x); }).unseen, 0);
  auto const jump = check([](double x) { return x > 0.96 ? 1.0 : 0.0; });
  EXPECT_NEAR(jump.unseen, (1 - std::sqrt(0.9)) / 2, 1e-15);
  EXPECT_GT(jump.variation(), 0.9);
}

// ------------------------------------------------------------------------------------- integrals

TEST(Cubature, PolynomialsOfDegreeSevenAreExact) {
  std::mt19937 generator(7);
  std::uniform_real_distribution<double> uniform(-1, 1);
  for (int d : {2, 3, 4, 6, 10}) {
    std::string formula = "1";
    double value = 1, size = 1;
    std::vector<Interval> box(d);
    for (int k = 0; k < d; ++k) box[k] = {-0.5 - k, 1.25};
    double volume = 1;
    for (auto const& [lower, upper] : box) volume *= upper - lower;
    for (int term = 0; term < 12; ++term) {
      double const factor = uniform(generator);
      std::vector<int> exponents(d);
      for (int degree = 0; degree < 7; ++degree) ++exponents[generator() % d];
      formula += fmt::format(" + ({:.17g})", factor);
      double mean = factor, largest = std::fabs(factor);
      for (int k = 0; k < d; ++k) {
        auto const& [lower, upper] = box[k];
        int const e = exponents[k];
        if (e > 0) formula += fmt::format("*v{}^{}", k, e);
        mean *= (std::pow(upper, e + 1) - std::pow(lower, e + 1)) / ((e + 1) * (upper - lower));
        largest *= std::pow(std::max(std::fabs(lower), upper), e);
      }
      value += mean;
      size += largest;
    }
    auto const result =
        quadrature::cubature<double>(host(), integrand_of(formula, d), box, {}, {{0, 1e30}});
    EXPECT_EQ(result.generations, 1) << d;
    // Weights up to 60 in size, and 20 operations a sample.
    EXPECT_NEAR(result.estimate.value, volume * value, 60 * 20 * rounding * volume * size) << d;
  }
}

struct Asked {
  int dimensions;
  double relative;
};

TEST(Cubature, GenzFamiliesReachTheirTolerance) {
  for (auto const& [d, relative] : {Asked{2, 1e-8}, Asked{3, 1e-7}, Asked{4, 1e-6}, Asked{5, 1e-6},
                                    Asked{6, 1e-5}, Asked{8, 1e-5}})
    for (Genz const family : genz_families) {
      if (family == Genz::continuous && d > 3) continue;  // takes minutes on a host
      auto const one = genz_case(family, d, 3 + static_cast<unsigned>(d));
      CubatureOptions options{{relative, 0}};
      auto const result = quadrature::cubature<double>(host(), one.integrand,
                                                       std::vector<Interval>(d), {}, options);
      double const error = std::fabs(result.estimate.value - one.value);
      EXPECT_EQ(result.estimate.outcome, Outcome::reached) << one.name;
      EXPECT_LE(error, relative * std::fabs(one.value)) << one.name;
      EXPECT_LE(error, result.estimate.error) << one.name;
      EXPECT_LE(result.estimate.error, relative * std::fabs(result.estimate.value)) << one.name;
    }
}

TEST(Cubature, EstimatesHoldWhereverASingularityLies) { expect_estimates_hold(host()); }

TEST(Cubature, ResultsScaleWithTheIntegrand) {
  std::vector<Interval> const box(2);
  auto const all = [&](std::string const& factor) {
    auto const f = integrand_of(factor + "*exp(v0)*sin(3*v1)", 2);
    return quadrature::cubature<double>(host(), f, box, {}, {{1e-14, 0, 2}}).estimate;
  };
  auto const expected = all("1");
  EXPECT_EQ(expected.outcome, Outcome::reached);
  for (int const exponent : {-900, 900}) {
    auto const found = all(fmt::format("{:.17g}", std::ldexp(1.0, exponent)));
    EXPECT_EQ(found.value, std::ldexp(expected.value, exponent));
    EXPECT_EQ(found.error, std::ldexp(expected.error, exponent));
    EXPECT_EQ(found.evaluations, expected.evaluations);
  }
}

TEST(Cubature, BoxesAndParametersScaleTheIntegral) {
  // ∫∫ exp(−p0·x)·cos(p1·y) over [−1, 3] × [0, 2].
  auto const integrand = integrand_of("exp(-p0*v0)*cos(p1*v1)", 2, 2);
  std::array<Interval, 2> const box = {{{-1, 3}, {0, 2}}};
  for (double p0 : {0.5, 2.0})
    for (double p1 : {0.25, 3.0}) {
      std::array<double, 2> const parameters = {p0, p1};
      auto const result =
          quadrature::cubature<double>(host(), integrand, box, parameters, {{1e-10, 0}});
      double const value = (std::exp(p0) - std::exp(-3 * p0)) / p0 * std::sin(2 * p1) / p1;
      EXPECT_NEAR(result.estimate.value, value, 1e-10 * std::fabs(value)) << p0 << ", " << p1;
    }
}

/// Samples of both are the same; a box's sums are made in chunks of 1024 by one row.
TEST(Cubature, ThreadsAgreeWithTheReference) {
  for (int const d : {2, 3, 5, 10}) {
    auto const one = genz_case(Genz::product_peak, d, 3);
    std::vector<Interval> const box(static_cast<std::size_t>(d));
    CubatureOptions const options{{d == 10 ? 1e-3 : 1e-5, 0}};
    auto const run = [&](std::string_view variant) {
      return quadrature::cubature<double>(host(), one.integrand, box, {}, options, variant);
    };
    auto const reference = run("reference"), threads = run("threads");
    EXPECT_EQ(threads.estimate.outcome, reference.estimate.outcome) << d;
    EXPECT_EQ(threads.boxes, reference.boxes) << d;
    EXPECT_EQ(threads.generations, reference.generations) << d;
    // A weighted sum of so many positive samples of a box, and of its boxes.
    double const terms = genz_malik::points(d) + static_cast<double>(reference.boxes);
    EXPECT_NEAR(threads.estimate.value, reference.estimate.value, 60 * terms * rounding * one.value)
        << d;
    EXPECT_LE(std::fabs(reference.estimate.value - one.value), reference.estimate.error) << d;
  }
}

TEST(Cubature, SingularSidesAreNotSampled) {
  // ∫∫ 1/√(x·(1 − y)) = 4.
  auto const result = quadrature::cubature<double>(host(), integrand_of("1/sqrt(v0*(1-v1))", 2),
                                                   std::vector<Interval>(2), {}, {{1e-5, 0}});
  EXPECT_EQ(result.estimate.outcome, Outcome::reached);
  EXPECT_NEAR(result.estimate.value, 4, 4e-5);
}

TEST(Cubature, AnAbsoluteToleranceServesIntegralsThatAreZero) {
  auto const odd = integrand_of("sin(7*v0)*exp(v1)", 2);
  std::array<Interval, 2> const box = {{{-1, 1}, {0, 1}}};
  auto const result = quadrature::cubature<double>(host(), odd, box, {}, {{0, 1e-9}});
  EXPECT_EQ(result.estimate.outcome, Outcome::reached);
  EXPECT_LE(std::fabs(result.estimate.value), 1e-9);
}

TEST(Cubature, SaysWhenItCannotReachTheTolerance) {
  auto const one = genz_case(Genz::continuous, 4, 1);
  std::vector<Interval> const box(4);
  auto const bounded =
      quadrature::cubature<double>(host(), one.integrand, box, {}, {{1e-9, 0}, 1'000'000});
  EXPECT_EQ(bounded.estimate.outcome, Outcome::not_reached);
  EXPECT_LE(bounded.estimate.evaluations, 1'000'000);
  EXPECT_GT(bounded.estimate.evaluations, 900'000);
  EXPECT_LE(std::fabs(bounded.estimate.value - one.value), bounded.estimate.error);
  // No sum of rounded samples is that accurate: it ends when only rounding is left.
  auto const rounded = quadrature::cubature<double>(host(), integrand_of("exp(v0)*exp(v1)", 2),
                                                    std::vector<Interval>(2), {}, {{1e-18, 0}});
  EXPECT_EQ(rounded.estimate.outcome, Outcome::not_reached);
  double const value = std::expm1(1.0) * std::expm1(1.0);
  EXPECT_NEAR(rounded.estimate.value, value, 1e-14 * value);
}

TEST(Cubature, WorksInLittleMemory) {
  auto const one = genz_case(Genz::continuous, 3, 2);
  std::vector<Interval> const box(3);
  auto const free = quadrature::cubature<double>(host(), one.integrand, box, {}, {{1e-6, 0}});
  ASSERT_GT(free.boxes, 4000);
  // Two fifths of the boxes, then only those that it begins with.
  for (bool enough : {true, false}) {
    CubatureOptions options{{enough ? 1e-6 : 1e-9, 0}, 3'000'000};
    options.memory_bytes =
        enough ? quadrature::bytes_of_box(3) * static_cast<std::size_t>(free.boxes * 2 / 5) : 1;
    auto const result = quadrature::cubature<double>(host(), one.integrand, box, {}, options);
    EXPECT_EQ(result.estimate.outcome, enough ? Outcome::reached : Outcome::not_reached);
    double const error = std::fabs(result.estimate.value - one.value);
    EXPECT_LE(error, result.estimate.error);
    EXPECT_LE(error, 1e-6 * one.value);
  }
}

TEST(Cubature, TellsASampleThatIsNotFinite) {
  for (char const* formula : {"1/(v0-v0)", "log(v1-0.3)", "sqrt(0.4-v0)*v1", "exp(2000*v0)"}) {
    auto const integrand = integrand_of(formula, 2);
    auto const result =
        quadrature::cubature<double>(host(), integrand, std::vector<Interval>(2), {}, {{1e-6, 0}});
    EXPECT_EQ(result.estimate.outcome, Outcome::non_finite) << formula;
    ASSERT_EQ(result.non_finite_at.size(), 2u) << formula;
    EXPECT_FALSE(std::isfinite(integrand.formula.evaluate(result.non_finite_at))) << formula;
  }
}

TEST(Cubature, BitsDoNotDependOnTheThreads) {
  auto const one = genz_case(Genz::discontinuous, 4, 5);
  int const threads = host_threads();
  std::vector<double> values;
  for (int count : {1, 2, 3}) {
    set_host_threads(count);
    auto const result = quadrature::cubature<double>(host(), one.integrand,
                                                     std::vector<Interval>(4), {}, {{1e-5, 0}});
    values.push_back(result.estimate.value);
    values.push_back(result.estimate.error);
  }
  set_host_threads(threads);
  for (std::size_t i = 2; i < values.size(); ++i)
    EXPECT_EQ(std::bit_cast<std::uint64_t>(values[i]), std::bit_cast<std::uint64_t>(values[i - 2]));
}

TEST(Cubature, RefusesWhatIsNoProblem) {
  auto const plane = integrand_of("v0*v1", 2);
  std::vector<Interval> const box(2);
  auto const run = [](quadrature::Integrand const& integrand, std::vector<Interval> const& domain,
                      std::vector<double> const& parameters, CubatureOptions const& options) {
    quadrature::cubature<double>(host(), integrand, domain, parameters, options);
  };
  using Fault = std::invalid_argument;
  EXPECT_THROW(run(integrand_of("v0", 1), {{0, 1}}, {}, {}), Fault);
  EXPECT_THROW(run(plane, {{0, 1}}, {}, {}), Fault);
  EXPECT_THROW(run(plane, {{0, 1}, {1, 1}}, {}, {}), Fault);
  EXPECT_THROW(run(plane, {{0, 1}, {0, INFINITY}}, {}, {}), Fault);
  EXPECT_THROW(run(plane, box, {1.0}, {}), Fault);
  EXPECT_THROW(run(plane, box, {}, {{0, 0}}), Fault);
  EXPECT_THROW(run(plane, box, {}, {{-1, 1}}), Fault);
  EXPECT_THROW(run(plane, box, {}, {{1e-6, 0}, 10}), Fault);
  EXPECT_THROW(quadrature::cubature<double>(host(), plane, box, {}, {}, "breadth_first"), Fault);
}

// ---------------------------------------------------------------------------------- device code

TEST(Cubature, DeviceCodeCompiles) {
  std::string const locate[] = {"LOCATE_NON_FINITE"};
  auto const file = "kernels/cubature/cubature.cuh";
  try {
    auto const in_space = integrand_of("exp(-p0*v0)*v1", 3, 1);
    auto const in_twenty = integrand_of("exp(-p0*v0)*v19", 20, 1);
    EXPECT_FALSE(compile_cubin(quadrature::source_of<double>(in_space, file, locate), 90).empty());
    EXPECT_FALSE(compile_cubin(quadrature::source_of<float>(in_space, file), 75).empty());
    EXPECT_FALSE(compile_cubin(quadrature::source_of<double>(in_twenty, file), 75).empty());
  } catch (RuntimeCompilerMissing const& missing) {
    GTEST_SKIP() << missing.what();
  }
}

}  // namespace
}  // namespace gridstride::test

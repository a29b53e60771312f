#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/sampling/sampling.hpp"
#include "kernels/sampling/vegas/grid.hpp"
#include "kernels/sampling/vegas/vegas.hpp"

/// Random and quasi-random samples of smooth integrands, summed by every row and compared.
namespace gridstride::test {

using quadrature::Integrand;
using quadrature::Interval;
using quadrature::SampleSums;
using quadrature::SamplingProblem;

/// Names of variables: those integrated over, then those given.
inline std::vector<expression::Variable> const& sampling_variables() {
  static std::vector<expression::Variable> const names = [] {
    static constexpr std::string_view letters = "abcdfghijklmnopqrstuvwxyz";
    std::vector<expression::Variable> variables;
    for (int k = 0; k < quadrature::max_dimensions + quadrature::max_parameters; ++k)
      variables.push_back({letters.substr(static_cast<std::size_t>(k), 1), k});
    return variables;
  }();
  return names;
}

/// A formula of a, b, c, d, f, … of which the last `parameters` are given.
inline Integrand sampled(std::string const& formula, int dimensions, int parameters = 0) {
  auto const names =
      std::span(sampling_variables()).first(static_cast<std::size_t>(dimensions + parameters));
  return {expression::Expression::parse(formula, {}, names), dimensions, parameters};
}

/// `term` for each of the variables, where it has {}, joined by `operation`.
inline std::string of_all_axes(int dimensions, std::string_view operation, std::string_view term) {
  std::string text;
  for (int k = 0; k < dimensions; ++k) {
    if (k > 0) text += operation;
    text += fmt::format(fmt::runtime(term), sampling_variables()[static_cast<std::size_t>(k)].name);
  }
  return text;
}

/// A smooth integrand of one parameter on a box whose sides differ.
inline SamplingProblem smooth_problem(int dimensions, bool antithetic = false) {
  auto const parameter = sampling_variables()[static_cast<std::size_t>(dimensions)].name;
  SamplingProblem problem;
  problem.integrand =
      sampled(fmt::format("exp(-{}*({}))", parameter, of_all_axes(dimensions, "+", "({0}-0.3)^2")),
              dimensions, 1);
  for (int k = 0; k < dimensions; ++k)
    problem.box.push_back(k % 3 == 1 ? Interval{-0.3, 1.1} : Interval{0, 1});
  problem.parameters = {0.75};
  problem.seed = 12345678901234;
  problem.antithetic = antithetic;
  problem.scale = 0.5;
  problem.pivot = 0.125;
  return problem;
}

/// exp(x) times these powers of two over [0, 1]: they change no digit of value and error.
template <class T>
void expect_sampling_scales(Backend backend, std::vector<int> const& exponents) {
  Stream stream(Device::open(backend));
  std::vector<quadrature::Interval> const box(1);
  quadrature::SamplingOptions const options{.points = 1 << 16, .seed = 3};
  auto const all = [&](std::string const& formula) {
    auto const f = sampled(formula, 1);
    return std::vector{quadrature::monte_carlo<T>(stream, f, box, {}, options).estimate,
                       quadrature::quasi_monte_carlo<T>(stream, f, box, {}, options).estimate,
                       quadrature::vegas<T>(stream, f, box, {}, options).estimate};
  };
  auto const expected = all("exp(a)");
  for (int const exponent : exponents) {
    auto const found = all(fmt::format("{:.17g}*exp(a)", std::ldexp(1.0, exponent)));
    for (std::size_t i = 0; i < found.size(); ++i) {
      SCOPED_TRACE(fmt::format("method {}, times 2^{}", i, exponent));
      EXPECT_EQ(found[i].value, std::ldexp(expected[i].value, exponent));
      EXPECT_EQ(found[i].error, std::ldexp(expected[i].error, exponent));
      EXPECT_GT(found[i].error, 0);
    }
  }
}

/// Samples that are all 0 say nothing.
template <class T>
void expect_zeros_say_nothing(Backend backend) {
  Stream stream(Device::open(backend));
  std::vector<quadrature::Interval> const box(2);
  auto const peak = sampled("if((a-0.3)^2+(b-0.3)^2 < 1e-14, 1, 0)", 2);
  for (quadrature::Goal const goal : {quadrature::Goal{0.1, 0}, {0, 1}, {0, 0}}) {
    quadrature::SamplingOptions const options{.points = 1 << 16, .goal = goal};
    for (auto const& zero :
         {quadrature::monte_carlo<T>(stream, peak, box, {}, options).estimate,
          quadrature::quasi_monte_carlo<T>(stream, peak, box, {}, options).estimate,
          quadrature::vegas<T>(stream, peak, box, {}, options).estimate}) {
      EXPECT_EQ(zero.value, 0);
      EXPECT_TRUE(std::isinf(zero.error));
      EXPECT_EQ(zero.outcome, quadrature::Outcome::not_reached);
    }
  }
}

/// How far sums of `samples` samples may be from those of another row. The values of f differ by
/// some ε of T, and a thread adds up to 256 differences from the pivot in T.
template <class T>
void expect_same_sums(SampleSums const& actual, SampleSums const& expected, double pivot,
                      std::int64_t samples) {
  constexpr double function_error = 16;  // in ε: exp of an argument of some roundings
  double const epsilon = quadrature::rounding_of<T>(), n = static_cast<double>(samples);
  double const in_sum = std::min(256.0, n);
  double const differences = std::sqrt(n * expected.squares);  // at least Σ |f − p|
  double const values = differences + n * std::abs(pivot);     // at least Σ |f|
  EXPECT_NEAR(actual.sum, expected.sum, epsilon * (function_error * values + in_sum * differences));
  double const greatest = std::sqrt(expected.squares);  // at least max |f − p|
  EXPECT_NEAR(actual.squares, expected.squares,
              epsilon * (in_sum + 2) * expected.squares +
                  2 * epsilon * function_error * std::min(greatest * values, n * 2));
}

/// The rows of a backend of one function against `reference`, a batch at a time; how many sums were
/// compared.
template <class T>
int compare_sampling_rows(std::span<Variant<quadrature::SamplerFunction> const> rows,
                          Backend backend, std::vector<int> const& dimensions_of_problems,
                          bool antithetic = false) {
  Stream stream(Device::open(backend)), host(Device::open(Backend::cpu));
  int compared = 0;
  for (int const dimensions : dimensions_of_problems) {
    auto const problem = smooth_problem(dimensions, antithetic);
    auto const reference = rows[0].run(host, problem);
    for (auto const& row : rows) {
      if (row.backend != backend || row.name == "reference") continue;
      auto const batch = row.run(stream, problem);
      for (std::int64_t const first : {0, 4096}) {
        for (std::int64_t const size : {1, 4, 100, 2049, 5003}) {
          SCOPED_TRACE(
              fmt::format("{}, {} dimensions, samples {} + {}", row.name, dimensions, first, size));
          auto const expected = reference(first, size), actual = batch(first, size);
          EXPECT_EQ(actual.size(), expected.size());
          for (std::size_t r = 0; r < std::min(actual.size(), expected.size()); ++r, ++compared)
            expect_same_sums<T>(actual[r], expected[r], problem.pivot, size);
        }
      }
    }
  }
  return compared;
}

/// The same of `vegas`, by a grid of uneven intervals whose ends float32 can tell.
template <class T>
int compare_vegas_rows(Backend backend, std::vector<int> const& dimensions_of_problems) {
  Stream stream(Device::open(backend)), host(Device::open(Backend::cpu));
  auto const rows = quadrature::vegas_variants<T>();
  int compared = 0;
  for (int const dimensions : dimensions_of_problems) {
    auto const problem = smooth_problem(dimensions);
    auto grid = quadrature::even_vegas_grid(dimensions);
    for (double& end : grid) end = static_cast<float>(end * end * (3 - 2 * end));
    auto const reference = rows[0].run(host, problem);
    for (auto const& row : rows) {
      if (row.backend != backend || row.name == "reference") continue;
      auto const batch = row.run(stream, problem);
      for (std::int64_t const size : {1, 100, 2049, 5003}) {
        SCOPED_TRACE(fmt::format("{}, {} dimensions, {} samples", row.name, dimensions, size));
        auto const expected = reference(grid, problem.pivot, 4096, size);
        auto const actual = batch(grid, problem.pivot, 4096, size);
        // A density is a product of as many roundings as there are axes, three for each.
        double const slack = 1 + 3.0 * dimensions;
        expect_same_sums<T>(actual.samples, expected.samples, problem.pivot * slack, size);
        EXPECT_EQ(actual.intervals.size(), expected.intervals.size());
        EXPECT_EQ(actual.counts, expected.counts);
        double const epsilon = quadrature::rounding_of<T>();
        for (std::size_t i = 0; i < std::min(actual.intervals.size(), expected.intervals.size());
             ++i, ++compared)
          EXPECT_NEAR(
              actual.intervals[i], expected.intervals[i],
              epsilon * (2 * (16 + slack) + static_cast<double>(size)) * expected.intervals[i]);
      }
    }
  }
  return compared;
}

/// How many of five million samples, by tiles of 4096, are counted in the intervals of an axis.
inline double count_grid_samples(Backend backend) {
  Stream stream(Device::open(backend));
  auto const& row = find_variant("vegas", quadrature::vegas_variants<float>(), backend,
                                 quadrature::default_sampler(backend));
  auto const batch = row.run(stream, smooth_problem(1));
  double count = 0;
  for (double const n : batch(quadrature::even_vegas_grid(1), 0.25, 0, 5'000'000).counts)
    count += n;
  return count;
}

/// Whether two runs of a batch give the same bits.
template <class T>
void expect_same_bits_of_samples(Backend backend) {
  Stream stream(Device::open(backend));
  auto const problem = smooth_problem(6);
  std::string_view const name = quadrature::default_sampler(backend);
  for (auto const rows :
       {quadrature::monte_carlo_variants<T>(), quadrature::quasi_monte_carlo_variants<T>()}) {
    auto const& row = find_variant("sampling", rows, backend, name);
    auto const first = row.run(stream, problem)(0, 70'001),
               second = row.run(stream, problem)(0, 70'001);
    EXPECT_EQ(std::memcmp(first.data(), second.data(), first.size() * sizeof(SampleSums)), 0);
  }
  auto const& row = find_variant("vegas", quadrature::vegas_variants<T>(), backend, name);
  auto const grid = quadrature::even_vegas_grid(6);
  auto const first = row.run(stream, problem)(grid, 0.25, 0, 70'001);
  auto const second = row.run(stream, problem)(grid, 0.25, 0, 70'001);
  EXPECT_EQ(std::memcmp(&first.samples, &second.samples, sizeof(SampleSums)), 0);
  EXPECT_EQ(first.intervals, second.intervals);
  EXPECT_EQ(first.counts, second.counts);
}

/// ∫ Π exp(−v²) over the unit cube of 6 dimensions, by each of the three to a tolerance.
template <class T>
void expect_six_gaussians(Backend backend) {
  Stream stream(Device::open(backend));
  auto const integrand = sampled(of_all_axes(6, "*", "exp(-{0}^2)"), 6);
  double const exact = std::pow(std::sqrt(std::acos(-1.0)) / 2 * std::erf(1.0), 6);
  std::vector<Interval> const box(6);
  auto const check = [&](quadrature::Estimate const& estimate, double relative) {
    EXPECT_EQ(estimate.outcome, quadrature::Outcome::reached);
    EXPECT_LE(estimate.error, relative * estimate.value);
    EXPECT_LE(std::abs(estimate.value - exact), estimate.error);
  };
  check(quadrature::monte_carlo<T>(stream, integrand, box, {}, {.goal = {3e-3, 0}, .seed = 3})
            .estimate,
        3e-3);
  check(quadrature::quasi_monte_carlo<T>(stream, integrand, box, {}, {.goal = {1e-4, 0}, .seed = 1})
            .estimate,
        1e-4);
  check(quadrature::vegas<T>(stream, integrand, box, {}, {.goal = {3e-4, 0}, .seed = 3}).estimate,
        3e-4);
}

/// The first sample at which sqrt(a − p) is no number, with the default row.
template <class T>
void expect_first_non_finite(Backend backend) {
  Stream stream(Device::open(backend));
  auto const integrand = sampled("sqrt(a-d)*b*c", 3, 1);
  std::vector<Interval> const box(3);
  std::vector<double> const parameters = {3e-5};  // a sample in 30,000 is below
  quadrature::SamplingOptions const options{.points = 1 << 20, .seed = 5};
  auto const check = [&](quadrature::Estimate const& estimate, std::vector<double> const& at) {
    EXPECT_EQ(estimate.outcome, quadrature::Outcome::non_finite);
    EXPECT_TRUE(std::isnan(estimate.value));
    ASSERT_EQ(at.size(), 3u);
    EXPECT_LT(at[0], 3e-5);
  };
  auto const random = quadrature::monte_carlo<T>(stream, integrand, box, parameters, options);
  check(random.estimate, random.non_finite_at);
  auto const sobol = quadrature::quasi_monte_carlo<T>(stream, integrand, box, parameters, options);
  check(sobol.estimate, sobol.non_finite_at);
  auto const weighted = quadrature::vegas<T>(stream, integrand, box, parameters, options);
  check(weighted.estimate, weighted.non_finite_at);
}

}  // namespace gridstride::test

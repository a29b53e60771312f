#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "support/sample_cases.hpp"

namespace gridstride::test {
namespace {

TEST(IntegrationOfSamples, ComputesByHand) {
  SampleFiles const files;
  auto const f = files.write("f.bin", std::vector<double>{1, 2, 4});
  auto const integral = [&](std::string const& more) {
    return sample_integral(fmt::format("integrand: {}, {}", f, more), cpu);
  };
  EXPECT_EQ(integral("variables: {t: [0, 4]}, rule: trapezoid"), 9);
  EXPECT_EQ(integral("variables: {t: {spacing: 2}}, rule: trapezoid"), 9);
  EXPECT_EQ(integral("variables: {t: {lower: 7, spacing: 2}}, rule: trapezoid"), 9);
  EXPECT_EQ(integral("variables: {t: [4, 0]}, rule: trapezoid"), -9);
  EXPECT_DOUBLE_EQ(integral("variables: {t: [0, 4]}, rule: simpson"), 26. / 3);
  EXPECT_DOUBLE_EQ(integral("variables: {t: [0, 4]}"), 26. / 3);
  EXPECT_DOUBLE_EQ(integral("variables: {t: [0, 4]}, axis: t, rule: romberg"), 26. / 3);
  auto const p = files.write("p.bin", std::vector<double>{-1, 0, 2});
  EXPECT_EQ(integral(fmt::format("variables: {{t: {{positions: {}}}}}, rule: trapezoid", p)), 7.5);
  // The parabola 1 + s·4/3 + s²/3 − ... through (−1, 1), (0, 2), (2, 4) is the line 2 + s.
  EXPECT_DOUBLE_EQ(integral(fmt::format("variables: {{t: {{positions: {}}}}}", p)), 7.5);
}

TEST(IntegrationOfSamples, LeavesTheOtherAxes) {
  SampleFiles const files;
  // f = 10·y + x on 3 × 2 points, x fastest.
  auto const f = files.write("f.bin", std::vector<float>{0, 1, 2, 10, 11, 12}, "2, 3");
  std::string const parameters = fmt::format(
      "integrand: {}, variables: {{x: {{lower: -1, spacing: 0.5}}, y: [3, 5]}}, rule: trapezoid",
      f);
  auto const along = [&](std::string const& axis) {
    return integrate_samples(samples_yaml(parameters + ", axis: " + axis), cpu);
  };
  auto const x = along("x"), y = along("y"), all = along("all");
  EXPECT_EQ(x.values, (std::vector<double>{1, 11}));
  EXPECT_EQ(x.grid, (Grid{1, {2, 1, 1}, {3, 0, 0}, {2, 1, 1}}));
  EXPECT_EQ(y.values, (std::vector<double>{10, 12, 14}));
  EXPECT_EQ(y.grid, (Grid{1, {3, 1, 1}, {-1, 0, 0}, {0.5, 1, 1}}));
  EXPECT_EQ(all.values, std::vector<double>{12});
  EXPECT_EQ(all.grid.size(), 1);
  EXPECT_TRUE(all.errors.empty());
  EXPECT_EQ(all.numbers, (std::map<std::string, double>{{"value", 12}, {"samples", 6}}));
}

TEST(IntegrationOfSamples, RulesAreExactForPolynomials) {
  SampleFiles const files;
  auto const integral = [&](auto const& f, int n, std::string const& rule) {
    return integrate_samples(
        samples_yaml(fmt::format("integrand: {}, variables: {{x: [0, 2]}}, rule: {}",
                                 files.write("f.bin", samples_of(f, 0, 2, n)), rule)),
        cpu);
  };
  auto const cubic = [](double x) { return 1 + x * x * (3 - 4 * x); };
  for (int const n : {3, 5, 41}) EXPECT_NEAR(integral(cubic, n, "simpson").values[0], -6, 1e-13);
  // Of 2^k + 1 samples, all powers up to 2·k + 1.
  for (int k = 1; k <= 6; ++k) {
    int const power = 2 * k + 1;
    auto const found =
        integral([&](double x) { return std::pow(x, power); }, (1 << k) + 1, "romberg");
    double const exact = std::ldexp(1.0, power + 1) / (power + 1);
    EXPECT_NEAR(found.values[0], exact, 1e-14 * exact) << k;
    if (k == 1) continue;
    auto const lower =
        integral([&](double x) { return std::pow(x, power - 2); }, (1 << k) + 1, "romberg");
    EXPECT_LE(lower.errors[0], 1e-13 * lower.values[0]) << k;  // the half is exact, too
  }
}

TEST(IntegrationOfSamples, RulesHaveTheirOrders) {
  SampleFiles const files;
  auto const f = [](double x) { return std::exp(x) * std::sin(x); };
  double const exact = (std::exp(2) * (std::sin(2) - std::cos(2)) + 1) / 2;
  auto const error = [&](std::string const& rule, int n, bool uneven) {
    auto const place = [](double s) { return s * (1 + s) / 3; };  // from 0 to 2
    auto const values = samples_of([&](double s) { return f(uneven ? place(s) : s); }, 0, 2, n);
    std::string const positions = files.write("p.bin", samples_of(place, 0, 2, n));
    return std::abs(
        sample_integral(fmt::format("integrand: {}, variables: {{x: {}}}, rule: {}",
                                    files.write("f.bin", values),
                                    uneven ? "{positions: " + positions + "}" : "[0, 2]", rule),
                        cpu) -
        exact);
  };
  for (bool const uneven : {false, true})
    for (auto const& [rule, order] : {std::pair{"trapezoid", 2}, {"simpson", 4}})
      for (int const n : {65, 64})  // even numbers have another interval at the end
        EXPECT_NEAR(
            std::log2(error(rule, n, uneven) / error(rule, 2 * n - 1 - (n % 2 == 0), uneven)) *
                std::log(2.0) / std::log((2.0 * n - 2 - (n % 2 == 0)) / (n - 1)),
            order, 0.15)
            << rule << " of " << n << (uneven ? " at positions" : "");
}

/// The error is what every second sample would change; values are below 5, and round.
TEST(IntegrationOfSamples, RombergTellsItsError) {
  SampleFiles const files;
  auto const of = [&](int n) {
    auto const values = samples_of([](double x) { return std::exp(x) * std::sin(x); }, 0, 2, n);
    return integrate_samples(
        samples_yaml(fmt::format("integrand: {}, variables: {{x: [0, 2]}}, rule: romberg",
                                 files.write("f.bin", values))),
        cpu);
  };
  double const exact = (std::exp(2) * (std::sin(2) - std::cos(2)) + 1) / 2;
  for (int const n : {5, 9, 17}) {
    auto const found = of(n);
    EXPECT_LE(std::abs(found.values[0] - exact), found.errors[0]) << n;
    EXPECT_NEAR(found.errors[0], std::abs(found.values[0] - of((n + 1) / 2).values[0]), 1e-14) << n;
    EXPECT_EQ(found.numbers.at("error_estimate"), found.errors[0]);
  }
}

/// Σ |weights| of samples at positions, as far as rounding sees them.
double weight_of(std::vector<double> const& p) {
  double sum = p.back() - p.front();
  for (std::size_t i = 1; i + 1 < p.size(); ++i) {
    double const h = p[i] - p[i - 1], k = p[i + 1] - p[i];
    sum += (h + k) / 6 * (4 + k / h + (h + k) * (h + k) / (h * k) + h / k);
  }
  return sum;
}

/// Values of scipy: tools/make_samples_reference.py. All samples are at most 1; each of n products
/// and the sum round, in both, and what weights are made of, in some ten operations each.
TEST(IntegrationOfSamples, EqualsScipy) {
  SampleFiles const files;
  std::ifstream file(GRIDSTRIDE_SOURCE_DIR "/tests/data/samples_reference.json");
  auto const stored = nlohmann::json::parse(file);
  auto const spacings = stored.at("spacings").get<std::vector<double>>();
  int compared = 0;
  for (auto const& entry : stored.at("cases")) {
    auto const points = entry.at("points").get<std::vector<std::int64_t>>();
    auto const samples = entry.at("samples").get<std::vector<double>>();
    std::vector<std::int64_t> const shape(points.rbegin(), points.rend());
    auto const f = files.write("f.bin", samples, fmt::format("{}", fmt::join(shape, ", ")));
    double weight = 1.5;  // Simpson's weights of even numbers are not all positive
    std::string variables;
    for (std::size_t a = 0; a < points.size(); ++a) {
      variables +=
          fmt::format("{}{}: {{spacing: {}}}", a == 0 ? "" : ", ", axis_names[a], spacings[a]);
      weight *= std::max(spacings[a] * static_cast<double>(points[a]), 1.0);
    }
    if (entry.contains("positions")) {
      auto const p = entry.at("positions").get<std::vector<double>>();
      variables = fmt::format("x: {{positions: {}}}", files.write("p.bin", p));
      weight = weight_of(p);
    }
    double const bound = 2 * (static_cast<double>(samples.size()) + 20) * 0x1p-53 * weight;
    for (auto const& [key, expected] : entry.at("integrals").items()) {
      auto const dot = key.find('.');
      auto const found = integrate_samples(
          samples_yaml(fmt::format("integrand: {}, variables: {{{}}}, rule: {}, axis: {}", f,
                                   variables, key.substr(0, dot), key.substr(dot + 1)),
                       "limits: {chunk: 64 B}"),
          cpu);
      auto const values = expected.get<std::vector<double>>();
      ASSERT_EQ(found.values.size(), values.size()) << key;
      for (std::size_t i = 0; i < values.size(); ++i)
        EXPECT_NEAR(found.values[i], values[i], bound) << key << " of " << points.size() << " axes";
      ++compared;
    }
  }
  EXPECT_EQ(compared, 103);
}

TEST(IntegrationOfSamples, BitsDoNotDependOnTheChunks) { expect_alike_in_chunks(cpu); }

std::string samples_problem(std::string const& parameters, std::string const& more = "") {
  try {
    auto const yaml = samples_yaml(parameters, more);
    check_on_device(config_of(yaml), Device::open(cpu));
    integrate_samples(yaml, cpu);
  } catch (Error const& error) {
    return error.what();
  }
  return "";
}

void expect_samples_problem(std::string const& parameters, std::string const& part,
                            std::string const& more = "") {
  auto const problem = samples_problem(parameters, more);
  EXPECT_NE(problem.find(part), std::string::npos) << parameters << ": " << problem;
}

/// What only the files show.
TEST(IntegrationOfSamples, RefusesShapesThatDoNotFit) {
  SampleFiles const files;
  std::vector<float> const values(24, 1);
  auto const with = [&](std::string const& shape, std::string const& more) {
    return fmt::format("integrand: {}, {}", files.write("f.bin", values, shape), more);
  };
  expect_samples_problem(with("4, 6", "variables: {x: [0, 1]}"),
                         "is [4][6], but 'variables' tells of 1 axis (the slowest axis is first "
                         "here, the fastest there)");
  expect_samples_problem(with("24", "variables: {x: [0, 1], y: [0, 1]}"), "is [24], but");
  expect_samples_problem(with("1, 24", "variables: {x: [0, 1], y: [0, 1]}"),
                         "has 1 sample along y (an integral needs 2 at least)");
  expect_samples_problem(with("1, 24", "variables: {x: [0, 1], y: [0, 1]}, axis: x"),
                         "has 1 sample along y, which does not reach from 0 to 1 (give {lower: "
                         "..., spacing: ...})");
  EXPECT_EQ(samples_problem(with("1, 24", "variables: {x: [0, 1], y: {spacing: 1}}, axis: x")), "");
  expect_samples_problem(with("4, 6", "variables: {x: [0, 1], y: [0, 1]}, rule: romberg, axis: x"),
                         "has 6 samples along x, but romberg takes 2^k + 1 (as 5 or 9; simpson "
                         "takes any number)");
  expect_samples_problem(with("2, 12", "variables: {x: [0, 1], y: [0, 1]}, rule: romberg, axis: y"),
                         "has 2 samples along y, but romberg takes 2^k + 1 (as 3 or 5; simpson "
                         "takes any number)");
  auto const p = files.write("p.bin", std::vector<double>(23, 1));
  expect_samples_problem(with("24", "variables: {x: {positions: " + p + "}}"),
                         "is [24] (there is a position for each sample)");
}

TEST(IntegrationOfSamples, RefusesPositionsThatDoNotRise) {
  SampleFiles const files;
  std::size_t const n = 20000;
  std::string const f = files.write("f.bin", std::vector<float>(n, 1));
  for (std::size_t const place : {std::size_t{1}, std::size_t{777}, n - 1})
    for (double const step : {0.0, -0.5}) {
      auto p = samples_of([](double x) { return x; }, 0, static_cast<double>(n - 1),
                          static_cast<int>(n));
      p[place] = p[place - 1] + step;
      expect_samples_problem(
          fmt::format("integrand: {}, variables: {{x: {{positions: {}}}}}", f,
                      files.write("p.bin", p)),
          fmt::format("has {} at [{}] after {} (each position has to be greater than the one "
                      "before)",
                      p[place], place, p[place - 1]),
          "limits: {chunk: 4000 B}");
    }
}

TEST(IntegrationOfSamples, RefusesWhatIsNoNumber) {
  SampleFiles const files;
  std::vector<double> values(100, 1), positions = samples_of([](double x) { return x; }, 0, 1, 100);
  auto const with_positions = [&] {
    return fmt::format("integrand: {}, variables: {{x: {{positions: {}}}}}",
                       files.write("f.bin", values), files.write("p.bin", positions));
  };
  EXPECT_EQ(samples_problem(with_positions()), "");
  values[57] = std::numeric_limits<double>::quiet_NaN();
  expect_samples_problem(with_positions(), "nan at [57]", "limits: {chunk: 64 B}");
  expect_samples_problem(
      fmt::format("integrand: {}, variables: {{x: [0, 1]}}", files.write("f.bin", values)),
      "nan at [57]", "limits: {chunk: 64 B}");
  values[57] = 1;
  positions[3] = std::numeric_limits<double>::infinity();
  expect_samples_problem(with_positions(), "inf at [3]");
}

TEST(IntegrationOfSamples, RefusesIntegralsWithoutANumber) {
  SampleFiles const files;
  auto const f = files.write("f.bin", std::vector<double>{1e30, 1e30, 2e-30, 2e-30}, "2, 2");
  std::string const parameters = fmt::format(
      "integrand: {}, variables: {{x: {{spacing: 1e20}}, y: {{spacing: 1}}}}, axis: x", f);
  EXPECT_EQ(samples_problem(parameters), "");
  expect_samples_problem(parameters,
                         "the integral is 1e+50, for which float32 has no number (result [0])",
                         "precision: float32");
}

TEST(IntegrationOfSamples, KeepsToLimits) {
  SampleFiles const files;
  auto const f = files.write("f.bin", std::vector<float>(100000, 1), "100, 1000");
  std::string const parameters =
      fmt::format("integrand: {}, variables: {{x: [0, 1], y: [0, 1]}}, axis: x", f);
  for (std::string const key : {"device_memory", "host_memory"})
    expect_samples_problem(parameters, "are left for chunks, but one line of the data",
                           fmt::format("limits: {{{}: 100 B}}", key));
  EXPECT_EQ(samples_problem(parameters, "limits: {device_memory: 100 kB}"), "");
  expect_samples_problem("integrand: x, variables: {x: [0, 1]}", "limits: is for samples",
                         "limits: {streams: 2}");
}

}  // namespace
}  // namespace gridstride::test

#include "driver/forecast.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>

#include "core/error.hpp"
#include "driver/formulas.hpp"
#include "driver/prepare.hpp"
#include "support/memory_cases.hpp"

namespace gridstride {
namespace {

class ForecastOfARun : public testing::TestWithParam<test::MemoryCase> {};

TEST_P(ForecastOfARun, HoldsWhatIsAllocated) { test::expect_forecast(GetParam(), Backend::cpu); }

INSTANTIATE_TEST_SUITE_P(Memory, ForecastOfARun, testing::ValuesIn(test::memory_cases()),
                         test::name_of_memory_case);

/// A line of heat, with some of its sections replaced.
std::string line(std::string const& time, std::string const& grid = "{points: 11}",
                 std::string const& diffusivity = "1") {
  return "simulation: heat\ndevice: cpu\ngrid: " + grid +
         "\ninitial: {u: x}\nparameters: {diffusivity: " + diffusivity + "}\ntime: " + time + "\n";
}

std::string refusal(std::string const& yaml) {
  auto const config = test::config_of(yaml);
  try {
    forecast(config, Device::open(Backend::cpu));
  } catch (ConfigError const& error) {
    return error.problems().front().path + ": " + error.problems().front().message;
  }
  return {};
}

void expect_refusal(std::string const& yaml, std::string const& part) {
  auto const message = refusal(yaml);
  EXPECT_NE(message.find(part), std::string::npos) << yaml << message;
}

TEST(Forecast, RefusesStepsThatDoNotGetToTheEnd) {
  expect_refusal(line("{end: 1, step: 1e-17}"),
                 "time.step: 1e-17 s is too short for an end at 1 s");
  expect_refusal(line("{end: 1e300}"), "is too short for an end at 1e+300 s");
  expect_refusal(line("{end: 1}", "{points: 11, upper: 1e-200}"), "time.step: comes out as 0 s");
  expect_refusal(line("{end: 1}", "{points: 11}", "1e300"), "is too short for an end at 1 s");
  EXPECT_EQ(refusal(line("{end: 1, step: 1e-15}")), "");
  EXPECT_EQ(refusal(line("{end: 1e-300, step: 1e-310}")), "");
}

TEST(Forecast, IsFinite) {
  for (auto const& yaml : {line("{end: 1, step: 1e-15}"), line("{end: 1e-300}"),
                           line("{end: 1e300, step: 1e290}", "{points: 11}", "1e-300")}) {
    auto const expected = forecast(test::config_of(yaml), Device::open(Backend::cpu));
    EXPECT_TRUE(std::isfinite(expected.steps) && expected.steps >= 1) << yaml;
    EXPECT_EQ(expected.snapshots, 11) << yaml;
    EXPECT_TRUE(std::isfinite(expected.output_bytes));
  }
  EXPECT_EQ(
      forecast(test::config_of(line("{end: 1, step: 1e-15}")), Device::open(Backend::cpu)).steps,
      1e15);
}

TEST(Forecast, BoundsTheNumberOfOutputsAndCheckpoints) {
  auto const start = line("{end: 1, step: 1e-3}");
  EXPECT_EQ(refusal(start + "checkpoint: {every: {time: 1.01e-9}}\n"), "");
  EXPECT_EQ(refusal(start + "output: {every: {count: 1000000000}}\n"), "");
  expect_refusal(start + "checkpoint: {every: {time: 1e-10}}\n",
                 "checkpoint.every: makes 1e+10 checkpoints (at most 1e+09 are possible)");
  expect_refusal(start + "output: {every: {time: 1e-300}}\n", "output.every: makes 1e+300 outputs");
  expect_refusal(line("{end: 1, step: 1e-12}") + "output: {every: {steps: 10}}\n",
                 "output.every: makes 1e+11 outputs");
}

TEST(Forecast, CountsCheckpointsThatAreThereAtATime) {
  auto const of = [](std::string const& checkpoint) {
    return forecast(test::config_of(line("{end: 1, step: 1e-3}") + checkpoint),
                    Device::open(Backend::cpu))
        .checkpoint_bytes;
  };
  double const state = 11 * sizeof(double);
  EXPECT_EQ(of(""), 0);
  EXPECT_EQ(of("checkpoint: {every: {count: 2}, keep: 5}\n"), 2 * state);
  EXPECT_EQ(of("checkpoint: {every: {count: 100}, keep: 5}\n"), 6 * state);
}

TEST(Forecast, WarnsOfTooLittleDisk) {
  auto const config = test::config_of(line("{end: 1, step: 1e-3}"));
  auto expected = forecast(config, Device::open(Backend::cpu));
  EXPECT_EQ(disk_warning(config, expected), "");
  expected.output_bytes = 1e30;
  EXPECT_NE(disk_warning(config, expected).find("PiB in outputs/"), std::string::npos);
}

/// The problems of a plate's formulas, with their keys.
std::string formula_faults(std::string const& sections) {
  auto const config = test::config_of("grid: {points: [11, 12]}\ntime: {end: 0.5}\n" + sections);
  Stream stream(Device::open(Backend::cpu));
  std::string text;
  for (auto const& problem : formula_problems(config, stream))
    text += problem.path + " " + problem.message + "\n";
  return text;
}

TEST(Formulas, WhatIsNoNumberIsFoundAtItsKey) {
  EXPECT_EQ(formula_faults("simulation: heat\nboundary: {x: {dirichlet: \"log(y)\"}, y: {lower: "
                           "{neumann: \"1/(x - 0.5)\"}, upper: {neumann: \"t/t\"}}}\n"
                           "initial: {u: \"sqrt(x - 0.35)\"}\n"
                           "parameters: {diffusivity: 1, source: \"x/t\"}\n"
                           "verify: {exact: {u: \"1/(t - 0.5)\"}, tolerance: {max: 1}}\n"),
            "initial.u is nan at x = 0.1, y = 0 (all values have to be finite)\n"
            "boundary.x.dirichlet is -inf at x = 0, y = 0 (all values have to be finite)\n"
            "boundary.x.dirichlet is -inf at x = 1, y = 0 (all values have to be finite)\n"
            "boundary.y.lower.neumann is inf at x = 0.5, y = 0 (all values have to be finite)\n"
            "boundary.y.upper.neumann is nan at x = 0.1, y = 1, t = 0 (all values have to be "
            "finite)\n"
            "parameters.source is inf at x = 0.1, y = 0, t = 0 (all values have to be finite)\n"
            "verify.exact.u is inf at x = 0, y = 0, t = 0.5 (all values have to be finite)\n");
  EXPECT_EQ(formula_faults("simulation: wave\ninitial: {u: x}\nparameters: {speed: 1, "
                           "initial_velocity: \"log(x - 0.1)\", source: \"1/(y - 1)/0\"}\n"),
            "parameters.initial_velocity is -inf at x = 0.1, y = 0.09090909090909091 (all values "
            "have to be "
            "finite)\n"
            "parameters.source is -inf at x = 0.1, y = 0.09090909090909091 (all values have to be "
            "finite)\n");
}

TEST(Formulas, WhatFloat32CannotHoldIsFound) {
  EXPECT_EQ(formula_faults("simulation: heat\nprecision: float32\ninitial: {u: \"1e300*x\"}\n"
                           "parameters: {diffusivity: 1}\n"),
            "initial.u is 1e+299 at x = 0.1, y = 0.09090909090909091 (float32 does not reach that "
            "far)\n");
  // Small tails have to vanish, and what is there at other times may be small at first.
  auto const start = [](std::string const& precision, std::string const& u) {
    return formula_faults("simulation: heat\nprecision: " + precision + "\ninitial: {u: \"" + u +
                          "\"}\nboundary: {x: {dirichlet: 1e-60}}\n"
                          "parameters: {diffusivity: 1, source: \"1e-60*exp(t)\"}\n");
  };
  EXPECT_EQ(start("float32", "1e-60*x"),
            "initial.u has no value larger than 9e-61 (float32 has all digits from 1.2e-38 on; "
            "float64 or other units help)\n");
  EXPECT_EQ(start("float32", "-1e-39"),
            "initial.u has no value larger than 1e-39 (float32 has all digits from 1.2e-38 on; "
            "float64 or other units help)\n");
  EXPECT_EQ(start("float64", "1e-315*x").substr(0, 30), "initial.u has no value larger ");
  EXPECT_EQ(start("float64", "1e-60*x"), "");
  EXPECT_EQ(start("float32", "0"), "");
  EXPECT_EQ(start("float32", "exp(-300*x)"), "");
  EXPECT_EQ(start("float32", "-1.2e-38*(x > 0)"), "");
}

TEST(Formulas, SlopesThatFloat32CannotHoldAreFound) {
  auto const side = [](std::string const& condition) {
    return formula_faults("simulation: heat\nprecision: float32\ninitial: {u: 0}\nboundary: {x: {" +
                          condition + "}}\nparameters: {diffusivity: 1}\n");
  };
  EXPECT_EQ(
      side("neumann: 1e-46"),
      "boundary.x.neumann has no value larger than 1e-46 (float32 has all digits from 1.2e-38 "
      "on; float64 or other units help)\n");
  EXPECT_EQ(side("neumann: \"1e-46*exp(-y)\""), "");
  EXPECT_EQ(side("neumann: 0"), "");
  EXPECT_EQ(side("dirichlet: 1e-46"), "");
}

/// The values of sides take the place of what a formula gives there.
TEST(Formulas, WhatASideReplacesIsNotLookedAt) {
  EXPECT_EQ(formula_faults("simulation: heat\nboundary: {y: {neumann: \"log(x)\"}}\n"
                           "initial: {u: \"log(x) + log(1 - x)\"}\n"
                           "parameters: {diffusivity: 1, source: \"1/x\"}\n"),
            "");
  EXPECT_NE(formula_faults("simulation: heat\nboundary: {x: {neumann: 0}}\n"
                           "initial: {u: \"log(x)\"}\nparameters: {diffusivity: 1}\n"),
            "");
}

/// A grid of several pieces, and faults in the first, the last and none of them.
TEST(Formulas, AllPiecesOfALargeGridAreLookedAt) {
  auto const faults = [](std::string const& u) {
    auto const config = test::config_of(
        "simulation: heat\ngrid: {points: [1025, 2049]}\ntime: {end: "
        "1}\nboundary: {x: {neumann: 0}, y: {neumann: 0}}\n"
        "parameters: {diffusivity: 1}\ninitial: {u: \"" +
        u + "\"}\n");
    Stream stream(Device::open(Backend::cpu));
    auto const problems = formula_problems(config, stream);
    return problems.empty() ? std::string() : problems.front().message;
  };
  EXPECT_EQ(faults("1/(x + y)").substr(0, 22), "is inf at x = 0, y = 0");
  EXPECT_EQ(faults("1/((x < 0.9999) + (y < 0.9999))").substr(0, 22), "is inf at x = 1, y = 1");
  EXPECT_EQ(faults("1/((x < 1.1) + (y < 0.9999))"), "");
}

/// What only the fields themselves show.
TEST(Formulas, AFieldThatBeginsWithNoNumberIsRefused) {
  auto const config = test::config_of(
      "simulation: advection\ngrid: {points: 11}\ntime: {end: 1}\n"
      "boundary: {x: {dirichlet: 1}}\ninitial: {u: \"log(1 - x)\"}\n"
      "parameters: {velocity: {x: 1}}\n");
  Stream stream(Device::open(Backend::cpu));
  EXPECT_TRUE(formula_problems(config, stream).empty());  // a side that u flows out of
  auto const simulation = entry_of(config).make(config, stream, inputs_of(config));
  try {
    require_finite_start(config, *simulation, stream);
    FAIL();
  } catch (ConfigError const& error) {
    EXPECT_EQ(error.problems().front().path, "initial.u");
    EXPECT_EQ(error.problems().front().message,
              "is -inf at x = 1 in float64 (all values have to be finite)");
  }
}

}  // namespace
}  // namespace gridstride

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <string>

#include "core/error.hpp"
#include "driver/output_paths.hpp"
#include "support/diagnostics_runs.hpp"
#include "support/memory_checkpoint.hpp"
#include "support/pde_event_cases.hpp"

namespace gridstride {
namespace {

using test::decaying_pde;
using test::run_events;

/// e^−t falls below 1e-3 at t = 6.9078: the test after that is that of step 22·32.
TEST(PdeStop, EndsWhenNothingChangesAnyMore) {
  for (std::int64_t const steps : {1, 7, 32, 50, 100'000}) {
    auto const result = run_events(decaying_pde("stop: {steady: 1e-3}\n"), Backend::cpu, steps);
    EXPECT_EQ(result.clock.step, 704);
    EXPECT_NEAR(result.clock.time, 7.04, 1e-12);
    EXPECT_EQ(result.ending.substr(0, 19), "ended at t = 7.04 s");
    EXPECT_NE(result.ending.find("the largest |du/dt| of 0.0008761 is below 0.001"),
              std::string::npos)
        << result.ending;
    EXPECT_NEAR(result.fields[0][3], std::exp(-7.04), 1e-9);
  }
}

TEST(PdeStop, DoesNotChangeTheSteps) {
  auto const bump = [](char const* more) {
    return run_events(std::string("simulation: pde\ngrid: {points: 33}\nboundary: {x: periodic}\n"
                                  "equations: {u: \"laplace(u^2) - u\"}\n"
                                  "initial: {u: \"2 + sin(2*pi*x)\"}\ntime: {end: 0.1}\n") +
                      more);
  };
  auto const with = bump("stop: {steady: 1e-9}\n"), without = bump("");
  EXPECT_EQ(with.fields, without.fields);
  EXPECT_EQ(with.clock.step, without.clock.step);
  EXPECT_EQ(with.ending, "");
}

/// On the sides that are held, what the equation says is no change.
TEST(PdeStop, IsSteadyBetweenHeldSides) {
  auto const result = run_events(
      "simulation: pde\ngrid: {points: 17}\nboundary: {x: {dirichlet: 1}}\n"
      "equations: {u: laplace(u) + 2}\ninitial: {u: 1}\ntime: {end: 9}\nstop: {steady: 1e-7}\n");
  EXPECT_LT(result.clock.time, 3);
  EXPECT_NE(result.ending, "");
  EXPECT_NEAR(result.fields[0][8], 1.25, 1e-7);  // 1 + x(1 − x)
}

TEST(PdeStop, TestsWhereStepsEndAtAMomentToo) {
  // e^-t falls below 0.68 at t = 0.386, and 40 steps go to each output: tests are those of steps
  // 32, 40, 64, ...
  auto const result =
      run_events(decaying_pde("stop: {steady: 0.68}\n"), Backend::cpu, 1 << 20, 0.4);
  EXPECT_EQ(result.clock.step, 40);
  // An event that cuts no step is such a moment as well, and what it sets is what is looked at.
  EXPECT_EQ(run_events(decaying_pde("stop: {steady: 0.1}\nevents: {at: 0.1, set: {u: 0.01}}\n"))
                .clock.step,
            10);
}

TEST(PdeStop, RefusesRatesThatAreNotFinite) {
  try {
    run_events(
        "simulation: pde\ngrid: {points: 3}\nboundary: {x: {neumann: 0}}\n"
        "equations: {u: sqrt(u)}\ninitial: {u: 1}\ntime: {end: 1, step: 0.01}\n"
        "stop: {steady: 0.1}\nevents: {at: 0.1, set: {u: x - 0.7}}\n");
    FAIL() << "no error";
  } catch (NumericalError const& error) {
    EXPECT_STREQ(error.what(), "at t = 0.1 s: a rate of change is not finite at x = 0");
  }
}

struct Condition {
  char const* text;
  bool holds;
};

/// v = x(1 + y) on [0, 1]·[0, 2] is integrated by the trapezoidal rule as it is.
TEST(PdeStop, KnowsGlobalValues) {
  for (auto const& [text, holds] : {Condition{"abs(integral(v) - 2) < 1e-13", true},
                                    {"abs(integral(v) - 2) > 1e-13", false},
                                    {"abs(mean(v) - 1) < 1e-13", true},
                                    {"abs(mean(v) - 1) > 1e-13", false},
                                    {"abs(integral(1) - 2) < 1e-13", true},
                                    {"mean(x^2 + y) > 1.33", true},
                                    {"min(v) == 0", true},
                                    {"max(v) == 3", true},
                                    {"max(v) - min(v) > 3", false},
                                    {"max(d_dx(v)) > 4", false},
                                    {"(min(u) > 0)*(max(v) > 2)", true},
                                    {"(min(u) > 0)*(max(v) > 3)", false},
                                    {"(min(u) < 0) + (t > 0.3) > 0", true},
                                    {"1 - (min(u) > 0)", false},
                                    {"if(min(u) > 0, t > 1, 1)", false},
                                    {"max(v - mean(v)) == 2", true},
                                    {"t > 0.5", false}}) {
    auto yaml = decaying_pde(fmt::format("stop: {{when: \"{}\"}}\n", text));
    yaml.replace(yaml.find("end: 20"), 7, "end: 0.45");
    auto const result = run_events(yaml);
    EXPECT_EQ(result.clock.step, holds ? 32 : 45) << text;
    EXPECT_EQ(result.ending, holds ? fmt::format("ended at t = 0.32 s: {} holds", text) : "");
  }
}

TEST(PdeStop, IntegratesAroundAnAxis) {
  auto const ends = [](char const* condition) {
    return !run_events(fmt::format("simulation: pde\nprecision: float32\n"
                                   "grid: {{points: [8, 5], upper: [2, 1]}}\n"
                                   "boundary: {{x: periodic, y: {{neumann: 0}}}}\n"
                                   "equations: {{u: 0*u}}\ninitial: {{u: y}}\n"
                                   "time: {{end: 1, step: 0.01}}\nstop: {{when: \"{}\"}}\n",
                                   condition))
                .ending.empty();
  };
  EXPECT_TRUE(ends("integral(u) == 1"));
  EXPECT_TRUE(ends("mean(u) == 0.5"));
  EXPECT_TRUE(ends("integral(2*u) == 2"));
}

TEST(PdeStop, EndsByTheFirstThatHolds) {
  auto const by_time = run_events(decaying_pde("stop: {steady: 1e-3, when: min(u) < 0.5}\n"));
  EXPECT_EQ(by_time.clock.step, 96);
  EXPECT_EQ(by_time.ending, "ended at t = 0.96 s: min(u) < 0.5 holds");
  auto const steady = run_events(decaying_pde("stop: {steady: 0.8, when: min(u) < 0.5}\n"));
  EXPECT_EQ(steady.clock.step, 32);
}

TEST(PdeStop, RefusesConditionsThatAreNotFinite) {
  try {
    run_events(decaying_pde("stop: {when: min(log(v)) < -9}\n"));
    FAIL() << "no error";
  } catch (NumericalError const& error) {
    EXPECT_STREQ(error.what(), "at t = 0.32 s: a value in stop.when is not finite somewhere");
  }
}

/// Rates with values of the whole grid in them have those of the state that is looked at.
TEST(PdeStop, IsSteadyWithGlobalValues) {
  auto const result = run_events(
      "simulation: pde\ngrid: {points: 9}\nboundary: {x: {neumann: 0}}\n"
      "equations: {u: mean(u) - u}\ninitial: {u: x}\ntime: {end: 20, step: 0.01}\n"
      "stop: {steady: 1e-3}\n");
  EXPECT_EQ(result.clock.step, 640);  // e^-t/2 is 1e-3 at t = 6.215
}

/// What ended a run ends it again, whatever state it goes on from.
TEST(PdeStop, EndsAtTheSameStepAfterARestart) {
  auto const config = test::config_of(decaying_pde("stop: {steady: 0.5}\n"));
  auto const whole = run_events(decaying_pde("stop: {steady: 0.5}\n"));
  EXPECT_EQ(whole.clock.step, 96);
  for (std::int64_t const steps : {20, 64, 80, 96}) {
    Stream stream(Device::open(Backend::cpu));
    auto const first = entry_of(config).make(config, stream, {});
    auto const second = entry_of(config).make(config, stream, {});
    first->advance(steps, config.time.end);
    EXPECT_EQ(first->clock().step, steps);
    test::MemoryCheckpoint checkpoint;
    first->save(checkpoint);
    second->load(checkpoint);
    EXPECT_EQ(second->finished(), steps == 96) << steps;
    while (!second->finished()) second->advance(1000, config.time.end);
    auto const result = test::result_of(*second, stream);
    EXPECT_EQ(result.clock.step, 96);
    EXPECT_EQ(result.ending, whole.ending);
    EXPECT_EQ(result.fields, whole.fields);
  }
}

/// A run that ends before its time leaves what it would leave at the end.
TEST(PdeStop, EndsRuns) {
  test::RunDirectory const directory;
  auto const file = directory.path() / "case.yaml";
  std::ofstream(file) << "device: cpu\n" +
                             decaying_pde(
                                 "stop: {steady: 0.5}\ncheckpoint: {every: {time: 0.6}}\n"
                                 "output: {every: {time: 0.6}, formats: hdf5}\n");
  auto config = config::read_run_config(file, {}, simulation_infos());
  config.output.directory = directory.path() / "out";
  auto const summary = run(config, {.quiet = true, .checkpoint = {}});
  std::string const ending = "ended at t = 0.96 s: the largest |du/dt| of 0.3829 is below 0.5";
  EXPECT_EQ(summary.ending, ending);
  EXPECT_EQ(summary.clock.step, 96);
  EXPECT_NE(format_summary(summary).find(ending + "\n"), std::string::npos);
  EXPECT_NE(summary_json(summary).find(ending), std::string::npos);
  {
    io::ResultFile const result(config.output.directory);
    EXPECT_TRUE(result.complete());
    ASSERT_EQ(result.steps(), (std::vector<std::int64_t>{0, 60, 96}));
    EXPECT_EQ(result.times()[2], summary.clock.time);
  }
  EXPECT_TRUE(std::filesystem::exists(OutputPaths(config).checkpoint(96)));
  // Nothing is left to do, until the condition is another one; then the outputs are those of a
  // run that never stopped.
  auto const again = run(config, {.quiet = true, .restart = true, .checkpoint = {}});
  EXPECT_EQ(again.clock.step, 96);
  EXPECT_EQ(again.ending, ending);
  std::ofstream(file) << "device: cpu\n" +
                             decaying_pde(
                                 "stop: {steady: 0.3}\ncheckpoint: {every: {time: 0.6}}\n"
                                 "output: {every: {time: 0.6}, formats: hdf5}\n");
  auto further = config::read_run_config(file, {}, simulation_infos());
  further.output.directory = config.output.directory;
  auto const more = run(further, {.quiet = true, .restart = true, .checkpoint = {}});
  EXPECT_EQ(more.clock.step, 128);
  EXPECT_EQ(io::ResultFile(config.output.directory).steps(),
            (std::vector<std::int64_t>{0, 60, 120, 128}));
}

}  // namespace
}  // namespace gridstride

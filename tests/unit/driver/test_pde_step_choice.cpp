#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "simulations/pde_early_pass.hpp"
#include "simulations/pde_step_choice.hpp"
#include "support/memory_checkpoint.hpp"
#include "support/pde_cases.hpp"
#include "support/pde_step_cases.hpp"

/// Steps by limits that are found again and again.
namespace gridstride {
namespace {

using test::run_pde, test::time_pde;
using Legs = std::vector<std::pair<std::int64_t, double>>;  // steps of a length

/// What is chosen where the limit is a function of the time, up to a moment.
Legs legs_of(pde::LimitFollows follows, std::function<double(pde::Ahead const&, double)> limit,
             double until, std::string const& more = "time: {end: 1000}") {
  auto const run = test::config_of(
      "simulation: pde\ngrid: {points: 8}\nboundary: {x: periodic}\nequations: {u: laplace(u)}\n"
      "initial: {u: 0}\n" +
      more + "\noutput: {every: {count: 1}}\n");
  Stream stream(Device::open(Backend::cpu));
  std::optional<pde::StepChoice> choice;
  StepClock clock(
      stream, [&](double time, double end) { return choice->plan(time, end, {}); }, run.time.end);
  choice.emplace(run, clock, follows, [&](pde::Ahead const& ahead) {
    double const step = limit(ahead, clock.now().time);
    return equations::StepLimit{.step = step, .fastest = 2 / step};
  });
  Legs legs;
  std::int64_t const all = std::int64_t{1} << 40;
  clock.advance(all, until,
                [&](std::int64_t steps, double step) { legs.emplace_back(steps, step); });
  return legs;
}

std::vector<std::int64_t> counts(Legs const& legs) {
  std::vector<std::int64_t> counts;
  for (auto const& [steps, step] : legs) counts.push_back(steps);
  return counts;
}

TEST(PdeStepChoice, LimitsAreFoundMoreAndMoreSeldom) {
  auto const legs = legs_of(
      {.state = true}, [](auto const&, double) { return 1 / 0.9; }, 250);
  EXPECT_EQ(counts(legs), (std::vector<std::int64_t>{1, 1, 2, 4, 8, 16, 32, 64, 64, 58}));
  for (auto const& [steps, step] : legs) EXPECT_EQ(step, 1);
}

TEST(PdeStepChoice, TellsWhatTheLimitIsWhereTimeWouldStop) {
  try {
    legs_of(
        {.state = true}, [](auto const&, double now) { return now < 2 ? 0.25 : 1e-18; }, 100);
    FAIL() << "time goes on";
  } catch (NumericalError const& error) {
    EXPECT_NE(std::string(error.what())
                  .find(" s: no step that is stable moves time on: 9e-19 s is "
                        "the longest (rk4, with rates of up to 2e+18 1/s); "),
              std::string::npos)
        << error.what();
  }
}

TEST(PdeStepChoice, TellsWhenTheLimitIsNoNumber) {
  try {
    legs_of(
        {.state = true},
        [](auto const&, double now) -> double {
          if (now < 2) return 0.25;
          throw NumericalError("the rates are not finite");
        },
        100);
    FAIL() << "time goes on";
  } catch (NumericalError const& error) {
    EXPECT_TRUE(std::string(error.what()).starts_with("at t = 3.36")) << error.what();
    EXPECT_TRUE(std::string(error.what()).ends_with(" s: the rates are not finite"))
        << error.what();
  }
}

/// A bore runs out through sides without a slope. A straight line through one ends below 0.
TEST(PdeStepChoice, BoresLeaveWhereNothingHasASlope) {
  std::string const bore =
      "simulation: pde\ngrid: {points: 65}\nfields: {q: vector}\nspace: {convection: upwind}\n"
      "equations: {h: -div(q), q: \"-div(outer(q, q)/h + 4.9*h^2*identity)\"}\n"
      "initial: {h: \"if(abs(x - 0.6) < 0.2, 4, 1)\", q: [0]}\ntime: {scheme: ssprk3, end: 1}\n";
  auto const left = run_pde(bore + "boundary: {h: {x: {neumann: 0}}, q: {x: {neumann: {x: 0}}}}\n");
  for (double const depth : left.fields[0]) EXPECT_NEAR(depth, 0.9, 0.1);
  EXPECT_THROW(run_pde(bore + "boundary: {x: outflow}\n"), NumericalError);
}

/// A limit that falls by 1 % in a time of 1, and by 20 % at once.
TEST(PdeStepChoice, LimitsThatFallAreFoundBeforeTheyAreMissed) {
  auto const limit = [](double time) {
    return std::pow(0.99, time) * (time > 200 ? 0.8 : 1) / 0.9;
  };
  auto const legs = legs_of(
      {.state = true}, [&](auto const&, double time) { return limit(time); }, 400);
  double time = 0;
  std::int64_t most = 0;
  for (auto const& [steps, step] : legs) {
    if (time > 200 || time + static_cast<double>(steps) * step < 200) {
      EXPECT_LE(step, limit(time + static_cast<double>(steps) * step)) << time;
    }
    time += static_cast<double>(steps) * step;
    most = std::max(most, steps);
  }
  EXPECT_GE(most, 8);
}

/// Where nothing limits a step yet, the first ones show what will.
TEST(PdeStepChoice, FirstStepsAreShortWhereALimitSaysNothing) {
  auto const legs = legs_of(
      {.state = true, .fields = true},
      [](auto const&, double time) { return time == 0 ? 1e300 : 1e4 / (1 + time * time); }, 1000);
  double time = 0;
  for (std::size_t i = 0; i + 1 < legs.size(); ++i) {
    auto const [steps, step] = legs[i];
    EXPECT_TRUE(i == 0 ? step < 1e-2 : step < 1.2 * legs[i - 1].second);
    time += static_cast<double>(steps) * step;
    EXPECT_LE(step, 1.2 * 1e4 / (1 + time * time));  // the limit falls by 1.3 in the longest
  }
  // As many as there have to be, ∫ dt/limit, and a few more.
  std::int64_t count = 0;
  for (auto const& [steps, step] : legs) count += steps;
  EXPECT_LT(static_cast<double>(count), 1.25 * (1e9 / 3) / 1e4 / 0.9 + 100);
}

/// A small part of a limit is not what a limit that says nothing yet has.
TEST(PdeStepChoice, FirstStepsAreThatPartOfALimitThatIsAskedFor) {
  auto const legs = legs_of(
      {.state = true, .fields = true}, [](auto const&, double) { return 10; }, 4,
      "time: {end: 1000, safety: 0.1}");
  EXPECT_EQ(legs.front().second, 1);
}

/// Where coefficients are numbers the limit is that of all fields, and the first step is as long as others.
TEST(PdeStepChoice, ValuesOverTheGridTimesNumbersLeaveStepsAlike) {
  for (std::string const value : {"max(u)", "mean(u)", "0.5"}) {
    auto const found = run_pde(
        "simulation: pde\ngrid: {points: 20}\nboundary: {x: periodic}\n"
        "equations: {u: 0.1*laplace(u) + 0.1*" +
        value +
        "}\ninitial: {u: cos(2*pi*x)}\ntime: {scheme: rk4, end: 2e-4}\n"
        "output: {every: {count: 2}}\n");
    EXPECT_EQ(found.steps, 2) << value;
  }
}

/// What the time makes of the limit is known before.
TEST(PdeStepChoice, LooksAhead) {
  auto const limit = [](pde::Ahead const& ahead, double time) {
    double const end =
        ahead.steps > 0 ? time + static_cast<double>(ahead.steps) * ahead.step : time;
    return (end > 99.5 && time < 101 ? 0.01 : 1) / 0.9;
  };
  pde::LimitFollows const follows = {.state = true, .time = true, .steps_between = 8};
  auto const legs = legs_of(follows, limit, 200);
  double time = 0;
  std::size_t count = 0;
  for (auto const& [steps, step] : legs) {
    double const end = time + static_cast<double>(steps) * step;
    if (end > 99.5 && time < 101) {
      EXPECT_LE(step, 0.01 / 0.9);
    }
    time = end;
    count += static_cast<std::size_t>(steps);
  }
  EXPECT_LT(count, 198U + 2 * 400);
  EXPECT_THROW(legs_of(follows, limit, 200, "time: {end: 1000, step: 0.5}"), NumericalError);
}

TEST(PdeStepChoice, CoefficientsOfTimeAreKnownBeforeTheStep) {
  test::expect_coefficients_of_time_to_be_known(Backend::cpu);
}

/// A diffusivity that grows with the field, which a source makes grow.
TEST(PdeStepChoice, FieldsThatGrowFastHaveShorterSteps) {
  auto const yaml = [](char const* time) {
    return fmt::format(
        "simulation: pde\ngrid: {{points: 128, upper: 12.8}}\nboundary: {{x: periodic}}\n"
        "equations: {{u: \"div(exp(u)*grad(u)) + 200*(1 + 0.1*sin(2*pi*x/12.8))\"}}\n"
        "initial: {{u: \"0.1*sin(2*pi*x/12.8) + 0.01*uniform(2)\"}}\n"
        "time: {{scheme: euler, end: 0.03, {}}}\noutput: {{every: {{count: 1}}}}\n",
        time);
  };
  auto const found = run_pde(yaml("step: auto")), expected = run_pde(yaml("step: 5e-6"));
  for (std::size_t i = 0; i < expected.fields[0].size(); ++i)
    EXPECT_NEAR(found.fields[0][i], expected.fields[0][i], 0.01);
}

/// A medium that nothing flows through until something is there.
TEST(PdeStepChoice, FieldsThatBeginWithNothing) {
  auto const yaml = [](char const* time) {
    return fmt::format(
        "simulation: pde\ngrid: {{points: 33, upper: 10}}\nboundary: {{x: {{neumann: 0}}}}\n"
        "equations: {{u: \"div(u^2*grad(u)) + exp(-(x - 5)^2)\"}}\ninitial: {{u: 0}}\n"
        "time: {{scheme: rk4, end: 8, {}}}\noutput: {{every: {{count: 1}}}}\n",
        time);
  };
  auto const found = run_pde(yaml("step: auto")), expected = run_pde(yaml("step: 1e-3"));
  for (std::size_t i = 0; i < expected.fields[0].size(); ++i)
    EXPECT_NEAR(found.fields[0][i], expected.fields[0][i], 0.02);
}

/// Where fields have no part in it a limit says all: steps are as long as it allows, from the first on,
/// and as it has not to be found again no rounder.
TEST(PdeStepChoice, CoefficientsOfThePlaceAreLookedAtOnce) {
  auto const run = [](char const* factor, double end) {
    return run_pde(fmt::format(
        "simulation: pde\ngrid: {{points: [16, 12]}}\nboundary: {{x: periodic, y: {{neumann: "
        "0}}}}\n"
        "equations: {{u: \"div((1 + 0.3*sin(3*x + y){})*0.01*grad(u))\"}}\n"
        "initial: {{u: x}}\ntime: {{scheme: euler, end: {}}}\noutput: {{every: {{count: 1}}}}\n",
        factor, end));
  };
  EXPECT_EQ(run("", 1e-3).steps, 1);
  EXPECT_EQ(run("*(1 + t)", 1e-3).steps, 11);  // formulas of time: a tenth of the interval, rounded
  EXPECT_GT(run("*(1 + u)", 1e-3).steps, 40);
  double const limit = 1 / (2 * 0.01 * 1.3 * (16 * 16 + 11 * 11));
  EXPECT_EQ(run("", 0.9 * limit * 19.5).steps, 20);
}

/// A limit that falls from far above the step, which is found seldom by then.
TEST(PdeStepChoice, LimitsThatFallFromFarAboveAreMetInTime) {
  auto const yaml = [](char const* time) {
    return fmt::format(
        "simulation: pde\ngrid: {{points: 32}}\nboundary: {{x: periodic}}\n"
        "equations: {{u: 1 + u, v: \"u^3*laplace(v)\"}}\n"
        "initial: {{u: 0, v: \"sin(2*pi*x) + 0.3*sin(30*pi*x)\"}}\n"
        "time: {{scheme: rk4, end: 0.5, {}}}\noutput: {{every: {{count: 1}}}}\n",
        time);
  };
  auto const found = run_pde(yaml("step: auto")), expected = run_pde(yaml("step: 5e-5"));
  for (std::size_t i = 0; i < expected.fields[1].size(); ++i)
    EXPECT_NEAR(found.fields[1][i], expected.fields[1][i], 0.01);
}

/// What grows by itself is followed, though nothing makes longer steps unstable.
TEST(PdeStepChoice, GrowthIsFollowed) {
  auto const found = run_pde(
      "simulation: pde\ngrid: {points: 8}\nboundary: {x: periodic}\n"
      "equations: {u: 5*u*(1 - u)}\ninitial: {u: 0.01}\ntime: {scheme: rk4, end: 4}\n"
      "output: {every: {count: 1}}\n");
  EXPECT_NEAR(found.fields[0][0], 1, 1e-3);
  EXPECT_GT(found.steps, 20);
}

/// Nor where components make each other grow, of which no limit says anything: with a step of 0.9 in
/// units of the growth, rk4's e^0.9 is 0.23 % too small, and t = 0.8 takes 4.4 of these.
TEST(PdeStepChoice, GrowthOfComponentsThatActOnEachOtherIsFollowed) {
  auto const found = run_pde(
      "simulation: pde\ngrid: {points: 8}\nboundary: {x: periodic}\n"
      "equations: {u: 5*v*(1 - u), v: 5*u*(1 - v)}\ninitial: {u: 0.01, v: 0.01*(1 + 1e-6*x)}\n"
      "time: {scheme: rk4, end: 0.8}\noutput: {every: {count: 1}}\n");
  double const expected = 1 / (1 + 99 * std::exp(-4.0));
  for (auto const& field : found.fields)
    for (double const value : field) EXPECT_NEAR(value / expected, 1, 5 * 0.0023);
  // e^t of both, whatever each of them is to itself.
  auto const linear = run_pde(
      "simulation: pde\ngrid: {points: 8}\nboundary: {x: periodic}\n"
      "equations: {u: v + (u + v)^2 - (u + v)^2, v: u}\ninitial: {u: 1, v: 1}\n"
      "time: {scheme: rk4, end: 4}\noutput: {every: {count: 1}}\n");
  EXPECT_NEAR(linear.fields[0][0] / std::exp(4.0), 1, 0.05);
}

/// What makes the limit fall by a factor of 10⁴ before the first output.
TEST(PdeStepChoice, FirstStepsShowWhatFieldsBecome) {
  auto const yaml = [](char const* time) {
    return fmt::format(
        "simulation: pde\ngrid: {{points: 32}}\nboundary: {{x: periodic}}\n"
        "equations: {{u: -exp(v)*d_dx(u), v: 10}}\n"
        "initial: {{u: sin(2*pi*x), v: -5}}\n"
        "time: {{scheme: rk4, end: 1, {}}}\noutput: {{every: {{count: 1}}}}\n",
        time);
  };
  auto const found = run_pde(yaml("step: auto")), expected = run_pde(yaml("step: 1e-4"));
  for (std::size_t i = 0; i < expected.fields[0].size(); ++i)
    EXPECT_NEAR(found.fields[0][i], expected.fields[0][i], 0.05);
}

/// The a of a `robin` side may be another one for later stages of a step.
TEST(PdeStepChoice, StagesSeeWhatSidesBecomeInTheirStep) {
  auto const yaml = [](std::string const& D, std::string const& time) {
    return "simulation: pde\ngrid: {points: 29}\nboundary: {x: {lower: {robin: [\"if(t < 2e-4, 1, "
           "481)\", 0.2]}, upper: {dirichlet: 0}}}\nequations: {u: \"div((" +
           D + ")*grad(u))\"}\ninitial: {u: \"0.05 + 0.04*cos(2*pi*x)\"}\ntime: {end: 4e-4, " +
           time + "}\noutput: {every: {count: 1}}\n";
  };
  for (std::string const D : {"48.5", "48.5 + u"})
    for (std::string const scheme : {"euler", "ssprk2", "ssprk3", "rk4", "rk45"}) {
      if (scheme == "ssprk2" && D != "48.5") continue;
      auto const found = run_pde(yaml(D, "scheme: " + scheme));
      for (double const u : found.fields[0]) {
        EXPECT_GE(u, 0) << scheme << " " << D;
        EXPECT_LE(u, 0.2) << scheme << " " << D;
      }
    }
  EXPECT_THROW(run_pde(yaml("48.5", "scheme: rk4, step: 1.3e-5")), NumericalError);
}

/// Growth of order 2 in time is that of the root.
TEST(PdeStepChoice, GrowthByLeapfrogIsFollowed) {
  auto const found = run_pde(
      "simulation: pde\ngrid: {points: 8}\nboundary: {x: periodic}\n"
      "fields: {u: {order: 2}}\nequations: {u: 100*u}\ninitial: {u: 1, u_t: 10}\n"
      "time: {scheme: leapfrog, end: 1}\noutput: {every: {count: 1}}\n");
  EXPECT_EQ(found.steps, 12);  // 0.9/10
}

/// The next limit is found after as many steps in pieces and after a restart.
TEST(PdeStepChoice, PiecesAndRestartsHaveTheSameBits) {
  for (std::string const& yaml :
       {time_pde("div(exp(3*u)*grad(u)) + 40", "rk4", "0.02"),
        time_pde("if(t < 0.51, 0.01, 2)*laplace(u) + u^2*d_dx(u)", "rk4", "0.6"),
        std::string("simulation: pde\ngrid: {points: 29}\nboundary: {x: {robin: [\"if(t < 2e-4, 1, "
                    "481)\", t]}}\nequations: {u: 48*laplace(u)}\ninitial: {u: x}\n"
                    "time: {scheme: rk4, end: 4e-4}\noutput: {every: {count: 1}}\n")}) {
    auto const whole = run_pde(yaml);
    EXPECT_EQ(run_pde(yaml, Backend::cpu, 1).fields, whole.fields) << yaml;
    auto const config = test::config_of(yaml);
    Stream stream(Device::open(Backend::cpu));
    for (std::int64_t const steps : {1, 7, 31, 64}) {
      auto const first = entry_of(config).make(config, stream, {});
      auto const second = entry_of(config).make(config, stream, {});
      first->advance(steps, config.time.end);
      test::MemoryCheckpoint checkpoint;
      first->save(checkpoint);
      second->load(checkpoint);
      while (!second->finished()) second->advance(1000, config.time.end);
      EXPECT_EQ(second->clock().step, whole.steps) << steps;
      auto const host = test::to_host(second->fields()[0], stream);
      for (std::size_t i = 0; i < whole.fields[0].size(); ++i)
        ASSERT_EQ(test::value_at(host, static_cast<std::int64_t>(i)), whole.fields[0][i]) << yaml;
    }
  }
}

/// Whoever comes again gets whole batches, where more steps are asked for than two of them have; with an
/// event, too.
TEST(PdeStepChoice, BatchesAreCutNowhere) {
  std::string const yaml =
      "simulation: pde\ngrid: {points: 8}\nboundary: {x: periodic}\n"
      "equations: {u: \"div((2^-13 + 2^-20*u)*grad(u))\"}\ninitial: {u: 1}\n"
      "time: {scheme: euler, safety: 0.5, end: 20000}\noutput: {every: {count: 1}}\n"
      "events: [{at: 12000, set: {u: u + 1}}]\n";
  auto const config = test::config_of(yaml);
  Stream stream(Device::open(Backend::cpu));
  auto const simulation = entry_of(config).make(config, stream, {});
  std::vector<std::int64_t> ends;
  while (!simulation->finished()) {
    simulation->advance_whole_batches(200, config.time.end);
    ends.push_back(simulation->clock().step);
  }
  auto const whole = run_pde(yaml);
  EXPECT_EQ(ends.back(), whole.steps);
  // They have 1, 1, 2, 4, … 64 steps from the beginning on, and from the event on, at step 409.
  EXPECT_EQ(ends, (std::vector<std::int64_t>{128, 256, 384, 409 + 128, 665, 682}));
  auto const host = test::to_host(simulation->fields()[0], stream);
  for (std::size_t i = 0; i < whole.fields[0].size(); ++i)
    EXPECT_EQ(test::value_at(host, static_cast<std::int64_t>(i)), whole.fields[0][i]);
}

/// Passes of 8 steps are begun once steps have had one length for two plans of 8 or more, where so many of it
/// are left before the next moment, and for eight such plans after one that was in vain.
TEST(PdeStepChoice, KnowsWhenStepsCanBeBegun) {
  pde::EarlyPass early;
  double time = 0;
  auto const plan = [&](StepPlan const& found, double until) {
    early.expect(time, until, 8);
    double const begun = early.begin();
    early.add(found);
    time += found.step * static_cast<double>(found.steps);
    EXPECT_EQ(early.take(found.step), begun == found.step);
    EXPECT_FALSE(early.take(found.step));  // once
    return begun;
  };
  auto const settle = [&](double step, int plans) {
    for (int i = 0; i < plans; ++i) EXPECT_EQ(plan({step, 8 << std::min(i, 3)}, 1e9), 0) << i;
    EXPECT_EQ(plan({step, 64}, 1e9), step);
  };
  for (std::int64_t const steps : {1, 2, 4}) EXPECT_EQ(plan({0.5, steps}, 1e9), 0) << steps;
  settle(0.5, 2);
  EXPECT_EQ(plan({0.5, 8}, time + 4), 0.5);
  EXPECT_EQ(plan({0.5, 7}, time + 3.75), 0);   // too few until then
  EXPECT_EQ(plan({0.25, 1}, time + 0.25), 0);  // what is left of them
  EXPECT_EQ(plan({0.5, 64}, 1e9), 0.5);
  EXPECT_EQ(plan({0.25, 64}, 1e9), 0.5);  // in vain
  settle(0.25, 8);
  EXPECT_EQ(plan({0.25, 4}, 1e9), 0.25);  // too few of them
  settle(0.25, 8);
  early.expect(time, 1e9, 8);
  EXPECT_EQ(early.begin(), 0.25);
  early.expect(time, 1e9, 0);  // where there is no pass, and the plan before was not kept to
  EXPECT_FALSE(early.take(0.25));
  EXPECT_EQ(early.begin(), 0);
}

}  // namespace
}  // namespace gridstride

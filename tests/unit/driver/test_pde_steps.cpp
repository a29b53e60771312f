#include <gtest/gtest.h>

#include <stdexcept>

#include "simulations/pde_slopes.hpp"
#include "support/memory_checkpoint.hpp"
#include "support/pde_event_cases.hpp"
#include "support/pde_step_cases.hpp"
#include "support/thread_ranks.hpp"

namespace gridstride {
namespace {

TEST(PdeSteps, HaveTheBitsOfAnyBatch) { test::expect_bits_of_any_batch(Backend::cpu); }
TEST(PdeSteps, ErrorFollowsTheTolerance) { test::expect_error_to_follow_tolerance(Backend::cpu); }
TEST(PdeSteps, FindWhatIsStable) { test::expect_stability_to_be_found(Backend::cpu); }
TEST(PdeSteps, SeeAJump) { test::expect_a_jump_to_be_seen(Backend::cpu); }
TEST(PdeSteps, MeetEveryMoment) { test::expect_moments_to_be_met(Backend::cpu); }
TEST(PdeSteps, TellWhereTheyEnd) { test::expect_ends_to_be_told(Backend::cpu); }

TEST(PdeSteps, HaveTheBitsOfEveryVariant) {
  for (char const* scheme : test::adaptive_schemes) {
    auto const yaml = test::busy_pde(scheme, "float64");
    auto const one = test::run_pde(yaml + "kernels: {system: reference}\n");
    auto const other = test::run_pde(yaml + "kernels: {system: threads}\n");
    EXPECT_EQ(one.steps, other.steps) << scheme;
    EXPECT_EQ(one.fields, other.fields) << scheme;
  }
}

/// Steps of a given length, with sides that change.
TEST(PdeSteps, OfOneLengthHaveOrderFive) {
  for (char const side : {'d', 'n', 'r', 'f'}) {
    auto const error = [&](int steps) {
      return test::solution_error(test::quadratic_pde("rk45", side, steps), Backend::cpu);
    };
    auto const coarse = error(12), fine = error(24);
    EXPECT_NEAR(test::observed_order(coarse, fine), 5, 0.25)
        << side << ": l2 errors " << coarse.l2 << ", " << fine.l2;
  }
}

std::string report_of(std::string const& yaml) {
  auto const config = test::config_of(yaml);
  std::string text;
  for (auto const& line : entry_of(config).report(config, {}, Device::open(Backend::cpu)))
    text += line + "\n";
  return text;
}

TEST(PdeSteps, AreReported) {
  auto const adaptive = report_of(test::logistic_pde("rk45", 1e-6));
  EXPECT_NE(adaptive.find("step: follows its error\n"), std::string::npos) << adaptive;
  // Six evaluations, as many combinations, the error, and what is taken over.
  EXPECT_NE(adaptive.find("6 evaluations, 448 bytes (56 values of float64 read or written)"),
            std::string::npos)
      << adaptive;
  auto const leapfrog = report_of(
      "simulation: pde\ngrid: {points: 10}\nboundary: {x: periodic}\nfields: {u: {order: 2}}\n"
      "equations: {u: laplace(u)}\ninitial: {u: 0, u_t: 0}\ntime: {scheme: leapfrog, end: 1}\n");
  EXPECT_NE(
      leapfrog.find("step: 0.1 s is the longest that is stable, set by λ = ±20i 1/s of u for"),
      std::string::npos)
      << leapfrog;
}

/// `auto` steps of rk45 are as long as its region lets them be.
TEST(PdeSteps, StayInTheRegionOfRk45) {
  auto const text = [](char const* equation, char const* scheme) {
    return fmt::format(
        "simulation: pde\ngrid: {{points: 50}}\nboundary: {{x: periodic}}\n"
        "equations: {{u: {}}}\ninitial: {{u: 0}}\n"
        "time: {{scheme: {}, end: 1, safety: 1}}\n",
        equation, scheme);
  };
  EXPECT_NEAR(test::step_of(text("laplace(u)", "rk45")) * 4 * 50 * 50, 3.3066, 2e-3);
  EXPECT_GT(test::step_of(text("d_dx(u)", "rk45")), 0.01);  // not hopeless
}

/// What is accepted and rejected is the same after a checkpoint, also of one within an interval.
TEST(PdeSteps, GoOnFromACheckpoint) {
  for (char const* scheme : test::adaptive_schemes) {
    auto const yaml = test::busy_pde(scheme, "float64");
    test::AdaptiveRun whole(yaml, Backend::cpu), first(yaml, Backend::cpu),
        second(yaml, Backend::cpu);
    first.simulation->advance(3, first.config.time.end);
    test::MemoryCheckpoint checkpoint;
    first.simulation->save(checkpoint);
    second.simulation->load(checkpoint);
    EXPECT_EQ(second.simulation->clock().step, 3) << scheme;
    auto const a = whole.to(whole.config.time.end), b = second.to(second.config.time.end);
    EXPECT_EQ(a.step, b.step) << scheme;
    EXPECT_EQ(a.rejected, b.rejected) << scheme;
    auto const x = test::to_host(whole.simulation->fields()[0], whole.stream);
    auto const y = test::to_host(second.simulation->fields()[0], second.stream);
    for (std::int64_t i = 0; i < whole.config.grid.size(); ++i)
      ASSERT_EQ(test::value_at(x, i), test::value_at(y, i)) << scheme;
  }
}

std::string with_steps(std::string yaml, std::string const& old, std::string const& steps) {
  return yaml.replace(yaml.find(old), old.size(), steps);
}

/// Sides, vectors, and what events set are those of any batch.
TEST(PdeSteps, MeetEventsInAnyBatch) {
  for (char const* scheme : test::adaptive_schemes) {
    auto const yaml =
        with_steps(test::events_pde(), "scheme: ssprk3",
                   fmt::format("scheme: {}, step: adaptive, tolerance: 1e-4", scheme));
    auto const whole = test::run_events(yaml);
    for (std::int64_t const batch : {1, 3, 17}) {
      auto const parts = test::run_events(yaml, Backend::cpu, batch);
      EXPECT_EQ(parts.clock.step, whole.clock.step) << scheme << ' ' << batch;
      EXPECT_EQ(parts.clock.rejected, whole.clock.rejected) << scheme << ' ' << batch;
      EXPECT_EQ(parts.fields, whole.fields) << scheme << ' ' << batch;
    }
  }
}

/// The slope of before an event is not that of after it.
TEST(PdeSteps, GoOnFromWhatEventsSet) {
  for (char const* scheme : {"rk45", "rk4"}) {
    auto const result = test::run_events(with_steps(
        test::decaying_pde("events: [{at: [3, 7], set: {u: 50*u}}]\n"), "end: 20, step: 0.01",
        fmt::format("end: 10, scheme: {}, step: adaptive, tolerance: 1e-9", scheme)));
    EXPECT_NEAR(result.fields[0][3], 2500 * std::exp(-10), 1e-5) << scheme;
  }
}

/// Conditions are tested after every 32nd accepted step and where steps end at a moment, however
/// many are asked for at once.
TEST(PdeSteps, EndAtTheSameStepInAnyBatch) {
  auto const yaml = with_steps(test::decaying_pde("stop: {steady: 1e-2}\n"), "step: 0.01",
                               "scheme: euler, step: adaptive, tolerance: 1e-6");
  auto const whole = test::run_events(yaml);
  EXPECT_NE(whole.ending, "");
  EXPECT_EQ(whole.clock.step % 32, 0);
  EXPECT_LT(whole.clock.time, 10);
  for (std::int64_t const batch : {1, 7, 50}) {
    auto const parts = test::run_events(yaml, Backend::cpu, batch);
    EXPECT_EQ(parts.ending, whole.ending) << batch;
    EXPECT_EQ(parts.clock.step, whole.clock.step) << batch;
    EXPECT_EQ(parts.fields, whole.fields) << batch;
  }
  // A single moment before the 32nd step.
  auto const rare = with_steps(test::decaying_pde("stop: {steady: 1e-3}\n"), "step: 0.01",
                               "scheme: rk45, step: adaptive, tolerance: 1e-3");
  for (std::int64_t const batch : {1, 7, 50}) {
    auto const result = test::run_events(rare, Backend::cpu, batch, 8);
    EXPECT_LT(result.clock.step, 32) << batch;
    EXPECT_EQ(result.clock.time, 8) << batch;
    EXPECT_NE(result.ending, "") << batch;
  }
}

/// Values over the whole grid, and names with sides that change in time, are those of each
/// evaluation.
TEST(PdeSteps, KnowWhatIsFoundBefore) {
  auto const values = [](std::string const& time) {
    return test::run_pde(
               "simulation: pde\ngrid: {points: 17}\n"
               "boundary: {u: {x: {neumann: 0}}, mu: {x: {dirichlet: \"cos(20*t)\"}}}\n"
               "let: {mu: \"u - 0.001*laplace(u) + sin(20*t)*x^2\"}\n"
               "equations: {u: \"0.1*laplace(mu) - 3*mean(u^2)*u\"}\n"
               "initial: {u: \"1 + cos(pi*x)/2\"}\ntime: {end: 0.1, " +
               time + "}\n")
        .fields[0];
  };
  auto const known = values("scheme: rk4, step: 0.0002");
  for (char const* time :
       {"scheme: rk45, step: 0.001", "scheme: rk45, step: adaptive, tolerance: 1e-8",
        "scheme: rk4, step: adaptive, tolerance: 1e-8"}) {
    auto const found = values(time);
    for (std::size_t i = 0; i < known.size(); ++i) EXPECT_NEAR(found[i], known[i], 2e-6) << time;
  }
}

TEST(PdeSteps, OfRanksThatDoNotAgreeEnd) {
  for (int const other : {-1, 2})
    EXPECT_TRUE(test::on_ranks(3, [&](Ranks& ranks) {
      system::StepControl control;
      control.time = 0.5;
      control.step = ranks.rank() == other ? 0.26 : 0.25;
      auto const look = [&] { require_agreement(ranks, control); };
      if (ranks.rank() != other) return look();
      try {
        look();
        ADD_FAILURE();
      } catch (std::runtime_error const& error) {
        EXPECT_STREQ(error.what(),
                     "rank 2 is at t = 0.5 s with steps of 0.26 s where the first one is at 0.5 s "
                     "with 0.25 s: it has a processor of another kind, and finds other numbers");
      }
    }));
}

TEST(PdeSteps, TakeNoNoise) {
  auto const config = test::config_of(
      "simulation: pde\ngrid: {points: 9}\nboundary: {x: periodic}\nequations: {u: noise(1)}\n"
      "initial: {u: 0}\ntime: {scheme: euler, end: 1, step: adaptive}\n");
  auto const problems = entry_of(config).problems(config, {});
  ASSERT_EQ(problems.size(), 1);
  EXPECT_EQ(problems[0].message,
            "adaptive steps take no noise (a step that is tried again would have other numbers); "
            "did you mean 'auto'?");
}

}  // namespace
}  // namespace gridstride

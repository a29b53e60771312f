#include <gtest/gtest.h>

#include "support/step_cases.hpp"

namespace gridstride {
namespace {

TEST(TimeSteps, NoTimeGoesByWithoutThem) { test::expect_no_time_without_steps(Backend::cpu); }
TEST(TimeSteps, SeeWhatChangesInTime) { test::expect_changes_in_time_to_count(Backend::cpu); }
TEST(TimeSteps, GoFromOutputToOutputWhereNothingMoves) {
  test::expect_nothing_to_move(Backend::cpu);
}
TEST(TimeSteps, FollowAVelocityThatSwings) {
  test::expect_the_distance_of_a_velocity_that_swings(Backend::cpu);
}
TEST(TimeSteps, FollowANarrowJet) { test::expect_a_narrow_jet_to_be_met(Backend::cpu); }
TEST(TimeSteps, EndWhereAVelocityIsNotFinite) {
  test::expect_a_velocity_to_stay_finite(Backend::cpu);
}
TEST(TimeSteps, RepeatInTheSameBits) { test::expect_steps_to_repeat(Backend::cpu); }

/// A jet that is there from the start is met at the door, also between the points of a coarse look.
TEST(TimeSteps, AreRefusedForAJetOfOneColumn) {
  auto const config = test::config_of(
      test::jet("cos(t) + 11*exp(-((x - 301/701)/1e-4)^2)", "end: 0.02, step: 0.001"));
  EXPECT_THROW(entry_of(config).time_step(config, {}, Device::open(Backend::cpu)), ConfigError);
}

/// Ten steps at least between two outputs where formulas depend on time, and in a wavelet's period.
TEST(TimeSteps, AreManyEnoughForWhatChanges) {
  auto const step = [](std::string const& yaml) {
    auto const config = test::config_of(yaml + "output: {every: {time: 0.3}}\ninitial: {u: 0}\n");
    return entry_of(config).time_step(config, {}, Device::open(Backend::cpu));
  };
  std::string const heat = "simulation: heat\ngrid: {points: 5}\ntime: {end: 2}\n";
  EXPECT_DOUBLE_EQ(step(heat + "boundary: {x: {neumann: 0}}\nparameters: {diffusivity: 1e-9}\n"),
                   0.3);
  EXPECT_DOUBLE_EQ(step(heat + "boundary: {x: {neumann: 0}}\n"
                               "parameters: {diffusivity: 1e-9, source: t}\n"),
                   0.03);
  EXPECT_DOUBLE_EQ(step(heat + "boundary: {x: {lower: {dirichlet: \"sin(t)\"}, upper: {neumann: "
                               "0}}}\nparameters: {diffusivity: 1e-9}\n"),
                   0.03);
  std::string const wave =
      "simulation: wave\ngrid: {points: 9}\ntime: {end: 2}\nboundary: {x: "
      "free}\nparameters: {speed: 1e-9, ";
  EXPECT_DOUBLE_EQ(step(wave + "source: 1}\n"), 0.3);
  EXPECT_DOUBLE_EQ(step(wave + "source: \"x*t\"}\n"), 0.03);
  EXPECT_DOUBLE_EQ(step(wave + "ricker: {at: 0.5, frequency: 0.1}}\n"), 0.03);
  EXPECT_DOUBLE_EQ(step(wave + "ricker: {at: 0.5, frequency: 10}}\n"), 0.01);
  std::string const advection = "simulation: advection\ngrid: {points: 9}\ntime: {end: 2}\n";
  EXPECT_DOUBLE_EQ(step(advection + "parameters: {velocity: {x: 1e-9}}\n"), 0.3);
  EXPECT_DOUBLE_EQ(step(advection + "parameters: {velocity: {x: 1e-9}}\n"
                                    "boundary: {x: {dirichlet: \"sin(t)\"}}\n"),
                   0.03);
  EXPECT_DOUBLE_EQ(step(advection + "parameters: {velocity: {x: \"1e-9*t\"}}\n"), 0.03);
}

}  // namespace
}  // namespace gridstride

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>

#include "support/slope_cases.hpp"

namespace gridstride {
namespace {

using system::begin_attempt;
using system::end_attempt;
using system::StepControl;
using system::WorstError;

constexpr double infinity = std::numeric_limits<double>::infinity();

TEST(Slopes, AreCombinedAtEachPoint) {
  Stream stream(Device::open(Backend::cpu));
  for (Grid const& grid : test::slope_grids()) {
    auto const none = test::run_slopes<double>(stream, grid, 0);
    auto const whole = test::run_slopes<double>(stream, grid, 0.5);
    auto const half = test::run_slopes<double>(stream, grid, 0.25);
    EXPECT_EQ(none.worst.value, -1);  // nothing was done
    auto const nx = static_cast<std::size_t>(grid.points[0]);
    double worst = 0;
    for (std::size_t i = 0; i < whole.values[0].size(); ++i) {
      if (i % nx == 0) {
        EXPECT_EQ(whole.values[0][i], 3);
      } else {
        // With half the step half the change, but for rounding: the state is what both leave.
        double const state = 2 * half.values[0][i] - whole.values[0][i];
        double const change = std::abs(whole.values[0][i] - state);
        worst = std::max(
            worst, change / (0.25 + 0.5 * std::max(std::abs(state), std::abs(whole.values[0][i]))));
      }
      double const state = 2 * half.values[1][i] - whole.values[1][i];
      double const change = std::abs(whole.values[1][i] - state);
      worst = std::max(
          worst, change / (0.25 + 0.5 * std::max(std::abs(state), std::abs(whole.values[1][i]))));
    }
    EXPECT_NEAR(whole.worst.value, worst, 1e-13) << format_points(grid);
  }
}

TEST(Slopes, WithoutAFiniteValueHaveAnInfiniteError) {
  Stream stream(Device::open(Backend::cpu));
  for (Grid const& grid : test::slope_grids())
    for (std::int64_t const place : {std::int64_t{0}, grid.size() / 2, grid.size() - 1}) {
      auto const found = test::run_slopes<float>(stream, grid, 0.5, place);
      EXPECT_EQ(found.worst.value, infinity);
      EXPECT_EQ(found.worst.component, 1);
      EXPECT_EQ(found.worst.point, place);
    }
}

TEST(Slopes, ErrorsOfStripsAreThoseOfTheirPoints) {
  Stream stream(Device::open(Backend::cpu));
  for (auto const& along : std::vector<std::vector<std::size_t>>{{0}, {1}, {0, 1}}) {
    test::expect_errors_of_strips<float>(stream, along);
    test::expect_errors_of_strips<double>(stream, along);
  }
}

TEST(Slopes, RefuseWhatDoesNotFit) {
  Stream stream(Device::open(Backend::cpu));
  Grid const grid = {.dims = 1, .points = {4, 1, 1}, .origin = {}, .spacing = {1, 1, 1}};
  std::vector<double> values(4);
  std::vector<system::Slopes<double>> one = {{.state = values.data(), .value = values.data()}};
  evaluate::DeviceClock const clock;
  std::vector<double> const weights = {1};
  EXPECT_THROW(system::combine<double>(stream, grid, one, weights, &clock), std::invalid_argument);
  one[0].slopes[0] = values.data();
  EXPECT_THROW(system::combine<double>(stream, grid, one, weights, nullptr), std::invalid_argument);
  EXPECT_THROW(system::combine<double>(stream, grid, one, std::vector<double>(8, 1.0), &clock),
               std::invalid_argument);
  EXPECT_THROW(system::worst_error<double>(stream, grid, one, weights, {1, 1}, &clock, {}),
               std::invalid_argument);
  std::vector<WorstError> parts(1);
  for (std::size_t const which : {0, 1}) {
    system::ErrorStrips strips;
    strips[which] = {.lower = 0, .upper = 4, .first = 0, .points = 9};
    EXPECT_THROW(
        system::worst_error<double>(stream, grid, one, weights, {1, 1}, &clock, parts, strips),
        std::invalid_argument);
  }
}

/// Steps to 1, of 0.3, with an error that is given.
StepControl control_at(double time) {
  StepControl control;
  control.order = 5;
  control.longest = 10;
  control.target = 1;
  control.most_steps = 100;
  control.time = time;
  control.step = 0.3;
  return control;
}

TEST(StepControl, MeetsTheTargetWithoutATinyStep) {
  evaluate::DeviceClock clock;
  auto control = control_at(0.25);  // 0.75 are left: a whole step
  begin_attempt(control, clock);
  EXPECT_EQ(clock.step_size, 0.3);
  control = control_at(0.5);  // 0.5: two halves of it
  begin_attempt(control, clock);
  EXPECT_EQ(clock.step_size, 0.25);
  end_attempt(control, clock, {0.5, 0, 0});
  EXPECT_EQ(control.time, 0.75);
  EXPECT_EQ(control.step, std::max(0.3, 0.25 * 0.9 * std::pow(0.5, -0.14)));
  EXPECT_EQ(control.previous_error, 1);  // that of a whole step
  begin_attempt(control, clock);
  EXPECT_EQ(clock.step_size, 0.25);
  EXPECT_TRUE(control.lands);
  end_attempt(control, clock, {0.5, 0, 0});
  EXPECT_EQ(control.time, 1);
  EXPECT_GE(control.step, 0.3);
  begin_attempt(control, clock);  // it is there
  EXPECT_EQ(clock.step_size, 0);
  EXPECT_EQ(clock.origin, 1);
  auto const before = control.accepted;
  end_attempt(control, clock, {0.5, 0, 0});
  EXPECT_EQ(control.accepted, before);
  EXPECT_FALSE(control.commits);
}

TEST(StepControl, TakesRoundingForNoStep) {
  evaluate::DeviceClock clock;
  auto control = control_at(std::nextafter(1, 0));
  begin_attempt(control, clock);
  EXPECT_EQ(clock.step_size, 0);
  EXPECT_EQ(control.time, 1);
}

TEST(StepControl, StopsAtTheMostSteps) {
  evaluate::DeviceClock clock;
  auto control = control_at(0);
  control.most_steps = 1;
  begin_attempt(control, clock);
  end_attempt(control, clock, {1, 0, 0});
  EXPECT_EQ(control.accepted, 1);
  EXPECT_EQ(control.time, 0.3);
  begin_attempt(control, clock);
  EXPECT_EQ(clock.step_size, 0);
}

TEST(StepControl, RejectsAndShrinks) {
  evaluate::DeviceClock clock;
  auto control = control_at(0);
  begin_attempt(control, clock);
  end_attempt(control, clock, {32, 7, 1});
  EXPECT_FALSE(control.commits);
  EXPECT_EQ(control.time, 0);
  EXPECT_EQ(control.rejected, 1);
  EXPECT_DOUBLE_EQ(control.step, 0.3 * 0.9 / 2);
  // The next one may not grow at once.
  begin_attempt(control, clock);
  end_attempt(control, clock, {0, 0, 0});
  EXPECT_TRUE(control.commits);
  EXPECT_DOUBLE_EQ(control.step, 0.3 * 0.9 / 2);
  begin_attempt(control, clock);
  end_attempt(control, clock, {0, 0, 0});
  EXPECT_DOUBLE_EQ(control.step, 5 * 0.3 * 0.9 / 2);
}

TEST(StepControl, FailsWhereNoStepIsShortEnough) {
  evaluate::DeviceClock clock;
  auto control = control_at(0.5);
  int attempts = 0;
  for (; !control.failed && attempts < 100; ++attempts) {
    begin_attempt(control, clock);
    end_attempt(control, clock, {infinity, 7, 1});
  }
  EXPECT_NEAR(attempts, std::log(0.3 / (16 * 0x1p-52)) / std::log(5), 2);
  EXPECT_EQ(control.worst.point, 7);
  EXPECT_EQ(control.time, 0.5);
  begin_attempt(control, clock);
  EXPECT_EQ(clock.step_size, 0);
}

TEST(StepControl, OrdersErrorsByPlace) {
  EXPECT_TRUE((WorstError{1, 5, 0} < WorstError{2, 9, 1}));
  EXPECT_TRUE((WorstError{1, 5, 0} < WorstError{1, 4, 0}));
  EXPECT_TRUE((WorstError{1, 1, 1} < WorstError{1, 4, 0}));
  EXPECT_FALSE((WorstError{1, 4, 0} < WorstError{1, 4, 0}));
}

}  // namespace
}  // namespace gridstride

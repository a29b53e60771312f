#include "driver/schedule.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace gridstride {
namespace {

TEST(Schedule, ByTime) {
  Schedule const schedule({.time = 0.1, .steps = {}, .count = {}}, 1);
  EXPECT_DOUBLE_EQ(schedule.next({0, 0}).time, 0.1);
  EXPECT_DOUBLE_EQ(schedule.next({5, 0.05}).time, 0.1);
  // 3·0.1 is a little more than 0.3 and 0.3 counts as there.
  EXPECT_DOUBLE_EQ(schedule.next({5, 0.3}).time, 0.4);
  EXPECT_TRUE(schedule.due({5, 0.3}));
  EXPECT_TRUE(schedule.due({5, 3 * 0.1}));
  EXPECT_FALSE(schedule.due({5, 0.35}));
  EXPECT_EQ(schedule.next({9, 0.95}).time, 1);
  EXPECT_EQ(schedule.count(1000), 10);
}

TEST(Schedule, ByTimeThatDoesNotDivideTheEnd) {
  Schedule const schedule({.time = 0.4, .steps = {}, .count = {}}, 1);
  EXPECT_EQ(schedule.next({9, 0.8}).time, 1);
  EXPECT_TRUE(schedule.due({9, 1}));
  EXPECT_EQ(schedule.count(1000), 3);
}

TEST(Schedule, BySteps) {
  Schedule const schedule({.time = {}, .steps = 10, .count = {}}, 1);
  EXPECT_EQ(schedule.next({0, 0}).step, 10);
  EXPECT_EQ(schedule.next({10, 0.1}).step, 20);
  EXPECT_EQ(schedule.next({10, 0.1}).time, 1);
  EXPECT_TRUE(schedule.due({20, 0.2}));
  EXPECT_FALSE(schedule.due({21, 0.2}));
  EXPECT_TRUE(schedule.due({21, 1}));
  EXPECT_EQ(schedule.count(100), 10);
}

TEST(Schedule, ByCount) {
  Schedule const schedule({.time = {}, .steps = {}, .count = 3}, 1);
  EXPECT_DOUBLE_EQ(schedule.next({0, 0}).time, 1.0 / 3);
  EXPECT_EQ(schedule.next({9, 2.0 / 3}).time, 1);
  EXPECT_TRUE(schedule.due({9, 1.0 / 3}));
  EXPECT_EQ(schedule.count(1000), 3);
}

TEST(Schedule, WithoutACadenceNothingRecurs) {
  Schedule const schedule({}, 2);
  EXPECT_EQ(schedule.next({5, 0.5}).time, 2);
  EXPECT_FALSE(schedule.due({5, 0.5}));
  EXPECT_FALSE(schedule.due({5, 2}));
}

/// Goes from moment to moment as the time loop does, around moment `number`.
void expect_every_moment(Schedule const& schedule, double interval, double number) {
  Clock now{1, (number - 3) * interval};
  EXPECT_TRUE(schedule.due(now));
  for (double k = number - 2; k <= number + 3; ++k) {
    now.time = schedule.next(now).time;
    EXPECT_EQ(now.time, k * interval);
    EXPECT_TRUE(schedule.due(now)) << "moment " << k << " of " << interval;
    EXPECT_FALSE(schedule.due({1, (k + 0.01) * interval}));
    EXPECT_FALSE(schedule.due({1, (k - 0.01) * interval}));
  }
}

TEST(Schedule, MeetsEveryOneOfAThousandMillionMoments) {
  for (double const interval : {0.1, 1.0 / 3, 1e-9, 7e-30, 3e25})
    for (double const number : {4.0, 2e7, 4e7 + 1, 123456789.0, 1e9 - 10}) {
      Schedule const schedule({.time = interval, .steps = {}, .count = {}}, 1e9 * interval);
      EXPECT_EQ(schedule.count(1), 1e9);
      expect_every_moment(schedule, interval, number);
    }
  Schedule const schedule({.time = {}, .steps = {}, .count = 1'000'000'000}, 0.7);
  EXPECT_EQ(schedule.count(1), 1e9);
  for (double const number : {4.0, 2e7, 123456789.0}) expect_every_moment(schedule, 0.7e-9, number);
  EXPECT_EQ(schedule.next({1, (1e9 - 1) * 0.7e-9}).time, 0.7);
}

/// Moments of two schedules that are the same but for rounding are met at once.
TEST(Schedule, TakesARoundingOfAMomentForTheMoment) {
  Schedule const tenths({.time = 0.1, .steps = {}, .count = {}}, 1000);
  Schedule const thirds({.time = 0.3, .steps = {}, .count = {}}, 1000);
  for (double k = 1; k < 3333; ++k) {
    Clock const of_thirds{1, k * 0.3}, of_tenths{1, 3 * k * 0.1};
    EXPECT_TRUE(tenths.due(of_thirds) && thirds.due(of_tenths)) << k;
    EXPECT_EQ(tenths.next(of_thirds).time, (3 * k + 1) * 0.1);
    EXPECT_EQ(thirds.next(of_tenths).time, (k + 1) * 0.3);
  }
  Schedule const by_count({.time = {}, .steps = {}, .count = 10'000}, 1000);
  for (double k = 1; k < 10'000; ++k) EXPECT_TRUE(by_count.due({1, k * 0.1})) << k;
  // 10000·0.1 in another order may miss the end by a rounding: the end is met once.
  EXPECT_EQ(tenths.next({1, 9999 * 0.1}).time, 1000);
}

/// A loop over all moments, as `count_steps` must not be.
double counted_steps(Schedule const& one, Schedule const& other, double end, double step) {
  double steps = 0;
  for (Clock now; now.time < end;) {
    double const next = std::min(one.next(now).time, other.next(now).time);
    steps += std::max(1.0, std::ceil((next - now.time - 1e-15) / step));
    now.time = next;
  }
  return steps;
}

TEST(Schedule, CountsTheStepsBetweenMoments) {
  auto const by_time = [](double time) {
    return config::Cadence{.time = time, .steps = {}, .count = {}};
  };
  for (double const step : {0.0003, 0.07, 0.1, 5.0})
    for (double const one : {0.1, 0.25, 0.37, 0.9, 2.0})
      for (double const other : {0.1, 0.3, 0.36, 0.95, 1.0, 3.0}) {
        Schedule const a(by_time(one), 1), b(by_time(other), 1);
        EXPECT_EQ(count_steps(a, b, 1, step), counted_steps(a, b, 1, step))
            << one << ", " << other << ", " << step;
      }
  Schedule const a({}, 1), b({.time = {}, .steps = 7, .count = {}}, 1);
  EXPECT_EQ(count_steps(a, b, 1, 0.3), 4);
}

TEST(Schedule, CountsTheStepsThatComeToMoments) {
  auto const met = [](double time, double steps) {
    return Schedule({.time = time, .steps = {}, .count = {}}, 1).count_passed(steps);
  };
  EXPECT_EQ(met(0.16, 40), 7);  // at 0.175, 0.325, …, 0.975 and 1
  EXPECT_EQ(met(0.99, 40), 1);
  EXPECT_EQ(met(0.5, 40), 2);
  EXPECT_EQ(met(0.975, 40), 2);
  EXPECT_EQ(met(0.001, 40), 40);
  Schedule const by_steps({.time = {}, .steps = 7, .count = {}}, 1);
  EXPECT_EQ(by_steps.count_passed(40), 6);
}

TEST(Schedule, CountsStepsOfManyMomentsAtOnce) {
  Schedule const a({.time = {}, .steps = {}, .count = 1'000'000'000}, 1);
  Schedule const b({.time = {}, .steps = {}, .count = 500'000'000}, 1);
  EXPECT_GE(count_steps(a, b, 1, 3e-10), 4e9);
  EXPECT_LE(count_steps(a, b, 1, 3e-10), 4.5e9);
}

}  // namespace
}  // namespace gridstride

#include "driver/schedule.hpp"

#include <gtest/gtest.h>

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
  EXPECT_EQ(schedule.count(1e-3), 10);
}

TEST(Schedule, ByTimeThatDoesNotDivideTheEnd) {
  Schedule const schedule({.time = 0.4, .steps = {}, .count = {}}, 1);
  EXPECT_EQ(schedule.next({9, 0.8}).time, 1);
  EXPECT_TRUE(schedule.due({9, 1}));
  EXPECT_EQ(schedule.count(1e-3), 3);
}

TEST(Schedule, BySteps) {
  Schedule const schedule({.time = {}, .steps = 10, .count = {}}, 1);
  EXPECT_EQ(schedule.next({0, 0}).step, 10);
  EXPECT_EQ(schedule.next({10, 0.1}).step, 20);
  EXPECT_EQ(schedule.next({10, 0.1}).time, 1);
  EXPECT_TRUE(schedule.due({20, 0.2}));
  EXPECT_FALSE(schedule.due({21, 0.2}));
  EXPECT_TRUE(schedule.due({21, 1}));
  EXPECT_EQ(schedule.count(0.01), 10);
}

TEST(Schedule, ByCount) {
  Schedule const schedule({.time = {}, .steps = {}, .count = 3}, 1);
  EXPECT_DOUBLE_EQ(schedule.next({0, 0}).time, 1.0 / 3);
  EXPECT_EQ(schedule.next({9, 2.0 / 3}).time, 1);
  EXPECT_TRUE(schedule.due({9, 1.0 / 3}));
  EXPECT_EQ(schedule.count(1e-3), 3);
}

TEST(Schedule, WithoutACadenceNothingRecurs) {
  Schedule const schedule({}, 2);
  EXPECT_EQ(schedule.next({5, 0.5}).time, 2);
  EXPECT_FALSE(schedule.due({5, 0.5}));
  EXPECT_FALSE(schedule.due({5, 2}));
}

}  // namespace
}  // namespace gridstride

#include "driver/progress.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace gridstride {
namespace {

/// A pace of a run that was looked at every `interval` seconds from `begin` to `end`, at a time of
/// its own that rises by `rate` a second from `time` on, with a hundred steps a second.
double go_on(Pace& pace, double begin, double end, double time, double rate,
             double interval = 0.125) {
  for (double seconds = begin; seconds <= end; seconds += interval)
    pace.note(seconds, {static_cast<std::int64_t>(100 * seconds), time + rate * (seconds - begin)});
  return time + rate * (end - begin);
}

TEST(Pace, SaysNothingBeforeThereIsSomethingToMeasure) {
  Pace pace;
  EXPECT_FALSE(pace.seconds_until(1));
  EXPECT_EQ(pace.steps_per_second(), 0);
  pace.note(0, {0, 0});
  EXPECT_FALSE(pace.seconds_until(1));
  EXPECT_EQ(pace.steps_per_second(), 0);
  pace.note(0.25, {25, 0.25});
  EXPECT_FALSE(pace.seconds_until(1));
  EXPECT_EQ(pace.steps_per_second(), 100);
  pace.note(0.5, {50, 0.5});
  EXPECT_DOUBLE_EQ(pace.seconds_until(1).value(), 0.5);
}

TEST(Pace, CountsFromWhereARestartBegins) {
  Pace pace;
  go_on(pace, 0, 4, 1000, 2);
  EXPECT_DOUBLE_EQ(pace.seconds_until(1028).value(), 10);
}

TEST(Pace, FollowsTheRecentPast) {
  Pace pace;
  double const time = go_on(pace, 0, 1000, 0, 1);
  EXPECT_DOUBLE_EQ(pace.seconds_until(1100).value(), 100);
  go_on(pace, 1000, 1040, time, 0.125);
  EXPECT_DOUBLE_EQ(pace.seconds_until(1100).value(), 95 / 0.125);
}

TEST(Pace, TakesStepsThatLastLongerThanItLooksBack) {
  Pace pace;
  go_on(pace, 0, 1000, 0, 0.5, 250);
  EXPECT_DOUBLE_EQ(pace.seconds_until(600).value(), 200);
  EXPECT_DOUBLE_EQ(pace.steps_per_second(), 100);
}

TEST(Pace, IsThatOfManyShortSlicesToo) {
  Pace pace;
  go_on(pace, 0, 64, 0, 1, 1.0 / 4096);
  EXPECT_NEAR(pace.seconds_until(100).value(), 36, 1e-9);
}

TEST(Pace, SaysNothingOfARunThatStandsStill) {
  Pace pace;
  double const time = go_on(pace, 0, 10, 0, 1);
  go_on(pace, 10, 45, time, 0);
  EXPECT_FALSE(pace.seconds_until(100));
}

TEST(Pace, SaysNothingWhereNoNumberHoldsIt) {
  Pace pace;
  go_on(pace, 0, 1, 0, 1e-300);
  EXPECT_FALSE(pace.seconds_until(1e300));
  EXPECT_EQ(pace.seconds_until(0).value(), 0);
}

TEST(ProgressLine, HasARemainingTimeWhenThereIsOne) {
  Pace pace;
  Clock const start{0, 0};
  pace.note(0, start);
  EXPECT_EQ(progress_line(start, 400, 1000, pace, 0),
            "  0 %  t = 0  step 0  0.00 steps/s  0.00 updates/s");
  go_on(pace, 0, 100, 0, 1);
  Clock const now{10000, 100};
  EXPECT_EQ(progress_line(now, 400, 1000, pace, 8),
            "[==      ]  25 %  t = 100  step 10000  100 steps/s  100 k updates/s  ETA 5:00");
  Pace bytes;
  for (int i = 0; i <= 4; ++i) bytes.note(i, {i * 2000000000LL, 0.125 * i});
  EXPECT_EQ(progress_line(Headway{"pass 2 of 4", 0.5, 8e9}, bytes, 8),
            "[====    ]  50 %  pass 2 of 4  2.00 GB/s  ETA 0:04");
  EXPECT_NE(progress_line(now, 3833, 1, pace, 0).find("  ETA 1:02:13"), std::string::npos);
  EXPECT_NE(progress_line(now, 864100, 1, pace, 0).find("  ETA 10 days"), std::string::npos);
}

}  // namespace
}  // namespace gridstride

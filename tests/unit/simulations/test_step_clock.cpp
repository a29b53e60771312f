#include <gtest/gtest.h>

#include <vector>

#include "simulations/step_clock.hpp"
#include "support/memory_checkpoint.hpp"

namespace gridstride {
namespace {

/// A clock that writes down what it queues.
struct Recorded {
  Stream stream{Device::open(Backend::cpu)};
  StepClock clock;
  std::vector<std::int64_t> whole;
  std::vector<double> shortened;

  Recorded(double step, double end) : clock(stream, step, end) {}
  void advance(std::int64_t max_steps, double until) {
    clock.advance(
        max_steps, until,
        [this](std::int64_t count) {
          whole.push_back(count);
          for (; count > 0; --count) clock.tick();
        },
        [this](double size) {
          shortened.push_back(size);
          clock.tick();
        });
  }
  /// On the host the device's clock can be read.
  double device_time() const { return clock.device()->time(0); }
};

TEST(StepClock, TakesWholeStepsAndAShorterOneAtTheEnd) {
  Recorded run(0.25, 10);
  run.advance(100, 1.125);
  EXPECT_EQ(run.whole, std::vector<std::int64_t>{4});
  EXPECT_EQ(run.shortened, std::vector<double>{0.125});
  EXPECT_EQ(run.clock.now().step, 5);
  EXPECT_EQ(run.clock.now().time, 1.125);
  EXPECT_EQ(run.device_time(), 1.125);
  EXPECT_EQ(run.clock.device()->step_size, 0.25);  // whole again
}

TEST(StepClock, StopsAtTheMostStepsAndGoesOn) {
  Recorded run(0.25, 10);
  run.advance(3, 1.125);
  EXPECT_EQ(run.clock.now().step, 3);
  EXPECT_EQ(run.clock.now().time, 0.75);
  run.advance(1, 1.125);  // the last whole one: no step is left for the rest
  EXPECT_EQ(run.clock.now().time, 1);
  EXPECT_TRUE(run.shortened.empty());
  run.advance(1, 1.125);
  EXPECT_EQ(run.shortened, std::vector<double>{0.125});
  EXPECT_EQ(run.clock.now().step, 5);
  run.advance(0, 2);
  run.advance(10, 1.125);  // there already
  EXPECT_EQ(run.clock.now().step, 5);
}

TEST(StepClock, GoesNoFurtherThanTheEnd) {
  Recorded run(0.25, 1);
  EXPECT_FALSE(run.clock.at_end());
  run.advance(100, 7);
  EXPECT_EQ(run.clock.now().step, 4);
  EXPECT_EQ(run.clock.now().time, 1);
  EXPECT_TRUE(run.clock.at_end());
}

TEST(StepClock, RoundingMakesNoStepOfItsOwn) {
  Recorded run(0.1, 1000);  // 0.1 is not a binary number
  for (int second = 1; second <= 100; ++second) {
    run.advance(1000, second);
    EXPECT_EQ(run.clock.now().time, second);
    EXPECT_EQ(run.clock.now().step, 10 * second);
  }
  EXPECT_TRUE(run.shortened.empty());
}

TEST(StepClock, StepsDoNotAddRoundingUp) {
  Recorded run(0.1, 1e6);
  run.advance(1'000'000, 1e6);
  EXPECT_EQ(run.clock.now().time, 0.1 * 1'000'000);
  EXPECT_EQ(run.device_time(), 0.1 * 1'000'000);
}

TEST(StepClock, GoesOnFromACheckpointWithTheSameTimes) {
  Recorded first(0.1, 1000);
  first.advance(100, 0.77);  // an origin that is not 0
  first.advance(13, 1000);
  test::MemoryCheckpoint checkpoint;
  first.clock.save(checkpoint);
  Recorded second(0.1, 1000);
  second.clock.load(checkpoint);
  double const then = first.clock.now().time;
  for (auto* run : {&first, &second}) {
    EXPECT_EQ(run->clock.now().step, 21);
    EXPECT_EQ(run->clock.now().time, then);
    EXPECT_EQ(run->device_time(), then);
    run->advance(7, 1000);
  }
  EXPECT_EQ(second.clock.now().time, first.clock.now().time);
  EXPECT_EQ(second.device_time(), first.device_time());
}

}  // namespace
}  // namespace gridstride

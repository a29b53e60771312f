#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "model/step_clock.hpp"
#include "support/memory_checkpoint.hpp"

namespace gridstride {
namespace {

using Steps = std::vector<double>;

/// A clock that writes down what it queues.
struct Recorded {
  Stream stream{Device::open(Backend::cpu)};
  StepClock clock;
  Steps steps;
  bool times_agree = true;  // on the host the device's clock can be read

  Recorded(StepRule const& rule, double end) : clock(stream, rule, end) {}
  Recorded(double step, double end) : Recorded(whole_steps(step), end) {}
  void advance(std::int64_t max_steps, double until) {
    clock.advance(max_steps, until, [this](std::int64_t count, double step) {
      EXPECT_GT(count, 0);
      times_agree = times_agree && clock.device()->time(0) == clock.now().time &&
                    clock.device()->step_size == step && clock.step() == step;
      for (; count > 0; --count) {
        steps.push_back(step);
        clock.tick();
      }
    });
  }
  double total() const { return std::accumulate(steps.begin(), steps.end(), 0.0); }
};

TEST(StepClock, TakesWholeStepsAndAShorterOneAtTheEnd) {
  Recorded run(0.25, 10);
  run.advance(100, 1.125);
  EXPECT_EQ(run.steps, (Steps{0.25, 0.25, 0.25, 0.25, 0.125}));
  EXPECT_EQ(run.clock.now().step, 5);
  EXPECT_EQ(run.clock.now().time, 1.125);
  run.advance(100, 1.375);
  EXPECT_EQ(run.steps.back(), 0.25);  // whole again
  EXPECT_TRUE(run.times_agree);
}

TEST(StepClock, RoundingIsNotOverALimit) {
  double const limit = 1.0 / 29;
  EXPECT_FALSE(is_over(limit, limit));
  EXPECT_FALSE(is_over(limit * (1 + 1e-15), limit));
  EXPECT_FALSE(is_over(limit, std::numeric_limits<double>::infinity()));
  EXPECT_TRUE(is_over(limit * (1 + 1e-11), limit));
  EXPECT_TRUE(is_over(limit, 0));
}

TEST(StepClock, TakesEqualStepsToAMoment) {
  Recorded run(equal_steps(0.25), 10);
  run.advance(100, 1);
  EXPECT_EQ(run.steps, Steps(4, 0.25));
  run.advance(100, 1.75 + 1e-9);
  EXPECT_EQ(run.clock.now().step, 8);
  EXPECT_DOUBLE_EQ(run.steps.back(), 0.1875 + 0.25e-9);
  EXPECT_EQ(run.clock.now().time, 1.75 + 1e-9);
}

TEST(StepClock, StopsAtTheMostStepsAndGoesOn) {
  Recorded run(0.25, 10);
  run.advance(3, 1.125);
  EXPECT_EQ(run.clock.now().step, 3);
  EXPECT_EQ(run.clock.now().time, 0.75);
  run.advance(1, 1.125);  // the last whole one: no step is left for the rest
  EXPECT_EQ(run.clock.now().time, 1);
  EXPECT_EQ(run.steps.back(), 0.25);
  run.advance(1, 1.125);
  EXPECT_EQ(run.steps.back(), 0.125);
  EXPECT_EQ(run.clock.now().step, 5);
  run.advance(0, 2);
  run.advance(10, 1.125);  // there already
  EXPECT_EQ(run.clock.now().step, 5);
}

/// Where it may end sooner: with a leg after which twice as many steps might not be done. One is always made.
TEST(StepClock, EndsWithALeg) {
  std::int64_t next = 1;
  Recorded run([&](double, double) { return StepPlan{1, std::exchange(next, 2 * next)}; }, 1000);
  run.clock.keep_legs_whole(true);
  auto const steps_after = [&](std::int64_t most) {
    run.advance(most, 1000);
    return run.clock.now().step;
  };
  EXPECT_EQ(steps_after(2), 1);
  EXPECT_EQ(steps_after(6), 7);   // legs of 2 and 4 end there
  EXPECT_EQ(steps_after(3), 10);  // of 8
  EXPECT_EQ(steps_after(20), 15);
  run.clock.keep_legs_whole(false);
  EXPECT_EQ(steps_after(20), 35);
  EXPECT_EQ(std::ssize(run.steps), 35);
}

TEST(StepClock, GoesNoFurtherThanTheEnd) {
  Recorded run(0.25, 1);
  EXPECT_FALSE(run.clock.at_end());
  run.advance(100, 7);
  EXPECT_EQ(run.clock.now().step, 4);
  EXPECT_EQ(run.clock.now().time, 1);
  EXPECT_TRUE(run.clock.at_end());
}

TEST(StepClock, MakesAStepOfWhateverIsLeft) {
  for (auto const& rule : {whole_steps(2e6), equal_steps(2e6), whole_steps(1e300)}) {
    Recorded run(rule, 1);  // the end is far below a step
    run.advance(100, 1);
    EXPECT_EQ(run.steps, Steps{1});
    EXPECT_EQ(run.clock.now().time, 1);
  }
  for (double const left : {1e-7, 1e-10, 1e-14}) {
    Recorded run(1.0, 10);
    run.advance(100, 3 + left);
    EXPECT_EQ(run.clock.now().step, 4) << left;
    EXPECT_EQ(run.steps.back(), (3 + left) - 3);
  }
}

TEST(StepClock, RoundingMakesNoStepOfItsOwn) {
  for (auto const& rule : {whole_steps(0.1), equal_steps(0.1)}) {
    Recorded run(rule, 1000);  // 0.1 is not a binary number
    for (int second = 1; second <= 100; ++second) {
      run.advance(1000, second);
      EXPECT_EQ(run.clock.now().time, second);
      EXPECT_EQ(run.clock.now().step, 10 * second);
      run.advance(1000, std::nextafter(second, 1000));  // the same moment
      EXPECT_EQ(run.clock.now().step, 10 * second);
    }
    EXPECT_EQ(run.steps, Steps(1000, 0.1));
  }
}

TEST(StepClock, StepsDoNotAddRoundingUp) {
  Recorded run(0.1, 1e6);
  run.advance(1'000'000, 1e6);
  EXPECT_EQ(run.clock.now().time, 0.1 * 1'000'000);
}

/// Moments far apart, close together and nearly a whole number of steps apart, in slices.
TEST(StepClock, TheStepsAreAllOfTheTime) {
  std::mt19937 random(1);
  auto const uniform = [&](double lower, double upper) {
    return std::uniform_real_distribution(lower, upper)(random);
  };
  for (int trial = 0; trial < 300; ++trial) {
    double const step = std::pow(10, uniform(-30, 30)), end = step * std::pow(10, uniform(-9, 3));
    Recorded run(trial % 2 == 0 ? whole_steps(step) : equal_steps(step), end);
    double moment = 0;
    int moments = 0;
    while (!run.clock.at_end()) {
      double const ahead = std::pow(10, uniform(-9, 2)) * std::min(step, end);
      moment = std::min(end, moment + (trial % 3 == 0 ? std::ceil(ahead / step) * step : ahead));
      while (run.clock.now().time < moment) run.advance(1 + trial % 7, moment);
      EXPECT_EQ(run.clock.now().time, moment);
      if (++moments == 200) moment = end;
    }
    // Each moment may have lost or won a rounding of the time, and the sum here has its own.
    double const roundings = 2 * moments + static_cast<double>(run.steps.size());
    EXPECT_NEAR(run.total() / end, 1, roundings * time_rounding(1)) << step << ' ' << end;
    for (double const one : run.steps) EXPECT_LE(one, step);
    EXPECT_TRUE(run.times_agree);
  }
}

TEST(StepClock, RefusesStepsThatTimeCannotResolve) {
  Recorded run([](double, double) { return StepPlan{1e-20, 32}; }, 2);
  EXPECT_NO_THROW(run.advance(32, 1e-3));
  Recorded late(
      [](double time, double) {
        return time < 1 ? StepPlan{1, 1} : StepPlan{1e-20, 1};
      },
      2);
  EXPECT_THROW(late.advance(2, 2), NumericalError);
}

TEST(StepClock, GoesOnFromACheckpointWithTheSameTimes) {
  for (auto const& rule : {whole_steps(0.1), equal_steps(0.1)}) {
    Recorded first(rule, 1000);
    first.advance(100, 0.77);  // an origin that is not 0
    first.advance(13, 1000.03);
    test::MemoryCheckpoint checkpoint;
    first.clock.save(checkpoint);
    Recorded second(rule, 1000);
    second.clock.load(checkpoint);
    first.steps.clear();
    for (auto* run : {&first, &second}) {
      EXPECT_EQ(run->clock.now().step, 21);
      run->advance(7, 1000.03);
      run->advance(9000, 800);  // another moment than was aimed at
      EXPECT_TRUE(run->times_agree);
    }
    EXPECT_EQ(second.clock.now().time, first.clock.now().time);
    EXPECT_EQ(second.clock.device()->time(0), first.clock.device()->time(0));
    EXPECT_EQ(second.steps, first.steps);
  }
}

}  // namespace
}  // namespace gridstride

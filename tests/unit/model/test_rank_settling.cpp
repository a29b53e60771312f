#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#include "model/rank_steps.hpp"
#include "support/rank_cases.hpp"

namespace gridstride {
namespace {

/// What the first rank's arrays have is there until it has been told that they change.
TEST(RankSettling, TellsTheFirstRankBeforeItsArraysChange) {
  constexpr std::int64_t points = 11;
  SweepShape const shape{.grid = {.dims = 1, .points = {points, 1, 1}}, .periodic = true};
  auto const pass = [](Stream&, Window<double> const& window) {
    for (std::int64_t i = 0; i < window.grid.size(); ++i) window.out[0][i] = window.in[0][i] + 1;
  };
  auto const work = [&](Ranks& ranks) {
    Stream const stream(Device::open(Backend::cpu));
    RankSteps<double> steps(
        stream, plan_ranks(shape, 3, Backend::cpu, 2), [](std::int64_t) { return 1; }, ranks);
    std::vector<double> values(ranks.is_first() ? points : 0, 1);
    double* const arrays[] = {values.data()};
    int told = 0;
    auto const expect = [&](double before, double after, int times) {
      told = 0;
      steps.settle([&] {
        ++told;
        std::this_thread::sleep_for(std::chrono::milliseconds(20));  // others are to wait
        EXPECT_EQ(std::ranges::count(values, before), std::ssize(values));
      });
      EXPECT_EQ(told, ranks.is_first() ? times : 0);
      EXPECT_EQ(std::ranges::count(values, after), std::ssize(values));
    };
    steps.run(arrays, 5, pass);
    EXPECT_EQ(std::ranges::count(values, 1.0), std::ssize(values));
    expect(1, 6, 1);
    expect(6, 6, 0);
    steps.run(arrays, 3, pass);
    steps.look(arrays, LooksAt::own, [](Stream&, Window<double> const&) {});
    expect(6, 9, 1);
  };
  for (std::vector<int> const& machines : {std::vector{0, 0, 0}, {0, 1, 2}})
    EXPECT_TRUE(test::on_machines(machines, work));
}

}  // namespace
}  // namespace gridstride

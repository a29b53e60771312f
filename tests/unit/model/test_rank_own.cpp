// What ranks do with their own planes beside steps.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "model/rank_steps.hpp"
#include "support/thread_ranks.hpp"

namespace gridstride {
namespace {

/// Of two arrays, whose values take each other's places; values that each rank gives its own planes; a look
/// at steps that are made in place.
TEST(RankSteps, ReverseTheArraysOfTheState) {
  SweepShape shape{.grid = {.dims = 1, .points = {9, 1, 1}}, .periodic = true};
  shape.arrays = 2;
  auto const pass = [](Stream&, Window<double> const& window) {
    for (std::int64_t i = 0; i < window.grid.size(); ++i)
      window.out[0][i] = window.in[0][i] + 10 * window.in[1][i];
  };
  EXPECT_TRUE(test::on_ranks(2, [&](Ranks& ranks) {
    Stream const stream(Device::open(Backend::cpu));
    RankSteps<double> steps(
        stream, plan_ranks(shape, 2, Backend::cpu, 1), [](std::int64_t) { return 1; }, ranks);
    std::size_t const size = ranks.is_first() ? 9 : 0;
    std::vector<double> a(size, 1), b(size, 2);
    double *one = a.data(), *two = b.data();
    std::array const arrays{one, two};
    steps.run(arrays, 1, pass);  // 21, 1
    steps.reverse();
    steps.run(arrays, 1, pass);  // of 1, 21: 211, 1
    steps.settle();
    EXPECT_EQ(a, std::vector<double>(size, 211));
    EXPECT_EQ(b, std::vector<double>(size, 1));
    steps.begin_with(arrays, [](Stream&, Window<double> const& window) {
      std::fill_n(window.in[0], window.grid.size(), 3);
      std::fill_n(window.in[1], window.grid.size(), 4);
    });
    steps.settle();
    EXPECT_EQ(a, std::vector<double>(size, 3));
    steps.run(arrays, 1, pass);  // 43, 3
    steps.settle();
    EXPECT_EQ(a, std::vector<double>(size, 43));
    EXPECT_EQ(b, std::vector<double>(size, 3));
  }));
  shape.made = 1;
  shape.looked_beside = 1;
  shape.in_place = true;
  EXPECT_TRUE(test::on_ranks(2, [&](Ranks& ranks) {
    Stream const stream(Device::open(Backend::cpu));
    RankSteps<double> steps(
        stream, plan_ranks(shape, 2, Backend::cpu, 1), [](std::int64_t) { return 1; }, ranks);
    std::array<double*, 2> const nowhere{};
    steps.begin_with(nowhere, [](Stream&, Window<double> const& window) {
      for (std::int64_t i = window.made[0]; i < window.made[1]; ++i) {
        window.in[0][i] = static_cast<double>((window.first + i + 9) % 9);
        window.in[1][i] = 1;
      }
    });
    steps.run(nowhere, 1, pass);  // i + 10, i
    steps.look(nowhere, LooksAt::beside, [](Stream&, Window<double> const& window) {
      EXPECT_EQ(window.out[0], nullptr);
      for (std::int64_t i = 0; i < window.grid.size(); ++i)
        EXPECT_EQ(window.in[0][i], static_cast<double>((window.first + i + 9) % 9 + 10));
      for (std::int64_t i = window.made[0]; i < window.made[1]; ++i)
        EXPECT_EQ(window.in[1][i], static_cast<double>((window.first + i + 9) % 9));
    });
  }));
}

}  // namespace
}  // namespace gridstride

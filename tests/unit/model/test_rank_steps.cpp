#include "model/rank_steps.hpp"

#include <gtest/gtest.h>

#include <array>
#include <stdexcept>
#include <utility>
#include <vector>

#include "model/hand_out.hpp"
#include "support/rank_cases.hpp"

namespace gridstride {
namespace {

using enum SideKind;

constexpr std::array rank_counts = {2, 3, 5, 8};

TEST(RankSteps, DiffusionHasTheBitsOfOneProcess) {
  std::vector<std::array<SideKind, 2>> const kinds = {
      {periodic, periodic}, {dirichlet, neumann}, {neumann, dirichlet}};
  for (int const count : rank_counts)
    for (auto one : test::shared_sizes(kinds, count, 1))
      for (int const fused : {1, 3}) {
        one.fused_steps = fused;
        one.dims = 1 + (count + fused) % 3;
        test::expect_shared_diffusion_bits<double>(one, count, Backend::cpu);
        one.dims = 1 + one.dims % 3;
        test::expect_shared_diffusion_bits<float>(one, count, Backend::cpu);
      }
}

TEST(RankSteps, WavesHaveTheBitsOfOneProcess) {
  std::vector<std::array<SideKind, 2>> const kinds = {
      {periodic, periodic}, {fixed, free}, {free, fixed}};
  for (int const count : rank_counts)
    for (int const order : {2, 4, 8})
      for (auto one : test::shared_sizes(kinds, count, order / 2)) {
        one.order = order;
        one.dims = order == 8 ? 1 : 1 + count % 3;  // the other axes are short
        test::expect_shared_wave_bits<double>(one, count, Backend::cpu);
      }
}

TEST(RankSteps, AdvectionHasTheBitsOfOneProcess) {
  for (int const count : rank_counts) {
    test::expect_all_shared_advection_bits<float>(count, Backend::cpu);
    test::expect_all_shared_advection_bits<double>(count, Backend::cpu);
  }
}

SweepShape line(std::int64_t points) {
  return {.grid = {.dims = 1, .points = {points, 1, 1}}, .periodic = true};
}

/// Each step adds 1, and something else the times that others have changed the arrays.
TEST(RankSteps, GoOnAfterTheyHaveSettled) {
  constexpr std::int64_t points = 11;
  auto const pass = [](Stream&, Window<double> const& window) {
    for (std::int64_t i = 0; i < window.grid.size(); ++i) window.out[0][i] = window.in[0][i] + 1;
  };
  EXPECT_TRUE(test::on_ranks(3, [&](Ranks& ranks) {
    Stream const stream(Device::open(Backend::cpu));
    RankSteps<double> steps(
        stream, plan_ranks(line(points), 3, Backend::cpu, 2), [](std::int64_t) { return 1; },
        ranks);
    std::vector<double> values(ranks.is_first() ? points : 0, 1);
    double* const arrays[] = {values.data()};
    steps.run(arrays, 5, pass);
    steps.settle();
    steps.run(arrays, 4, pass);
    steps.run(arrays, 0, pass);
    steps.settle();
    steps.settle();
    EXPECT_EQ(std::ranges::count(values, 10.0), std::ssize(values));
    for (double& value : values) value = 100;
    steps.renew();
    steps.run(arrays, 3, pass);
    steps.settle();
    EXPECT_EQ(std::ranges::count(values, 103.0), std::ssize(values));
  }));
}

/// Of two arrays, the state lies where the caller has it, also after it has swapped them.
TEST(RankSteps, FollowArraysThatAreSwapped) {
  auto shape = line(9);
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
    steps.run(std::array{one, two}, 1, pass);  // 21, 1
    steps.run(std::array{two, one}, 1, pass);  // of 1, 21: 211 in two, 1 in one
    steps.settle();
    EXPECT_EQ(b, std::vector<double>(size, 211));
    EXPECT_EQ(a, std::vector<double>(size, 1));
  }));
}

TEST(RankSteps, RefuseWhatIsNotTheirs) {
  EXPECT_TRUE(test::on_ranks(2, [&](Ranks& ranks) {
    Stream const stream(Device::open(Backend::cpu));
    auto const next = [](std::int64_t) { return 1; };
    EXPECT_THROW(RankSteps<double>(stream, plan_ranks(line(9), 3, Backend::cpu, 1), next, ranks),
                 std::invalid_argument);
    SweepPlan wide = plan_ranks(line(9), 2, Backend::cpu, 1);
    wide.trip_steps = 5;  // of four planes
    EXPECT_THROW(RankSteps<double>(stream, wide, next, ranks), std::invalid_argument);
    RankSteps<double> steps(stream, plan_ranks(line(9), 2, Backend::cpu, 1), next, ranks);
    EXPECT_THROW(steps.run({}, 1, {}), std::invalid_argument);
  }));
}

/// Planes that go around the grid, once and more than once, none, and all.
TEST(HandOut, GivesEachRankThePlanesThatItAsksFor) {
  Grid const grid{.dims = 2, .points = {3, 5, 1}};
  std::vector<float> whole(15);
  for (std::size_t i = 0; i < whole.size(); ++i) whole[i] = static_cast<float>(i);
  std::vector<Planes> const asked = {{-2, 3}, {4, 6}, {0, 5}, {2, 2}, {-6, 11}};
  EXPECT_TRUE(test::on_ranks(5, [&](Ranks& ranks) {
    Stream stream(Device::open(Backend::cpu));
    auto const planes = asked[static_cast<std::size_t>(ranks.rank())];
    std::vector<float> here(static_cast<std::size_t>(3 * planes.count())), expected;
    for (std::int64_t plane = planes.lower; plane < planes.upper; ++plane)
      for (std::int64_t i = 0; i < 3; ++i)
        expected.push_back(static_cast<float>(3 * ((plane + 10) % 5) + i));
    hand_out<float>(stream, ranks, grid,
                    ranks.is_first() ? std::span<float const>(whole) : std::span<float const>(),
                    planes, here);
    EXPECT_EQ(here, expected) << ranks.rank();
  }));
}

TEST(RankPlan, HoldsItsNeighboursHalosToo) {
  auto plan = plan_ranks(line(20), 3, Backend::cpu, 2);
  EXPECT_EQ(plan.held_by(0).lower, -2);  // around
  EXPECT_EQ(plan.held_by(0).upper, plan.owned_by(1).lower + 2);
  EXPECT_EQ(plan.held_by(2).upper, 22);
  plan.shape.periodic = false;
  EXPECT_EQ(plan.held_by(0).lower, 0);
  EXPECT_EQ(plan.held_by(1).lower, plan.owned_by(1).lower - 2);
  EXPECT_EQ(plan.held_by(2).upper, 20);
}

TEST(RankPlan, MakesAnExchangeForEachStepThatIsUnlikeOthers) {
  auto shape = line(1 << 20);
  shape.alike = false;
  EXPECT_EQ(plan_ranks(shape, 2, Backend::cpu, {}).trip_steps, 1);
  EXPECT_EQ(plan_ranks(shape, 2, Backend::cpu, 7).trip_steps, 1);
}

TEST(RankPlan, OwnsEveryPlaneOnce) {
  for (int const count : {2, 3, 7, 16})
    for (std::int64_t const points : {32, 33, 47, 1000}) {
      auto const plan = plan_ranks(line(points), count, Backend::cpu, {});
      std::int64_t end = 0;
      for (int rank = 0; rank < count; ++rank) {
        auto const own = plan.owned_by(rank);
        EXPECT_EQ(own.lower, end);
        EXPECT_GE(own.count(), plan.rank_halo());
        EXPECT_LE(own.count(), plan.slab_planes);
        end = own.upper;
      }
      EXPECT_EQ(end, points);
    }
}

TEST(RankPlan, MakesMoreStepsForEachExchangeWherePlanesAreSmall) {
  auto shape = line(1 << 20);
  auto const thin = plan_ranks(shape, 2, Backend::cpu, {});
  shape.grid = {.dims = 3, .points = {512, 512, 512}};
  auto const thick = plan_ranks(shape, 2, Backend::cpu, {});
  EXPECT_GE(thin.trip_steps, 10);
  EXPECT_EQ(thick.trip_steps, 1);
  EXPECT_EQ(plan_ranks(shape, 2, Backend::cpu, 7).trip_steps, 7);
  shape.fused_steps = 4;
  EXPECT_EQ(plan_ranks(shape, 2, Backend::cuda, {}).trip_steps % 4, 0);
}

TEST(RankPlan, KnowsHowManyRanksCanShareAGrid) {
  EXPECT_EQ(most_ranks(line(9)), 4);
  auto shape = line(9);
  shape.reach = 4;
  EXPECT_EQ(most_ranks(shape), 2);
  EXPECT_EQ(most_ranks(line(1)), 1);
}

}  // namespace
}  // namespace gridstride

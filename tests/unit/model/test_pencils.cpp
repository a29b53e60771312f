#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>
#include <vector>

#include "model/hand_out.hpp"
#include "support/pencil_cases.hpp"

/// Ranks that cut the two slowest axes.
namespace gridstride {
namespace {

/// Parts along the second slowest axis, and along the slowest one.
constexpr std::array<std::array<int, 2>, 6> cuts = {
    {{2, 2}, {3, 2}, {2, 3}, {1, 4}, {4, 1}, {3, 3}}};

TEST(Pencils, HaveTheBitsOfOneProcess) {
  for (auto const& parts : cuts)
    for (int const dims : {2, 3})
      for (bool const around : {false, true})
        for (std::int64_t const trip : {1, 3})
          for (int const ranks_of_machine : {1, 2, 9})
            test::expect_pencil_bits(
                test::pencil_shape(dims, around, (parts[0] + trip) % 2 == 0, 1), parts, trip,
                test::machines_of(parts[0] * parts[1], ranks_of_machine));
}

TEST(Pencils, HaveThemWithStepsThatReachFurther) {
  for (auto const& parts : {std::array{2, 2}, {3, 2}, {4, 1}})
    for (bool const around : {false, true})
      test::expect_pencil_bits(test::pencil_shape(3, around, !around, 2), parts,
                               parts[0] == 2 ? 2 : 1,
                               test::machines_of(parts[0] * parts[1], around ? 1 : 6));
}

/// With the points beside them, corners too.
TEST(Pencils, AreLookedAtWithTheirHalos) {
  for (bool const around : {false, true})
    EXPECT_TRUE(test::on_ranks(6, [&](Ranks& ranks) {
      auto const shape = test::pencil_shape(3, around, around, 2);
      Stream const stream(Device::open(Backend::cpu));
      auto const plan = plan_ranks(shape, 6, Backend::cpu, 1, 3).at_rank(ranks.rank());
      RankSteps<double> steps(
          stream, plan, [](std::int64_t) { return 1; }, ranks);
      auto const whole = test::pencil_values(shape.grid.size());
      auto values = ranks.is_first() ? whole : std::vector<double>();
      double* const arrays[] = {values.data()};
      steps.look(arrays, LooksAt::beside, [&](Stream&, Window<double> const& window) {
        Planes const held = plan.held_by(ranks.rank());
        EXPECT_EQ(window.first, held.lower);
        EXPECT_EQ(window.grid.points[2], held.count());
        EXPECT_EQ(window.grid.points[1], plan.strips.held.count());
        for (std::int64_t k = 0; k < held.count(); ++k)
          for (std::int64_t j = 0; j < plan.strips.held.count(); ++j)
            for (std::int64_t i = 0; i < 3; ++i) {
              std::int64_t const z = (held.lower + k + 17) % 17,
                                 y = (plan.strips.held.lower + j + 13) % 13;
              EXPECT_EQ(window.in[0][i + 3 * (j + plan.strips.held.count() * k)],
                        whole[static_cast<std::size_t>(i + 3 * (y + 13 * z))]);
            }
      });
    }));
}

/// Parts that go around along both axes, more than once, and all of one.
TEST(Pencils, AreHandedOut) {
  Grid const grid{.dims = 3, .points = {2, 5, 4}};
  std::vector<float> whole(40);
  std::iota(whole.begin(), whole.end(), 0.0F);
  std::vector<Brick> const asked = {
      {{-2, 3}, {1, 3}}, {{1, 6}, {-3, 7}}, {{0, 4}}, {{2, 3}, {4, 6}}};
  EXPECT_TRUE(test::on_ranks(4, [&](Ranks& ranks) {
    Stream stream(Device::open(Backend::cpu));
    Brick const brick = asked[static_cast<std::size_t>(ranks.rank())];
    Planes const across = brick.across.count() > 0 ? brick.across : Planes{0, 5};
    std::vector<float> expected;
    for (std::int64_t k = brick.planes.lower; k < brick.planes.upper; ++k)
      for (std::int64_t j = across.lower; j < across.upper; ++j)
        for (std::int64_t i = 0; i < 2; ++i)
          expected.push_back(static_cast<float>(i + 2 * ((j + 10) % 5 + 5 * ((k + 8) % 4))));
    std::vector<float> here(expected.size());
    hand_out<float>(stream, ranks, grid,
                    ranks.is_first() ? std::span<float const>(whole) : std::span<float const>(),
                    brick, here);
    EXPECT_EQ(here, expected) << ranks.rank();
  }));
}

TEST(PencilPlan, OwnsEveryPointOnce) {
  auto const shape = test::pencil_shape(3, true, false, 1);
  auto const plan = plan_ranks(shape, 6, Backend::cpu, 2, 3);
  EXPECT_EQ(plan.slabs(), 2);
  std::vector<int> owners(13 * 17);
  for (int rank = 0; rank < 6; ++rank) {
    auto const local = plan.at_rank(rank);
    EXPECT_EQ(local.shape.grid.points[1], local.strips.held.count());
    for (std::int64_t k = local.owned_by(rank).lower; k < local.owned_by(rank).upper; ++k)
      for (std::int64_t j = local.strips.own.lower; j < local.strips.own.upper; ++j)
        ++owners[static_cast<std::size_t>(j + 13 * k)];
  }
  EXPECT_EQ(std::ranges::count(owners, 1), std::ssize(owners));
  EXPECT_EQ(plan.beside(1), (std::array{4, 4}));  // around
  EXPECT_EQ(plan.beside_across(1), (std::array{0, 2}));
  EXPECT_EQ(plan.beside_across(3), (std::array{-1, 4}));
  EXPECT_EQ(plan.widest().strips.held.count(), 4 + 2 * 2);
  EXPECT_EQ(plan.at_rank(0).at_rank(2).strips.held.lower, 8 - 2);
}

/// Up to 8 ranks in slabs; more as the model has it, and where there are too few planes.
TEST(PencilPlan, ArrangesManyRanks) {
  SweepShape cube{.grid = {.dims = 3, .points = {256, 256, 256}}, .periodic = true};
  for (int const ranks : {2, 4, 8}) EXPECT_EQ(best_strips(cube, ranks, Backend::cuda, {}), 1);
  EXPECT_EQ(best_strips(cube, 64, Backend::cuda, {}), 8);
  cube.grid.points[2] = 8;
  EXPECT_EQ(best_strips(cube, 8, Backend::cuda, {}), 8);  // slabs need two planes each
  cube.grid.points = {256, 3, 8};
  EXPECT_EQ(best_strips(cube, 8, Backend::cuda, {}), 0);
  EXPECT_EQ(most_strips(cube), 1);
  SweepShape plane{.grid = {.dims = 2, .points = {16, 1 << 16, 1}}};
  EXPECT_EQ(best_strips(plane, 64, Backend::cuda, {}), 1);
  // What is exchanged for each stage costs nothing while planes take longer.
  SweepShape flow{.grid = {.dims = 3, .points = {1024, 1024, 1024}}, .reach = 9, .stages = 3};
  flow.values_per_update = 6;
  EXPECT_EQ(best_strips(flow, 16, Backend::cuda, {}), 1);
  EXPECT_GT(best_strips(flow, 128, Backend::cuda, {}), 1);  // slabs have 9 planes at least
  flow.stages = 0;
  EXPECT_EQ(best_strips(flow, 16, Backend::cuda, {}), 4);
}

}  // namespace
}  // namespace gridstride

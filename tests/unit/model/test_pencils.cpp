#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>
#include <vector>

#include "model/bricks.hpp"
#include "model/hand_out.hpp"
#include "support/pencil_cases.hpp"

/// Ranks that cut several axes.
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
                test::pencil_shape(dims, around, (parts[0] + trip) % 2 == 0, 1),
                {parts[0], parts[1], 1}, trip,
                test::machines_of(parts[0] * parts[1], ranks_of_machine));
}

TEST(Pencils, HaveThemWithStepsThatReachFurther) {
  for (auto const& parts : {std::array{2, 2}, {3, 2}, {4, 1}})
    for (bool const around : {false, true})
      test::expect_pencil_bits(test::pencil_shape(3, around, !around, 2), {parts[0], parts[1], 1},
                               parts[0] == 2 ? 2 : 1,
                               test::machines_of(parts[0] * parts[1], around ? 1 : 6));
}

/// With the points beside them, corners too.
TEST(Pencils, AreLookedAtWithTheirHalos) {
  for (bool const around : {false, true})
    EXPECT_TRUE(test::on_ranks(6, [&](Ranks& ranks) {
      auto const shape = test::pencil_shape(3, around, around, 2);
      Stream const stream(Device::open(Backend::cpu));
      auto const plan = plan_ranks(shape, 6, Backend::cpu, 1, {3, 1}).at_rank(ranks.rank());
      RankSteps<double> steps(
          stream, plan, [](std::int64_t) { return 1; }, ranks);
      auto const whole = test::pencil_values(shape.grid.size());
      auto values = ranks.is_first() ? whole : std::vector<double>();
      double* const arrays[] = {values.data()};
      steps.look(arrays, LooksAt::beside, [&](Stream&, Window<double> const& window) {
        Planes const held = plan.held_by(ranks.rank());
        EXPECT_EQ(window.first, held.lower);
        EXPECT_EQ(window.grid.points[2], held.count());
        Planes const across = plan.strips[0].held;
        EXPECT_EQ(window.grid.points[1], across.count());
        for (std::int64_t k = 0; k < held.count(); ++k)
          for (std::int64_t j = 0; j < across.count(); ++j)
            for (std::int64_t i = 0; i < 3; ++i) {
              std::int64_t const z = (held.lower + k + 17) % 17, y = (across.lower + j + 13) % 13;
              EXPECT_EQ(window.in[0][i + 3 * (j + across.count() * k)],
                        whole[static_cast<std::size_t>(i + 3 * (y + 13 * z))]);
            }
      });
    }));
}

/// Parts along all axes, of rings and between ends, with one rank or several along each.
TEST(Bricks, HaveTheBitsOfOneProcess) {
  for (auto const& parts : {std::array{2, 2, 2}, {1, 2, 3}, {2, 1, 2}, {1, 1, 4}, {3, 2, 2}})
    for (int const rings : {0, parts[0] == 2 ? 5 : 3, 7})
      for (std::int64_t const reach : {1, 2}) {
        if (reach == 2 && parts != std::array{2, 2, 2}) continue;
        test::expect_pencil_bits(
            test::brick_shape((rings & 1) != 0, (rings & 2) != 0, (rings & 4) != 0, reach), parts,
            parts[0] == 3 ? 1 : 4 - reach - (rings == 7),
            test::machines_of(parts[0] * parts[1] * parts[2], rings == 5 ? 3 : 12));
      }
}

/// Parts that go around along all axes, more than once, and all of some.
TEST(Bricks, AreHandedOut) {
  Grid const grid{.dims = 3, .points = {3, 5, 4}};
  std::vector<float> whole(60);
  std::iota(whole.begin(), whole.end(), 0.0F);
  std::vector<Brick> const asked = {
      {{-2, 3}, {{{1, 3}, {}}}},    {{1, 6}, {{{-3, 7}, {-1, 5}}}}, {{0, 4}, {}},
      {{2, 3}, {{{4, 6}, {1, 2}}}}, {{-1, 2}, {{{}, {-4, 2}}}},     {{0, 2}, {{{1, 4}, {1, 3}}}}};
  EXPECT_TRUE(test::on_ranks(static_cast<int>(asked.size()), [&](Ranks& ranks) {
    Stream stream(Device::open(Backend::cpu));
    Brick const brick = asked[static_cast<std::size_t>(ranks.rank())];
    auto const extents = extents_of(grid, brick);
    std::vector<float> expected;
    for (std::int64_t k = extents[2].lower; k < extents[2].upper; ++k)
      for (std::int64_t j = extents[1].lower; j < extents[1].upper; ++j)
        for (std::int64_t i = extents[0].lower; i < extents[0].upper; ++i)
          expected.push_back(
              static_cast<float>((i + 6) % 3 + 3 * ((j + 10) % 5 + 5 * ((k + 8) % 4))));
    std::vector<float> here(expected.size());
    hand_out<float>(stream, ranks, grid,
                    ranks.is_first() ? std::span<float const>(whole) : std::span<float const>(),
                    brick, here);
    EXPECT_EQ(here, expected) << ranks.rank();
  }));
}

TEST(Bricks, AreCopiedInRowsAsLongAsTheyCanBe) {
  std::array<std::int64_t, 3> const grid = {6, 5, 4};
  auto const some = block_rows({6, 5, 2}, grid, grid);  // whole planes
  EXPECT_EQ(some.width, 60);
  EXPECT_EQ(some.rows * some.planes, 1);
  auto const lines = block_rows({6, 3, 2}, grid, {6, 3, 2});
  EXPECT_EQ(lines.width, 18);
  EXPECT_EQ(lines.rows, 2);
  EXPECT_EQ(lines.row, (std::array<std::int64_t, 2>{30, 18}));
  auto const parts = block_rows({2, 3, 4}, grid, {2, 3, 4});
  EXPECT_EQ(parts.width, 2);
  EXPECT_EQ(parts.rows, 3);
  EXPECT_EQ(parts.planes, 4);
  EXPECT_EQ(parts.row, (std::array<std::int64_t, 2>{6, 2}));
  EXPECT_EQ(parts.plane, (std::array<std::int64_t, 2>{30, 6}));
  auto const points = block_rows({1, 1, 4}, grid, {1, 1, 4});  // of a line across planes
  EXPECT_EQ(points.width, 1);
  EXPECT_EQ(points.rows, 4);
  EXPECT_EQ(points.row, (std::array<std::int64_t, 2>{30, 1}));
}

TEST(PencilPlan, OwnsEveryPointOnce) {
  auto const shape = test::pencil_shape(3, true, false, 1);
  auto const plan = plan_ranks(shape, 6, Backend::cpu, 2, {3, 1});
  EXPECT_EQ(plan.slabs(), 2);
  std::vector<int> owners(13 * 17);
  for (int rank = 0; rank < 6; ++rank) {
    auto const local = plan.at_rank(rank);
    EXPECT_EQ(local.shape.grid.points[1], local.strips[0].held.count());
    for (std::int64_t k = local.owned_by(rank).lower; k < local.owned_by(rank).upper; ++k)
      for (std::int64_t j = local.strips[0].own.lower; j < local.strips[0].own.upper; ++j)
        ++owners[static_cast<std::size_t>(j + 13 * k)];
  }
  EXPECT_EQ(std::ranges::count(owners, 1), std::ssize(owners));
  EXPECT_EQ(plan.beside(1), (std::array{4, 4}));  // around
  EXPECT_EQ(plan.beside_across(1, 0), (std::array{0, 2}));
  EXPECT_EQ(plan.beside_across(3, 0), (std::array{-1, 4}));
  EXPECT_EQ(plan.beside_across(3, 1), (std::array{-1, -1}));
  EXPECT_EQ(plan.widest().strips[0].held.count(), 4 + 2 * 2);
  EXPECT_EQ(plan.at_rank(0).at_rank(2).strips[0].held.lower, 8 - 2);
}

TEST(BrickPlan, OwnsEveryPointOnce) {
  auto const shape = test::brick_shape(false, true, false, 1);  // 11 x 7 x 8
  auto const plan = plan_ranks(shape, 12, Backend::cpu, 1, {2, 3});
  EXPECT_EQ(plan.slabs(), 2);
  std::vector<int> owners(11 * 7 * 8);
  for (int rank = 0; rank < 12; ++rank)
    for_each_block(shape.grid, plan.brick_of(rank), [&](Block const& block) {
      for (std::int64_t k = 0; k < block.points[2]; ++k)
        for (std::int64_t j = 0; j < block.points[1]; ++j)
          for (std::int64_t i = 0; i < block.points[0]; ++i)
            ++owners[static_cast<std::size_t>(
                place_in(shape.grid.points, {block.at[0] + i, block.at[1] + j, block.at[2] + k}))];
    });
  EXPECT_EQ(std::ranges::count(owners, 1), std::ssize(owners));
  EXPECT_EQ(plan.beside(4), (std::array{-1, 10}));
  EXPECT_EQ(plan.beside_across(4, 0), (std::array{1, 1}));  // around
  EXPECT_EQ(plan.beside_across(4, 1), (std::array{3, 5}));
  EXPECT_EQ(plan.beside_across(3, 1), (std::array{-1, 4}));
  EXPECT_EQ(plan.widest().shape.grid.points, (std::array<std::int64_t, 3>{4 + 2, 4 + 2, 8}));
  EXPECT_EQ(plan.at_rank(0).shape.grid.points, (std::array<std::int64_t, 3>{3 + 1, 3 + 2, 8}));
}

/// Up to 8 ranks in slabs; more as the model has it, and where there are too few planes.
TEST(PencilPlan, ArrangesManyRanks) {
  using Strips = OfStripAxes<int>;
  SweepShape cube{.grid = {.dims = 3, .points = {256, 256, 256}}, .periodic = true};
  for (int const ranks : {2, 4, 8})
    EXPECT_EQ(best_strips(cube, ranks, Backend::cuda, {}), (Strips{1, 1}));
  EXPECT_EQ(best_strips(cube, 64, Backend::cuda, {}), (Strips{8, 1}));
  cube.grid.points[2] = 8;
  EXPECT_EQ(best_strips(cube, 8, Backend::cuda, {}), (Strips{8, 1}));  // slabs need two planes each
  cube.grid.points = {256, 3, 8};
  EXPECT_EQ(best_strips(cube, 8, Backend::cuda, {}, {true, false}), (Strips{0, 0}));
  EXPECT_EQ(most_strips(cube, 0), 1);
  EXPECT_EQ(most_strips(cube, 1), 128);
  SweepShape plane{.grid = {.dims = 2, .points = {16, 1 << 16, 1}}};
  EXPECT_EQ(best_strips(plane, 64, Backend::cuda, {}), (Strips{1, 1}));
  EXPECT_EQ(most_strips(plane, 1), 1);
  // What is exchanged for each stage costs nothing while planes take longer.
  SweepShape flow{.grid = {.dims = 3, .points = {1024, 1024, 1024}}, .reach = 9, .stages = 3};
  flow.values_per_update = 6;
  EXPECT_EQ(best_strips(flow, 16, Backend::cuda, {}), (Strips{1, 1}));
  EXPECT_GT(best_strips(flow, 128, Backend::cuda, {})[0], 1);  // slabs have 9 planes at least
  flow.stages = 0;
  EXPECT_EQ(best_strips(flow, 16, Backend::cuda, {}), (Strips{4, 1}));
}

/// The third axis is cut where that saves a fifth, or nothing else goes.
TEST(BrickPlan, ArrangesManyRanks) {
  using Strips = OfStripAxes<int>;
  SweepShape cube{.grid = {.dims = 3, .points = {1024, 1024, 1024}}, .reach = 9};
  EXPECT_EQ(best_strips(cube, 4096, Backend::cuda, {}), (Strips{16, 16}));
  EXPECT_EQ(best_strips(cube, 4096, Backend::cuda, {}, {true, false}), (Strips{64, 1}));
  cube.reach = 1;
  cube.grid.points = {512, 512, 512};
  EXPECT_EQ(best_strips(cube, 512, Backend::cuda, {}), (Strips{8, 8}));
  cube.grid.points = {256, 4, 4};
  EXPECT_EQ(best_strips(cube, 4, Backend::cuda, {}), (Strips{2, 1}));  // 2 x 2 pencils
  EXPECT_EQ(best_strips(cube, 8, Backend::cuda, {}), (Strips{1, 8}));
  EXPECT_EQ(best_strips(cube, 448, Backend::cuda, {}), (Strips{2, 112}));
  EXPECT_EQ(best_strips(cube, 449, Backend::cuda, {}), (Strips{0, 0}));
}

}  // namespace
}  // namespace gridstride

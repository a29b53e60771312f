#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "support/march_cases.hpp"

namespace gridstride {
namespace {

TEST(MarchLayout, LayoutByHand) {
  // Three points to the left in the row above, one to the right in the row two below.
  auto const program = test::reading({{-3, 1, 0}, {1, -2, 0}, {0, 0, 0}});
  auto what = test::marched(program);
  auto const layout = system::layout_of(what, 4, {.steps = 2, .lane_points = 4});
  EXPECT_EQ(layout.levels, 2);
  EXPECT_EQ(layout.halo, 8);  // six columns are wrong; a thread has four
  EXPECT_EQ(layout.stored, 112);
  EXPECT_EQ(layout.rows_held, (std::vector<int>{5, 5}));
  // Of the rows of a reach of 2, the newest is that two above.
  EXPECT_EQ(layout.left, (std::vector<std::vector<int>>{{0}, {3}, {0}, {0}, {0}}));
  EXPECT_EQ(layout.right, (std::vector<std::vector<int>>{{0}, {0}, {0}, {0}, {1}}));
}

/// The last stage of rk4 asks for all states of its step: of the first one the row that is four
/// levels behind.
TEST(MarchLayout, StagesKeepRowsForLaterOnes) {
  auto const program = test::reading({{0, 1, 0}, {0, -1, 0}});
  auto what = test::marched(program, 4);
  what.stages[3].addends = {{1, 0.25}, {2, 0.5}};
  auto const layout = system::layout_of(what, 8, {.steps = 2, .lane_points = 2});
  EXPECT_EQ(layout.levels, 8);
  EXPECT_EQ(layout.rows_held, (std::vector<int>{5, 4, 3, 3, 5, 4, 3, 3}));
  EXPECT_EQ(layout.halo, 0);
}

/// μ of three rows of c, one row below the newest, and ∇²μ of three rows of these; the rate is added
/// to c two rows below.
TEST(MarchLayout, LayoutOfParts) {
  auto const cases = test::march_cases();
  auto const phases = std::ranges::find(cases, "Cahn-Hilliard", &test::MarchCase::name);
  Grid const grid{.dims = 2, .points = {1024, 1024, 1}};
  auto const program = test::program_of(*phases, grid);
  auto const what = test::marched_of(*phases, program, grid);
  auto const layout = system::layout_of(
      what, 4, {.steps = 2, .lane_points = 4, .parting = system::Parting::operators});
  EXPECT_EQ(layout.levels, 2);
  EXPECT_EQ(layout.halo, 4);
  EXPECT_EQ(layout.lags, (std::vector<int>{1, 2}));
  EXPECT_EQ(layout.rows_held, (std::vector<int>{3, 3}));
  EXPECT_EQ(layout.inner_held, (std::vector<int>{3}));
  std::vector<std::vector<int>> beside(10, {0, 0});
  beside[1] = {1, 0};      // of c in the middle row for μ
  beside[5 + 1] = {0, 1};  // of μ for its Laplacian
  EXPECT_EQ(layout.left, beside);
  EXPECT_EQ(layout.right, beside);
  EXPECT_EQ(system::march_shapes(what, 4, 1).front().parting, system::Parting::operators);
}

/// A difference of rows that is kept takes the place of the oldest row of its state.
TEST(MarchLayout, LayoutOfDifferencesOfRows) {
  auto const cases = test::march_cases();
  auto const& reaction = *std::ranges::find(cases, "Gray-Scott", &test::MarchCase::name);
  Grid const grid{.dims = 2, .points = {8192, 8192, 1}};
  auto const program = test::program_of(reaction, grid);
  auto what = test::marched_of(reaction, program, grid);
  auto const shape = system::march_shapes(what, 4, 8).front();
  EXPECT_EQ(shape.parting, system::Parting::also_rows);
  auto const layout = system::layout_of(what, 4, shape);
  EXPECT_EQ(layout.lags, (std::vector<int>{1, 1}));
  EXPECT_EQ(layout.rows_held, std::vector<int>(8, 2));
  EXPECT_EQ(layout.inner_held, (std::vector<int>{2, 2}));
  // Not in float64, where sides ask for all rows, and in short chunks.
  EXPECT_EQ(system::march_shapes(what, 8, 8).front().parting, system::Parting::none);
  what.sides[0][1] = {system::SideRule{.wraps = false}, system::SideRule{.wraps = false}};
  EXPECT_EQ(system::march_shapes(what, 4, 8).front().parting, system::Parting::none);
  what.sides[0] = {};
  what.grid.points = {2048, 2048, 1};
  EXPECT_EQ(system::march_shapes(what, 4, 8).front().parting, system::Parting::none);
}

/// Level l makes no row that is asked for before turn 2·(l + 1)·reach of a chunk: the second one in its fifth.
TEST(MarchLayout, FirstTurnsOfAChunk) {
  auto const cases = test::march_cases();
  auto const& reaction = *std::ranges::find(cases, "Gray-Scott", &test::MarchCase::name);
  Grid const grid{.dims = 2, .points = {1024, 1024, 1}};
  auto const program = test::program_of(reaction, grid);
  auto what = test::marched_of(reaction, program, grid);
  using Early = std::array<int, 2>;
  EXPECT_EQ(system::layout_of(what, 4, {.steps = 8}).early_levels, (Early{1, 4}));
  EXPECT_EQ(system::layout_of(what, 4, {.steps = 4}).early_levels, (Early{1, 0}));
  EXPECT_EQ(system::layout_of(what, 4, {.steps = 2}).early_levels, Early{});
  what.sides[0][0] = {system::SideRule{.wraps = false}, system::SideRule{.wraps = false}};
  EXPECT_EQ(system::layout_of(what, 4, {.steps = 4}).early_levels, Early{});
  auto const of_one = test::reading({{0, 2, 0}, {0, -1, 0}});
  EXPECT_EQ(system::layout_of(test::marched(of_one), 4, {.steps = 4}).early_levels, Early{});
}

/// Beside sides of y the whole program comes after the parts: it takes five rows of c, and where one
/// is beyond, its columns of any other.
TEST(MarchLayout, PartsBesideSides) {
  auto const cases = test::march_cases();
  auto const phases = std::ranges::find(cases, "Cahn-Hilliard", &test::MarchCase::name);
  Grid const grid{.dims = 2, .points = {1024, 1024, 1}};
  auto const program = test::program_of(*phases, grid);
  auto what = test::marched_of(*phases, program, grid);
  EXPECT_EQ(system::march_programs(what, system::Parting::operators, 4).size(), 2U);
  what.sides[0][1] = {system::SideRule{.wraps = false}, system::SideRule{.wraps = false}};
  auto const programs = system::march_programs(what, system::Parting::operators, 4);
  ASSERT_EQ(programs.size(), 3U);
  EXPECT_EQ(programs[2].program.code.size(), program.code.size());
  EXPECT_EQ(system::march_programs(what, system::Parting::none, 4).size(), 1U);
  auto const layout = system::layout_of(
      what, 4, {.steps = 2, .lane_points = 4, .parting = system::Parting::operators});
  EXPECT_EQ(layout.lags, (std::vector<int>{1, 2, 2}));
  EXPECT_EQ(layout.rows_held, (std::vector<int>{5, 5}));
  EXPECT_EQ(layout.inner_held, (std::vector<int>{3}));
  std::vector<std::vector<int>> beside(15, {0, 0});
  beside[1] = {1, 0};
  beside[5 + 1] = {0, 1};
  std::fill(beside.begin() + 10, beside.end(), std::vector{2, 0});
  EXPECT_EQ(layout.left, beside);
  EXPECT_EQ(layout.right, beside);
  EXPECT_EQ(system::march_shapes(what, 4, 1).front().parting, system::Parting::operators);
}

/// A stage that mixes in its own input needs the row of it that it adds to, even where its parts
/// look at newer ones alone.
TEST(MarchLayout, PartsAtPointsKeepTheRowOfTheStage) {
  Grid const grid{.dims = 2, .points = {64, 64, 1}};
  test::MarchCase const one = {"a pointwise operator",
                               {{"f", {"(u^3 - u)*exp(-u^2) + sin(u)*cos(3*u)*u"}}},
                               {test::rate("u", "laplace(f)")},
                               "rk4",
                               1};
  auto const program = test::program_of(one, grid);
  auto const what = test::marched_of(one, program, grid);
  auto const layout = system::layout_of(what, 4, {.parting = system::Parting::operators});
  EXPECT_EQ(layout.lags, (std::vector<int>{0, 1}));
  EXPECT_EQ(layout.rows_held, (std::vector<int>{5, 4, 3, 2}));
  EXPECT_EQ(layout.inner_held, (std::vector<int>{3}));
}

/// Beyond a side of y, a mixed derivative takes the columns beside of the row itself, too.
TEST(MarchLayout, MirrorsNeedColumnsOfOtherRows) {
  auto const program = test::reading({{-1, 1, 0}, {2, -1, 0}});
  auto what = test::marched(program);
  using Columns = std::vector<std::vector<int>>;
  EXPECT_EQ(system::layout_of(what, 4, {}).left, (Columns{{1}, {0}, {0}}));
  system::SideRule const mirrors = {.wraps = false};
  what.sides[0][1] = {mirrors, mirrors};
  auto const layout = system::layout_of(what, 4, {});
  EXPECT_EQ(layout.left, (Columns{{1}, {1}, {1}}));
  EXPECT_EQ(layout.right, (Columns{{2}, {2}, {2}}));
  auto const star = test::reading({{-1, 0, 0}, {0, 1, 0}, {0, -1, 0}});
  what.program = &star;
  EXPECT_EQ(system::layout_of(what, 4, {}).left, (Columns{{0}, {1}, {0}}));
}

}  // namespace
}  // namespace gridstride

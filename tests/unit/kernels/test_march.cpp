#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <tuple>

#include "kernels/support/runtime_compiler.hpp"
#include "support/heat_cases.hpp"
#include "support/march_cases.hpp"

namespace gridstride {
namespace {

using system::MarchShape;

TEST(March, ShapesAreFit) {
  for (auto const& one : test::march_cases())
    for (int const bytes : {4, 8}) {
      Grid const grid{.dims = 2, .points = {1000, 1000, 1}};
      auto const program = test::program_of(one, grid);
      auto const what = test::marched_of(one, program, grid);
      ASSERT_EQ(system::march_refusal(what), "") << one.name;
      auto const shapes = system::march_shapes(what, bytes, 8);
      ASSERT_FALSE(shapes.empty()) << one.name;
      EXPECT_EQ(std::ranges::count(shapes, 1, &MarchShape::steps), 1) << one.name;
      for (MarchShape const& shape : shapes) {
        auto const layout = system::layout_of(what, bytes, shape);
        EXPECT_LE(layout.registers, 255);
        EXPECT_GE(layout.halo, layout.levels * program.reach[0]);
        EXPECT_EQ(layout.halo % shape.lane_points, 0);
        EXPECT_GT(layout.stored, 0);
        EXPECT_EQ(shape.turns % 2, 0);
        EXPECT_EQ(shape.lane_points % shape.vector_points, 0);
        EXPECT_EQ(grid.points[0] % shape.vector_points, 0);
      }
      EXPECT_EQ(system::march_shapes(what, bytes, 1).size(), 1U);
    }
}

/// Lines that are no multiple of 16 bytes are loaded in shorter vectors.
TEST(March, VectorsDivideLines) {
  auto const program = test::reading({{0, 0, 0}});
  for (auto const& [points, expected] :
       std::vector<std::pair<std::int64_t, int>>{{8192, 4}, {8190, 2}, {8189, 1}}) {
    auto what = test::marched(program);
    what.grid.points = {points, 8192, 1};
    for (auto const& shape : system::march_shapes(what, 4, 8))
      EXPECT_EQ(shape.vector_points, expected) << points;
  }
}

/// Strips and chunks hold every point once.
TEST(March, CutsHoldEveryPoint) {
  auto const program = test::reading({{-1, 0, 0}, {1, 0, 0}, {0, 1, 0}});
  auto const what = test::marched(program);
  for (MarchShape const& shape : system::march_shapes(what, 4, 8)) {
    auto const layout = system::layout_of(what, 4, shape);
    for (std::int64_t const columns : {1, 7, 112, 113, 8192})
      for (std::int64_t const rows : {1, 2, 37, 8192})
        for (system::MarchMachine const machine : {system::MarchMachine{1, 1}, {4, 3}, {528, 4}}) {
          Grid const grid{.dims = 2, .points = {columns, rows, 1}};
          auto const cut = system::cut_for_march(grid, shape, layout, machine);
          EXPECT_GE(cut.strips * layout.stored, columns);
          EXPECT_LT((cut.strips - 1) * layout.stored, columns);
          EXPECT_GE(cut.chunks * cut.rows, rows);
          EXPECT_LT((cut.chunks - 1) * cut.rows, rows);
        }
  }
}

/// A grid with many points gives each scheduler the warps that it can hold; one with few gives it one
/// warp with few rows, since what two share is done no sooner.
TEST(March, CutsForTheMachine) {
  auto const program = test::reading({{-1, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, -1, 0}});
  auto const cut_of = [&](std::int64_t points, int lane_points) {
    auto what = test::marched(program);
    what.grid.points = {points, points, 1};
    system::MarchShape const shape = {.steps = 4, .lane_points = lane_points, .turns = 4};
    return system::cut_for_march(what.grid, shape, system::layout_of(what, 4, shape), {528, 3});
  };
  auto const large = cut_of(8192, 4);  // 69 strips of 120 columns
  EXPECT_EQ(large.strips, 69);
  EXPECT_LE(large.strips * large.chunks, 3 * 528);
  EXPECT_GT(large.strips * large.chunks, 3 * 528 - 69);
  auto const small = cut_of(256, 1);  // 11 strips of 24 columns
  EXPECT_EQ(small.strips, 11);
  EXPECT_EQ(small.rows, 6);
  EXPECT_EQ(small.chunks, 43);
}

/// Small grids take narrow strips, so that there are warps for all schedulers, and long passes,
/// which share the time of a launch; large grids wide ones.
TEST(March, ShapesFollowTheGrid) {
  auto const cases = test::march_cases();
  auto const& one = cases.front();
  ASSERT_EQ(one.name, "Gray-Scott");
  auto const shape_on = [&](std::int64_t points) {
    Grid const grid{.dims = 2, .points = {points, points, 1}};
    auto const program = test::program_of(one, grid);
    return system::march_shapes(test::marched_of(one, program, grid), 4, 8).front();
  };
  EXPECT_EQ(shape_on(256).lane_points, 1);
  EXPECT_GE(shape_on(256).steps, 4);
  EXPECT_EQ(shape_on(8192).lane_points, 4);
}

/// Beside sides a thread's columns are all of the grid or none, in parts that end at any column, too.
TEST(March, PartsOfLinesEndBetweenThreads) {
  auto const cases = test::march_cases();
  auto const& one = cases.front();
  Grid const grid{.dims = 2, .points = {8192, 8192, 1}};
  auto const program = test::program_of(one, grid);
  for (bool const wraps : {true, false}) {
    auto what = test::marched_of(one, program, grid);
    for (auto& rules : what.sides)
      for (auto& side : rules[0]) side.wraps = wraps;
    for (auto const& [least, expected] : std::vector<std::pair<std::int64_t, int>>{
             {0, 4}, {128, 4}, {127, wraps ? 4 : 2}, {63, wraps ? 4 : 1}}) {
      what.least_columns = least;
      int most = 1;
      for (auto const& shape : system::march_shapes(what, 4, 8))
        most = std::max(most, shape.lane_points);
      EXPECT_EQ(most, expected) << least;
    }
  }
}

TEST(March, RefusesWhatItDoesNotTake) {
  auto const program = test::reading({{-1, 0, 0}, {1, 0, 0}});
  EXPECT_EQ(system::march_refusal(test::marched(program)), "");
  auto what = test::marched(program);
  what.grid.dims = 3;
  EXPECT_EQ(system::march_refusal(what), "'march' takes grids in 1D and 2D, not in 3D");
  what = test::marched(program);
  what.sides_change = true;
  EXPECT_EQ(system::march_refusal(what), "'march' takes sides whose values do not follow the time");
  what = test::marched(program);
  what.sides.clear();
  EXPECT_EQ(system::march_refusal(what), "'march' takes a rate for each field");
  what = test::marched(program);
  what.sides[0][0] = {system::SideRule{.wraps = false}, system::SideRule{.wraps = false}};
  EXPECT_EQ(system::march_refusal(what), "");
  what.grid.points[0] = 1;
  EXPECT_EQ(system::march_refusal(what), "'march' takes 2 points or more along x");
  EXPECT_EQ(system::march_refusal(test::marched(program, 5)),
            "'march' takes schemes of at most four stages");
  auto random = program;
  random.code.front().kind = equations::Kind::uniform;
  EXPECT_EQ(system::march_refusal(test::marched(random)),
            "'march' takes equations of fields, coordinates and the time alone");
  auto const far = test::reading({{-16, 0, 0}, {0, 16, 0}});
  EXPECT_EQ(system::march_refusal(test::marched(far, 4)),
            "'march' keeps some rows of 4 stages of 1 fields in registers, which these equations "
            "are too many or reach too far for");
}

/// A long program is taken by name only; parts make it shorter.
TEST(March, LongProgramsDoNotMarchByDefault) {
  auto const of_length = [](int operations, std::vector<std::int8_t> const& places) {
    equations::Terms terms;
    auto sum = terms.number(0);
    for (std::int8_t const x : places) {
      auto const u = terms.unknown(0, {x, 0, 0});
      auto value = terms.operation(expression::Operation::exp, u);
      for (int i = 1; i < operations; ++i)
        value = terms.operation(expression::Operation::sin, value);
      sum = terms.add(sum, value);
    }
    return equations::program_of(terms, std::vector<equations::Term>{sum}, 2);
  };
  EXPECT_TRUE(system::marches_by_default(test::marched(of_length(512, {0}))));
  EXPECT_FALSE(system::marches_by_default(test::marched(of_length(513, {0}))));
  EXPECT_EQ(system::march_refusal(test::marched(of_length(513, {0}))), "");
  EXPECT_TRUE(system::marches_by_default(test::marched(of_length(400, {-1, 0, 1}))));
  auto what = test::marched(of_length(1, {0}));
  what.grid.dims = 3;
  EXPECT_FALSE(system::marches_by_default(what));
}

TEST(March, RulesOfSides) {
  std::vector<system::Input<float>> inputs(2);
  EXPECT_EQ(system::side_rules<float>(inputs), std::vector<system::SideRules>(2));
  float const g = 1;
  inputs[1].sides[0][1] = system::side_of<float>(SideKind::robin, 0.5, &g, &g);
  inputs[1].sides[1][0] = system::side_of<float>(SideKind::dirichlet, 0.5, nullptr);
  auto const rules = system::side_rules<float>(inputs);
  EXPECT_EQ(rules[1][0][1], (system::SideRule{.wraps = false,
                                              .given = false,
                                              .sign = 1,
                                              .own = 0,
                                              .slopes = true,
                                              .has_g = true,
                                              .has_a = true}));
  EXPECT_EQ(rules[1][1][0],
            (system::SideRule{.wraps = false, .given = true, .sign = -1, .own = 2}));
  EXPECT_EQ(rules[1][1][1], system::SideRule());
}

constexpr system::SideRule mirrors = {.wraps = false};

/// Of vectors, a wall gives the component along its normal.
TEST(March, RulesOfARun) {
  auto const marched_at = [](std::string const& value) {
    auto const config = test::config_of(
        "simulation: pde\n"
        "grid: {points: [16, 16]}\n"
        "fields: {v: vector}\n"
        "boundary: {v: {x: wall, y: {lower: {robin: {x: [1, 0], y: [2, " +
        value +
        "]}}, upper: outflow}}, u: {x: {dirichlet: 1}, y: wall}}\n"
        "equations: {v: laplace(v), u: laplace(u)}\n"
        "initial: {v: [0, 0], u: 0}\n"
        "time: {scheme: euler, end: 1}\n");
    return pde::marched(config, {}, find_scheme("euler"));
  };
  auto const what = marched_at("1");
  EXPECT_FALSE(what.sides_change);
  ASSERT_EQ(what.sides.size(), 3U);
  system::SideRule const robin = {.wraps = false, .slopes = true, .has_g = true, .has_a = true};
  system::SideRule const outflow = {.wraps = false, .sign = -1, .own = 2};
  system::SideRule const blocked = {.wraps = false, .given = true, .sign = -1};
  system::SideRule const one = {.wraps = false, .given = true, .sign = -1, .own = 2, .has_g = true};
  EXPECT_EQ(what.sides[0], (system::SideRules{{{blocked, blocked}, {robin, outflow}}}));
  EXPECT_EQ(what.sides[1], (system::SideRules{{{mirrors, mirrors}, {robin, outflow}}}));
  EXPECT_EQ(what.sides[2], (system::SideRules{{{one, one}, {mirrors, mirrors}}}));
  EXPECT_TRUE(marched_at("sin(t)").sides_change);
}

/// Where x has sides, the first and the last strip have a thread beyond them, and store up to them.
TEST(March, CutsAtSidesHoldEveryPoint) {
  auto const program = test::reading({{-1, 0, 0}, {1, 0, 0}, {0, 1, 0}});
  auto what = test::marched(program);
  what.sides[0][0] = {mirrors, mirrors};
  MarchShape const shape = {.steps = 3, .lane_points = 2};
  auto const layout = system::layout_of(what, 4, shape);
  ASSERT_EQ(layout.halo, 4);
  ASSERT_EQ(layout.ghosts, 2);
  ASSERT_EQ(layout.stored, 56);
  for (auto const& [columns, strips] : std::vector<std::pair<std::int64_t, int>>{
           {1, 1}, {59, 1}, {60, 1}, {61, 2}, {116, 2}, {117, 3}, {172, 3}, {173, 4}}) {
    int const at_sides = std::min(strips, 2) * (system::march_side_pieces - 1);
    Grid const grid{.dims = 2, .points = {columns, 8, 1}};
    EXPECT_EQ(system::cut_for_march(grid, shape, layout, {528, 3}).strips, strips + at_sides)
        << columns;
  }
}

/// No side lies between two columns of a thread, and whole strips may end at sides anyhow.
TEST(March, ThreadsEndAtSides) {
  auto const program = test::reading({{-1, 0, 0}, {1, 0, 0}});
  constexpr system::SideRule turns = {.sign = -1};
  for (auto const& [points, mirroring, turning] :
       std::vector<std::tuple<std::int64_t, int, int>>{{1024, 4, 4},
                                                       {1022, 4, 2},
                                                       {1021, 4, 1},
                                                       {120, 4, 4},
                                                       {127, 2, 1},
                                                       {62, 2, 2},
                                                       {61, 1, 1}}) {
    auto what = test::marched(program);
    what.grid.points = {points, 1 << 20, 1};
    what.sides[0][0] = {mirrors, mirrors};
    EXPECT_EQ(system::march_shapes(what, 4, 1).front().lane_points, mirroring) << points;
    what.sides[0][0] = {turns, turns};
    EXPECT_EQ(system::march_shapes(what, 4, 1).front().lane_points, turning) << points;
  }
}

TEST(March, StagesOfSchemes) {
  auto const euler = pde::pass_stages(find_scheme("euler"));
  ASSERT_EQ(euler.size(), 1U);
  EXPECT_EQ(euler[0].in_weight, 0);
  auto const third = pde::pass_stages(find_scheme("ssp_rk3"));
  ASSERT_EQ(third.size(), 3U);
  EXPECT_EQ(third[2].base, 0);
  EXPECT_EQ(third[2].in_weight, 2.0 / 3);
  EXPECT_EQ(third[2].fraction, 0.5);
  auto const fourth = pde::pass_stages(find_scheme("rk4"));
  ASSERT_EQ(fourth.size(), 4U);
  for (auto const& stage : fourth) EXPECT_EQ(stage.base, 0);
  using Addends = std::vector<std::pair<int, double>>;
  EXPECT_EQ(fourth[3].addends, (Addends{{1, 1.0 / 3}, {2, 2.0 / 3}}));
  // A stage that goes on from another one than the last.
  Scheme scheme{"other", 3, false, 2, {{.out = 1}, {.in = 0, .out = 2}}};
  EXPECT_THROW(pde::pass_stages(scheme), std::invalid_argument);
}

TEST(March, PassesGoBetweenTwoBuffers) {
  Scheme const scheme = pde::in_one_pass(find_scheme("rk4"));
  EXPECT_EQ(scheme.buffers, 2);
  EXPECT_TRUE(scheme.alternates);
  EXPECT_EQ(scheme.stages.size(), 4U);
}

/// What should be fastest comes first: what moves more than it computes takes several steps.
TEST(March, LongPassesWhereMemoryBinds) {
  auto const light = test::reading({{-1, 0, 0}, {1, 0, 0}});
  EXPECT_GT(system::march_shapes(test::marched(light), 4, 8).front().steps, 1);
  Grid const grid{.dims = 2, .points = {8192, 8192, 1}};
  auto const cases = test::march_cases();
  auto const waves = std::ranges::find(cases, "Schroedinger", &test::MarchCase::name);
  auto const program = test::program_of(*waves, grid);
  auto const what = test::marched_of(*waves, program, grid);
  EXPECT_EQ(system::march_shapes(what, 8, 8).front().steps, 1);
}

TEST(March, Compiles) {
  constexpr std::array names = {"Cahn-Hilliard", "diffusivity of x, t and u", "six components"};
  for (auto const& one : test::march_cases()) try {
      if (std::ranges::find(names, one.name) == names.end()) continue;
      Grid const grid{.dims = 2, .points = {1000, 1000, 1}};
      auto const program = test::program_of(one, grid);
      auto const what = test::marched_of(one, program, grid);
      auto const shape = system::march_shapes(what, 8, 1).front();
      EXPECT_FALSE(compile_cubin(system::march_source<double>(what, shape), 90).empty());
    } catch (RuntimeCompilerMissing const& missing) {
      GTEST_SKIP() << missing.what();
    }
}

/// A line is a single row: one turn, and no rows ahead.
TEST(March, CompilesForLines) {
  auto const cases = test::march_cases();
  auto const& gas = *std::ranges::find(cases, "gas", &test::MarchCase::name);
  Grid const grid{.dims = 1, .points = {1000, 1, 1}};
  auto const program = test::program_of(gas, grid);
  auto const walls = test::sides_cases().at(1);
  auto const inputs = test::sided_inputs<float>(
      walls, grid, program.results.size(), [](std::size_t) -> float const* { return nullptr; });
  auto const what = test::marched_of(gas, program, grid, system::side_rules<float>(inputs));
  auto const shape = system::march_shapes(what, 4, 8).front();
  EXPECT_EQ(shape.turns, 1);
  auto const tiling =
      system::cut_for_march(grid, shape, system::layout_of(what, 4, shape), {528, 8});
  EXPECT_EQ(tiling.chunks, 1);
  EXPECT_EQ(tiling.rows, 1);
  try {
    EXPECT_FALSE(compile_cubin(system::march_source<float>(what, shape), 90).empty());
  } catch (RuntimeCompilerMissing const& missing) {
    GTEST_SKIP() << missing.what();
  }
}

TEST(March, CompilesWithSides) {
  auto const cases = test::march_cases();
  auto const all = test::sides_cases();
  auto const compiles = [&](std::string const& name, test::SidesCase const& sides,
                            system::MarchShape const& shape) {
    auto const& one = *std::ranges::find(cases, name, &test::MarchCase::name);
    Grid const grid{.dims = 2, .points = {1000, 1000, 1}};
    auto const program = test::program_of(one, grid);
    double const there = 0;
    auto const inputs = test::sided_inputs<double>(sides, grid, program.results.size(),
                                                   [&](std::size_t) { return &there; });
    auto const what = test::marched_of(one, program, grid, system::side_rules<double>(inputs));
    EXPECT_EQ(system::march_refusal(what), "") << sides.name;
    EXPECT_FALSE(compile_cubin(system::march_source<double>(what, shape), 90).empty());
  };
  try {
    for (auto const& sides : all) compiles("Gray-Scott", sides, {.turns = 2});
    compiles("Cahn-Hilliard", all.front(), {.turns = 2, .parting = system::Parting::operators});
  } catch (RuntimeCompilerMissing const& missing) {
    GTEST_SKIP() << missing.what();
  }
}

}  // namespace
}  // namespace gridstride

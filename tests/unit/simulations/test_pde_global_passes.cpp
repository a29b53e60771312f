#include "simulations/pde_global_passes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>

#include "kernels/support/runtime_compiler.hpp"
#include "model/scheme.hpp"
#include "simulations/pde_march.hpp"
#include "simulations/pde_set_up.hpp"
#include "support/march_cases.hpp"
#include "support/pde_cases.hpp"

namespace gridstride {
namespace {

/// A system on a plane, by a scheme.
struct Planned {
  Grid grid{.dims = 2, .points = {1000, 1000, 1}, .origin = {}, .spacing = {0.4, 0.3, 1}};
  equations::Stencil stencil;
  equations::StencilProgram program;
  system::Marched what;

  Planned(std::vector<equations::Equation> const& equations, std::string const& scheme,
          test::SidesCase const* sides = nullptr) {
    equations::SystemText const text = {
        .dims = 2, .constants = {}, .lets = {}, .equations = equations};
    std::vector<equations::SystemFault> faults;
    auto const system = equations::read_system(text, faults);
    if (!system) throw std::logic_error(faults.front().error.what());
    stencil = equations::discretise(*system, grid);
    program = equations::program_of(stencil.terms, stencil.rates, 2);
    what = {.program = &program,
            .grid = grid,
            .sides = std::vector<system::SideRules>(program.results.size()),
            .stages = pde::pass_stages(find_scheme(scheme))};
    if (sides == nullptr) return;
    static double const there = 0;
    what.sides = system::side_rules<double>(test::sided_inputs<double>(
        *sides, grid, program.results.size(), [](std::size_t) { return &there; }));
  }
  Planned(Planned const&) = delete;
  Planned& operator=(Planned const&) = delete;

  pde::GlobalPassPlan plan() const { return {what, pde::operand_programs(stencil, 2)}; }
};

/// Of each pass the stages that it makes, the state and the operands that it finds, and whether it stores.
using Shapes = std::vector<std::tuple<std::size_t, int, std::vector<int>, bool>>;
Shapes shapes_of(pde::GlobalPassPlan const& plan) {
  Shapes shapes;
  for (auto const& pass : plan.passes())
    shapes.emplace_back(pass.what.stages.size(), pass.state, pass.operands, pass.what.stores);
  return shapes;
}

TEST(PdeGlobalPasses, EachStageHasAPassThatMakesThoseBeforeItAgain) {
  Planned const planned({test::rate("u", "laplace(u) - mean(u)")}, "ssp_rk3");
  EXPECT_EQ(
      shapes_of(planned.plan()),
      (Shapes{{0, 0, {0}, false}, {1, 1, {0}, false}, {2, 2, {0}, false}, {3, 3, {0}, true}}));
  Planned const euler({test::rate("u", "laplace(u) - mean(u)*integral(u^2)")}, "euler");
  EXPECT_EQ(shapes_of(euler.plan()), (Shapes{{0, 0, {0, 1}, false}, {1, 1, {0, 1}, true}}));
}

TEST(PdeGlobalPasses, ValuesOfValuesHavePassesOfTheirOwn) {
  Planned const planned({test::rate("u", "laplace(u) - mean((u - mean(u))^2)*max(u)")}, "ssp_rk2");
  EXPECT_EQ(shapes_of(planned.plan()), (Shapes{{0, 0, {0}, false},
                                               {0, 0, {1}, false},
                                               {1, 1, {0}, false},
                                               {1, 1, {1}, false},
                                               {2, 2, {0}, true}}));
  auto const plan = planned.plan();
  EXPECT_TRUE(plan.passes().front().what.summed.front().greatest);
  EXPECT_FALSE(plan.passes().front().what.summed.front().least);
  EXPECT_FALSE(plan.passes()[1].what.summed.front().greatest);
}

/// What is found may look further than rates do, and then strips and chunks overlap by more.
TEST(PdeGlobalPasses, LayoutOfWhatIsFound) {
  Planned const planned({test::rate("u", "d_dx(u) - mean(u*d2_dy2(u)^2)")}, "ssp_rk2");
  auto const plan = planned.plan();
  auto const& last = plan.passes().back().what;
  auto const layout = system::layout_of(last, 8, {.lane_points = 2});
  EXPECT_EQ(layout.summed_lag, 1);
  EXPECT_EQ(layout.lag, 2 * 1 + 1);  // stages reach a row, as all programs have one reach
  EXPECT_EQ(layout.halo, 2);
  EXPECT_EQ(layout.rows_held.size(), 3U);
  EXPECT_EQ(layout.rows_held.back(), 3);
}

TEST(PdeGlobalPasses, ChunksCutNoPart) {
  Planned const planned({test::rate("u", "laplace(u) - mean(u)")}, "rk4");
  auto const plan = planned.plan();
  auto const& what = plan.passes().back().what;
  auto const shape = system::march_shapes(what, 8, 1).front();
  auto const layout = system::layout_of(what, 8, shape);
  for (std::int64_t const rows : {1, 31, 1000, 4096})
    for (long long const together : {1, 4, 32}) {
      Grid grid = planned.grid;
      grid.points[1] = rows;
      auto const cut = system::cut_for_march(grid, shape, layout, {528, 4}, together);
      EXPECT_EQ(cut.rows % together, 0);
      EXPECT_GE(cut.chunks * cut.rows, rows);
      EXPECT_LT((cut.chunks - 1) * cut.rows, rows);
    }
}

TEST(PdeGlobalPasses, Compile) {
  auto const sides = test::sides_cases();
  auto const compiles = [&](Planned const& planned) {
    auto const plan = planned.plan();
    EXPECT_EQ(plan.refusal(), "");
    for (auto const* pass : {&plan.passes()[1], &plan.passes().back()}) {
      auto const shape = system::march_shapes(pass->what, 8, 1).front();
      EXPECT_FALSE(compile_cubin(system::march_source<double>(pass->what, shape), 90).empty());
    }
  };
  try {
    compiles({{test::rate("u", "laplace(u)/sqrt(1 + u^2) - mean((u - mean(u*x))^2/(1 + x^2))"),
               test::rate("v", "min(d_dx(u)) - v*max(u)*t")},
              "ssp_rk2"});
    compiles({{test::rate("u", "laplace(u) - mean(u)"), test::rate("v", "max(d_dy(v))")},
              "euler",
              &sides.front()});
  } catch (RuntimeCompilerMissing const& missing) {
    GTEST_SKIP() << missing.what();
  }
}

/// Steps go by passes where these should be faster, in 2D.
TEST(PdeGlobalPasses, AreChosenWhereTheyPay) {
  auto const row_of = [](char const* points, char const* equation, char const* scheme) {
    auto const run = test::config_of(
        fmt::format("simulation: pde\ngrid: {{points: {}}}\nboundary: {{x: periodic{}}}\n"
                    "equations: {{u: \"{}\"}}\ninitial: {{u: x}}\n"
                    "time: {{scheme: {}, step: 1e-9, end: 1}}\n",
                    points, points[0] == '[' ? ", y: periodic" : "", equation, scheme));
    return std::string(pde::variant_of(run, Backend::cuda));
  };
  std::string const passes = has_runtime_compiler() ? "march" : "points";
  EXPECT_EQ(row_of("[4096, 4096]", "laplace(u) - mean(u)", "rk4"), passes);
  EXPECT_EQ(row_of("[4096, 4096]", "laplace(u) - max(u^2)", "euler"), passes);
  EXPECT_EQ(row_of("4096", "laplace(u) - mean(u)", "rk4"), "points");
  EXPECT_EQ(
      row_of("[4096, 4096]",
             "laplace(u) - mean(u) + sin(u)*exp(u)*tanh(u)*cos(u*x)*log(1 + u^2)*atan(u)", "rk4"),
      "points");
}

}  // namespace
}  // namespace gridstride

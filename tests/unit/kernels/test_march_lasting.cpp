#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>

#include "kernels/support/runtime_compiler.hpp"
#include "kernels/system/inner_levels.hpp"
#include "simulations/pde_schemes.hpp"
#include "simulations/pde_set_up.hpp"
#include "support/heat_cases.hpp"
#include "support/march_cases.hpp"

/// Passes that read arrays which last.
namespace gridstride {
namespace {

using equations::Kind;

/// A program of one component and one array.
equations::StencilProgram reading(std::vector<std::array<std::int8_t, 3>> const& offsets) {
  equations::Terms terms;
  equations::Term sum = terms.unknown(0);
  for (auto const& offset : offsets) sum = terms.add(sum, terms.unknown(1, offset));
  return equations::program_of(terms, std::vector<equations::Term>{sum}, 2);
}

system::Marched marched(equations::StencilProgram const& program) {
  return {.program = &program,
          .grid = {.dims = 2, .points = {1024, 1024, 1}},
          .sides = std::vector<system::SideRules>(1),
          .stages = std::vector<system::PassStage>(1),
          .lasting = 1};
}

TEST(MarchLasting, ColumnsBesideAreThoseOfAllRows) {
  auto const program = reading({{-2, 1, 0}, {1, -1, 0}, {0, 0, 0}});
  auto const what = marched(program);
  auto const layout = system::layout_of(what, 4, {.steps = 2, .lane_points = 4});
  EXPECT_EQ(layout.lasting_left, (std::vector<int>{2}));
  EXPECT_EQ(layout.lasting_right, (std::vector<int>{1}));
  EXPECT_EQ(layout.left, (std::vector<std::vector<int>>{{0}, {0}, {0}}));
  EXPECT_EQ(layout.right, layout.left);
}

/// Each row of it that is kept takes registers: it is there for all levels.
TEST(MarchLasting, LongPassesKeepManyRows) {
  auto const program = reading({{-1, 1, 0}, {1, -1, 0}, {0, 0, 0}});
  auto const what = marched(program);
  auto const registers = [&](int steps) {
    return system::layout_of(what, 4, {.steps = steps, .lane_points = 4}).registers;
  };
  // Of the state a row of 4 columns for each level, of the array one of 4 and 2 beside them.
  EXPECT_EQ(registers(2) - registers(1), 4 + 6);
  EXPECT_EQ(registers(8) - registers(4), 4 * (4 + 6));
}

TEST(MarchLasting, OtherArraysAreRefused) {
  auto const program = reading({{0, 0, 0}});
  auto what = marched(program);
  EXPECT_EQ(system::march_refusal(what), "");
  what.lasting = 0;
  EXPECT_EQ(system::march_refusal(what), "'march' takes a rate for each field");
}

std::string phases(std::string const& boundary) {
  return "simulation: pde\ngrid: {points: [1000, 1000]}\nboundary: " + boundary +
         "\nlet: {M: \"1 + sin(x*y)/2\", mu: \"c^3 - c - laplace(c)\"}\n"
         "equations: {c: div(M*grad(mu))}\ninitial: {c: x}\ntime: {scheme: euler, end: 1}\n";
}

/// Part i makes component n + i, where n counts the arrays that last, too.
TEST(MarchLasting, PartsComeAfterIt) {
  auto const run = test::config_of(phases("{x: periodic, y: periodic}"));
  auto const stencil = pde::stencil_of(run);
  ASSERT_EQ(stencil.lasting.size(), 1);
  auto const parts = system::parts_of(equations::program_of(stencil.terms, stencil.rates, 2), 4);
  ASSERT_GT(parts.size(), 1);
  std::set<int> read;
  for (auto const& node : parts.back().program.code)
    if (node.kind == Kind::unknown) read.insert(node.index);
  EXPECT_TRUE(read.contains(1));
  EXPECT_TRUE(read.contains(2));
  for (auto const& node : parts.front().program.code)
    if (node.kind == Kind::unknown) {
      EXPECT_LT(node.index, 2);
    }
}

TEST(MarchLasting, AutoMarches) {
  std::string const expected = has_runtime_compiler() ? "march" : "points";
  for (char const* boundary : {"{x: periodic, y: periodic}", "{x: {neumann: 0}, y: periodic}"})
    EXPECT_EQ(pde::variant_of(test::config_of(phases(boundary)), Backend::cuda), expected);
}

TEST(MarchLasting, Compiles) {
  for (char const* boundary : {"{x: periodic, y: periodic}", "{x: outflow, y: {neumann: 0}}"}) try {
      auto const run = test::config_of(phases(boundary));
      auto const stencil = pde::stencil_of(run);
      auto const program = equations::program_of(stencil.terms, stencil.rates, 2);
      auto const what = pde::marched(run, program, find_scheme("euler"));
      EXPECT_EQ(what.lasting, 1);
      ASSERT_EQ(system::march_refusal(what), "");
      auto const shape = system::march_shapes(what, 4, 1).front();
      EXPECT_FALSE(compile_cubin(system::march_source<float>(what, shape), 90).empty());
    } catch (RuntimeCompilerMissing const& missing) {
      GTEST_SKIP() << missing.what();
    }
}

}  // namespace
}  // namespace gridstride

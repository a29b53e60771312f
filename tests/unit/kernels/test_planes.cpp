#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "equations/discretise.hpp"
#include "kernels/support/runtime_compiler.hpp"
#include "kernels/system/planes.hpp"
#include "support/system_cases.hpp"

namespace gridstride {
namespace {

using system::PlanesLine;

/// A program of one component that reads these points.
equations::StencilProgram reading(std::vector<std::array<std::int8_t, 3>> const& offsets,
                                  int component = 0) {
  equations::Terms terms;
  equations::Term sum = terms.number(0);
  for (auto const& offset : offsets) sum = terms.add(sum, terms.unknown(component, offset));
  return equations::program_of(terms, std::vector<equations::Term>{sum}, 3);
}

/// A step on arrays that lie nowhere: what is compiled asks for their places alone.
template <class T>
system::Step<T> step_of(equations::StencilProgram const& program, Grid const& grid,
                        std::uintptr_t place = 0x1000) {
  auto* const array = reinterpret_cast<T*>(place);
  system::Step<T> step;
  step.program = &program;
  step.grid = grid;
  step.inputs.assign(2, {.values = array});
  step.outputs.assign(program.results.size(), {.values = array, .base = array});
  return step;
}

std::string text_of(system::Step<float> const& step) { return system::planes_source(step).text; }
bool has(std::string const& text, std::string const& part) {
  return text.find(part) != std::string::npos;
}

TEST(Planes, AreOfVolumes) {
  Grid const plane{.dims = 2, .points = {64, 64, 1}};
  EXPECT_EQ(system::planes_refusal({.dims = 3, .points = {64, 64, 64}}), "");
  EXPECT_EQ(system::planes_refusal(plane), "'planes' takes grids in 3D, not in 2D");
  auto const program = reading({{1, 0, 0}});
  EXPECT_THROW(text_of(step_of<float>(program, plane)), std::invalid_argument);
}

TEST(Planes, LinesByHand) {
  auto const lines = system::lines_read(reading(
      {{0, 0, 0}, {-2, 0, 0}, {1, 0, 0}, {3, 1, 0}, {0, 0, -1}, {0, 1, 0}, {-1, -1, 2}}, 1));
  auto const expect_line = [&](PlanesLine const& line) {
    EXPECT_EQ(std::ranges::count(lines, line), 1) << line.dy << ' ' << line.dz;
  };
  EXPECT_EQ(lines.size(), 4U);
  expect_line({1, 0, 0, 2, 1});
  expect_line({1, 1, 0, 0, 3});
  expect_line({1, 0, -1, 0, 0});
  expect_line({1, -1, 2, 1, 0});
}

/// As long as registers and the length of the code allow.
TEST(Planes, ShapesAreFit) {
  auto const star = reading({{-1, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {0, 0, -1}});
  EXPECT_EQ(system::planes_shape(star, 2, 4, 4).width, 4);
  EXPECT_EQ(system::planes_shape(star, 2, 4, 4).turns, 4);
  EXPECT_EQ(system::planes_shape(star, 2, 4, 4).blocks, 4);
  EXPECT_EQ(system::planes_shape(star, 2, 4, 4, true).blocks, 3);
  EXPECT_EQ(system::planes_shape(star, 2, 8, 2).width, 2);
  EXPECT_EQ(system::planes_shape(star, 2, 8, 1).width, 1);
  auto const far = reading({{0, 0, -16}, {0, 0, 16}});
  EXPECT_EQ(system::planes_shape(far, 1, 8, 2).width, 1);
  EXPECT_EQ(system::planes_shape(far, 1, 4, 4).width, 2);
  EXPECT_EQ(system::planes_shape(far, 1, 4, 4).blocks, 3);
  auto const nearer = reading({{0, 0, -12}, {0, 0, 12}});
  EXPECT_EQ(system::planes_shape(nearer, 1, 4, 4), (system::PlanesShape{4, 26, 2}));
  equations::Terms terms;
  equations::Term sum = terms.number(0);
  for (int n = 0; n < 3000; ++n)
    sum = terms.add(terms.unknown(0, {0, 0, 1}), terms.multiply(sum, sum));
  auto const long_one = equations::program_of(terms, std::vector<equations::Term>{sum}, 3);
  EXPECT_EQ(system::planes_shape(long_one, 1, 4, 4).width, 1);
  EXPECT_EQ(system::planes_shape(long_one, 1, 4, 4).turns, 1);
  // Functions and random numbers are long.
  auto const with_random = test::mixed_program({.dims = 3, .points = {64, 64, 64}});
  EXPECT_LT(system::planes_shape(with_random, 2, 4, 4).width, 4);
  EXPECT_EQ(system::planes_shape(with_random, 2, 4, 4).turns, 1);
}

/// Lines and arrays that do not begin at multiples of 16 bytes.
TEST(Planes, VectorsAreAligned) {
  auto const program = reading({{-1, 0, 0}, {1, 0, 0}, {0, 0, 1}});
  auto const width_at = [&](std::int64_t points, std::uintptr_t place) {
    auto const text =
        text_of(step_of<float>(program, {.dims = 3, .points = {points, 8, 8}}, place));
    for (int const width : {1, 2, 4})
      if (has(text, fmt::format("constexpr int width = {},", width))) return width;
    return 0;
  };
  EXPECT_EQ(width_at(64, 0x1000), 4);
  EXPECT_EQ(width_at(66, 0x1000), 2);
  EXPECT_EQ(width_at(65, 0x1000), 1);
  EXPECT_EQ(width_at(64, 0x1008), 2);
  EXPECT_EQ(width_at(64, 0x1004), 1);
}

/// A thread takes the points of the widest vector, whatever a program's registers leave room for.
TEST(Planes, NarrowVectorsComeInParts) {
  auto const far = reading({{0, 0, -16}, {0, 0, 16}});
  auto const text = text_of(step_of<float>(far, {.dims = 3, .points = {64, 8, 64}}));
  EXPECT_TRUE(has(text, "constexpr int width = 2, parts = 2, turns = 34;"));
  EXPECT_TRUE(has(text, "#define PLANES planes_4ppp_in0\n"));
}

/// What a stage is made of, and its sides, are compiled in: the kernel's name tells.
TEST(Planes, StagesHaveKernelsOfTheirOwn) {
  auto const program = reading({{-1, 0, 0}, {0, 0, 1}});
  auto step = step_of<float>(program, {.dims = 3, .points = {64, 8, 8}});
  EXPECT_TRUE(has(text_of(step), "#define PLANES planes_4ppp_in0\n"));
  auto other = step;
  other.outputs[0].base = reinterpret_cast<float*>(0x2000);
  EXPECT_TRUE(has(text_of(other), "#define PLANES planes_4ppp_base0\n"));
  other.in_weight = 0.5;
  other.addend_weights = {0.25, 0.125};
  EXPECT_TRUE(has(text_of(other), "#define PLANES planes_4ppp_base_mixed2\n"));
  other = step;
  other.is_stage = false;
  EXPECT_TRUE(has(text_of(other), "#define PLANES planes_4ppp_rates\n"));
  other = step;
  other.inputs[1].sides[1][0].sign = other.inputs[1].sides[1][1].sign = -1;  // antiperiodic
  EXPECT_TRUE(has(text_of(other), "#define PLANES planes_4psp_in0\n"));
}

/// Tiles and chunks hold every point of the core, the shell all others.
TEST(Planes, TilesHoldEveryPoint) {
  for (std::int64_t const nx : {1, 4, 36, 260, 512})
    for (std::int64_t const ny : {1, 7, 64})
      for (std::int64_t const nz : {1, 2, 33, 512})
        for (long long const margin : {0LL, 1LL, 3LL})
          for (int const processors : {1, 132}) {
            Grid const grid{.dims = 3, .points = {nx, ny, nz}};
            int const width = nx % 4 == 0 ? 4 : 1;
            auto const tiling = system::tile_planes(grid, {margin, 0, margin}, width, processors);
            long long const core_x = std::max<long long>(nx - 2 * margin, 0),
                            core_z = std::max<long long>(nz - 2 * margin, 0);
            EXPECT_EQ(tiling.shell, grid.size() - core_x * ny * core_z);
            EXPECT_LE(tiling.lanes * tiling.lines, 256U);
            if (core_x * core_z == 0) {
              EXPECT_EQ(tiling.x_tiles * tiling.y_tiles * tiling.chunks, 0);
              continue;
            }
            EXPECT_GE(tiling.x_tiles * tiling.lanes * width, nx);
            EXPECT_LT((tiling.x_tiles - 1) * tiling.lanes * width, nx);
            EXPECT_GE(tiling.y_tiles * tiling.lines, ny);
            EXPECT_GE(tiling.chunks * tiling.planes, core_z);
            EXPECT_LT((tiling.chunks - 1) * tiling.planes, core_z);
          }
}

/// Chunks are shorter where few tiles would leave multiprocessors idle.
TEST(Planes, SmallGridsHaveMoreChunks) {
  Grid const small{.dims = 3, .points = {64, 64, 64}}, large{.dims = 3, .points = {512, 512, 512}};
  EXPECT_GE(system::tile_planes(small, {0, 0, 0}, 4, 132).chunks, 16);
  EXPECT_LE(system::tile_planes(large, {0, 0, 0}, 4, 132).chunks, 32);
}

/// What reads no unknown at all; other programs are compiled by RuntimeArchitectures.
TEST(Planes, MayReadNothing) {
  Grid const grid{.dims = 3, .points = {64, 64, 64}};
  auto const program = reading({});
  for (bool const wraps : {true, false}) try {
      auto step = step_of<double>(program, grid);
      for (auto& input : step.inputs)
        for (auto& side : input.sides[1]) side.wraps = wraps;
      EXPECT_FALSE(compile_cubin(system::planes_source(step), 90).empty());
      step.inputs.clear();
      step.is_stage = false;
      EXPECT_FALSE(compile_cubin(system::planes_source(step), 90).empty());
    } catch (RuntimeCompilerMissing const& missing) {
      GTEST_SKIP() << missing.what();
    }
}

}  // namespace
}  // namespace gridstride

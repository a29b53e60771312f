#include <gtest/gtest.h>

#include "support/reduction_cases.hpp"

namespace gridstride {
namespace {

TEST(Reduction, FilesHoldEveryNthPointRounded) { test::expect_reductions("cpu"); }

TEST(Reduction, WhatFloat32DoesNotReachIsTold) { test::expect_reach("cpu"); }

TEST(Reduction, WrittenFormsAndTheirBytes) {
  auto const config = test::config_of(
      "simulation: heat\ngrid: {points: [10, 9, 4]}\nboundary: {x: periodic}\ninitial: {u: x}\n"
      "parameters: {diffusivity: 1}\ntime: {end: 1}\n"
      "output: {every_nth_point: [4, 3, 2], precision: float32}\n");
  Grid const written = written_grid(config);
  EXPECT_EQ(written.points, (std::array<std::int64_t, 3>{3, 3, 2}));
  EXPECT_EQ(written.spacing, (std::array<double, 3>{0.4, 0.375, 2 * (1.0 / 3)}));
  EXPECT_EQ(written.dims, 3);
  Field const u = {"u", "1", config.grid, Precision::float64};
  EXPECT_EQ(written_form(config, u).bytes(), 18 * sizeof(float));
  EXPECT_EQ(written_bytes(config, config.fields.front(), u.bytes()), 18 * sizeof(float));
  Field other = u;
  other.grid.points = {5, 1, 1};
  EXPECT_EQ(written_form(config, other).values(), 5);
}

/// Simulations without a grid, and one that writes its fields itself.
TEST(Reduction, OtherSimulationsAreRoundedAndPacked) {
  test::RunDirectory const directory;
  std::string const both[] = {
      "simulation: linear_system\ndevice: cpu\n"
      "parameters: {matrix: {expression: \"(i == j) + 0.1\", size: 30}, rhs: \"i/3\"}\n",
      "simulation: transform\ndevice: cpu\ninput: {a: \"x/3\"}\ngrid: {points: [301, 700]}\n"
      "steps: [{formula: {b: \"a/7\"}}, {scan: {c: {of: a, operation: sum}}}]\n"
      "limits: {chunk: 100 KiB}\n"};
  for (std::string const& yaml : both) {
    SCOPED_TRACE(yaml);
    io::ResultFile const whole(directory.run("whole", yaml));
    io::ResultFile const reduced(
        directory.run("reduced", yaml + "output: {precision: float32, compression: 1}\n"));
    ASSERT_FALSE(whole.fields().empty());
    for (auto const& field : whole.fields()) {
      EXPECT_EQ(reduced.field(field.name).precision, Precision::float32);
      auto expected = whole.read(field.name, 0);
      for (double& value : expected) value = static_cast<float>(value);
      EXPECT_TRUE(reduced.read(field.name, 0) == expected) << field.name;
    }
  }
  EXPECT_THROW(directory.run("beyond",
                             "simulation: transform\ndevice: cpu\ninput: {a: \"1e200*x\"}\n"
                             "grid: {points: 100}\nsteps: [{formula: {b: \"a\"}}]\n"
                             "output: {precision: float32}\n"),
               NumericalError);
}

}  // namespace
}  // namespace gridstride

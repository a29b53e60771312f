#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "driver/forecast.hpp"
#include "driver/prepare.hpp"
#include "io/compare.hpp"
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

/// Every second point of a grid of 17 x 12, of which x is no multiple: those of one of 9 x 6.
std::string reduced_start(std::string const& points, std::string const& more) {
  return "simulation: heat\ndevice: cpu\ngrid: {points: " + points +
         "}\nboundary: {x: {neumann: 0}, y: periodic}\ninitial: {u: \"x + cos(2*pi*y)\"}\n"
         "parameters: {diffusivity: 1}\ntime: {end: 1e-4, step: 1e-5}\n" +
         more;
}

TEST(Reduction, ReducedReferencesAreComparedWithWhatIsWritten) {
  test::RunDirectory const directory;
  auto const reduced = reduced_start("[17, 12]", "output: {every_nth_point: 2}\n");
  auto const reference = directory.run("first", reduced) / "case.h5";
  auto const whole = directory.run("whole", reduced_start("[17, 12]", "")) / "case.h5";
  auto const verified = [&](std::filesystem::path const& file) {
    return test::config_of(reduced + "verify: {reference: " + file.string() + "}\n");
  };
  EXPECT_NO_THROW(check_reference(verified(reference)));
  try {
    check_reference(verified(whole));
    FAIL();
  } catch (ConfigError const& error) {
    EXPECT_EQ(
        error.problems().front().message,
        whole.string() + " holds a grid of 17 x 12 points, or other ends (the run writes 9 x 6)");
  }
  auto const again = directory.run("again", reduced) / "case.h5";
  EXPECT_TRUE(io::compare(again, reference, 0, 0).equal());
  auto const comparison = io::compare(again, whole, 0, 0);
  ASSERT_FALSE(comparison.mismatches.empty());
  EXPECT_EQ(comparison.mismatches.front(), "the grid has 9 x 6 points in A, 17 x 12 in B");
}

TEST(Reduction, ACoarserRunStartsFromAReducedOne) {
  test::RunDirectory const directory;
  auto const first = directory.run(
      "first", reduced_start("[17, 12]", "output: {every_nth_point: 2, compression: 2}\n"));
  auto start = reduced_start("[9, 6]", "");
  auto const formula = start.find("\"x + cos(2*pi*y)\"");
  start.replace(formula, 17, "{file: " + (first / "case.h5").string() + ", time: last}");
  io::ResultFile const source(first);
  io::ResultFile const second(directory.run("second", start));
  EXPECT_EQ(second.read("u", 0), source.read("u", source.times().size() - 1));
  // Of x, every third point leaves out the end.
  auto const cut =
      directory.run("cut", reduced_start("[17, 12]", "output: {every_nth_point: [3, 2]}\n"));
  start.replace(start.find("[9, 6]"), 6, "[6, 6]");
  start.replace(start.find("/first/"), 7, "/cut/");
  try {
    directory.run("third", start);
    FAIL();
  } catch (ConfigError const& error) {
    EXPECT_NE(std::string(error.what())
                  .find("its points along x lie elsewhere (from 0 with "
                        "spacing 0.1875, here from 0 with spacing 0.2)"),
              std::string::npos)
        << error.what();
  }
}

/// Chunks that are packed are read whole, by each lane, and unpacked beside that.
TEST(Reduction, StartsFromPackedResultsAreForecast) {
  test::RunDirectory const directory;
  auto const bytes_from = [&](std::string const& name, std::string const& output) {
    std::string const plate =
        "simulation: heat\ndevice: cpu\ngrid: {points: [700, 900]}\n"
        "parameters: {diffusivity: 1}\ntime: {end: 1e-9, step: 1e-9}\n";
    auto const first = directory.run(name, plate + "initial: {u: x}\noutput: {" + output + "}\n");
    auto const config = test::config_of(
        plate + "initial: {u: {file: " + (first / "case.h5").string() + ", time: last}}\n");
    return forecast(config, Device::open(Backend::cpu)).host_bytes;
  };
  std::size_t const field = 700 * 900 * sizeof(double), chunk = 180 * 700 * sizeof(double);
  std::size_t const plain = bytes_from("plain", "every: {steps: 1}");
  EXPECT_GE(plain, field);
  std::size_t const packed = bytes_from("packed", "every: {steps: 1}, compression: 1");
  EXPECT_GE(packed, field + 2 * chunk);
}

}  // namespace
}  // namespace gridstride

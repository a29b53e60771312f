#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "driver/reduction.hpp"
#include "io/result.hpp"
#include "io/vti.hpp"
#include "support/diagnostics_runs.hpp"
#include "support/swirl_cases.hpp"

/// Runs whose results are reduced, beside the same runs in full, on any device.
namespace gridstride::test {

struct ReductionCase {
  std::string yaml;
  std::array<std::int64_t, 3> every;
  std::string reduction;
  bool narrow = false;
};

/// The values of a field at points 0, n, 2n, …
inline std::vector<double> every_nth(std::vector<double> const& values, Grid const& grid,
                                     std::int64_t components,
                                     std::array<std::int64_t, 3> const& every) {
  std::vector<double> kept;
  for (std::int64_t z = 0; z < grid.points[2]; z += every[2])
    for (std::int64_t y = 0; y < grid.points[1]; y += every[1])
      for (std::int64_t x = 0; x < grid.points[0]; x += every[0])
        for (std::int64_t c = 0; c < components; ++c)
          kept.push_back(values[static_cast<std::size_t>(
              ((z * grid.points[1] + y) * grid.points[0] + x) * components + c)]);
  return kept;
}

inline std::string file_bytes(std::filesystem::path const& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  return std::move(bytes).str();
}

/// The written points are those of the full run, rounded; so are grids, images and what packing
/// leaves, and diagnostics have the bits of the full run.
inline void expect_reduced(ReductionCase const& one,
                           std::span<config::SimulationInfo const> simulations) {
  SCOPED_TRACE(one.yaml + one.reduction);
  RunDirectory const directory;
  auto const with = [&](std::string const& more) {
    return one.yaml + "output: {every: {count: 2}" + more + "}\n";
  };
  io::ResultFile const whole(directory.run("whole", with(""), simulations));
  auto const folder = directory.run("reduced", with(", " + one.reduction), simulations);
  io::ResultFile const packed(
      directory.run("packed", with(", compression: 3, " + one.reduction), simulations));
  io::ResultFile const reduced(folder);
  EXPECT_EQ(reduced.times(), whole.times());
  ASSERT_EQ(reduced.diagnostics().size(), whole.diagnostics().size());
  for (std::size_t i = 0; i < whole.diagnostics().size(); ++i)
    EXPECT_EQ(reduced.diagnostics()[i].values, whole.diagnostics()[i].values);
  for (int axis = 0; axis < 3; ++axis) {
    EXPECT_EQ(reduced.grid().points[axis], (whole.grid().points[axis] - 1) / one.every[axis] + 1);
    EXPECT_EQ(reduced.grid().origin[axis], whole.grid().origin[axis]);
    EXPECT_EQ(reduced.grid().spacing[axis],
              whole.grid().spacing[axis] * static_cast<double>(one.every[axis]));
  }
  EXPECT_EQ(packed.grid(), reduced.grid());
  for (auto const& field : whole.fields()) {
    auto const& written = reduced.field(field.name);
    EXPECT_EQ(written.precision, one.narrow ? Precision::float32 : field.precision);
    EXPECT_EQ(written.own_grid, field.own_grid);
    for (std::size_t t = 0; t < whole.times().size(); ++t) {
      auto const every = field.own_grid ? std::array<std::int64_t, 3>{1, 1, 1} : one.every;
      auto expected =
          every_nth(whole.read(field.name, t), whole.grid_of(field), field.components, every);
      if (one.narrow)
        for (double& value : expected) value = static_cast<float>(value);
      EXPECT_TRUE(reduced.read(field.name, t) == expected) << field.name;
      EXPECT_TRUE(packed.read(field.name, t) == expected) << field.name;
      // What an image of these values would be, byte by byte.
      std::vector<float> const narrow(expected.begin(), expected.end());
      bool const is_float = written.precision == Precision::float32;
      Field const host = {field.name,
                          field.unit,
                          reduced.grid_of(written),
                          written.precision,
                          is_float ? static_cast<void const*>(narrow.data()) : expected.data(),
                          field.components};
      if (!field.own_grid && whole.fields().size() > 1 &&
          whole.fields()[1].own_grid == std::nullopt)
        continue;  // with others in one image
      std::string const name = field.own_grid ? "case." + field.name : "case";
      auto const image = fmt::format("{}_{:06}.vti", name, t);
      for (int const level : {0, 3}) {
        auto const expected_image = folder / "expected.vti";
        io::write_vti(expected_image, host.grid, std::span(&host, 1), whole.times()[t],
                      whole.steps()[t], level);
        auto const from = level == 0 ? folder : packed.path().parent_path();
        EXPECT_TRUE(file_bytes(from / image) == file_bytes(expected_image)) << image << level;
        std::filesystem::remove(expected_image);
      }
    }
  }
}

inline void expect_reductions(std::string const& device) {
  auto const heat = [&](std::string const& points, std::string const& sides,
                        std::string const& more) {
    return "simulation: heat\ndevice: " + device + "\ngrid: {points: " + points + "}\n" + sides +
           "initial: {u: \"cos(2*pi*x) + x/3\"}\nparameters: {diffusivity: 1}\n" + more;
  };
  std::string const few = "time: {end: 4e-5, step: 1e-5}\n";
  std::string const line = heat("101", "boundary: {x: periodic}\n", few);
  std::string const plane = heat("[64, 47]", "boundary: {x: periodic}\n", few);
  std::string const volume = heat("[17, 15, 11]", "", few);
  std::string const single = "precision: float32\n";
  std::vector<ReductionCase> const heats = {
      {line, {2, 1, 1}, "every_nth_point: 2"},
      {line, {100, 1, 1}, "every_nth_point: 100, precision: float32", true},
      {plane, {1, 1, 1}, "precision: float32", true},
      {plane, {1, 1, 1}, "precision: float64"},
      {plane, {3, 3, 1}, "every_nth_point: 3"},
      {plane + single, {1, 5, 1}, "every_nth_point: [1, 5], precision: float32", true},
      {volume, {4, 1, 10}, "every_nth_point: [4, 1, 10]"},
      {volume + single, {2, 2, 2}, "every_nth_point: 2", true},
      // Several slabs of what is written, and of what is not.
      {heat("[2100, 2051]", "", "time: {end: 1e-9, step: 1e-9}\n"),
       {1, 1, 1},
       "precision: float32",
       true},
      {heat("[2100, 2051]", "", "time: {end: 1e-9, step: 1e-9}\n"),
       {7, 2, 1},
       "every_nth_point: [7, 2]"}};
  for (auto const& one : heats) expect_reduced(one, simulation_infos());
  for (std::string const precision : {"float32", "float64"})
    expect_reduced({swirl_case(device, "", precision),
                    {2, 3, 1},
                    "every_nth_point: [2, 3], precision: float32",
                    true},
                   swirls());
}

/// What float32 does not reach ends the run before it is written, unless its point is left out.
inline void expect_reach(std::string const& device) {
  auto const run_with = [&](std::string const& output) {
    RunDirectory const directory;
    try {
      directory.run(
          "run", "simulation: heat\ndevice: " + device +
                     "\ngrid: {points: [9, 9]}\ninitial: {u: \"(x == 0.125)*(y == "
                     "0.25)*(1e300*x)\"}\nparameters: {diffusivity: 1}\n"
                     "time: {end: 1e-9, step: 1e-9, scheme: ftcs}\noutput: {every: {steps: 9}, " +
                     output + "}\n");
    } catch (NumericalError const& error) {
      EXPECT_TRUE(io::ResultFile(directory.path() / "run").times().empty());
      EXPECT_FALSE(std::filesystem::exists(directory.path() / "run" / "case_000000.vti"));
      return std::string(error.what());
    }
    return std::string("done");
  };
  EXPECT_EQ(run_with("precision: float32"),
            "1.25e+299 is out of float32's reach (output.precision) in field 'u' at cell (1, 2, "
            "0), step 0, time 0");
  EXPECT_EQ(run_with("precision: float64"), "done");
  EXPECT_EQ(run_with("precision: float32, every_nth_point: [1, 5]"), "done");
}

}  // namespace gridstride::test

#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "driver/forecast.hpp"
#include "io/compare.hpp"
#include "io/pvd.hpp"
#include "support/diagnostics_runs.hpp"
#include "support/swirl.hpp"

/// Whole runs with a vector, a field on a grid of its own and a table, on any device.
namespace gridstride::test {

namespace fs = std::filesystem;

inline std::span<config::SimulationInfo const> swirls() { return {&swirl(), 1}; }

/// Points along x and y that are no multiples of anything.
inline std::string swirl_case(std::string const& device, std::string const& more = "",
                              std::string const& precision = "float64") {
  return "simulation: swirl\ndevice: " + device + "\nprecision: " + precision +
         "\ngrid: {points: [7, 5], lower: [0, 0], upper: [6, 4]}\n"
         "initial: {q: {x: \"x - 3\", y: \"1 + y\"}}\n"
         "time: {end: 1.5, step: 0.25}\n" +
         more;
}

inline std::string const swirl_output = "output: {every: {steps: 2}}\n";

/// The exact solution, of all numbers but one of w.
inline std::string const swirl_exact =
    "verify: {exact: {q: {x: \"(x - 3)*cos(t) - (1 + y)*sin(t)\", y: \"(x - 3)*sin(t) + (1 + "
    "y)*cos(t)\"}, w: {a: \"x*t\"}}, tolerance: {max: 1e-6}}\n";

inline std::vector<double> doubles_of(Table const& table, std::size_t column) {
  return std::get<std::vector<double>>(table.columns.at(column).numbers);
}

inline void expect_swirl_in_files(std::string const& device) {
  for (std::string const precision : {"float32", "float64"}) {
    RunDirectory const directory;
    auto const folder = directory.run("run", swirl_case(device, swirl_output, precision), swirls());
    io::ResultFile const result(folder);
    EXPECT_EQ(result.times(), (std::vector<double>{0, 0.5, 1, 1.5}));
    ASSERT_EQ(result.fields().size(), 2U);
    EXPECT_EQ(result.field("q").components, 2);
    EXPECT_EQ(result.field("q").unit, "m/s");
    EXPECT_FALSE(result.field("q").own_grid.has_value());
    EXPECT_EQ(result.field("w").own_grid, Swirl<double>::line());
    double const rounding = precision == "float32" ? 1e-6 : 1e-14;
    for (std::size_t step = 0; step < 4; ++step) {
      double const t = result.times()[step];
      auto const q = result.read("q", step), w = result.read("w", step);
      ASSERT_EQ(q.size(), 70U);
      ASSERT_EQ(w.size(), 10U);
      EXPECT_NEAR(q[2 * (4 + 7 * 3)], std::cos(t) - 4 * std::sin(t), rounding);
      EXPECT_NEAR(q[2 * (4 + 7 * 3) + 1], std::sin(t) + 4 * std::cos(t), rounding);
      EXPECT_EQ(w[8], 2 * t);
      EXPECT_EQ(w[9], t);
      auto const peaks = result.read_table("peaks", step);
      ASSERT_EQ(peaks.rows(), static_cast<std::int64_t>(step % 2 * 2));
      if (peaks.rows() > 0) {
        EXPECT_EQ(doubles_of(peaks, 0), (std::vector<double>{0, t}));
      }
    }
    EXPECT_EQ(io::read_pvd_times(folder / "case.pvd"), result.times());
    EXPECT_EQ(io::read_pvd_times(folder / "case.w.pvd"), result.times());
    EXPECT_TRUE(fs::exists(folder / "case.w_000003.vti"));
    EXPECT_FALSE(fs::exists(folder / "case.w_000004.vti"));
  }
}

/// Each number against what its values say, for a component, the magnitude, and on another grid.
inline void expect_swirl_diagnostics(std::string const& device) {
  RunDirectory const directory;
  io::ResultFile const result(directory.run(
      "run",
      swirl_case(device,
                 swirl_output +
                     "diagnostics: [norms, {probe: {at: [4, 3], field: q.y}}, {histogram: "
                     "{field: q.magnitude, bins: 4}}, {quantiles: {field: w.a, at: [0, 1]}}, "
                     "{integral: {of: \"q_x^2 + q_y^2\", name: energy}}, {maximum: {of: "
                     "\"q_y - q_x\", where: true, name: most}}]\n"),
      swirls()));
  auto const value = [&](std::string const& name, std::size_t step) {
    auto const found = std::ranges::find(result.diagnostics(), name, &io::NamedSeries::name);
    EXPECT_NE(found, result.diagnostics().end()) << name;
    return found == result.diagnostics().end() ? 0 : found->values.at(step);
  };
  for (std::size_t step = 0; step < 4; ++step) {
    double const t = result.times()[step];
    auto const q = result.read("q", step);
    std::vector<double> x, y, length;
    for (std::size_t i = 0; i < q.size(); i += 2) {
      x.push_back(q[i]);
      y.push_back(q[i + 1]);
      length.push_back(std::hypot(q[i], q[i + 1]));
    }
    EXPECT_EQ(value("q.x.min", step), *std::ranges::min_element(x));
    EXPECT_EQ(value("q.y.max", step), *std::ranges::max_element(y));
    EXPECT_NEAR(value("q.y.mean", step), std::accumulate(y.begin(), y.end(), 0.0) / 35, 1e-14);
    EXPECT_NEAR(value("q.magnitude.max", step), std::sqrt(34.0), 1e-14);
    EXPECT_NEAR(value("q.magnitude.min", step), 1, 1e-14);
    EXPECT_NEAR(value("q.magnitude.l2", step), std::sqrt((7 * 55 + 5 * 28) / 35.0), 1e-14);
    EXPECT_EQ(value("w.a.max", step), 2 * t);
    EXPECT_EQ(value("w.b.min", step), t);
    EXPECT_EQ(value("w.a.q1", step), 2 * t);
    EXPECT_EQ(value("q.y(4, 3)", step), y[4 + 7 * 3]);
    auto const histogram = result.read_histogram("q.magnitude.histogram", step);
    EXPECT_EQ(total(histogram), 35);
    EXPECT_NEAR(histogram.edges.back(), *std::ranges::max_element(length), 1e-14);
    // Trapezoids of (x−3)² and (1+y)² over [0, 6] × [0, 4].
    EXPECT_NEAR(value("energy", step), 4 * 19 + 6 * 42, 1e-11);
    std::vector<double> difference;
    for (std::size_t i = 0; i < x.size(); ++i) difference.push_back(y[i] - x[i]);
    auto const place = std::ranges::max_element(difference) - difference.begin();
    EXPECT_EQ(value("most", step), difference[static_cast<std::size_t>(place)]);
    EXPECT_EQ(value("most.x", step), static_cast<double>(place % 7));
    EXPECT_EQ(value("most.y", step), static_cast<double>(place / 7));
  }
}

inline std::string message_of(std::function<void()> const& work) {
  try {
    work();
  } catch (Error const& error) {
    return error.what();
  }
  return "no error";
}

inline void expect_swirl_to_be_verified(std::string const& device) {
  RunDirectory const directory;
  for (std::string const precision : {"float32", "float64"})
    directory.run("run", swirl_case(device, swirl_exact, precision), swirls());
  auto const wrong = [&](std::string const& from, std::string const& to) {
    auto text = swirl_case(device, swirl_exact);
    text.replace(text.find(from), from.size(), to);
    return message_of([&] { directory.run("run", text, swirls()); });
  };
  EXPECT_EQ(wrong("*sin(t) + (1", "*sin(t) + (2").find("q.y: max error"), 0U);
  EXPECT_EQ(wrong("a: \"x*t\"", "a: \"x*t + 1\"").find("w.a: max error 1 is over"), 0U);
}

/// A value that is not finite is named by field, component and cell, at whichever point of a run.
inline void expect_swirl_to_be_finite(std::string const& device) {
  RunDirectory const directory;
  std::string const broken = "parameters: {break_at: 1}\n";
  EXPECT_EQ(message_of([&] {
              directory.run("run", swirl_case(device, broken + swirl_output + "diagnostics: []\n"),
                            swirls());
            }),
            "NaN in field 'q.y' at cell (1, 2, 0), step 4, time 1");
  EXPECT_NE(message_of([&] {
              directory.run("run", swirl_case(device, "parameters: {break_at: 0}\n"), swirls());
            }).find("initial.q: q.y is nan at x = 1, y = 2 in float64"),
            std::string::npos);
}

inline void expect_swirl_to_continue(std::string const& device) {
  RunDirectory const directory;
  std::string const text = swirl_case(device, swirl_output +
                                                  "checkpoint: {every: {steps: 3}, keep: 9}\n"
                                                  "diagnostics: [norms, {maximum: \"q_x*q_y\"}]\n");
  auto const whole = directory.run("whole", text, swirls());
  auto const parts = directory.run("parts", text, swirls());
  RunOptions const go_on{
      .quiet = true, .restart = true, .checkpoint = parts / "case_000000000003.checkpoint"};
  directory.run("parts", text, swirls(), go_on);
  auto const comparison = io::compare(parts, whole, 0, 0);
  EXPECT_TRUE(comparison.equal()) << comparison.table();
  EXPECT_EQ(comparison.fields.size(), 2U);
  EXPECT_EQ(comparison.columns.size(), 2U);
  expect_same_series(io::ResultFile(parts), io::ResultFile(whole), 0);
  EXPECT_EQ(io::read_pvd_times(parts / "case.w.pvd"), (std::vector<double>{0, 0.5, 1, 1.5}));
}

/// From a field of another run, whole vectors at the same points.
inline void expect_swirl_to_start_from_results(std::string const& device) {
  RunDirectory const directory;
  auto const first = directory.run("first", swirl_case(device, swirl_output), swirls());
  auto const from = [&](std::string const& field, std::string const& grid) {
    auto text = swirl_case(device, swirl_output);
    std::string const initial = "{x: \"x - 3\", y: \"1 + y\"}", points = "points: [7, 5]";
    text.replace(
        text.find(initial), initial.size(),
        fmt::format("{{file: {}, dataset: {}, time: 0.5}}", (first / "case.h5").string(), field));
    return text.replace(text.find(points), points.size(), "points: " + grid);
  };
  auto const second = directory.run("second", from("q", "[7, 5]"), swirls());
  EXPECT_EQ(io::ResultFile(second).read("q", 0), io::ResultFile(first).read("q", 1));
  EXPECT_NE(message_of([&] { directory.run("third", from("q", "[8, 5]"), swirls()); })
                .find("is [5][7][2], the grid needs [5][8][2] (the slowest axis first, the "
                      "components last)"),
            std::string::npos);
  EXPECT_NE(message_of([&] {
              directory.run("third", from("w", "[7, 5]"), swirls());
            }).find("is [5][2], the grid needs [5][7][2]"),
            std::string::npos);
}

/// In one go: the grid is that of the first field, and there may be no field at all.
inline void expect_tables_in_one_go(std::string const& device) {
  for (std::size_t lines = 0; lines <= 2; ++lines) {
    RunDirectory const directory;
    auto const folder = directory.run(
        "run",
        fmt::format("simulation: peaks\ndevice: {}\nparameters: {{lines: {}}}\n", device, lines),
        std::span(&peaks(), 1));
    io::ResultFile const result(folder);
    EXPECT_TRUE(result.complete());
    ASSERT_EQ(result.fields().size(), lines);
    EXPECT_EQ(result.grid().points[0], lines == 0 ? 1 : 3);
    if (lines == 2) {
      EXPECT_EQ(result.grid_of(result.field("b")).points[0], 4);
      EXPECT_EQ(result.read("b", 0), std::vector<double>(4, 7));
    }
    auto const found = result.read_table("peaks", 0).columns.at(0).numbers;
    EXPECT_EQ(std::get<std::vector<std::int64_t>>(found), (std::vector<std::int64_t>{2, 3, 5}));
    EXPECT_EQ(fs::exists(folder / "case.pvd"), lines > 0);
    EXPECT_EQ(fs::exists(folder / "case.b_000000.vti"), lines == 2);
    EXPECT_TRUE(io::compare(folder, folder, 0, 0).equal());
  }
}

/// Vectors count by their components, fields on grids of their own by what the simulation says.
inline void expect_swirl_forecast(Backend backend) {
  Device const device = Device::open(backend);
  auto const of = [&](std::string const& more) {
    return forecast(config_of(swirl_case("auto", more), swirls()), device);
  };
  constexpr std::size_t q = 2 * 35 * sizeof(double), w = 10 * sizeof(double);
  std::string const once = "every: {count: 1}, formats: hdf5";
  double const written = of("output: {" + once + "}\n").output_bytes;
  EXPECT_EQ(written - of("output: {" + once + ", fields: [w]}\n").output_bytes, 2 * q);
  EXPECT_EQ(written - of("output: {" + once + ", fields: [q]}\n").output_bytes, 2 * w);
  // One component at a time is looked at, by itself.
  EXPECT_EQ(of("").device_bytes - of("diagnostics: []\n").device_bytes, q / 2);
}

}  // namespace gridstride::test

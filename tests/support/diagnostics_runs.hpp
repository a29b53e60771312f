#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "driver/run.hpp"
#include "driver/simulation_infos.hpp"
#include "io/result.hpp"
#include "support/diagnostics_cases.hpp"
#include "support/wave_cases.hpp"

/// Whole runs with diagnostics, on any device.
namespace gridstride::test {

/// A folder for runs that goes with the test.
class RunDirectory {
 public:
  RunDirectory() {
    auto name = (std::filesystem::temp_directory_path() / "gridstride_runs_XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  RunDirectory(RunDirectory const&) = delete;
  RunDirectory& operator=(RunDirectory const&) = delete;
  ~RunDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  std::filesystem::path const& path() const { return path_; }

  /// Runs a config in the subdirectory of that name; the directory with the results.
  std::filesystem::path run(std::string const& name, std::string const& yaml,
                            RunOptions const& options = {.quiet = true, .checkpoint = {}}) const {
    return run(name, yaml, simulation_infos(), options);
  }
  std::filesystem::path run(std::string const& name, std::string const& yaml,
                            std::span<config::SimulationInfo const> simulations,
                            RunOptions const& options = {.quiet = true, .checkpoint = {}}) const {
    auto const file = path_ / "case.yaml";
    std::ofstream(file) << yaml;
    auto config = config::read_run_config(file, {}, simulations);
    config.output.directory = path_ / name;
    gridstride::run(config, options);
    return config.output.directory;
  }

 private:
  std::filesystem::path path_;
};

inline std::string const heat_without_diagnostics =
    "simulation: heat\n"
    "grid: {points: [33, 32]}\n"
    "boundary: {x: {neumann: 0}, y: periodic}\n"
    "initial: {u: \"cos(3*x)*(2 + sin(2*pi*y))\"}\n"
    "parameters: {diffusivity: 1}\n";

inline std::string const diagnosed_heat = heat_without_diagnostics +
                                          "time: {end: 0.02}\n"
                                          "output: {every: {time: 0.005}, formats: hdf5}\n"
                                          "diagnostics:\n"
                                          "- norms\n"
                                          "- {probe: {at: [0.3, 0.99]}}\n"
                                          "- {histogram: {bins: 16, range: [-4, 4]}}\n"
                                          "- {quantiles: {at: [0.05, 0.5, 0.95]}}\n";

/// Two results have the same series of diagnostics, the numbers within a tolerance. A value may
/// move over an edge with it, so that counts agree only in their sum unless it is 0.
inline void expect_same_series(io::ResultFile const& a, io::ResultFile const& b, double tolerance) {
  ASSERT_EQ(a.steps(), b.steps());
  ASSERT_EQ(a.diagnostics().size(), b.diagnostics().size());
  for (std::size_t i = 0; i < a.diagnostics().size(); ++i) {
    auto const& name = a.diagnostics()[i].name;
    EXPECT_EQ(name, b.diagnostics()[i].name);
    // A quantile may move by a bin of its search, range/8192², where the range of u is 6.
    double const moved = tolerance > 0 && name.find(".q") != std::string::npos ? 1e-7 : 0;
    for (std::size_t step = 0; step < a.steps().size(); ++step)
      EXPECT_NEAR(a.diagnostics()[i].values[step], b.diagnostics()[i].values[step],
                  tolerance + moved)
          << name << " at step " << step;
  }
  ASSERT_EQ(a.histograms(), b.histograms());
  for (auto const& info : a.histograms())
    for (std::size_t step = 0; step < a.steps().size(); ++step) {
      auto const one = a.read_histogram(info.name, step), other = b.read_histogram(info.name, step);
      EXPECT_EQ(one.edges, other.edges);
      EXPECT_EQ(total(one), total(other));
      EXPECT_TRUE(tolerance > 0 || one.counts == other.counts);
    }
}

inline void expect_same_series(std::filesystem::path const& a, std::filesystem::path const& b,
                               double tolerance) {
  expect_same_series(io::ResultFile(a), io::ResultFile(b), tolerance);
}

/// A run that stops and goes on has the series of one that does not.
inline void expect_series_to_continue(std::string const& device) {
  RunDirectory const directory;
  std::string const yaml = device + diagnosed_heat + "checkpoint: {every: {time: 0.005}}\n";
  auto const end_early = [&](std::string text) {
    return text.replace(text.find("end: 0.02"), 9, "end: 0.01");
  };
  auto const whole = directory.run("whole", yaml);
  auto const parts = directory.run("parts", end_early(yaml));
  EXPECT_EQ(io::ResultFile(parts).steps().size(), 3U);
  directory.run("parts", yaml, {.quiet = true, .restart = true, .checkpoint = {}});
  expect_same_series(parts, whole, 0);

  // Other diagnostics from the checkpoint on: what the first part does not have is not a number.
  directory.run("others", end_early(yaml));
  std::string other = yaml;
  other.replace(other.find("bins: 16"), 8, "bins: 17");
  other.replace(other.find("at: [0.05,"), 10, "at: [0.25,");
  RunOptions const go_on{.quiet = true, .restart = true, .checkpoint = {}};
  directory.run("others", other, go_on);
  // Once more, from the end: all is carried over.
  io::ResultFile const result(directory.run("others", other, go_on));
  ASSERT_EQ(result.steps().size(), 5U);
  for (std::size_t step = 0; step < 5; ++step) {
    auto const histogram = result.read_histogram("u.histogram", step);
    EXPECT_EQ(histogram.counts.size(), 17U);
    EXPECT_EQ(total(histogram), step < 2 ? 0 : 33 * 32);
    EXPECT_EQ(std::isnan(histogram.edges[0]), step < 2);
    for (auto const& series : result.diagnostics())
      EXPECT_EQ(std::isnan(series.values[step]), step < 2 && series.name == "u.q0.25")
          << series.name;
  }
}

/// The simulations' own numbers in the files are those of the moments of the outputs, whatever has
/// been queued since.
inline void expect_numbers_of_simulations(Backend backend) {
  RunDirectory const directory;
  std::string const device = fmt::format("device: {}\n", name_of(backend));
  std::string const output = "output: {every: {count: 6}, formats: hdf5}\n";
  for (auto const& [name, yaml] :
       {std::pair("energy", device + output +
                                "simulation: wave\ngrid: {points: [70, 45]}\n"
                                "boundary: {x: absorbing, y: {lower: free, upper: fixed}}\n"
                                "initial: {u: \"exp(-200*((x - 0.4)^2 + (y - 0.5)^2))\"}\n"
                                "parameters: {speed: 1, absorbing: {thickness: 20}}\n"
                                "time: {end: 0.6}\n"),
        std::pair("mass", device + output +
                              "simulation: advection\ngrid: {points: [40, 30]}\n"
                              "initial: {u: \"exp(-50*((x - 0.7)^2 + (y - 0.5)^2))\"}\n"
                              "parameters: {velocity: {x: \"1 + t\", y: 0.5}}\n"
                              "time: {end: 0.3}\n")}) {
    io::ResultFile const result(directory.run(name, yaml));
    ASSERT_EQ(result.times().size(), 7U);
    auto const found = std::ranges::find(result.diagnostics(), name, &io::NamedSeries::name);
    ASSERT_NE(found, result.diagnostics().end());
    WaveRun run(yaml, backend);
    for (std::size_t step = 0; step < 7; ++step) {
      run.go(result.times()[step]);
      EXPECT_EQ(found->values[step], measured(*run.simulation, name, run.stream)) << name << step;
    }
    EXPECT_LT(found->values[6], 0.99 * found->values[0]) << name;
  }
}

/// Fields that no file holds stay on the device; what is known of them does not depend on it.
inline void expect_diagnostics_without_fields(std::string const& device) {
  RunDirectory const directory;
  std::string const verify =
      "verify: {exact: {u: \"cos(3*x)*(2 + sin(2*pi*y))\"}, tolerance: {max: 10}}\n";
  auto const with = directory.run("with", device + diagnosed_heat + verify);
  std::string bare = device + diagnosed_heat + verify;
  bare.replace(bare.find("formats: hdf5"), 13, "formats: hdf5, fields: []");
  auto const without = directory.run("without", bare);
  EXPECT_TRUE(io::ResultFile(without).fields().empty());
  EXPECT_EQ(io::ResultFile(with).fields().size(), 1U);
  expect_same_series(without, with, 0);
}

}  // namespace gridstride::test

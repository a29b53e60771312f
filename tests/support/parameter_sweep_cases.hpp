#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "driver/sweep.hpp"
#include "support/restart_runs.hpp"

/// Sweeps on any device.
namespace gridstride::test {

/// A file with a sweep, in a folder for its runs.
inline config::RunFile sweep_of(RunDirectory const& directory, std::string const& yaml) {
  auto const file = directory.path() / "case.yaml";
  std::ofstream(file) << yaml;
  config::Override const output = {"output.directory", (directory.path() / "sweep").string()};
  return config::read_run_file(file, {&output, 1}, simulation_infos());
}

/// Two chemicals, each with a rate that is a constant.
inline std::string const fed_pde =
    "simulation: pde\n"
    "grid: {points: [48, 40], upper: [0.5, 0.4]}\n"
    "boundary: {x: periodic, y: periodic}\n"
    "constants: {F: 0.04, k: 0.06, sum: F + k}\n"
    "equations: {u: \"2e-5*laplace(u) - u*v^2 + F*(1 - u)\", v: \"1e-5*laplace(v) + u*v^2 - "
    "sum*v\"}\n"
    "initial: {u: \"1 - exp(-99*((x - 0.25)^2 + (y - 0.2)^2))\", v: \"(1 - u)/3\"}\n"
    "time: {scheme: ssprk3, end: 60}\n"
    "output: {every: {count: 2}, formats: hdf5}\n";

/// Runs of a sweep have the bits that each of them has alone, side by side with others of their
/// kind: of every simulation with time.
inline void expect_bits_of_runs_alone(std::string const& device) {
  auto cases = runs_with_time();
  for (auto& [name, yaml] : cases)
    yaml +=
        "output: {every: {time: 0.02}, formats: hdf5}\nconstants: {F: 1}\n"
        "sweep: {F: [1, 2, 3]}\n";
  cases.emplace_back("rates of a pde", fed_pde + "sweep: {F: {from: 0.03, to: 0.05, count: 5}}\n");
  for (auto const& [name, yaml] : cases) {
    SCOPED_TRACE(name);
    RunDirectory const directory;
    auto const file = sweep_of(directory, device + yaml);
    auto const summary = run_sweep(file, {.quiet = true, .checkpoint = {}});
    ASSERT_EQ(summary.failure, nullptr) << summary.runs.front().failure;
    for (auto const& [constant, value, digits] : {file.members[1].swept[0]}) {
      config::Override const changes[] = {
          {"sweep", "{}"},
          {"constants.F", fmt::format("{}", value)},
          {"output.directory", (directory.path() / "alone").string()}};
      auto const alone = config::read_run_config(file.run.file, changes, simulation_infos());
      run(alone, {.quiet = true, .checkpoint = {}});
      expect_same_bits(file.members[1].output.directory, alone.output.directory);
    }
  }
}

}  // namespace gridstride::test

#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "fake_simulations.hpp"

/// Reading configs from text, for the tests.
namespace gridstride::config {

/// A directory of its own for each test, removed at the end.
class RunReading : public ::testing::Test {
 protected:
  void SetUp() override {
    auto const* info = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::temp_directory_path() /
              (std::string("gridstride_") + info->test_suite_name() + "_" + info->name());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path write(std::string const& text, std::string const& name = "run.yaml") {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return folder_ / name;
  }
  RunConfig read(std::string const& text, std::vector<Override> const& overrides = {}) {
    return read_run_config(write(text), overrides, fake_simulations());
  }
  /// The faults of a text, one a line, without the file's name before the first colon.
  std::string faults(std::string const& text, std::vector<Override> const& overrides = {}) {
    std::string all;
    try {
      read(text, overrides);
    } catch (ConfigError const& error) {
      for (Problem problem : error.problems()) {
        if (problem.file == (folder_ / "run.yaml").string()) problem.file = "run";
        all += problem.text() + "\n";
      }
    }
    return all;
  }

  std::filesystem::path folder_;
};

/// The keys of `heat` that have no default.
inline std::string const minimal_heat =
    "simulation: heat\n"
    "grid: {points: [8, 8]}\n"
    "initial: {u: 0}\n"
    "parameters: {diffusivity: 1}\n"
    "time: {end: 1}\n";

inline std::string const minimal_everything =
    "simulation: everything\n"
    "grid: {points: 8}\n"
    "initial: {p: 0, v: 0}\n"
    "parameters: {width: 1, modes: 2}\n"
    "time: {end: 1}\n";

}  // namespace gridstride::config

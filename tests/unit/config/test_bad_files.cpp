#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "driver/simulation_infos.hpp"
#include "fake_simulations.hpp"

// Each tests/data/bad/NAME.yaml is faulty; NAME.expected holds what is said about it, word by word.
// Heat is a fake, whose kernels stay the same.
namespace gridstride::config {
namespace {

std::filesystem::path const folder = "tests/data/bad";

/// The tests may run anywhere; the messages name files as seen from the top of the source tree.
void go_to_source_tree() {
  if (!std::filesystem::exists(folder)) std::filesystem::current_path(GRIDSTRIDE_SOURCE_DIR);
}

std::string contents(std::filesystem::path const& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// The real ones, but for heat.
std::vector<SimulationInfo> simulations() {
  auto const all = simulation_infos();
  std::vector<SimulationInfo> infos(all.begin(), all.end());
  *std::ranges::find(infos, "heat", &SimulationInfo::name) = fake_simulations()[0];
  return infos;
}

std::string message_about(std::filesystem::path const& file) {
  static std::vector<SimulationInfo> const table = simulations();
  try {
    read_run_config(file, {}, table);
  } catch (ConfigError const& error) {
    return std::string(error.what()) + "\n";
  }
  return "";
}

TEST(BadFiles, GetTheExpectedMessages) {
  go_to_source_tree();
  std::vector<std::filesystem::path> files;
  for (auto const& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".yaml") files.push_back(entry.path());
  std::ranges::sort(files);
  ASSERT_GE(files.size(), 300);
  for (std::filesystem::path const& file : files) {
    std::filesystem::path expected = file;
    expected.replace_extension(".expected");
    ASSERT_TRUE(std::filesystem::exists(expected)) << expected;
    EXPECT_EQ(message_about(file), contents(expected));
  }
}

}  // namespace
}  // namespace gridstride::config

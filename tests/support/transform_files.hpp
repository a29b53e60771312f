#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "driver/prepare.hpp"
#include "support/transform_cases.hpp"

namespace gridstride::test {

/// A folder with files of bare numbers, removed at the end.
class TransformFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / fmt::format("gridstride_data_{}", getpid());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  template <class S>
  std::string write(std::string const& name, std::vector<S> const& values) {
    std::ofstream file(folder_ / name, std::ios::binary);
    file.write(reinterpret_cast<char const*>(values.data()),
               static_cast<std::streamsize>(values.size() * sizeof(S)));
    return (folder_ / name).string();
  }

  std::filesystem::path folder_;
};

/// What is wrong with a config, or what ends its run on the host; empty where nothing.
inline std::string problem_of(std::string const& yaml) {
  try {
    auto const config = config_of(yaml);
    check_on_device(config, Device::open(Backend::cpu));
    transform(yaml, Backend::cpu);
  } catch (Error const& error) {
    return error.what();
  }
  return "";
}

}  // namespace gridstride::test

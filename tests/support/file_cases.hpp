#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "driver/prepare.hpp"
#include "support/heat_cases.hpp"

/// Simulations that begin with numbers from files, on any device.
namespace gridstride::test {

/// A file of bare numbers that goes with the test.
class NumberFile {
 public:
  template <class S>
  explicit NumberFile(std::vector<S> const& numbers, bool swapped = false) {
    std::vector<char> bytes(numbers.size() * sizeof(S));
    std::memcpy(bytes.data(), numbers.data(), bytes.size());
    for (std::size_t i = 0; swapped && i < bytes.size(); i += sizeof(S))
      std::reverse(bytes.begin() + static_cast<long>(i),
                   bytes.begin() + static_cast<long>(i + sizeof(S)));
    std::ofstream(path, std::ios::binary)
        .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
  NumberFile(NumberFile const&) = delete;
  NumberFile& operator=(NumberFile const&) = delete;
  ~NumberFile() { std::filesystem::remove(path); }

  std::filesystem::path const path =
      std::filesystem::temp_directory_path() / fmt::format("gridstride_numbers_{}.bin", getpid());
};

/// Heat on a periodic plane of nx × ny points that begins with a file's numbers.
inline config::RunConfig plane_from(NumberFile const& file, int nx, int ny, std::string const& type,
                                    std::string const& precision, std::string const& more = "") {
  return config_of(
      fmt::format("simulation: heat\nprecision: {}\ngrid: {{points: [{}, {}]}}\n"
                  "boundary: {{x: periodic, y: periodic}}\n"
                  "initial: {{u: {{file: {}, type: {}, shape: [{}, {}]{}}}}}\n"
                  "parameters: {{diffusivity: 1}}\ntime: {{end: 1, step: 1e-9}}\n"
                  "output: {{directory: nowhere}}\n",
                  precision, nx, ny, file.path.string(), type, ny, nx, more));
}

/// The field at the start.
inline HostField start_of(config::RunConfig const& config, Stream& stream) {
  auto const simulation = entry_of(config).make(config, stream, inputs_of(config));
  return to_host(simulation->fields()[0], stream);
}

/// What reading a file's numbers leaves has the bits of a conversion by C++.
template <class S>
void expect_start(Backend backend, std::string const& type, int nx, int ny) {
  Stream stream(Device::open(backend));
  std::mt19937_64 generator(5);
  std::vector<S> numbers(static_cast<std::size_t>(nx) * static_cast<std::size_t>(ny));
  for (S& number : numbers)
    number = std::is_integral_v<S> ? static_cast<S>(generator())
                                   : static_cast<S>(std::ldexp(double(generator()), -70));
  for (bool const swapped : {false, true}) {
    NumberFile const file(numbers, swapped);
    for (std::string const precision : {"float32", "float64"}) {
      auto const config =
          plane_from(file, nx, ny, type, precision, swapped ? ", byte_order: big" : "");
      auto const start = start_of(config, stream);
      std::int64_t different = 0;
      for (std::size_t i = 0; i < numbers.size(); ++i) {
        auto const number = static_cast<double>(numbers[i]);
        double const expected =
            precision == "float32" ? static_cast<double>(static_cast<float>(number)) : number;
        different += value_at(start, static_cast<std::int64_t>(i)) != expected;
      }
      EXPECT_EQ(different, 0) << type << ' ' << precision << (swapped ? " swapped" : "");
    }
  }
}

/// What `use` says that it is refused for.
template <class Use>
std::string config_refusal(Use const& use) {
  try {
    use();
  } catch (ConfigError const& error) {
    return error.problems().front().message;
  }
  return "nothing";
}

/// The first of several numbers that are not finite is told, whatever thread finds it.
inline void expect_first_non_finite(Backend backend) {
  Stream stream(Device::open(backend));
  constexpr int nx = 1031, ny = 1021;
  std::vector<float> numbers(static_cast<std::size_t>(nx) * ny, 1);
  for (int const y : {1020, 1000, 517, 800})
    numbers[static_cast<std::size_t>(y * nx + 30)] = std::numeric_limits<float>::infinity();
  NumberFile const file(numbers);
  auto const config = plane_from(file, nx, ny, "float32", "float64");
  EXPECT_EQ(config_refusal([&] { start_of(config, stream); }),
            fmt::format("{} has inf at cell (30, 517, 0) (all values have to be finite)",
                        file.path.string()));
}

/// Speeds from a file give the very waves that the formula gives, in float64 their squares too.
inline void expect_equal_waves(Backend backend) {
  constexpr int points = 65;
  std::vector<double> speeds;
  for (int i = 0; i < points; ++i) speeds.push_back(1 + i / 64.0);
  NumberFile const file(speeds);
  Stream stream(Device::open(backend));
  auto const run = [&](std::string const& speed) {
    auto const config =
        config_of(fmt::format("simulation: wave\ngrid: {{points: {}}}\nboundary: {{x: fixed}}\n"
                              "initial: {{u: \"exp(-100*(x-0.5)^2)\"}}\nparameters: {{speed: {}}}\n"
                              "time: {{end: 0.1, step: 0.002}}\noutput: {{directory: nowhere}}\n",
                              points, speed));
    auto const simulation = entry_of(config).make(config, stream, inputs_of(config));
    simulation->advance(50, 0.1);
    return to_host(simulation->fields()[0], stream);
  };
  auto const by_file =
      run(fmt::format("{{file: {}, type: float64, shape: 65}}", file.path.string()));
  auto const by_formula = run("1 + x");
  EXPECT_EQ(by_file.memory, by_formula.memory);
}

}  // namespace gridstride::test

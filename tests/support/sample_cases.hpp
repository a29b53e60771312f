#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "support/one_shot.hpp"
#include "support/same_bits.hpp"

/// Integrals of samples in files, on any device.
namespace gridstride::test {

/// A folder of files with bare numbers, which goes away with it.
class SampleFiles {
 public:
  SampleFiles()
      : folder_(std::filesystem::temp_directory_path() /
                fmt::format("gridstride_samples_{}", getpid())) {
    std::filesystem::create_directories(folder_);
  }
  SampleFiles(SampleFiles const&) = delete;
  SampleFiles& operator=(SampleFiles const&) = delete;
  ~SampleFiles() { std::filesystem::remove_all(folder_); }

  /// Writes a file; returns what a config says of it. `shape` has the slowest axis first.
  template <class S>
  std::string write(std::string const& name, std::vector<S> const& values,
                    std::string const& shape) const {
    std::ofstream file(folder_ / name, std::ios::binary);
    file.write(reinterpret_cast<char const*>(values.data()),
               static_cast<std::streamsize>(values.size() * sizeof(S)));
    return fmt::format("{{file: {}, type: float{}, shape: [{}]}}", (folder_ / name).string(),
                       8 * sizeof(S), shape);
  }
  template <class S>
  std::string write(std::string const& name, std::vector<S> const& values) const {
    return write(name, values, std::to_string(values.size()));
  }

 private:
  std::filesystem::path folder_;
};

struct SampleIntegrals {
  std::vector<double> values, errors;
  Grid grid;
  std::map<std::string, double> numbers;
};

inline std::string samples_yaml(std::string const& parameters, std::string const& more = "") {
  return fmt::format("simulation: integration\nparameters: {{{}}}\n{}\n", parameters, more);
}

inline SampleIntegrals integrate_samples(std::string const& yaml, Backend backend) {
  OneShot done(yaml, backend);
  SampleIntegrals found;
  for (Field const& field : done.simulation->fields()) {
    auto const host = to_host(field, done.stream);
    auto& target = field.name == "value" ? found.values : found.errors;
    for (std::int64_t i = 0; i < field.grid.size(); ++i) target.push_back(value_at(host, i));
    found.grid = field.grid;
  }
  for (NamedValue const& number : done.simulation->diagnostics())
    if (!number.name.starts_with("seconds.")) found.numbers[number.name] = number.value;
  return found;
}

inline double sample_integral(std::string const& parameters, Backend backend) {
  return integrate_samples(samples_yaml(parameters), backend).numbers.at("value");
}

/// Values of f at n places of [from, to].
template <class F>
std::vector<double> samples_of(F const& f, double from, double to, int n) {
  std::vector<double> values;
  for (int i = 0; i < n; ++i) values.push_back(f(from + (to - from) * i / (n - 1)));
  return values;
}

/// Data of one to three axes, along each of them and all, by every rule, from float32 and float64,
/// and at positions: one chunk, rows one by one, lanes, and too little memory.
inline void expect_alike_in_chunks(Backend backend) {
  SampleFiles const files;
  auto const expect = [&](std::string const& parameters, bool many_rows) {
    for (std::string const precision : {"float32", "float64"}) {
      auto const run = [&](std::string const& limits) {
        return integrate_samples(
            samples_yaml(parameters,
                         fmt::format("precision: {}\nlimits: {{{}}}", precision, limits)),
            backend);
      };
      auto const whole = run("chunk: 1 GiB, streams: 1");
      std::vector<std::string> limits = {"chunk: 9000 B, streams: 3", "chunk: 5000 B, streams: 2"};
      if (!many_rows) limits.push_back("chunk: 1 B, streams: 4");
      for (auto const& one : limits) {
        SCOPED_TRACE(fmt::format("{} {} {}", parameters, precision, one));
        auto const found = run(one);
        EXPECT_TRUE(same_bits(found.values, whole.values));
        EXPECT_TRUE(same_bits(found.errors, whole.errors));
        EXPECT_EQ(found.numbers, whole.numbers);
      }
    }
  };
  auto const wave = [](double x) { return std::sin(1e3 * x * x) + 0.3; };
  auto const line = samples_of(wave, 0, 7, 65537);
  std::vector<float> const single(line.begin(), line.end());
  auto const f = files.write("f.bin", line), g = files.write("g.bin", single);
  for (std::string const rule : {"trapezoid", "simpson", "romberg"})
    for (auto const& file : {f, g})
      expect(fmt::format("integrand: {}, variables: {{x: [0, 7]}}, rule: {}", file, rule), true);
  auto positions = samples_of([](double x) { return x * x + x; }, 0, 3, 65537);
  auto const p = files.write("p.bin", positions);
  for (std::string const rule : {"trapezoid", "simpson"})
    expect(fmt::format("integrand: {}, variables: {{x: {{positions: {}}}}}, rule: {}", f, p, rule),
           true);
  auto const volume = samples_of(wave, 0, 2, 33 * 17 * 65);
  std::string const three = files.write("volume.bin", volume, "65, 17, 33");
  std::string const two = files.write("plane.bin", volume, "65, 561");
  for (std::string const rule : {"trapezoid", "simpson", "romberg"}) {
    for (std::string const axis : {"x", "y", "z", "all"})
      expect(fmt::format("integrand: {}, variables: {{x: [0, 1], y: [0, 2], z: {{spacing: 0.1}}}}, "
                         "rule: {}, axis: {}",
                         three, rule, axis),
             false);
    if (rule == "romberg") continue;
    for (std::string const axis : {"x", "y", "all"})
      expect(fmt::format("integrand: {}, variables: {{x: [0, 1], y: [0, 2]}}, rule: {}, axis: {}",
                         two, rule, axis),
             false);
  }
}

}  // namespace gridstride::test

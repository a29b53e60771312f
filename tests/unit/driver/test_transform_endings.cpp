#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/spectrum_cases.hpp"
#include "support/transform_endings.hpp"
#include "support/transform_files.hpp"

// The steps that make fields of whole arrays: sort and spectrum.

namespace gridstride::test {
namespace {

constexpr Backend cpu = Backend::cpu;

TEST(TransformSort, BitsDoNotDependOnTheCut) { expect_sorts_of_any_cut(cpu); }

TEST(TransformSpectrum, BitsDoNotDependOnTheCut) { expect_spectra_of_any_cut(cpu); }

/// One list, whatever the axes; along one axis on the points of the array.
TEST(TransformSort, GridsAreThoseOfTheData) {
  auto const fields = [](std::string const& points, std::string const& spacing) {
    OneShot done(fmt::format("simulation: transform\ngrid: {{points: [{}], spacing: [{}]}}\n"
                             "input: {{a: \"3 - x\"}}\n"
                             "steps: [{{difference: {{d: {{of: a, axis: x}}}}}}, {{sort: {{s: "
                             "{{of: d}}}}}}]\noutput: {{fields: [d, s]}}\n",
                             points, spacing),
                 cpu);
    return done.simulation->fields();
  };
  auto const line = fields("5", "0.5");
  EXPECT_EQ(line.at(1).grid, line.at(0).grid);
  EXPECT_EQ(line.at(1).grid.origin[0], 0.25);
  Grid const list{.points = {12, 1, 1}};
  EXPECT_EQ(fields("5, 3", "0.5, 2").at(1).grid, list);
}

/// -0 comes before 0 on the host (IEEE 754 totalOrder).
TEST_F(TransformFiles, ZerosHaveAnOrder) {
  auto const a = write("a.bin", std::vector<double>{0.0, 1, -0.0, -1, 0.0, -0.0});
  auto const sorted = transform(
      fmt::format("simulation: transform\ninput: {{a: {{file: {}, type: float64, shape: [6]}}}}\n"
                  "steps: [{{sort: {{s: {{of: a}}}}}}]\nlimits: {{chunk: 8 B}}\n",
                  a),
      cpu);
  auto const& values = sorted.fields.at("s");
  EXPECT_EQ(values, (std::vector<double>{-1, 0, 0, 0, 0, 1}));
  for (std::size_t i = 1; i < 5; ++i) EXPECT_EQ(std::signbit(values[i]), i < 3) << i;
}

/// Values of scipy.signal.welch: tools/make_signal_reference.py. The bound is that of the kernels'
/// own test.
TEST_F(TransformFiles, SpectraEqualScipy) {
  std::ifstream file(GRIDSTRIDE_SOURCE_DIR "/tests/data/signal_reference.json");
  auto const stored = nlohmann::json::parse(file);
  auto const signal = stored.at("signal").get<std::vector<double>>();
  auto const path = write("signal.bin", signal);
  std::map<std::string, spectrum::Window> const windows = {
      {"boxcar", spectrum::Window::boxcar},
      {"hann", spectrum::Window::hann},
      {"hamming", spectrum::Window::hamming},
      {"blackman", spectrum::Window::blackman}};
  int compared = 0;
  for (auto const& one : stored.at("welch")) {
    auto const segment = one.at("segment").get<std::int64_t>();
    auto const overlap = one.at("overlap").get<std::int64_t>();
    auto const rate = one.at("rate").get<double>();
    for (std::string const precision : {"float32", "float64"}) {
      OneShot done(
          fmt::format("simulation: transform\nprecision: {}\ngrid: {{spacing: {}}}\n"
                      "input: {{a: {{file: {}, type: float64, shape: [{}]}}}}\n"
                      "steps: [{{spectrum: {{p: {{of: a, segment: {}, overlap: {}, window: {}, "
                      "detrend: {}}}}}}}]\nlimits: {{chunk: 512 B}}\noutput: {{fields: [p]}}\n",
                      precision, 1 / rate, path, signal.size(), segment,
                      static_cast<double>(overlap) / static_cast<double>(segment),
                      one.at("window").get<std::string>(), one.at("detrend").get<std::string>()),
          cpu);
      auto const field = done.simulation->fields().at(0);
      EXPECT_DOUBLE_EQ(field.grid.coordinate(0, segment / 2),
                       static_cast<double>(segment / 2) * rate / static_cast<double>(segment));
      spectrum::Options const options{segment, overlap, windows.at(one.at("window")),
                                      spectrum::Detrend::none, rate};
      auto const expected = one.at("density").get<std::vector<double>>();
      auto const found = values_of(field, done.stream);
      if (precision == "float32")
        EXPECT_TRUE(
            is_spectrum(std::vector<float>(signal.begin(), signal.end()), options, expected, found))
            << one;
      else
        EXPECT_TRUE(is_spectrum(signal, options, expected, found)) << one;
      ++compared;
    }
  }
  EXPECT_EQ(compared, 14);
}

/// 29 of 100 samples, though the product of the numbers is below 29 in float64.
TEST(TransformSpectrum, OverlapsAreWholeSamples) {
  auto const yaml = [](std::string const& overlap) {
    return fmt::format(
        "simulation: transform\ngrid: {{points: 1000}}\ninput: {{a: \"sin(x^2)\"}}\n"
        "steps: [{{spectrum: {{p: {{of: a, segment: 100, overlap: {}}}}}}}]\n",
        overlap);
  };
  expect_same_bits(transform(yaml("0.29"), cpu), transform(yaml("0.295"), cpu));
  EXPECT_NE(transform(yaml("0.29"), cpu).fields, transform(yaml("0.28"), cpu).fields);
  expect_same_bits(transform(yaml("0.99"), cpu), transform(yaml("0.9999999999"), cpu));
}

void expect_problem(std::string const& yaml, std::string const& part) {
  auto const problem = problem_of(yaml);
  EXPECT_NE(problem.find(part), std::string::npos) << problem << "\nnot: " << part;
}

TEST(TransformEndings, InfiniteValuesAreTold) {
  for (std::string const step : {"sort: {s: {of: c}}", "spectrum: {s: {of: c, segment: 8}}"})
    expect_problem(
        fmt::format("simulation: transform\ngrid: {{points: 50, lower: -10}}\ninput: {{a: x}}\n"
                    "steps: [{{formula: {{c: \"1/(a - 3)\"}}}}, {{{}}}]\noutput: {{fields: [s]}}\n"
                    "limits: {{chunk: 64 B}}\n",
                    step),
        "c is infinite or not a number at x = 3");
}

TEST(TransformEndings, SquaresThatAreNoNumbersAreTold) {
  for (std::string const reduction : {"moments", "norms"})
    for (std::string const scale : {"1e150", "1e-150", "1e100", "1e-100", "0"}) {
      auto const problem = problem_of(
          fmt::format("simulation: transform\ngrid: {{points: 50}}\ninput: {{a: \"{}*x\"}}\n"
                      "reduce: [{{{}: a}}]\n",
                      scale, reduction));
      bool const fits = scale.ends_with("00") || scale == "0";
      EXPECT_EQ(problem.find(fmt::format("(for {}: other units may help)", reduction)) ==
                    std::string::npos,
                fits)
          << problem;
      EXPECT_EQ(problem.empty(), fits) << problem;
    }
}

/// What the squares of small and large values cannot be is no spectrum of 0 or of infinity.
TEST(TransformSpectrum, RefusesWhatSquaresCannotHold) {
  auto const yaml = [](std::string const& precision, std::string const& scale,
                       std::string const& spacing) {
    return fmt::format(
        "simulation: transform\nprecision: {}\ngrid: {{points: 600, spacing: {}}}\n"
        "input: {{a: \"{}*sin((x/{})^2)\"}}\nsteps: [{{spectrum: {{p: {{of: a}}}}}}]\n",
        precision, spacing, scale, spacing);
  };
  expect_problem(yaml("float32", "1e-20", "1"), "a greatest magnitude of");
  expect_problem(yaml("float32", "1e20", "1"), "a density of inf in the spectrum 'p'");
  expect_problem(yaml("float32", "1", "1e-39"), "a greatest density of");
  expect_problem(yaml("float64", "1e-160", "1"), "a greatest magnitude of");
  EXPECT_EQ(problem_of(yaml("float64", "1e-20", "1")), "");
  EXPECT_EQ(problem_of(yaml("float32", "1e-10", "1")), "");
  EXPECT_EQ(problem_of(yaml("float32", "0", "1")), "");
}

/// Values that are sorted beyond the device's memory wait on the host.
TEST(TransformSort, MemoryThatIsNotThereIsTold) {
  auto const yaml = [](std::string const& limits) {
    return fmt::format(
        "simulation: transform\ngrid: {{points: 100000}}\ninput: {{a: \"sin(x)\"}}\n"
        "steps: [{{sort: {{s: {{of: a}}}}}}]\noutput: {{fields: [s]}}\nlimits: {{{}}}\n",
        limits);
  };
  expect_problem(yaml("device_memory: 500 kB, host_memory: 700 kB"),
                 "limits.host_memory: 683.6 KiB are too little for the 781.2 KiB of values that "
                 "are sorted");
  expect_problem(yaml("device_memory: 60 kB"), "limits.device_memory: 0 B are left for chunks");
}

}  // namespace
}  // namespace gridstride::test

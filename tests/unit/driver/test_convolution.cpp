#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "support/convolution_cases.hpp"

namespace gridstride::test {
namespace {

/// Values of scipy: tools/make_ndimage_reference.py.
TEST(Convolution, EqualsScipy) {
  std::ifstream file(GRIDSTRIDE_SOURCE_DIR "/tests/data/ndimage_filters.json");
  auto const stored = nlohmann::json::parse(file);
  int compared = 0;
  for (auto const& entry : stored.at("cases")) {
    auto const points = entry.at("points").get<std::vector<int>>();
    auto const filters = entry.at("filters").get<std::string>();
    auto const mode = entry.at("mode").get<std::string>();
    for (std::string const variant : {"reference", "threads", "fft"}) {
      SCOPED_TRACE(fmt::format("{}, {}, {}", filters, mode, variant));
      auto const result = filter_signal(
          filter_yaml(fmt::format("{}", fmt::join(points, ", ")),
                      points.size() > 1 ? entry.at("signal").get<std::string>()
                                        : "sin(0.9*x) + 0.25*cos(1)",
                      filters, "float64", variant,
                      fmt::format("  mode: {}\n  value: {}\n", mode,
                                  mode == "constant" ? entry.at("value").get<double>() : 0)),
          cpu);
      EXPECT_LE(largest_difference(result.u, entry.at("out").get<std::vector<double>>()), 1e-12);
    }
    ++compared;
  }
  EXPECT_GE(compared, 28);
}

/// A central difference takes a polynomial of its order exactly, by the coordinate.
TEST(Convolution, DerivativesAreByTheCoordinate) {
  auto const yaml = [](std::string const& filter) {
    return "simulation: convolution\ngrid: {points: 33, lower: -1, upper: 1}\nparameters:\n"
           "  signal: \"x^3 - 2*x\"\n  filters: {" +
           filter + "}\n";
  };
  auto const expect = [&](std::string const& filter, auto const& exact, double bound) {
    auto const result = filter_signal(yaml(filter), cpu);
    for (std::int64_t i = 6; i < 27; ++i) {
      double const x = result.grid.coordinate(0, i);
      EXPECT_NEAR(result.u[static_cast<std::size_t>(i)], exact(x), bound) << filter << " at " << x;
    }
  };
  auto const first = [](double x) { return 3 * x * x - 2; };
  auto const second = [](double x) { return 6 * x; };
  // The taps divided by the power of the spacing, 1/16, times the rounding of a value of 1.
  expect("derivative: {accuracy: 4}", first, 16 * 4e-15);
  expect("derivative: {order: 2, accuracy: 2}", second, 256 * 4e-15);
  expect("savitzky_golay: {window: 7, degree: 3, derivative: 1}", first, 16 * 4e-15);
  expect("savitzky_golay: {window: 9, degree: 4, derivative: 2}", second, 256 * 4e-15);
  // A Gaussian smooths what it differentiates: g * (x^3 - 2 x)'' = 6 x, but for its cut tails.
  expect("gaussian: {sigma: 1, order: 2, truncate: 6}", second, 1e-4);
}

/// Axes that are not filtered are a batch: each row alone gives the same bits.
TEST(Convolution, RowsDoNotMix) {
  std::string const filters = "{gaussian: {axis: x, sigma: 2}}";
  auto const image = filter_signal(filter_yaml("31, 5", "sin(x + 3*y)", filters), cpu);
  for (int row = 0; row < 5; ++row) {
    auto const line =
        filter_signal(filter_yaml("31", fmt::format("sin(x + 3*{})", row), filters), cpu);
    auto const part = std::span(image.u).subspan(static_cast<std::size_t>(31 * row), 31);
    EXPECT_EQ(largest_difference(line.u, part), 0) << row;
  }
}

TEST(Convolution, EachAxisHasItsMode) {
  std::string const filters = "{box: {axis: [x, y], size: 5}}";
  auto const with = [&](std::string const& mode) {
    return filter_signal(
        filter_yaml("12, 9", "x^2 + x*y", filters, "float64", "threads", "  mode: " + mode + "\n"),
        cpu);
  };
  auto const mixed = with("{x: wrap, y: mirror}");
  EXPECT_GT(largest_difference(mixed.u, with("wrap").u), 0.1);
  EXPECT_GT(largest_difference(mixed.u, with("mirror").u), 0.1);
  // Filters along different axes commute.
  auto const other = filter_signal(
      filter_yaml("12, 9", "x^2 + x*y", "[{box: {axis: y, size: 5}}, {box: {axis: x, size: 5}}]",
                  "float64", "threads", "  mode: {x: wrap, y: mirror}\n"),
      cpu);
  EXPECT_LE(largest_difference(mixed.u, other.u), 300 * 10 * 0x1p-52);
}

/// `convolve1d` by hand along one axis of an image, around tap `count/2`.
std::vector<double> convolved(std::vector<double> const& in, int nx, int ny, bool along_x,
                              std::vector<double> const& taps, std::string const& mode,
                              double value) {
  std::vector<double> out;
  int const n = along_x ? nx : ny, count = static_cast<int>(taps.size());
  for (int j = 0; j < ny; ++j)
    for (int i = 0; i < nx; ++i) {
      double sum = 0;
      for (int k = 0; k < count; ++k) {
        int at = (along_x ? i : j) + count / 2 - k;
        bool const outside = at < 0 || at >= n;
        if (mode == "wrap") at = (at + n) % n;
        if (mode == "nearest") at = std::clamp(at, 0, n - 1);
        double const there = outside && mode == "constant" ? value
                             : along_x ? in[static_cast<std::size_t>(j * nx + at)]
                                       : in[static_cast<std::size_t>(at * nx + i)];
        sum += taps[static_cast<std::size_t>(k)] * there;
      }
      out.push_back(sum);
    }
  return out;
}

/// Where a constant goes on beyond the sides, taps that do not add up to one do not commute.
TEST(Convolution, AxesAreFilteredInTheOrderGiven) {
  constexpr int nx = 9, ny = 7;
  constexpr double value = 3;
  std::vector<double> const taps = {0.5, -1, 2, 0.25};
  std::vector<double> signal;
  for (int j = 0; j < ny; ++j)
    for (int i = 0; i < nx; ++i) signal.push_back(i * i - 2.0 * i * j + 5);
  for (auto const& [x_mode, y_mode] :
       {std::pair<std::string, std::string>{"constant", "wrap"}, {"nearest", "constant"}}) {
    auto const by_hand = [&](bool x_first) {
      auto const pass = [&](std::vector<double> const& in, bool along_x) {
        return convolved(in, nx, ny, along_x, taps, along_x ? x_mode : y_mode, value);
      };
      return pass(pass(signal, x_first), !x_first);
    };
    auto const run = [&](std::string const& axes, std::string const& variant) {
      return filter_signal(
                 filter_yaml(
                     "9, 7", "x^2 - 2*x*y + 5",
                     "{taps: {axis: [" + axes + "], values: [0.5, -1, 2, 0.25], origin: 0}}",
                     "float64", variant,
                     fmt::format("  mode: {{x: {}, y: {}}}\n  value: {}\n", x_mode, y_mode, value)),
                 cpu)
          .u;
    };
    auto const x_first = by_hand(true), y_first = by_hand(false);
    EXPECT_GT(largest_difference(x_first, y_first), 1);
    for (std::string const variant : {"reference", "threads", "fft"}) {
      SCOPED_TRACE(variant + ' ' + x_mode + ' ' + y_mode);
      EXPECT_LE(largest_difference(run("x, y", variant), x_first), 1e-10);
      EXPECT_LE(largest_difference(run("y, x", variant), y_first), 1e-10);
    }
  }
}

TEST(Convolution, KeepsTheSignal) {
  auto const result =
      filter_signal(filter_yaml("9", "x", "[{box: {size: 3}}, {box: {size: 3}}, {box: {size: 1}}]",
                                "float32", "reference"),
                    cpu);
  EXPECT_EQ(result.signal, (std::vector<double>{0, 1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(result.chosen, "reference, reference, reference");
  EXPECT_NEAR(result.u[4], 4, 4 * 0x1p-20);
}

TEST(Convolution, RoundsAsItsPrecision) {
  std::string const filters = "{savitzky_golay: {window: 11, degree: 4}}";
  auto const exact = filter_signal(filter_yaml("500", "sin(0.1*x)", filters), cpu);
  auto const rounded = filter_signal(filter_yaml("500", "sin(0.1*x)", filters, "float32"), cpu);
  // k·ε·Σ|taps||in| with 11 taps whose magnitudes sum to less than 2, and the rounding of both.
  EXPECT_LE(largest_difference(exact.u, rounded.u), (11 + 2) * 0x1p-23 * 2);
  EXPECT_GT(largest_difference(exact.u, rounded.u), 0);
}

TEST(Convolution, RefusesASignalThatIsNotFinite) {
  try {
    filter_signal(filter_yaml("9, 4", "1/(x - 3)", "{box: {axis: x, size: 3}}"), cpu);
    FAIL();
  } catch (ConfigError const& error) {
    EXPECT_NE(
        std::string(error.what())
            .find("parameters.signal: is not finite in float64 at cell (3, 0, 0) (all values have "
                  "to be finite)"),
        std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace gridstride::test

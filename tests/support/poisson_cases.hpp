#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <string>
#include <vector>

#include "driver/error_norms.hpp"
#include "support/one_shot.hpp"

/// Poisson's equation with known solutions, solved without files, on any device.
namespace gridstride::test {

/// A grid on [0, 1]^dims and its sides, of each axis lower and upper: p, d or n.
struct PoissonGrid {
  std::vector<int> points;
  std::string sides;

  int dims() const { return static_cast<int>(points.size()); }
  char side(int axis, int end) const { return sides[static_cast<std::size_t>(2 * axis + end)]; }
  double spacing(int axis) const {
    int const n = points[static_cast<std::size_t>(axis)];
    return 1.0 / (side(axis, 0) == 'p' ? n : n - 1);
  }
  bool is_given() const { return sides.find('d') != std::string::npos; }
};

inline constexpr std::array<char const*, 3> poisson_axes = {"x", "y", "z"};

/// A side with a value, of its kind.
inline std::string poisson_side(char kind, std::string const& value, std::string const& slope) {
  return kind == 'd' ? fmt::format("{{dirichlet: \"{}\"}}", value)
                     : fmt::format("{{neumann: \"{}\"}}", slope);
}

/// `value` is u, and `slopes` its derivatives along the axes.
inline std::string poisson_yaml(PoissonGrid const& grid, std::string const& value,
                                std::array<std::string, 3> const& slopes,
                                std::string const& parameters, std::string const& precision) {
  std::string sides, points;
  for (int a = 0; a < grid.dims(); ++a) {
    auto const end = [&](int side, char const* sign) {
      return poisson_side(grid.side(a, side), value,
                          fmt::format("{}({})", sign, slopes[static_cast<std::size_t>(a)]));
    };
    sides += grid.side(a, 0) == 'p' ? fmt::format("  {}: periodic\n", poisson_axes[a])
                                    : fmt::format("  {}: {{lower: {}, upper: {}}}\n",
                                                  poisson_axes[a], end(0, "-"), end(1, ""));
    points += fmt::format("{}{}", a == 0 ? "" : ", ", grid.points[static_cast<std::size_t>(a)]);
  }
  return fmt::format(
      "simulation: poisson\nprecision: {}\ngrid: {{points: [{}]}}\nboundary:\n{}"
      "parameters: {{{}}}\nverify: {{exact: {{u: \"{}\"}}, tolerance: {{l2: 1}}}}\n",
      precision, points, sides, parameters, value);
}

/// What a solve came to.
struct PoissonSolved {
  HostField u;
  double error = 0;  ///< the largest
  std::vector<NamedValue> diagnostics;
  std::vector<NamedText> chosen;

  double diagnostic(std::string const& name) const {
    auto const found = std::ranges::find(diagnostics, name, &NamedValue::name);
    return found == diagnostics.end() ? std::numeric_limits<double>::infinity() : found->value;
  }
};

inline PoissonSolved solve_poisson(std::string const& yaml, Backend backend) {
  OneShot done(yaml, backend);
  PoissonSolved solved{to_host(done.simulation->fields()[0], done.stream), 0,
                       done.simulation->diagnostics(), done.simulation->chosen()};
  auto const config = config_of(yaml);
  if (!config.verify.exact.empty())
    solved.error =
        host_error_norms(solved.u.field, config.verify.exact[0].second.expression, 0).maximum;
  return solved;
}

/// An eigenvector of the differences, a product of one mode for each axis, and its eigenvalue.
struct PoissonMode {
  std::string formula;
  double eigenvalue = 0;
};

inline PoissonMode poisson_mode(PoissonGrid const& grid, std::array<int, 3> const& numbers) {
  PoissonMode mode;
  for (int a = 0; a < grid.dims(); ++a) {
    char const lower = grid.side(a, 0), upper = grid.side(a, 1);
    int const k = numbers[static_cast<std::size_t>(a)];
    bool const mixed = lower != upper;
    double const halves = lower == 'p' ? 2 * k : mixed ? k + 0.5 : k;
    double const h = grid.spacing(a), sine = std::sin(std::numbers::pi * halves * h / 2);
    mode.eigenvalue += 4 / (h * h) * sine * sine;
    mode.formula += fmt::format("{}{}({}*pi*{}{})", a == 0 ? "" : "*", lower == 'd' ? "sin" : "cos",
                                halves, poisson_axes[a], lower == 'p' ? " + 0.4" : "");
  }
  return mode;
}

/// The least eigenvalue of −a·∇² + κ that is not 0.
inline double least_eigenvalue(PoissonGrid const& grid, double diffusivity, double reaction) {
  std::array<int, 3> lowest{};
  for (int a = 0; a < grid.dims(); ++a)
    lowest[static_cast<std::size_t>(a)] = grid.side(a, 0) == 'd' && grid.side(a, 1) == 'd' ? 1 : 0;
  double const least = diffusivity * poisson_mode(grid, lowest).eigenvalue + reaction;
  if (least > 0) return least;
  double next = std::numeric_limits<double>::infinity();
  for (int a = 0; a < grid.dims(); ++a) {
    std::array<int, 3> numbers{};
    numbers[static_cast<std::size_t>(a)] = 1;
    next = std::min(next, diffusivity * poisson_mode(grid, numbers).eigenvalue);
  }
  return next;
}

/// Modes of a grid come back, the slowest and the fastest among them: to 1e-13 in float64, and for
/// those beyond to some roundings of f, which the slowest mode of all makes as large as its
/// eigenvalue is small.
inline void expect_modes(PoissonGrid const& grid, std::string const& method, Backend backend) {
  constexpr double diffusivity = 0.75;
  for (std::string const precision : {"float64", "float32"})
    for (double const reaction : {0.0, 2.5})
      for (int const share : {0, 1, 2}) {
        std::array<int, 3> numbers{};
        for (int a = 0; a < grid.dims(); ++a) {
          auto const i = static_cast<std::size_t>(a);
          int const last = grid.side(a, 0) == 'p' ? grid.points[i] / 2 : grid.points[i] - 2;
          numbers[i] = share == 0 ? 1 : share == 1 ? std::max(1, last / 3) : last;
        }
        auto const mode = poisson_mode(grid, numbers);
        SCOPED_TRACE(fmt::format("{} {} {} {} reaction {}", grid.sides, fmt::join(grid.points, "x"),
                                 mode.formula, precision, reaction));
        double const eigenvalue = diffusivity * mode.eigenvalue + reaction;
        auto const solved = solve_poisson(
            poisson_yaml(grid, "0", {"0", "0", "0"},
                         fmt::format("diffusivity: {}, reaction: {}, source: \"{:.17g}*{}\", "
                                     "method: {}",
                                     diffusivity, reaction, eigenvalue, mode.formula, method),
                         precision),
            backend);
        auto const exact = expression::Expression::parse(mode.formula);
        double const error = host_error_norms(solved.u.field, exact, 0).maximum;
        double const epsilon = precision == "float64" ? 0x1p-52 : 0x1p-23;
        double const ratio = eigenvalue / least_eigenvalue(grid, diffusivity, reaction);
        EXPECT_LE(error, epsilon * std::max(400.0, 4 * ratio));
        // The equation that elimination leaves out has the roundings of all others.
        EXPECT_LE(solved.diagnostic("backward_error"), 32 * epsilon);
      }
}

/// u = Σ_a sin(w_a·x_a + φ_a) with w = 2π along periodic axes, else other numbers, and with the
/// mean of it. `along` is the axis along which a and κ vary, or negative.
inline std::string manufactured_poisson(PoissonGrid const& grid, int along, double reaction,
                                        std::string const& method) {
  constexpr std::array<double, 3> phases = {0.3, 0.7, 1.1};
  constexpr std::array<double, 3> waves = {2.5, 3.5, 4.5};
  bool const varies = along >= 0;
  char const* const axis = varies ? poisson_axes[static_cast<std::size_t>(along)] : "x";
  auto const of_axis = [&](std::string const& text, std::string const& otherwise) {
    return varies ? fmt::format(fmt::runtime(text), axis) : otherwise;
  };
  std::string const diffusivity = of_axis("(1 + sin(2*pi*{})/2)", "1.5");
  std::string const kappa = fmt::format("{}*{}", reaction, of_axis("(1 + cos(2*pi*{})/2)", "1"));
  std::string value, source;
  std::array<std::string, 3> slopes;
  double mean = 0;
  for (int a = 0; a < grid.dims(); ++a) {
    auto const i = static_cast<std::size_t>(a);
    double const w = grid.side(a, 0) == 'p' ? 2 * std::numbers::pi : waves[i];
    mean += (std::cos(phases[i]) - std::cos(w + phases[i])) / w;
    std::string const angle = fmt::format("{:.17g}*{} + {}", w, poisson_axes[i], phases[i]);
    std::string const join = a == 0 ? "" : " + ";
    value += fmt::format("{}sin({})", join, angle);
    slopes[i] = fmt::format("{:.17g}*cos({})", w, angle);
    source += fmt::format("{}{:.17g}*{}*sin({})", join, w * w, diffusivity, angle);
    if (a == along) source += fmt::format(" - pi*cos(2*pi*{})*{}", axis, slopes[i]);
  }
  source += fmt::format(" + {}*({})", kappa, value);
  bool const is_open = reaction == 0 && !grid.is_given();
  return poisson_yaml(
      grid, value, slopes,
      fmt::format("diffusivity: \"{}\", reaction: \"{}\", source: \"{}\", method: {}{}",
                  diffusivity, reaction == 0 ? "0" : kappa, source, method,
                  is_open ? fmt::format(", mean: {:.17g}, imbalance: 0.1", mean) : ""),
      "float64");
}

/// The order in space, from a grid of so many cells and one of twice as many.
inline void expect_order_two(std::string const& sides, int cells, int along, double reaction,
                             std::string const& method, Backend backend) {
  SCOPED_TRACE(fmt::format("{} {} along {} reaction {}", sides, method, along, reaction));
  std::array<double, 2> errors{};
  for (int const level : {0, 1}) {
    PoissonGrid grid{{}, sides};
    for (std::size_t a = 0; a < sides.size() / 2; ++a)
      grid.points.push_back((cells << level) + (sides[2 * a] == 'p' ? 0 : 1));
    errors[static_cast<std::size_t>(level)] =
        solve_poisson(manufactured_poisson(grid, along, reaction, method), backend).error;
  }
  EXPECT_NEAR(std::log2(errors[0] / errors[1]), 2, 0.15) << errors[0] << ", " << errors[1];
}

/// Coefficients that vary along an axis by less than float64 can tell give what constant ones do.
inline void expect_layers_of_nothing(PoissonGrid const& grid, Backend backend) {
  for (int along = 0; along < grid.dims(); ++along)
    for (double const reaction : {0.0, 2.0})
      for (std::string const precision : {"float64", "float32"}) {
        SCOPED_TRACE(
            fmt::format("{} along {} {} reaction {}", grid.sides, along, precision, reaction));
        auto const solve = [&](std::string const& diffusivity) {
          bool const is_open = reaction == 0 && !grid.is_given();
          return solve_poisson(
              poisson_yaml(
                  grid, "x + 2*y", {"1", "2", "0"},
                  fmt::format("diffusivity: \"{}\", reaction: {}, source: \"cos(9*x)*exp(y)\""
                              "{}",
                              diffusivity, reaction, is_open ? ", mean: 2, imbalance: 1" : ""),
                  precision),
              backend);
        };
        auto const layers =
            solve(fmt::format("1.25 + 1e-30*{}", poisson_axes[static_cast<std::size_t>(along)]));
        EXPECT_EQ(layers.chosen.back().name, "elimination along");
        EXPECT_LE(relative_difference(layers.u, solve("1.25").u),
                  precision == "float64" ? 1e-13 : 2e-6);
      }
}

}  // namespace gridstride::test

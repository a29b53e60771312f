#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <string>
#include <vector>

#include "driver/error_norms.hpp"
#include "support/eigen_cases.hpp"
#include "support/one_shot.hpp"

/// The simulation `eigenvalues` with answers that are known, without files, on any device.
namespace gridstride::test {

struct Spectrum {
  explicit Spectrum(std::string const& yaml, Backend backend) : done(yaml, backend) {
    auto const tables = done.simulation->tables();
    values = std::get<1>(tables[0].columns[1].numbers);
    residuals = std::get<1>(tables[0].columns[2].numbers);
    bounds = std::get<1>(tables[0].columns[3].numbers);
    for (auto const& text : done.simulation->chosen()) chosen += text.text + " ";
  }
  HostField field(std::size_t number) {
    return to_host(done.simulation->fields()[number], done.stream);
  }

  OneShot done;
  std::vector<double> values, residuals, bounds;
  std::string chosen;
};

inline std::string spectrum_yaml(std::string const& top, std::string const& parameters,
                                 std::string const& precision = "float64") {
  return fmt::format("simulation: eigenvalues\nprecision: {}\n{}parameters: {{{}}}\n", precision,
                     top, parameters);
}

/// Every method has the same eigenvalues, and modes of the norm 1 with their largest value above 0;
/// they differ from sines by what the tolerance leaves.
inline void expect_sines(Backend backend) {
  for (std::string const precision : {"float64", "float32"})
    for (std::string const method : {"lobpcg", "lanczos", "dense"}) {
      SCOPED_TRACE(precision + " by " + method);
      Spectrum found(spectrum_yaml("grid: {points: 201}\nboundary: {x: {dirichlet: 0}}\n",
                                   "modes: 4, method: " + method, precision),
                     backend);
      for (std::size_t k = 0; k < 4; ++k) {
        double const sine = std::sin(std::numbers::pi * static_cast<double>(k + 1) / 400);
        double const exact = 4 * 200. * 200. * sine * sine;
        EXPECT_NEAR(found.values[k], exact, 1e-12 * exact);
        EXPECT_LE(std::abs(found.values[k] - exact), found.bounds[k]);
        auto const mode = expression::Expression::parse(fmt::format("sqrt(2)*sin({}*pi*x)", k + 1));
        EXPECT_LE(host_error_norms(found.field(k).field, mode, 0).maximum,
                  precision == "float64" ? 1e-7 : 3e-7);
      }
      EXPECT_EQ(found.done.simulation->shortfall(), "");
    }
}

/// Without a side that is held constants are a mode, of the eigenvalue 0.
inline void expect_constants(Backend backend) {
  for (std::string const sides :
       {"x: {neumann: 0}, y: {neumann: 0}", "x: periodic, y: {neumann: 0}"})
    for (std::string const method : {"lobpcg", "lanczos", "dense"}) {
      SCOPED_TRACE(sides + method);
      Spectrum found(
          spectrum_yaml("grid: {points: [24, 21], upper: [2, 1]}\nboundary: {" + sides + "}\n",
                        "modes: 3, method: " + method),
          backend);
      EXPECT_NEAR(found.values[0], 0, 1e-11);
      EXPECT_GT(found.values[1], 1);
      auto const mode = expression::Expression::parse("1/sqrt(2)");
      EXPECT_LE(host_error_norms(found.field(0).field, mode, 0).maximum, 1e-8);
    }
}

/// Energies of the harmonic oscillator below an offset, as negative as it is.
inline void expect_oscillator(Backend backend) {
  for (double const offset : {0.0, -1000.0}) {
    Spectrum found(
        spectrum_yaml(
            "grid: {points: 401, lower: -8, upper: 8}\nboundary: {x: {dirichlet: 0}}\n",
            fmt::format("diffusivity: 0.5, reaction: \"x^2/2 + {}\", modes: 3, method: lobpcg",
                        offset)),
        backend);
    // h²/24·∫(u'')² is what the differences lack: at most 3/32·h², and more for higher ones.
    for (std::size_t k = 0; k < 3; ++k)
      EXPECT_NEAR(found.values[k], static_cast<double>(k) + 0.5 + offset, 2e-3);
  }
}

/// Units may be any.
inline void expect_units(Backend backend) {
  for (double const unit : {1e-200, 1e-20, 1e20, 1e150})
    for (std::string const method : {"lobpcg", "lanczos", "dense"}) {
      SCOPED_TRACE(fmt::format("{} {}", unit, method));
      std::string const more = fmt::format(", modes: 3, method: {}", method);
      Spectrum grid(spectrum_yaml("grid: {points: [33, 40]}\nboundary: {x: {dirichlet: 0}}\n",
                                  fmt::format("diffusivity: {:e}", unit) + more),
                    backend);
      auto const exact = grid_eigenvalues({33, 40}, "dddd");
      Spectrum matrix(
          spectrum_yaml("", fmt::format("matrix: {{expression: \"{:e}*((i == j)*(i + 1) + "
                                        "(abs(i - j) == 1)/4)\", size: 60}}",
                                        unit) +
                                more),
          backend);
      for (std::size_t k = 0; k < 3; ++k)
        EXPECT_NEAR(grid.values[k], unit * exact[k], 1e-12 * unit * exact[k]);
      EXPECT_NEAR(matrix.values[0], 0.939322872821922 * unit, 1e-13 * unit);  // numpy's
      EXPECT_LE(matrix.residuals[0], 1e-8 * unit);
    }
}

/// A matrix of blocks of which each is indefinite, and every eigenvalue is there twice: with every
/// method all of them, on both sides, the smallest below 0.
inline void expect_pairs(Backend backend) {
  std::string const matrix = "matrix: {expression: \"(i == j)*(mod(i, 30) - 12.5)\", size: 60}";
  for (std::string const method : {"lobpcg", "lanczos", "dense"})
    for (std::string const which : {"smallest", "largest"}) {
      SCOPED_TRACE(method + which);
      Spectrum found(
          spectrum_yaml("", matrix + ", modes: 5, which: " + which + ", method: " + method),
          backend);
      for (std::size_t k = 0; k < 5; ++k) {
        double const from = which == "smallest" ? -12.5 : 16.5;
        double const exact = from + (which == "smallest" ? 1.0 : -1.0) * static_cast<double>(k / 2);
        EXPECT_NEAR(found.values[k], exact, 1e-12 * 16.5);
      }
    }
}

/// The smallest one of a line, whose mode has neighbours of the other sign, and beside the line an element
/// that is a little larger: for large tolerances that one is found long before.
inline void expect_first_of_a_line(Backend backend) {
  Spectrum found(spectrum_yaml("",
                               "matrix: {expression: \"if((i<250)*(j<250), 2*(i==j) + "
                               "(abs(i-j)==1), 2e-4*(i==j))\", size: 251}, modes: 1, "
                               "method: lobpcg, tolerance: 3e-3"),
                 backend);
  double const sine = std::sin(std::numbers::pi / 502), exact = 4 * sine * sine;
  EXPECT_NEAR(found.values[0], exact, 1e-3 * exact);
  EXPECT_LE(std::abs(found.values[0] - exact), found.bounds[0]);
  EXPECT_EQ(found.done.simulation->shortfall(), "");
}

/// The largest of a cube, up to six of which are equal, in both precisions, with
/// orthonormal modes.
inline void expect_cube(Backend backend) {
  auto exact = grid_eigenvalues({14, 14, 14}, "dddddd");
  std::ranges::reverse(exact);
  for (std::string const precision : {"float64", "float32"}) {
    SCOPED_TRACE(precision);
    Spectrum found(spectrum_yaml("grid: {points: [14, 14, 14]}\nboundary: {x: {dirichlet: 0}, y: "
                                 "{dirichlet: 0}, z: {dirichlet: 0}}\n",
                                 "modes: 20, which: largest", precision),
                   backend);
    EXPECT_EQ(found.chosen, "lanczos ");
    EXPECT_EQ(found.done.simulation->shortfall(), "");
    for (std::size_t k = 0; k < 20; ++k) {
      EXPECT_NEAR(found.values[k], exact[k], 1e-12 * exact[0]) << k;
      EXPECT_LE(found.residuals[k], 1.01e-8 * exact[0]);
      EXPECT_LE(std::abs(found.values[k] - exact[k]), found.bounds[k]);
    }
    std::vector<HostField> modes;
    for (std::size_t k = 0; k < 20; ++k) modes.push_back(found.field(k));
    auto const value = [&](std::size_t k, std::int64_t p) {
      void const* const data = modes[k].field.data;
      return precision == "float64" ? static_cast<double const*>(data)[p]
                                    : static_cast<double>(static_cast<float const*>(data)[p]);
    };
    double const rounding = precision == "float64" ? 1e-12 : 1e-6;
    for (std::size_t a = 0; a < 20; ++a)
      for (std::size_t b = 0; b <= a; ++b) {
        double sum = 0;
        for (std::int64_t p = 0; p < 14 * 14 * 14; ++p) sum += value(a, p) * value(b, p);
        EXPECT_NEAR(sum / (13. * 13 * 13), a == b ? 1 : 0, rounding);
      }
  }
}

/// As many modes as there are, orthonormal, as columns.
inline void expect_all_modes(Backend backend) {
  Spectrum found(spectrum_yaml("", "matrix: {expression: \"1/(i + j + 1)\", size: 9}, modes: 9"),
                 backend);
  auto const modes = found.field(0);
  EXPECT_EQ(modes.field.grid, (Grid{2, {9, 9, 1}, {0, 0, 0}, {1, 1, 1}}));
  EXPECT_NEAR(found.values[8], 1.7258826609018475, 1e-14);  // numpy's
  EXPECT_NEAR(found.values[0], 3.4996762486e-12, 1e-15);
  auto const* const u = static_cast<double const*>(modes.field.data);
  for (int a = 0; a < 9; ++a)
    for (int b = 0; b < 9; ++b) {
      double sum = 0;
      for (int i = 0; i < 9; ++i) sum += u[9 * i + a] * u[9 * i + b];
      EXPECT_NEAR(sum, a == b ? 1 : 0, 1e-13);
    }
}

}  // namespace gridstride::test

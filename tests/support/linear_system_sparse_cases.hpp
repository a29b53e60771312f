#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "support/linear_system_cases.hpp"

/// Sparse linear systems with known solutions, solved without files, on any device.
namespace gridstride::test {

/// `parameters` are more of them, as `method: cg`.
inline std::string sparse_yaml(std::string const& matrix, std::string const& rhs,
                               std::string const& parameters,
                               std::string const& precision = "float64") {
  return fmt::format(
      "simulation: linear_system\nprecision: {}\nparameters: {{matrix: {}, rhs: {}, {}}}\n",
      precision, matrix, rhs, parameters);
}

/// −x₋ + 2x − x₊ = 1 with 0 beyond the ends: x = (i + 1)(n − i)/2. ‖A⁻¹‖ = 1/(4·sin²(π/(2n + 2))) is
/// less than (n + 1)²/9, and ‖b‖ is √n.
inline void expect_parabolas(Backend backend) {
  constexpr int n = 60;
  for (std::string const precision : {"float64", "float32"}) {
    // Rounding leaves a residual of some ε·‖A‖·‖x‖/‖b‖: 8e-5 in float32.
    double const tolerance = precision == "float64" ? 1e-11 : 3e-4;
    for (std::string const method :
         {"auto", "cg", "minres", "bicgstab", "gmres", "lu", "cholesky"}) {
      SCOPED_TRACE(precision + " by " + method);
      bool const iterates = method != "lu" && method != "cholesky";
      auto const solved = solve_system(
          sparse_yaml(fmt::format("{{stencil: 3-point, points: {}}}", n), "1",
                      "method: " + method +
                          (iterates ? fmt::format(", tolerance: {}", tolerance) : std::string()),
                      precision),
          backend);
      double const norm_of_inverse = 61.0 * 61.0 / 9;
      EXPECT_LE(solved.error("(i+1)*(n-i)/2"), norm_of_inverse * std::sqrt(n) * 2 * tolerance);
      if (!iterates) continue;
      EXPECT_LE(solved.diagnostic("relative_residual"), tolerance);
      EXPECT_NEAR(solved.diagnostic("residual_norm"),
                  solved.diagnostic("relative_residual") * std::sqrt(n),
                  precision == "float64" ? 1e-11 : 1e-3);
      EXPECT_EQ(solved.diagnostic("nonzeros"), 3 * n - 2);
      EXPECT_GE(solved.diagnostic("iterations"), n / 2);
      EXPECT_LE(solved.diagnostic("backward_error"), tolerance);
    }
  }
}

inline void expect_several_sides(Backend backend) {
  OneShot const done(
      sparse_yaml("{stencil: 3-point, points: 40}", "{expression: j*(1 - 3*(j==2)), count: 3}",
                  "method: cg, tolerance: 1e-11"),
      backend);
  auto const tables = done.simulation->tables();
  ASSERT_EQ(tables.size(), 1u);
  EXPECT_EQ(tables[0].name, "history");
  auto const& sides = std::get<0>(tables[0].columns[0].numbers);
  auto const& norms = std::get<1>(tables[0].columns[2].numbers);
  ASSERT_EQ(sides.size(), norms.size());
  // That of b = 0 has one norm; those of others begin with 1.
  EXPECT_EQ(std::count(sides.begin(), sides.end(), 0), 1);
  EXPECT_EQ(norms[0], 0);
  EXPECT_EQ(norms[1], 1);
  EXPECT_EQ(std::count(sides.begin(), sides.end(), 1), std::count(sides.begin(), sides.end(), 2));
  auto const solved = solve_system(
      sparse_yaml("{stencil: 3-point, points: 40}", "{expression: j*(1 - 3*(j==2)), count: 3}",
                  "method: cg, tolerance: 1e-11"),
      backend);
  EXPECT_EQ(solved.x.field.grid, (Grid{2, {3, 40, 1}, {0, 0, 0}, {1, 1, 1}}));
  EXPECT_LE(solved.error("j*(1 - 3*(j==2))*(i+1)*(n-i)/2"), 1e-7);
}

/// Right sides whose squares have no place in float64, or sums none in float32.
inline void expect_any_scale(Backend backend) {
  for (std::string const rhs : {"1e-250", "1e250"}) {
    auto const solved = solve_system(
        sparse_yaml("{stencil: 3-point, points: 30}", rhs, "method: auto, tolerance: 1e-10"),
        backend);
    EXPECT_LE(solved.error(rhs + "*(i+1)*(n-i)/2"), 1e-7 * std::stod(rhs));
  }
  auto const small = solve_system(
      sparse_yaml("{stencil: 3-point, points: 30}", "1e-34", "method: auto", "float32"), backend);
  EXPECT_LE(small.error("1e-34*(i+1)*(n-i)/2"), 1e-2 * 1e-34);
}

}  // namespace gridstride::test

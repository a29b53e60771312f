#pragma once

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "support/linear_system_sparse_cases.hpp"

/// Linear systems with generated matrices of which nothing is stored, on any device.
namespace gridstride::test {

struct GeneratedMatrix {
  std::string yaml;
  double inverse;  ///< ‖A⁻¹‖₂
};

/// 1/λ of the longest sines.
inline std::vector<GeneratedMatrix> const& generated_matrices() {
  auto const cosine = [](int n) { return std::cos(std::numbers::pi / (n + 1)); };
  auto const factor = [&](int n) { return 1 + 2 * cosine(n); };
  static std::vector<GeneratedMatrix> const all = {
      {"{stencil: 3-point, points: 70}", 1 / (2 - 2 * cosine(70))},
      {"{stencil: 5-point, points: [17, 12]}", 1 / (4 - 2 * cosine(17) - 2 * cosine(12))},
      {"{stencil: 9-point, points: [13, 20]}", 1 / (9 - factor(13) * factor(20))},
      {"{stencil: 7-point, points: [8, 1, 11]}", 1 / (4 - 2 * cosine(8) - 2 * cosine(11))},
      {"{stencil: 27-point, points: [7, 9, 8]}", 1 / (27 - factor(7) * factor(9) * factor(8))}};
  return all;
}

/// All methods and preconditioners find what the rows have, for one right-hand side and for several.
inline void expect_solutions_of_rows(Backend backend) {
  struct Case {
    std::string method, preconditioner, chosen;
  };
  Case const cases[] = {{"auto", "auto", "multigrid"},  {"cg", "multigrid", "multigrid"},
                        {"gmres", "auto", "multigrid"}, {"bicgstab", "auto", "multigrid"},
                        {"cg", "none", "none"},         {"cg", "jacobi", "jacobi"},
                        {"minres", "auto", "jacobi"}};
  for (auto const& [yaml, inverse] : generated_matrices())
    for (std::string const precision : {"float64", "float32"})
      for (auto const& [method, preconditioner, chosen] : cases) {
        SCOPED_TRACE(yaml + ' ' + precision + ' ' + method + ' ' + preconditioner);
        double const tolerance = precision == "float64" ? 1e-11 : 2e-5;
        auto const parameters = fmt::format("method: {}, preconditioner: {}, tolerance: {}", method,
                                            preconditioner, tolerance);
        std::string const rhs = "{expression: \"(j - 1)*sin(i + 0.1)\", count: 3}";
        OneShot const done(sparse_yaml(yaml, rhs, parameters, precision), backend);
        auto const texts = done.simulation->chosen();
        EXPECT_EQ(texts[0].text, method == "auto" ? "cg" : method);
        EXPECT_EQ(texts[1].text, chosen);
        EXPECT_EQ(texts[2].name, "lattice");
        EXPECT_EQ(done.simulation->shortfall(), "");
        auto const found = solve_system(sparse_yaml(yaml, rhs, parameters, precision), backend);
        EXPECT_LE(found.diagnostic("relative_residual"), tolerance);
        auto const direct =
            solve_system(sparse_yaml(yaml, rhs, "method: cholesky", "float64"), backend);
        auto const* const exact = static_cast<double const*>(direct.x.field.data);
        auto const size = static_cast<std::size_t>(found.x.field.grid.size());
        double const right = std::sqrt(static_cast<double>(size) / 3);
        for (std::size_t i = 0; i < size; ++i) {
          double const x = precision == "float64"
                               ? static_cast<double const*>(found.x.field.data)[i]
                               : static_cast<float const*>(found.x.field.data)[i];
          ASSERT_NEAR(x, exact[i], 1.01 * inverse * tolerance * right) << i;
          if (i % 3 == 1) {
            ASSERT_EQ(x, 0) << i;
          }
        }
      }
}

/// The residual that is told is that of x as it is given, whatever products in float32 make of it.
inline void expect_residuals_as_told(Backend backend) {
  for (std::string const precision : {"float64", "float32"})
    for (double const tolerance : {0.1, 1e-3, 1e-4, 3e-5, 1e-5, 3e-6, 1e-6, 3e-7}) {
      OneShot const done(sparse_yaml("{stencil: 27-point, points: [12, 13, 14]}", "sin(i*i)",
                                     fmt::format("tolerance: {}", tolerance), precision),
                         backend);
      auto const values = done.simulation->diagnostics();
      auto const found = std::ranges::find(values, "relative_residual", &NamedValue::name);
      if (done.simulation->shortfall().empty())
        EXPECT_LE(found->value, tolerance) << precision;
      else
        EXPECT_EQ(precision, "float32") << tolerance;
      if (tolerance > 1e-5) {
        EXPECT_EQ(done.simulation->shortfall(), "");
      }
    }
}

/// 1/3 is no number of float32: x = b leaves 3e-8 of it, and nothing as products in float32 have it.
inline void expect_residuals_beyond_rounding(Backend backend) {
  OneShot const done(
      sparse_yaml("{stencil: 3-point, points: 1}", "1/3", "tolerance: 1e-9", "float32"), backend);
  EXPECT_EQ(done.simulation->shortfall(),
            "cg did not converge: the residual is 2.98e-08 of the right-hand side, and 0 as far as "
            "float32 tells (precision: float64, or a larger tolerance)");
}

/// As many iterations on grids of any size.
inline void expect_iterations_of_any_size(Backend backend) {
  auto const iterations = [&](std::string const& matrix) {
    return solve_system(sparse_yaml(matrix, "sin(i*i)", "tolerance: 1e-8"), backend)
        .diagnostic("iterations");
  };
  for (int const n : {16, 33, 50})
    EXPECT_LE(iterations(fmt::format("{{stencil: 27-point, points: [{0}, {0}, {0}]}}", n)), 19);
  for (int const n : {50, 257})
    EXPECT_LE(iterations(fmt::format("{{stencil: 9-point, points: [{0}, {0}]}}", n)), 17);
}

/// Right sides whose squares have no place in float64, or that float32 does not hold; and an x that it
/// does not hold.
inline void expect_any_scale_of_stencils(Backend backend) {
  for (std::string const method : {"auto", "minres"}) {
    for (double const value : {1e-250, 1e250, 4e-310}) {
      std::string const rhs = fmt::format("{}", value);
      auto const solved = solve_system(
          sparse_yaml("{stencil: 3-point, points: 30}", rhs, "tolerance: 1e-10, method: " + method),
          backend);
      EXPECT_LE(solved.error(rhs + "*(i+1)*(n-i)/2"), 1e-7 * value + 1e-322);
      EXPECT_NEAR(solved.diagnostic("residual_norm"),
                  solved.diagnostic("relative_residual") * value * std::sqrt(30), 1e-3 * value);
    }
    auto const small = solve_system(
        sparse_yaml("{stencil: 3-point, points: 30}", "1e-34", "method: " + method, "float32"),
        backend);
    EXPECT_LE(small.error("1e-34*(i+1)*(n-i)/2"), 1e-2 * 1e-34);
  }
  auto const refused = [&](std::string const& rhs, std::string const& precision) {
    try {
      solve_system(sparse_yaml("{stencil: 3-point, points: 30}", rhs, "tolerance: 1e-3", precision),
                   backend);
    } catch (NumericalError const& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  auto const no_place = [](std::string const& precision, int magnitude, std::string const& advice) {
    return fmt::format(
        "linear_system: x has no place in {}: row 0, counted from 0, would be about 10^{} "
        "({}another unit of the matrix or the right-hand side)",
        precision, magnitude, advice);
  };
  EXPECT_EQ(refused("1e-50", "float32"), no_place("float32", -49, "precision: float64, or "));
  EXPECT_EQ(refused("1e50", "float32"), no_place("float32", 51, "precision: float64, or "));
  EXPECT_EQ(refused("1.7e308", "float64"), no_place("float64", 309, ""));
}

}  // namespace gridstride::test

#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "driver/error_norms.hpp"
#include "driver/prepare.hpp"
#include "simulations/registry.hpp"
#include "support/one_shot.hpp"

/// Linear systems with known solutions, solved without files, on any device.
namespace gridstride::test {

/// A system of n rows whose right-hand side j is `rhs`, and its solution; `condition` is no less
/// than ‖A‖∞·‖A⁻¹‖∞.
struct KnownSystem {
  std::string name, matrix, rhs, exact;
  bool definite;
  double (*condition)(double n);
};

inline std::vector<KnownSystem> const& known_systems() {
  static std::vector<KnownSystem> const systems = {
      // A⁻¹ has 2 (and once 1) on its diagonal and −1 beside it: ‖A‖∞ = n(n+1)/2, ‖A⁻¹‖∞ ≤ 4.
      {"minimum", "min(i,j) + 1", "(j+1)*i", "(j+1)*((i==n-1) - (i==0))", true,
       [](double n) { return 2 * n * (n + 1); }},
      // A/n = I + u·vᵀ/n with |u| ≤ 1, |v| = 1 and |vᵀu| ≤ 2; even n.
      {"rank_one", "n*(i==j) + sin(i)*(1 - 2*mod(j,2))", "(j+1)*n*(1 - 2*mod(i,2) + sin(i))",
       "(j+1)*(1 - 2*mod(i,2))", false, [](double n) { return 2 * (1 + 1 / (1 - 2 / n)); }},
      // A permutation of a diagonal that covers eight orders of magnitude.
      {"graded", "(mod(i+1,n)==j)*10^(8*j/n)", "(j+1)*10^(8*mod(i+1,n)/n)", "j+1", false,
       [](double) { return 1e8; }},
  };
  return systems;
}

/// What a solve came to.
struct Solved {
  HostField x;
  Grid formula_grid;
  std::vector<NamedValue> diagnostics;
  std::string method;
  std::vector<std::string> fallbacks;

  double diagnostic(std::string const& name) const {
    auto const found = std::ranges::find(diagnostics, name, &NamedValue::name);
    return found == diagnostics.end() ? std::numeric_limits<double>::infinity() : found->value;
  }
  /// The largest error against a formula of i, j and n.
  double error(std::string const& exact) const {
    Field placed = x.field;
    placed.grid = formula_grid;
    auto const formula =
        expression::Expression::parse(exact, {}, entry_of(config_of(minimal)).info.variables);
    return host_error_norms(placed, formula, 0).maximum;
  }

  static inline std::string const minimal =
      "simulation: linear_system\nparameters: {matrix: {expression: 1, size: 1}, rhs: 1}\n";
};

inline std::string system_yaml(std::string const& matrix, int n, std::string const& rhs,
                               int columns, std::string const& method, std::string const& precision,
                               std::string const& more = "") {
  return fmt::format(
      "simulation: linear_system\nprecision: {}\nparameters:\n"
      "  matrix: {{expression: \"{}\", size: {}}}\n  rhs: {{expression: \"{}\", count: {}}}\n"
      "  method: {}\n{}",
      precision, matrix, n, rhs, columns, method, more);
}

inline Solved solve_system(std::string const& yaml, Backend backend) {
  OneShot done(yaml, backend);
  Simulation const& solved = *done.simulation;
  return {to_host(solved.fields()[0], done.stream), solved.formula_grid(solved.fields()[0]),
          solved.diagnostics(), solved.chosen().at(0).text, solved.fallbacks()};
}

/// Every method, in both precisions, by our kernels and the vendor's: the backward error is within
/// 50·n·ε, and so the error within that times the condition number.
inline void expect_known_solutions(Backend backend, std::vector<int> const& sizes) {
  for (auto const& system : known_systems())
    for (int const n : sizes)
      for (int const columns : {1, 3})
        for (std::string const precision : {"float64", "float32"})
          for (std::string const method : {"auto", "lu", "cholesky", "lu_mixed"})
            for (std::string const vendor : {"", "  vendor: true\n"}) {
              if (method == "cholesky" && !system.definite) continue;
              if (method == "lu_mixed" && precision == "float32") continue;
              SCOPED_TRACE(fmt::format("{} {} x {}, {} {} {}", system.name, n, columns, precision,
                                       method, vendor));
              auto const solved = solve_system(
                  system_yaml(system.matrix, n, system.rhs, columns, method, precision, vendor),
                  backend);
              double const epsilon = precision == "float64" ? 0x1p-53 : 0x1p-24;
              EXPECT_LE(solved.diagnostic("backward_error"), 50 * n * epsilon);
              EXPECT_LE(solved.error(system.exact),
                        system.condition(n) * 50 * n * epsilon * columns);
              EXPECT_EQ(solved.method == "cholesky",
                        system.definite && method != "lu" && method != "lu_mixed");
            }
}

}  // namespace gridstride::test

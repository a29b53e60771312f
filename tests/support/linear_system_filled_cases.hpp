#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "support/linear_system_sparse_cases.hpp"

/// Sparse systems that no iteration solves, on any device.
namespace gridstride::test {

/// x_(i + 1) = b_i, around: GMRES that begins anew after fewer iterations than rows sees nothing of it.
inline double shift_around(int n, int i, int j) { return j == i % n + 1 ? 1 : 0; }

inline std::vector<double> const& history_of(OneShot const& done, std::vector<Table>& kept) {
  kept = done.simulation->tables();
  return std::get<1>(kept[0].columns[2].numbers);
}

inline void expect_last_resort(Backend backend) {
  constexpr int n = 120;
  MatrixFile const shift(n, [](int i, int j) { return shift_around(n, i, j); });
  for (std::string const precision : {"float64", "float32"}) {
    SCOPED_TRACE(precision);
    auto const yaml = [&](std::string const& method) {
      return sparse_yaml(shift.yaml(), "3*(i == 0)", "method: " + method, precision);
    };
    auto const solved = solve_system(yaml("auto"), backend);
    EXPECT_EQ(solved.method, "lu");
    EXPECT_EQ(solved.error("3*(i == 1)"), 0);
    ASSERT_EQ(solved.fallbacks.size(), 2u);
    EXPECT_EQ(solved.fallbacks[0].rfind("method: bicgstab gave way to gmres (", 0), 0u);
    EXPECT_EQ(solved.fallbacks[1].rfind("method: gmres gave way to lu (the residual is 1.00e+00 of "
                                        "the right-hand side after 50 iterations",
                                        0),
              0u)
        << solved.fallbacks[1];
    // One iteration more than GMRES had.
    OneShot const by_auto(yaml("auto"), backend), by_gmres(yaml("gmres"), backend);
    EXPECT_EQ(by_auto.simulation->shortfall(), "");
    EXPECT_NE(by_gmres.simulation->shortfall(), "");
    std::vector<Table> tables, tables_of_gmres;
    auto norms = history_of(by_auto, tables);
    EXPECT_EQ(norms.back(), 0);
    norms.pop_back();
    EXPECT_EQ(norms, history_of(by_gmres, tables_of_gmres));
    EXPECT_EQ(solved.diagnostic("iterations"), static_cast<double>(norms.size()));
  }
}

/// What the factors of the first right-hand side serve: each solution as that side has it alone.
inline void expect_factors_serve_all(Backend backend) {
  constexpr int n = 90, count = 35;
  MatrixFile const matrix(n, [](int i, int j) {
    return shift_around(n, i, j) + (std::abs(i - j) < 4 ? 0.02 * std::sin(i * i + 3 * j) : 0);
  });
  auto const side = [](int j) { return fmt::format("10^({} - 6)*sin((1 + {}*i)*i)", j, j); };
  std::string all;
  for (int j = 0; j < count; ++j) all += fmt::format("{}\"{}\"", j > 0 ? ", " : "", side(j % 9));
  for (std::string const precision : {"float64", "float32"}) {
    SCOPED_TRACE(precision);
    auto const yaml = [&](std::string const& sides) {
      return sparse_yaml(matrix.yaml(), sides, "method: auto", precision);
    };
    OneShot const done(yaml("[" + all + "]"), backend);
    EXPECT_EQ(done.simulation->shortfall(), "");
    EXPECT_EQ(done.simulation->fallbacks().size(), 2u);  // of the first side alone
    auto const tables = done.simulation->tables();
    auto const& iterations = std::get<0>(tables[1].columns[2].numbers);
    for (std::size_t j = 1; j < iterations.size(); ++j) EXPECT_EQ(iterations[j], 1) << j;
    auto const x = solve_system(yaml("[" + all + "]"), backend).x.memory;
    auto const element = precision == "float64" ? sizeof(double) : sizeof(float);
    for (int j = 0; j < count; j += 4) {
      auto const alone = solve_system(yaml("\"" + side(j % 9) + "\""), backend);
      ASSERT_EQ(alone.method, "lu") << j;
      std::vector<std::byte> column;
      for (std::size_t i = 0; i < x.size(); ++i)
        if (i / element % count == static_cast<std::size_t>(j)) column.push_back(x[i]);
      EXPECT_EQ(column, alone.x.memory) << j;
    }
  }
}

/// Of a matrix that is exactly singular the run ends as it did by iteration.
inline void expect_singular_as_before(Backend backend) {
  constexpr int n = 120;
  MatrixFile const cycle(n, [](int i, int j) { return (i == j) - shift_around(n, i, j); });
  auto const yaml = [&](std::string const& method) {
    return sparse_yaml(cycle.yaml(), "i == 0", "method: " + method);
  };
  OneShot const by_auto(yaml("auto"), backend), by_gmres(yaml("gmres"), backend);
  EXPECT_EQ(by_auto.simulation->shortfall().rfind("gmres did not converge: ", 0), 0u);
  // But that `auto` need not be named.
  EXPECT_EQ(
      by_gmres.simulation->shortfall().rfind(by_auto.simulation->shortfall() + "; method: auto", 0),
      0u);
  EXPECT_EQ(solve_system(yaml("auto"), backend).x.memory,
            solve_system(yaml("gmres"), backend).x.memory);
}

}  // namespace gridstride::test

#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "kernels/sparse/sparse.hpp"
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

/// The same by the rows of the matrix, where it is generated.
inline std::string rows_yaml(Backend backend, std::string const& matrix, std::string const& rhs,
                             std::string const& parameters,
                             std::string const& precision = "float64") {
  return sparse_yaml(matrix, rhs, parameters, precision) +
         fmt::format("kernels: {{sparse: {}}}\n", sparse::default_variant(backend));
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
      auto const matrix = fmt::format("{{stencil: 3-point, points: {}}}", n);
      auto const solved = solve_system(
          iterates
              ? rows_yaml(backend, matrix, "1",
                          fmt::format("method: {}, tolerance: {}", method, tolerance), precision)
              : sparse_yaml(matrix, "1", "method: " + method, precision),
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
      rows_yaml(backend, "{stencil: 3-point, points: 40}",
                "{expression: j*(1 - 3*(j==2)), count: 3}", "method: cg, tolerance: 1e-11"),
      backend);
  auto const tables = done.simulation->tables();
  ASSERT_EQ(tables.size(), 2u);
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
      rows_yaml(backend, "{stencil: 3-point, points: 40}",
                "{expression: j*(1 - 3*(j==2)), count: 3}", "method: cg, tolerance: 1e-11"),
      backend);
  EXPECT_EQ(solved.x.field.grid, (Grid{2, {3, 40, 1}, {0, 0, 0}, {1, 1, 1}}));
  EXPECT_LE(solved.error("j*(1 - 3*(j==2))*(i+1)*(n-i)/2"), 1e-7);
  EXPECT_EQ(tables[1].name, "right_hand_sides");
  using Whole = std::vector<std::int64_t>;
  auto const& of_sides = tables[1].columns;
  EXPECT_EQ(std::get<Whole>(of_sides[0].numbers), (Whole{0, 1, 2}));
  EXPECT_EQ(std::get<Whole>(of_sides[1].numbers), (Whole{1, 1, 1}));
  auto const& iterations = std::get<Whole>(of_sides[2].numbers);
  EXPECT_EQ(iterations[0], 0);
  EXPECT_EQ(iterations[1], std::count(sides.begin(), sides.end(), 1) - 1);
  // b is j·(1, …, 1) but for its sign.
  for (std::size_t k = 0; k < 3; ++k)
    EXPECT_LE(std::get<1>(of_sides[4].numbers)[k], k == 0 ? 0 : 1e-11);
}

/// Each of several solutions is the one that its right-hand side has alone, to the bit: a side takes
/// nothing from those before it.
inline void expect_solutions_as_alone(Backend backend) {
  auto const bytes = [&](std::string const& text) { return solve_system(text, backend).x.memory; };
  std::string const matrix = "{stencil: 5-point, points: [23, 17]}";
  std::string const sides[] = {"1e3*sin(3*i)", "0", "(i == 7) - 1e-9*i"};
  std::string const all =
      fmt::format("{{expression: \"if(j == 0, {}, if(j == 1, {}, {}))\", count: 3}}", sides[0],
                  sides[1], sides[2]);
  for (bool const has_rows : {true, false})
    for (std::string const precision : {"float64", "float32"})
      for (auto const& [parameters, needs_rows] :
           {std::pair<std::string, bool>("method: cg", false),
            {"method: amg_cg", true},
            {"method: gmres, preconditioner: ilu0", true},
            {"method: bicgstab", false},
            {"method: minres", false},
            {"method: auto", false}}) {
        if (needs_rows && !has_rows) continue;
        SCOPED_TRACE(fmt::format("{} {} {}", has_rows, precision, parameters));
        auto const make = [&, parameters = parameters](std::string const& rhs) {
          return has_rows ? rows_yaml(backend, matrix, rhs, parameters, precision)
                          : sparse_yaml(matrix, rhs, parameters, precision);
        };
        auto const together = bytes(make(all));
        auto const element = precision == "float64" ? sizeof(double) : sizeof(float);
        for (std::size_t j = 0; j < 3; ++j) {
          auto const alone = bytes(make("\"" + sides[j] + "\""));
          std::vector<std::byte> column;
          for (std::size_t i = 0; i < together.size(); ++i)
            if (i / element % 3 == j) column.push_back(together[i]);
          EXPECT_EQ(column, alone) << j;
        }
      }
}

/// The same of more right-hand sides than go together, by all preconditioners, with some that do not
/// converge; what each came to is told as alone, too.
inline void expect_groups_as_alone(Backend backend) {
  auto const side = [](int j) {
    return j % 5 == 1   ? std::string("0")
           : j % 5 == 3 ? std::string("1e-9")
           : j % 5 == 4 ? fmt::format("(i == {})", 7 * j)
                        : fmt::format("1e3*sin({}*i + i*i)", j);
  };
  auto const numbers_of = [&](OneShot const& done, std::size_t column) {
    std::vector<double> numbers;
    auto const tables = done.simulation->tables();
    auto const& history = tables[0].columns;
    for (std::size_t k = 0; k < static_cast<std::size_t>(tables[0].rows()); ++k)
      if (std::get<0>(history[0].numbers)[k] == static_cast<std::int64_t>(column))
        numbers.push_back(std::get<1>(history[2].numbers)[k]);
    return numbers;
  };
  struct Case {
    std::string parameters, precision;
    int count;
    std::string together;
  };
  for (auto const& [parameters, precision, count, together] :
       {Case{"method: cg, preconditioner: jacobi", "float64", 33, "32"},
        {"method: cg, preconditioner: none, iterations: 40", "float64", 9, "9"},
        {"method: cg, preconditioner: chebyshev", "float32", 9, "9"},
        {"method: cg, preconditioner: block_jacobi", "float64", 7, "7"},
        {"method: cg, preconditioner: ic0", "float64", 7, "7"},
        {"method: amg_cg", "float32", 9, "9"},
        {"method: minres", "float64", 7, "7"},
        {"method: bicgstab, preconditioner: ilu0", "float64", 7, "7"},
        {"method: gmres, restart: 20", "float64", 3, "1"}}) {
    SCOPED_TRACE(parameters);
    auto const make = [&, parameters = parameters, precision = precision](std::string const& rhs) {
      return rows_yaml(backend, "{stencil: 5-point, points: [41, 33]}", rhs, parameters, precision);
    };
    std::string all;
    for (int j = 0; j < count; ++j) all += fmt::format("{}\"{}\"", j > 0 ? ", " : "", side(j));
    OneShot const done(make("[" + all + "]"), backend);
    EXPECT_EQ(done.simulation->chosen().back().text, together);
    auto const x = solve_system(make("[" + all + "]"), backend).x.memory;
    auto const element = precision == "float64" ? sizeof(double) : sizeof(float);
    for (int j = 0; j<count; j += count> 9 ? 5 : 1) {
      auto const text = make("\"" + side(j) + "\"");
      OneShot const alone(text, backend);
      EXPECT_EQ(numbers_of(done, static_cast<std::size_t>(j)), numbers_of(alone, 0)) << j;
      std::vector<std::byte> column;
      for (std::size_t i = 0; i < x.size(); ++i)
        if (i / element % static_cast<std::size_t>(count) == static_cast<std::size_t>(j))
          column.push_back(x[i]);
      EXPECT_EQ(column, solve_system(text, backend).x.memory) << j;
    }
  }
}

/// Right sides whose squares have no place in float64, or sums none in float32.
inline void expect_any_scale(Backend backend) {
  for (std::string const rhs : {"1e-250", "1e250"}) {
    auto const solved = solve_system(
        rows_yaml(backend, "{stencil: 3-point, points: 30}", rhs, "method: auto, tolerance: 1e-10"),
        backend);
    EXPECT_LE(solved.error(rhs + "*(i+1)*(n-i)/2"), 1e-7 * std::stod(rhs));
  }
  auto const small = solve_system(
      rows_yaml(backend, "{stencil: 3-point, points: 30}", "1e-34", "method: auto", "float32"),
      backend);
  EXPECT_LE(small.error("1e-34*(i+1)*(n-i)/2"), 1e-2 * 1e-34);
}

/// A Matrix Market file of elements a(i, j), both from 1, where a is not 0.
class MatrixFile {
 public:
  template <class Element>
  MatrixFile(int n, Element const& element) : file_(unique_path("mtx")) {
    std::string entries;
    int count = 0;
    for (int i = 1; i <= n; ++i)
      for (int j = 1; j <= n; ++j)
        if (double const value = element(i, j); value != 0) {
          entries += fmt::format("{} {} {}\n", i, j, value);
          ++count;
        }
    std::ofstream(file_) << "%%MatrixMarket matrix coordinate real general\n"
                         << n << ' ' << n << ' ' << count << '\n'
                         << entries;
  }
  MatrixFile(MatrixFile const&) = delete;
  MatrixFile& operator=(MatrixFile const&) = delete;
  ~MatrixFile() { std::filesystem::remove(file_); }
  std::string yaml() const { return "{file: " + file_.string() + "}"; }

 private:
  static std::filesystem::path unique_path(std::string const& suffix) {
    static int count = 0;
    return std::filesystem::temp_directory_path() /
           fmt::format("gridstride_matrix_{}_{}.{}", ::getpid(), ++count, suffix);
  }
  std::filesystem::path file_;
};

/// What `auto` gives way to for the second right-hand side is what those after it are solved by, and not
/// the first; as if they were solved one after the other.
inline void expect_later_columns_give_way(Backend backend) {
  // Three eigenvalues are negative, of smooth vectors; b of the first is none of those.
  constexpr int n = 60;
  MatrixFile const indefinite(n, [](int i, int j) {
    return i == j ? 1.97 : std::abs(i - j) == 1 ? -1.0 : 0.0;
  });
  auto const smooth = [](int k) { return fmt::format("sin({}*pi*(i + 1)/(n + 1))", k); };
  auto const yaml = [&](std::string const& sides) {
    return sparse_yaml(indefinite.yaml(), sides, "method: auto, tolerance: 1e-10");
  };
  auto const all = "[\"" + smooth(30) + "\", \"" + smooth(2) + "\", \"" + smooth(30) + "\"]";
  OneShot const done(yaml(all), backend);
  auto const fallbacks = done.simulation->fallbacks();
  ASSERT_EQ(fallbacks.size(), 1u);
  EXPECT_EQ(fallbacks[0].find("right-hand side 1: method: cg gave way to minres ("), 0u)
      << fallbacks[0];
  auto const x = solve_system(yaml(all), backend).x.memory;
  auto const first = solve_system(yaml("\"" + smooth(30) + "\""), backend).x.memory;
  auto const third =
      solve_system(sparse_yaml(indefinite.yaml(), "\"" + smooth(30) + "\"",
                               "method: minres, preconditioner: jacobi, tolerance: 1e-10"),
                   backend)
          .x.memory;
  for (std::size_t i = 0; i < first.size(); ++i) {
    std::size_t const row = i / sizeof(double), byte = i % sizeof(double);
    EXPECT_EQ(x[(3 * row) * sizeof(double) + byte], first[i]) << row;
    EXPECT_EQ(x[(3 * row + 2) * sizeof(double) + byte], third[i]) << row;
  }
}

/// Equations and unknowns in units that differ by hundreds of orders of magnitude.
inline void expect_any_units(Backend backend) {
  // 10^(i − 31)·5 on the diagonal, of 10^±150 as i goes from 1 to 61.
  constexpr int n = 61;
  auto const unit = [](int i) { return std::pow(10.0, 5 * (i - 31)); };
  MatrixFile const diagonal(n, [&](int i, int j) { return i == j ? unit(i) : 0; });
  for (std::string const method : {"auto", "cg", "minres", "bicgstab", "gmres"}) {
    SCOPED_TRACE(method);
    auto const solved = solve_system(
        sparse_yaml(diagonal.yaml(), "10^(5*(i - 30))*(1 + i/7)", "method: " + method), backend);
    EXPECT_LE(solved.error("1 + i/7"), 1e-14 * (1 + n / 7.0));
  }
  // Second differences, the rows and columns of which are in units of 10^±8 by turns.
  auto const turn = [](int i) { return i % 2 == 0 ? 0x1p27 : 0x1p-27; };
  auto const differences = [](int i, int j) { return i == j ? 2 : std::abs(i - j) == 1 ? -1 : 0; };
  MatrixFile const both(n, [&](int i, int j) { return turn(i) * differences(i, j) * turn(j); });
  MatrixFile const rows(n, [&](int i, int j) { return turn(i) * differences(i, j); });
  MatrixFile const columns(n, [&](int i, int j) { return differences(i, j) * turn(j); });
  // b = 1 in units of the rows; x = (i + 1)(n − i)/2 in those of the columns. ‖A⁻¹‖ ≤ 62²/9.
  std::string const factor = "\"2^(54*mod(i, 2) - 27)\"";
  double const bound = 62.0 * 62 / 9 * std::sqrt(n) * 1e-8;
  auto const check = [&](std::string const& matrix, std::string const& rhs,
                         std::string const& method, bool in_units) {
    auto const solved =
        solve_system(sparse_yaml(matrix, rhs, "restart: 100, method: " + method), backend);
    auto const* const x = static_cast<double const*>(solved.x.field.data);
    for (int i = 1; i <= n; ++i)
      EXPECT_NEAR(x[i - 1] * (in_units ? turn(i) : 1), i * (n + 1 - i) / 2.0, bound) << i;
  };
  for (std::string const method : {"auto", "cg", "minres", "bicgstab", "gmres"}) {
    SCOPED_TRACE(method);
    check(both.yaml(), factor, method, true);
    if (method == "cg" || method == "minres") continue;
    check(rows.yaml(), factor, method, false);
    check(columns.yaml(), "1", method, true);
  }
}

/// What float32 cannot hold is in the way nowhere but in x.
inline void expect_ranges_of_float32(Backend backend) {
  auto const times = [](double factor) {
    return MatrixFile(30, [factor](int i, int j) {
      return i == j ? 2 * factor : std::abs(i - j) == 1 ? -factor : 0;
    });
  };
  auto const refused = [&](std::string const& matrix, std::string const& rhs) {
    try {
      solve_system(rows_yaml(backend, matrix, rhs, "method: auto, tolerance: 1e-3", "float32"),
                   backend);
    } catch (NumericalError const& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  // x is about 100·b/a.
  MatrixFile const large = times(1e60), small = times(1e-60);
  std::string const no_place = "linear_system: x has no place in float32: row 0, counted from 0, ";
  EXPECT_EQ(refused(large.yaml(), "1"),
            no_place +
                "would be about 10^-59 (precision: float64, or another unit of the matrix or "
                "the right-hand side)");
  EXPECT_EQ(refused(small.yaml(), "1").substr(0, no_place.size()), no_place);
  EXPECT_EQ(refused("{stencil: 3-point, points: 30}", "1e-50").substr(0, no_place.size()),
            no_place);
  EXPECT_EQ(refused("{stencil: 3-point, points: 30}", "1e50").substr(0, no_place.size()), no_place);
  for (auto const& [matrix, rhs] : {std::pair(&large, "1e60"), std::pair(&small, "1e-60")})
    EXPECT_LE(
        solve_system(sparse_yaml(matrix->yaml(), rhs, "method: auto, tolerance: 1e-3", "float32"),
                     backend)
            .error("(i+1)*(n-i)/2"),
        31.0 * 31 / 9 * std::sqrt(30) * 1e-3);
}

/// Conjugate gradients with algebraic multigrid: few iterations in any units, and what cg finds.
inline void expect_aggregation(Backend backend) {
  auto const plane = [&](std::string const& more) {
    return solve_system(sparse_yaml("{stencil: 5-point, points: [110, 100]}", "sin(i)", more),
                        backend);
  };
  auto const asked = plane("method: amg_cg, tolerance: 1e-10");
  auto const plain = plane("method: cg, preconditioner: jacobi, tolerance: 1e-12");
  EXPECT_LE(asked.diagnostic("iterations"), 35);
  EXPECT_GE(plain.diagnostic("iterations"), 150);
  EXPECT_LE(asked.diagnostic("relative_residual"), 1e-10);
  auto const* const a = static_cast<double const*>(asked.x.field.data);
  auto const* const b = static_cast<double const*>(plain.x.field.data);
  // ‖A⁻¹‖·‖b‖·1e-10 with ‖A⁻¹‖ < 101²/9 and ‖b‖ < 105.
  for (std::size_t i = 0; i < 11000; ++i) ASSERT_NEAR(a[i], b[i], 1.2e-5);
  // −∇·(a∇u) on a grid of 30 × 30, a = 10^6 in a quarter: constants in the given units are smooth. Then
  // rows and columns in units of 2^±27 by turns: they are so in the system's own.
  constexpr int side = 30, n = side * side;
  auto const a_at = [](int i) { return i % side < side / 2 && i / side < side / 2 ? 1e6 : 1.0; };
  auto const coupling = [&](int i, int j) {
    int const apart = std::abs(i - j);
    bool const beside = apart == side || (apart == 1 && i / side == j / side);
    return beside ? -2 / (1 / a_at(i) + 1 / a_at(j)) : 0.0;
  };
  auto const jump = [&](int i, int j) {
    if (i != j) return coupling(i - 1, j - 1);
    double sum = 0;
    for (int const k : {i - 1 - side, i - 2, i, i - 1 + side})
      if (k >= 0 && k < n) sum -= coupling(i - 1, k);
    return sum + a_at(i - 1) * (i <= side ? 1 : 0);
  };
  auto const turn = [](int i) { return i % 2 == 0 ? 0x1p27 : 0x1p-27; };
  auto const even = [&](int i, int j) {
    int const apart = std::abs(i - j);
    bool const beside = apart == side || (apart == 1 && (i - 1) / side == (j - 1) / side);
    return turn(i) * turn(j) * (i == j ? 4.0 : beside ? -1.0 : 0.0);
  };
  MatrixFile const jumping(n, jump), turning(n, even);
  for (auto const& [matrix, rhs] :
       {std::pair(&jumping, "1"), std::pair(&turning, "\"2^(54*mod(i, 2) - 27)\"")}) {
    auto const solved = solve_system(sparse_yaml(matrix->yaml(), rhs, "method: amg_cg"), backend);
    EXPECT_LE(solved.diagnostic("relative_residual"), 1e-8);
    EXPECT_LE(solved.diagnostic("iterations"), 30);
  }
}

/// `auto` goes on by a hierarchy where 500 iterations do not do, and has it for further columns.
inline void expect_hierarchy_when_it_takes_long(Backend backend) {
  auto const solved =
      solve_system(rows_yaml(backend, "{stencil: 5-point, points: [400, 300]}",
                             "{expression: 1 + j*i, count: 2}", "method: auto, tolerance: 1e-9"),
                   backend);
  ASSERT_EQ(solved.fallbacks.size(), 1u);
  std::string const told = "right-hand side 0: method: cg gave way to amg_cg (th";
  EXPECT_EQ(solved.fallbacks[0].substr(0, told.size()), told);
  EXPECT_EQ(solved.method, "amg_cg");
  EXPECT_LE(solved.diagnostic("relative_residual"), 1e-9);
}

/// The error of a polynomial of degree 3 is at most 1/T₄(31/29) = 0.43 on eigenvalues that differ by 30:
/// iterations are fewer than half of those with the diagonal alone.
inline void expect_polynomials(Backend backend) {
  for (std::string const precision : {"float64", "float32"}) {
    auto const with = [&](std::string const& preconditioner) {
      return solve_system(
          sparse_yaml("{stencil: 5-point, points: [60, 50]}", "sin(i)",
                      "method: cg, tolerance: 1e-5, preconditioner: " + preconditioner, precision),
          backend);
    };
    auto const polynomial = with("chebyshev"), diagonal = with("jacobi");
    EXPECT_LE(polynomial.diagnostic("relative_residual"), 1e-5);
    EXPECT_LE(2 * polynomial.diagnostic("iterations"), diagonal.diagnostic("iterations"));
  }
}

/// Incomplete factors, by the methods that take them, in few iterations of those with the diagonal.
inline void expect_incomplete_factors(Backend backend) {
  struct Case {
    std::string method, preconditioner;
  };
  for (std::string const precision : {"float64", "float32"})
    for (auto const& [method, preconditioner] :
         {Case{"cg", "ic0"}, Case{"minres", "ic0"}, Case{"gmres", "ilu0"}, Case{"bicgstab", "ilu0"},
          Case{"auto", "ilu0"}}) {
      SCOPED_TRACE(method + " and " + preconditioner + " in " + precision);
      auto const with = [&](std::string const& name) {
        return solve_system(sparse_yaml("{stencil: 5-point, points: [60, 50]}", "sin(i)",
                                        "restart: 200, tolerance: 1e-5, method: " + method +
                                            ", preconditioner: " + name,
                                        precision),
                            backend);
      };
      auto const factors = with(preconditioner), diagonal = with("jacobi");
      EXPECT_TRUE(factors.fallbacks.empty());
      EXPECT_LE(factors.diagnostic("relative_residual"), 1e-5);
      EXPECT_LE(1.5 * factors.diagnostic("iterations"), diagonal.diagnostic("iterations"));
    }
}

/// Pairs of unknowns that are coupled 1 to 100 times as much as they weigh, and with other pairs but a
/// little: of blocks of whole pairs the eigenvalues lie about 1, where the diagonal leaves 1 to 10⁻².
inline void expect_blocks(Backend backend) {
  constexpr int n = 130;
  auto const pairs = [](int i, int j) {
    double const coupling = std::pow(10.0, (i - 1) / 2 % 3);
    if (i == j) return 1 + coupling;
    if ((i - 1) / 2 == (j - 1) / 2) return -coupling;
    return std::abs(i - j) == 2 ? -0.2 : 0.0;
  };
  MatrixFile const symmetric(n, pairs);
  MatrixFile const general(n, [&](int i, int j) { return pairs(i, j) * (i < j ? 0.5 : 1.0); });
  struct Case {
    std::string method;
    MatrixFile const& matrix;
  };
  for (std::string const precision : {"float64", "float32"})
    for (auto const& [method, matrix] :
         {Case{"cg", symmetric}, Case{"minres", symmetric}, Case{"auto", symmetric},
          Case{"gmres", general}, Case{"bicgstab", general}, Case{"auto", general}}) {
      SCOPED_TRACE(method + " in " + precision);
      auto const with = [&](std::string const& preconditioner) {
        return solve_system(sparse_yaml(matrix.yaml(), "sin(i*i)",
                                        "restart: 200, tolerance: 1e-4, method: " + method +
                                            ", preconditioner: " + preconditioner,
                                        precision),
                            backend);
      };
      auto const diagonal = with("jacobi");
      for (int const size : {2, 6, 7, 64}) {
        auto const blocks = with("block_jacobi, block_size: " + std::to_string(size));
        EXPECT_TRUE(blocks.fallbacks.empty());
        EXPECT_LE(blocks.diagnostic("relative_residual"), 1e-4);
        if (size % 2 != 0) continue;  // which cuts pairs in two
        EXPECT_LE(1.5 * blocks.diagnostic("iterations"), diagonal.diagnostic("iterations"));
      }
    }
}

}  // namespace gridstride::test

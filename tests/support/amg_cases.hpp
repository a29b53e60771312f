#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kernels/amg/amg.hpp"
#include "support/krylov_cases.hpp"

/// Matrices for algebraic multigrid on any backend, and what hierarchies and solves are held to.
namespace gridstride::test {

/// −∇·(a∇u) on a grid of unit spacings with u = 0 beyond its sides, or no flow across them where
/// `closed`; `along(axis, x, y, z)` is a between a point and the next one along an axis.
template <class T>
Csr<T> diffusion(
    sparse::GridPoints const& points, bool closed,
    std::function<double(int, std::int64_t, std::int64_t, std::int64_t)> const& along) {
  Entries entries;
  std::int64_t const steps[] = {1, points[0], points[0] * points[1]};
  for (std::int64_t z = 0; z < points[2]; ++z)
    for (std::int64_t y = 0; y < points[1]; ++y)
      for (std::int64_t x = 0; x < points[0]; ++x) {
        std::int64_t const at[] = {x, y, z};
        std::int64_t const i = x + points[0] * (y + points[1] * z);
        for (int axis = 0; axis < 3; ++axis) {
          auto const a = static_cast<std::size_t>(axis);
          if (points[a] == 1) continue;
          double const forward = along(axis, x, y, z);
          if (at[a] == 0 && !closed) entries[{i, i}] += forward;
          if (at[a] + 1 == points[a]) {
            if (!closed) entries[{i, i}] += forward;
            continue;
          }
          std::int64_t const j = i + steps[a];
          entries[{i, i}] += forward;
          entries[{j, j}] += forward;
          entries[{i, j}] -= forward;
          entries[{j, i}] -= forward;
        }
      }
  std::int64_t const n = points[0] * points[1] * points[2];
  return csr_of<T>(n, n, entries);
}

struct AmgSolve {
  std::vector<double> x;
  krylov::Result result;
  std::vector<std::int64_t> unknowns;
  double complexity;
};

template <class T>
AmgSolve solve_amg(Stream& stream, Csr<T> const& matrix, std::vector<T> const& b,
                   krylov::Options const& options = {}) {
  auto const hierarchy =
      std::make_shared<amg::Hierarchy<T> const>(stream, amg::on_device(stream, matrix));
  auto const [x, result] = solve_krylov<T>(stream, Method::cg, operator_of(stream, matrix), b,
                                           options, amg::preconditioner<T>(hierarchy));
  return {{x.begin(), x.end()}, result, hierarchy->unknowns(), hierarchy->operator_complexity()};
}

template <class U>
std::vector<U> values_of(Stream& stream, Buffer<U> const& buffer) {
  std::vector<U> values(buffer.size());
  copy_async(std::span(values), buffer.span(), stream);
  stream.synchronize();
  return values;
}

/// Elements by row and column; nothing twice, no column that is not there.
template <class T>
Entries entries_of(Stream& stream, amg::Rows<T> const& rows) {
  Entries entries;
  auto const offsets = values_of(stream, rows.offsets);
  auto const columns = values_of(stream, rows.column_indices);
  auto const values = values_of(stream, rows.values);
  EXPECT_EQ(offsets.back(), rows.nonzeros());
  for (std::size_t i = 0; i + 1 < offsets.size(); ++i)
    for (auto k = static_cast<std::size_t>(offsets[i]);
         k < static_cast<std::size_t>(offsets[i + 1]); ++k) {
      EXPECT_TRUE(columns[k] >= 0 && columns[k] < rows.columns);
      std::pair<std::int64_t, std::int64_t> const at(static_cast<std::int64_t>(i), columns[k]);
      EXPECT_TRUE(entries.emplace(at, values[k]).second) << at.first << ", " << at.second;
    }
  return entries;
}

/// What set-up makes of kinds of matrices: P with rows of sum 1 where those of A are 0, and PᵀAP.
template <class T>
void expect_hierarchies(Stream& stream) {
  auto const one = [](int, auto, auto, auto) { return 1.0; };
  // A chain, and weak couplings far and wide: rows of PᵀAP have dozens, hundreds and more elements.
  Entries wide;
  constexpr std::int64_t n = 4500;
  for (std::int64_t i = 0; i < 600; ++i)
    for (std::int64_t k = 1; k <= 60; ++k) {
      std::int64_t const j = (i * 7 + k * k * 31) % n;
      if (i == j || wide.count({i, j}) != 0) continue;
      wide[{i, j}] = wide[{j, i}] = -0.001;
      wide[{i, i}] += 0.001;
      wide[{j, j}] += 0.001;
    }
  for (std::int64_t i = 0; i + 1 < n; ++i) {
    wide[{i, i + 1}] -= 1;
    wide[{i + 1, i}] -= 1;
    wide[{i, i}] += 1;
    wide[{i + 1, i + 1}] += 1;
  }
  struct Case {
    std::string name;
    Csr<T> matrix;
  };
  Case const cases[] = {{"a closed box", diffusion<T>({9, 8, 7}, true, one)},
                        {"a closed plane", diffusion<T>({40, 20, 1}, true, one)},
                        {"a closed line", diffusion<T>({700, 1, 1}, true, one)},
                        {"long rows", csr_of<T>(n, n, wide)}};
  double const epsilon = std::numeric_limits<T>::epsilon();
  for (auto const& [name, matrix] : cases) {
    SCOPED_TRACE(name);
    amg::Hierarchy<T> const hierarchy(stream, amg::on_device(stream, matrix));
    ASSERT_GE(hierarchy.unknowns().size(), 2u);
    auto const p = entries_of(stream, hierarchy.interpolation(0));
    std::vector<double> sums(static_cast<std::size_t>(matrix.rows));
    std::vector<std::vector<std::pair<std::int64_t, double>>> rows(sums.size());
    for (auto const& [at, value] : p) {
      sums[static_cast<std::size_t>(at.first)] += value;
      rows[static_cast<std::size_t>(at.first)].emplace_back(at.second, value);
    }
    for (double const sum : sums) ASSERT_NEAR(sum, 1, 100 * epsilon);
    auto const coarse = static_cast<std::size_t>(hierarchy.unknowns()[1]);
    std::vector<double> expected(coarse * coarse), magnitudes(coarse * coarse);
    for (std::size_t i = 0; i < sums.size(); ++i)
      for (auto k = static_cast<std::size_t>(matrix.offsets[i]);
           k < static_cast<std::size_t>(matrix.offsets[i + 1]); ++k)
        for (auto const& [row, left] : rows[i])
          for (auto const& [column, right] :
               rows[static_cast<std::size_t>(matrix.column_indices[k])]) {
            double const term = left * static_cast<double>(matrix.values[k]) * right;
            auto const at =
                static_cast<std::size_t>(row) * coarse + static_cast<std::size_t>(column);
            expected[at] += term;
            magnitudes[at] += std::abs(term);
          }
    for (auto const& [at, value] : entries_of(stream, hierarchy.matrix(1))) {
      auto const place =
          static_cast<std::size_t>(at.first) * coarse + static_cast<std::size_t>(at.second);
      ASSERT_NEAR(value, expected[place], 100 * epsilon * magnitudes[place]);
      expected[place] = 0;
    }
    for (double const missing : expected) ASSERT_EQ(missing, 0);
  }
}

/// x·M⁻¹·y = y·M⁻¹·x, and x·M⁻¹·x > 0.
inline void expect_symmetric_cycles(Stream& stream) {
  auto const matrix = diffusion<double>({13, 12, 11}, false, [](int axis, auto x, auto, auto) {
    return axis == 0 ? 3.0 : x > 5 ? 100.0 : 1.0;
  });
  amg::Hierarchy<double> const hierarchy(stream, amg::on_device(stream, matrix));
  auto const apply = [&](std::vector<double> const& r) {
    Buffer<double> from(stream, MemorySpace::device, r.size()),
        to(stream, MemorySpace::device, r.size());
    copy_async(from.span(), std::span(r), stream);
    hierarchy.cycle(stream, std::as_const(from).span(), to.span());
    return values_of(stream, to);
  };
  auto const dot = [](std::vector<double> const& a, std::vector<double> const& b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
    return sum;
  };
  for (unsigned seed = 0; seed < 4; ++seed) {
    auto const x = random_vector<double>(matrix.rows, seed);
    auto const y = random_vector<double>(matrix.rows, seed + 100);
    auto const mx = apply(x), my = apply(y);
    EXPECT_NEAR(dot(y, mx), dot(x, my), 1e-12 * std::sqrt(dot(x, mx) * dot(y, my)));
    EXPECT_GT(dot(x, mx), 0);
  }
}

/// Iterations that a solve to 1e-8 may take, whatever the size is; the solution by its residual.
inline void expect_amg_solutions(Stream& stream) {
  auto const one = [](int, auto, auto, auto) { return 1.0; };
  auto const skewed = [](int axis, auto, auto, auto) { return axis == 0 ? 1000.0 : 1.0; };
  auto const jumping = [](int, std::int64_t x, std::int64_t y, std::int64_t z) {
    return (x / 5 + y / 5 + z / 5) % 2 == 0 ? 1e6 : 1.0;
  };
  auto const random = [](int axis, std::int64_t x, std::int64_t y, std::int64_t z) {
    return std::pow(10.0, static_cast<double>((x * 31 + y * 57 + z * 83 + axis * 7) % 7 - 3));
  };
  struct Case {
    std::string name;
    Csr<double> matrix;
    std::int64_t iterations;
  };
  Case const cases[] = {
      {"a line", diffusion<double>({5000, 1, 1}, false, one), 30},
      {"a plane", diffusion<double>({70, 60, 1}, false, one), 25},
      {"a larger plane", diffusion<double>({200, 150, 1}, false, one), 25},
      {"a box", diffusion<double>({20, 19, 18}, false, one), 25},
      {"a larger box", diffusion<double>({40, 35, 30}, false, one), 25},
      {"1:1000", diffusion<double>({30, 30, 20}, false, skewed), 30},
      {"a chessboard of 1e6", diffusion<double>({30, 30, 20}, false, jumping), 40},
      {"random by six decades", diffusion<double>({30, 30, 20}, false, random), 60},
      {"27 points", sparse::stencil_matrix<double>(sparse::Neighbours::all, {25, 20, 18}), 25}};
  for (auto const& [name, matrix, most] : cases) {
    SCOPED_TRACE(name);
    auto const b = random_vector<double>(matrix.rows, 3);
    auto const solved = solve_amg(stream, matrix, b, {.tolerance = 1e-8, .iterations = 300});
    EXPECT_TRUE(solved.result.converged()) << solved.result.advice;
    EXPECT_LE(solved.result.iterations, most)
        << solved.complexity << testing::PrintToString(solved.unknowns);
    EXPECT_LE(solved.complexity, 2.5);
    EXPECT_LE(solved.unknowns.back(), 256);
    EXPECT_LE(residual_of(matrix, solved.x, b), 1.001e-8);
    EXPECT_EQ(solve_amg(stream, matrix, b, {.tolerance = 1e-8, .iterations = 300}).x, solved.x);
  }
}

/// Matrices without a hierarchy to speak of, or of several parts, against elimination.
inline void expect_odd_graphs(Stream& stream) {
  auto const one = [](int, auto, auto, auto) { return 1.0; };
  // Two grids and rows that are coupled to nothing.
  Entries parts;
  constexpr std::int64_t n = 600;
  for (std::int64_t i = 0; i < n; ++i) {
    parts[{i, i}] = i % 10 == 9 ? 5 : 4.1;
    std::int64_t const next = i % 10 == 8 ? i + 2 : i + 1;
    if (i % 10 == 9 || next >= n || i == 299 || i == 298) continue;
    parts[{i, next}] = parts[{next, i}] = -2;
  }
  // An arrow: one row with all others. Positive couplings. A diagonal alone.
  Entries arrow, positive, diagonal;
  for (std::int64_t i = 0; i < 400; ++i) {
    arrow[{i, i}] = i == 0 ? 500 : 2;
    if (i > 0) arrow[{0, i}] = arrow[{i, 0}] = i % 3 - 1;
    positive[{i, i}] = 2.01;
    if (i > 0) positive[{i, i - 1}] = positive[{i - 1, i}] = i % 2 == 0 ? 1 : -1;
    diagonal[{i, i}] = static_cast<double>(i + 1);
  }
  struct Case {
    std::string name;
    Csr<double> matrix;
    std::int64_t iterations;
  };
  // What relaxation leaves is not smooth along couplings of both signs: AMG is no help there.
  Case const cases[] = {{"parts", csr_of<double>(n, n, parts), 40},
                        {"an arrow", csr_of<double>(400, 400, arrow), 40},
                        {"couplings of both signs", csr_of<double>(400, 400, positive), 400},
                        {"a diagonal", csr_of<double>(400, 400, diagonal), 5},
                        {"one unknown", csr_of<double>(1, 1, {{{0, 0}, 3}}), 2},
                        {"few unknowns", diffusion<double>({5, 4, 3}, false, one), 5}};
  for (auto const& [name, matrix, most] : cases) {
    SCOPED_TRACE(name);
    auto const b = random_vector<double>(matrix.rows, 4);
    auto const solved = solve_amg(stream, matrix, b, {.tolerance = 1e-11});
    EXPECT_TRUE(solved.result.converged()) << solved.result.advice;
    EXPECT_LE(solved.result.iterations, most);
    auto const exact = eliminated(matrix, b);
    for (std::size_t i = 0; i < b.size(); ++i)
      EXPECT_NEAR(solved.x[i], static_cast<double>(exact[i]), 1e-7 * (1 + largest_of(solved.x)));
  }
  // What no side holds: solved where b has the mean 0.
  for (sparse::GridPoints const points : {sparse::GridPoints{30, 20, 1}, {12, 11, 10}}) {
    auto const matrix = diffusion<double>(points, true, one);
    auto b = random_vector<double>(matrix.rows, 5);
    double mean = 0;
    for (double const value : b) mean += value / static_cast<double>(b.size());
    for (double& value : b) value -= mean;
    auto const solved = solve_amg(stream, matrix, b, {.tolerance = 1e-9});
    EXPECT_TRUE(solved.result.converged()) << solved.result.advice;
    EXPECT_LE(solved.result.iterations, 30);
    EXPECT_LE(residual_of(matrix, solved.x, b), 1.001e-9);
  }
}

inline void expect_amg_in_float32(Stream& stream) {
  auto const one = [](int, auto, auto, auto) { return 1.0; };
  auto const matrix = diffusion<float>({20, 20, 15}, false, one);
  auto const b = random_vector<float>(matrix.rows, 3);
  auto const solved = solve_amg(stream, matrix, b, {.tolerance = 1e-5});
  EXPECT_TRUE(solved.result.converged()) << solved.result.advice;
  EXPECT_LE(solved.result.iterations, 15);
  EXPECT_LE(residual_of(matrix, std::vector<float>(solved.x.begin(), solved.x.end()), b), 1.01e-5);
}

}  // namespace gridstride::test

#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "kernels/eigen/eigen.hpp"
#include "kernels/eigen/grid.hpp"
#include "model/values.hpp"
#include "support/environment.hpp"

/// Problems of eigenvalues that are known, for any device.
namespace gridstride::test {

inline std::vector<double> fetched(Stream& stream, std::span<double const> values) {
  std::vector<double> copy(values.size());
  copy_async(std::span(copy), values, stream);
  stream.synchronize();
  return copy;
}

/// Rows of both blocks have the products and the combinations that loops give.
inline void expect_blocks(Stream& stream, std::int64_t size, int rows_u, int rows_v) {
  SCOPED_TRACE(std::to_string(size) + ": " + std::to_string(rows_u) + ", " +
               std::to_string(rows_v));
  auto const n = static_cast<std::size_t>(size);
  std::vector<double> weights(n);
  for (std::size_t p = 0; p < n; ++p) weights[p] = p % 7 == 0 ? 0 : p % 3 == 0 ? 0.5 : 1;
  Buffer<double> w(stream, MemorySpace::device, n),
      u(stream, MemorySpace::device, n * static_cast<std::size_t>(rows_u)),
      v(stream, MemorySpace::device, n * static_cast<std::size_t>(rows_v));
  copy_async(w.span(), std::span<double const>(weights), stream);
  eigen::Space const space{size, w.data()};
  // In two pieces, so that rows of both count through.
  int const head = rows_u / 3;
  eigen::Rows const of_u{{{u.data(), head}, {u.data() + head * size, rows_u - head}, {}}};
  eigen::Rows const of_v{{{v.data(), rows_v}, {}, {}}};
  eigen::randomise(stream, space, of_u, 5);
  eigen::randomise(stream, space, of_v, 6);
  auto const a = fetched(stream, u.span()), b = fetched(stream, v.span());
  eigen::Small const products = eigen::gram(stream, space, of_u, of_v);
  for (int i = 0; i < rows_u; ++i)
    for (int j = 0; j < rows_v; ++j) {
      double sum = 0, magnitude = 0;
      for (std::size_t p = 0; p < n; ++p) {
        double const term = weights[p] * a[static_cast<std::size_t>(i) * n + p] *
                            b[static_cast<std::size_t>(j) * n + p];
        sum += term;
        magnitude += std::abs(term);
      }
      ASSERT_NEAR(products(i, j), sum, static_cast<double>(size) * 2.3e-16 * magnitude);
    }
  // In the place of the first rows of v.
  eigen::Small factors(std::min(rows_v, 3), rows_u + rows_v);
  for (std::size_t i = 0; i < factors.values.size(); ++i)
    factors.values[i] = std::sin(static_cast<double>(3 * i + 1));
  eigen::Rows const all{{of_u.pieces[0], of_u.pieces[1], of_v.pieces[0]}};
  eigen::combine(stream, space, all, factors, {{{v.data(), factors.rows}, {}, {}}});
  auto const mixed = fetched(stream, v.span());
  for (int i = 0; i < factors.rows; ++i)
    for (std::size_t p = 0; p < n; ++p) {
      double sum = 0;
      for (int j = 0; j < rows_u; ++j)
        sum += factors(i, j) * a[static_cast<std::size_t>(j) * n + p];
      for (int j = 0; j < rows_v; ++j)
        sum += factors(i, rows_u + j) * b[static_cast<std::size_t>(j) * n + p];
      ASSERT_NEAR(mixed[static_cast<std::size_t>(i) * n + p], sum,
                  2.3e-16 * std::pow(rows_u + rows_v, 2));
    }
  for (std::size_t p = static_cast<std::size_t>(factors.rows) * n; p < mixed.size(); ++p)
    ASSERT_EQ(mixed[p], b[p]);
}

inline void expect_blocks(Stream& stream) {
  for (auto const& [size, u, v] : {std::array{1, 1, 1},
                                   {31, 2, 3},
                                   {1023, 20, 60},
                                   {1025, 65, 17},
                                   {5000, 60, 20},
                                   {2049, 33, 1},
                                   {300, 130, 129}})
    expect_blocks(stream, size, u, v);
}

/// The eigenvalues of second differences along an axis of [0, 1], whose ends are p, d or n.
inline std::vector<double> axis_eigenvalues(int points, char lower, char upper) {
  double const intervals = lower == 'p' ? points : points - 1;
  std::vector<double> values;
  auto const add = [&](double halves) {
    double const sine = std::sin(std::numbers::pi * halves / (2 * intervals));
    values.push_back(4 * intervals * intervals * sine * sine);
  };
  if (lower == 'p')
    for (int k = 0; k < points; ++k) add(2.0 * k);
  else if (lower != upper)
    for (int k = 0; k < points - 1; ++k) add(k + 0.5);
  else
    for (int k = lower == 'd' ? 1 : 0; k < points - (lower == 'd' ? 1 : 0); ++k) add(k);
  return values;
}

/// All of them on a grid, ascending.
inline std::vector<double> grid_eigenvalues(std::vector<int> const& points,
                                            std::string const& sides) {
  std::vector<double> all = {0};
  for (std::size_t axis = 0; axis < points.size(); ++axis) {
    std::vector<double> more;
    for (double const value : all)
      for (double const other :
           axis_eigenvalues(points[axis], sides[2 * axis], sides[2 * axis + 1]))
        more.push_back(value + other);
    all = more;
  }
  std::ranges::sort(all);
  return all;
}

inline poisson::Equation<double> grid_equation(std::vector<int> const& points,
                                               std::string const& sides) {
  poisson::Equation<double> equation;
  equation.grid.dims = static_cast<int>(points.size());
  for (std::size_t axis = 0; axis < points.size(); ++axis) {
    equation.grid.points[axis] = points[axis];
    equation.grid.spacing[axis] = 1.0 / (sides[2 * axis] == 'p' ? points[axis] : points[axis] - 1);
    for (std::size_t side = 0; side < 2; ++side)
      equation.sides[axis][side] = sides[2 * axis + side] == 'p'   ? SideKind::periodic
                                   : sides[2 * axis + side] == 'd' ? SideKind::dirichlet
                                                                   : SideKind::neumann;
  }
  return equation;
}

enum class Iteration { lobpcg, lanczos };

/// What an iteration finds, with its modes.
struct Modes {
  Modes(Stream& stream, eigen::Operator const& a, eigen::Options const& options, Iteration method) {
    bool const is_lanczos = method == Iteration::lanczos;
    int const rows = is_lanczos ? eigen::lanczos_rows(options.modes, a.unknowns)
                                : eigen::block_size(options.modes, a.unknowns);
    x = {stream, MemorySpace::device, static_cast<std::size_t>(rows * a.space.size)};
    result = (is_lanczos ? eigen::lanczos : eigen::lobpcg)(stream, a, options, x.span());
    EXPECT_TRUE(result.converged);
    eigen::Rows const u{{{x.data(), options.modes}, {}, {}}};
    auto const products = eigen::gram(stream, a.space, u, u);
    for (int i = 0; i < options.modes; ++i)
      for (int j = 0; j < options.modes; ++j) EXPECT_NEAR(products(i, j), i == j ? 1 : 0, 1e-12);
  }

  Buffer<double> x;
  eigen::Result result;
};

/// Exactly those of a grid are found, each as often as it is one, with orthonormal modes: to 1e-12 of
/// an eigenvalue, or of the first that is not 0.
inline void expect_grid_modes(Stream& stream, std::vector<int> const& points,
                              std::string const& sides, int modes, bool largest = false,
                              Iteration method = Iteration::lobpcg) {
  SCOPED_TRACE(sides + " " + std::to_string(points.front()));
  auto exact = grid_eigenvalues(points, sides);
  if (largest) std::ranges::reverse(exact);
  bool const has_cycle = !largest && method == Iteration::lobpcg;
  eigen::GridOperator<double> const a(stream, grid_equation(points, sides), {1, 1, 0, 0},
                                      has_cycle ? "auto" : "");
  Modes const found(stream, a.get(), {.modes = modes, .largest = largest}, method);
  double const second = exact.size() > 1 ? exact[1] : exact[0];
  for (int k = 0; k < modes; ++k) {
    auto const at = static_cast<std::size_t>(k);
    double const scale = std::max(std::abs(exact[at]), std::abs(second));
    EXPECT_NEAR(std::ldexp(found.result.values[at], a.exponent()), exact[at], 1e-12 * scale) << k;
    EXPECT_LE(found.result.residuals[at],
              std::ldexp(1.01e-8 * scale, -a.exponent()) + 33 * 2.3e-16 * a.get().norm);
  }
}

/// Of a membrane a thousand times as long as wide, whose first modes along it differ by a millionth: in
/// blocks as they begin they took more than a thousand iterations.
inline void expect_close_modes(Stream& stream) {
  constexpr int points = 33;
  constexpr double length = 1000;
  auto equation = grid_equation({points, points}, "dddd");
  equation.grid.spacing[1] *= length;
  std::vector<double> exact;
  for (double const across : axis_eigenvalues(points, 'd', 'd'))
    for (double const along : axis_eigenvalues(points, 'd', 'd'))
      exact.push_back(across + along / (length * length));
  std::ranges::sort(exact);
  eigen::GridOperator<double> const a(stream, equation, {1, 1, 0, 0}, "auto");
  for (int const modes : {2, 34}) {
    Modes const found(stream, a.get(), {.modes = modes}, Iteration::lobpcg);
    EXPECT_LT(found.result.history.size(), 200u) << modes;
    for (std::size_t k = 0; k < static_cast<std::size_t>(modes); ++k)
      EXPECT_NEAR(std::ldexp(found.result.values[k], a.exponent()), exact[k], 1e-12 * exact[k])
          << k;
  }
}

/// Of a diagonal matrix with these elements, for which products have no rounding.
inline void expect_diagonal_modes(Stream& stream, std::vector<double> elements, int modes,
                                  bool largest, double tolerance = 1e-8) {
  SCOPED_TRACE(std::to_string(modes) + " of " + std::to_string(elements.size()));
  auto const n = std::ssize(elements);
  auto const diagonal = on_device<double>(stream, elements);
  double norm = 0;
  for (double const value : elements) norm = std::max(norm, std::abs(value));
  eigen::Operator a{.space = {n, nullptr}, .unknowns = n, .norm = norm, .apply = {}};
  a.apply = [&](Stream& s, int rows, double const* x, double* y) {
    auto const count = static_cast<std::size_t>(rows * n);
    copy_async(std::span(y, count), std::span(x, count), s);
    eigen::scale_points(s, a.space, diagonal.data(), {{{y, rows}, {}, {}}});
  };
  eigen::Options const options{.modes = modes, .largest = largest, .tolerance = tolerance};
  Modes const found(stream, a, options, Iteration::lanczos);
  std::ranges::sort(elements);
  if (largest) std::ranges::reverse(elements);
  // Errors are about squares of residuals; no eigenvalue is further away than its residual.
  double const bound = tolerance > 1e-8 ? tolerance * norm : 1e-13 * norm;
  for (std::size_t k = 0; k < static_cast<std::size_t>(modes); ++k)
    EXPECT_NEAR(found.result.values[k], elements[k], bound) << k;
}

/// Eigenvalues that are there more often than a block has vectors.
inline void expect_every_copy(Stream& stream) {
  auto const made = [](int n, auto const& element) {
    std::vector<double> elements;
    for (int i = 0; i < n; ++i) elements.push_back(element(i));
    return elements;
  };
  for (bool const largest : {true, false}) {
    for (int const modes : {1, 3, 20}) {
      expect_diagonal_modes(stream, made(500, [](int) { return 1.0; }), modes, largest);
      expect_diagonal_modes(stream, made(500, [](int) { return 0.0; }), modes, largest);
    }
    expect_diagonal_modes(stream, made(1200, [](int i) { return i % 40; }), 50, largest);
    expect_diagonal_modes(stream, made(600, [](int i) { return i % 3 - 1.0; }), 128, largest);
    // Twelve, and then twenty that a block would rather find than all of the twelve.
    double const sign = largest ? 1 : -1;
    auto const nearly = [&](int i) {
      return sign * (i % 150 == 0 ? 2 : i % 90 == 1 ? 1.9 : 1.8 * std::sin(0.77 * i));
    };
    expect_diagonal_modes(stream, made(1800, nearly), 16, largest);
    // Where modes are found before residuals tell the eigenvalues of a spectrum from each other.
    auto const stairs = [&](int i) {
      return sign * (i % 100 == 0 ? 1 : i < 40 ? 1 - 0.01 * i : 0.0005 * i);
    };
    for (double const tolerance : {1e-2, 1e-3})
      expect_diagonal_modes(stream, made(1200, stairs), 15, largest, tolerance);
  }
}

/// On grids: pairs of squares, up to six of a cube, and of periodic ones up to 24, with and without a
/// mode of the eigenvalue 0.
inline void expect_lanczos_modes(Stream& stream) {
  auto const expect = [&](std::vector<int> const& points, std::string const& sides, int modes) {
    for (bool const largest : {true, false})
      expect_grid_modes(stream, points, sides, modes, largest, Iteration::lanczos);
  };
  for (std::string const sides : {"pp", "dd", "nn", "dn"}) {
    expect({101}, sides, 7);
    expect({64}, sides, 1);
  }
  expect({33, 33}, "dddd", 12);
  expect({24, 24}, "pppp", 25);
  expect({25, 25}, "pppp", 9);
  expect({33, 20}, "nndn", 6);
  expect({12, 12, 12}, "dddddd", 20);
  expect({10, 10, 10}, "nnnnnn", 20);
  expect({10, 10, 10}, "pppppp", 33);
  for (int const modes : {1, 2, 3}) expect({5}, "dd", modes);
  expect({4}, "nn", 4);
  expect({14}, "dd", 12);
  expect({14}, "dd", 11);
  expect({14}, "dd", 3);
}

inline void expect_dense(Stream& stream, std::string_view variant, int n) {
  SCOPED_TRACE(std::string(variant) + " " + std::to_string(n));
  auto const size = static_cast<std::size_t>(n);
  std::vector<double> matrix(size * size);
  for (std::size_t i = 0; i < size; ++i)
    for (std::size_t j = 0; j < size; ++j)
      matrix[i * size + j] = i == j ? 2 : i + 1 == j || j + 1 == i ? -1 : 0;
  Buffer<double> a(stream, MemorySpace::device, matrix.size()),
      values(stream, MemorySpace::device, size);
  copy_async(a.span(), std::span<double const>(matrix), stream);
  eigen::decompose(stream, n, a.span(), values.span(), variant);
  auto const found = fetched(stream, values.span()), rows = fetched(stream, a.span());
  for (int k = 0; k < n; ++k) {
    double const sine = std::sin(std::numbers::pi * (k + 1) / (2.0 * (n + 1)));
    EXPECT_NEAR(found[static_cast<std::size_t>(k)], 4 * sine * sine, 4e-15 * n);
    double const* const u = rows.data() + static_cast<std::size_t>(k) * size;
    for (int i = 0; i < n; ++i) {
      double const image = 2 * u[i] - (i > 0 ? u[i - 1] : 0) - (i + 1 < n ? u[i + 1] : 0);
      EXPECT_NEAR(image, found[static_cast<std::size_t>(k)] * u[i], 4e-15 * n);
    }
  }
}

}  // namespace gridstride::test

#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <numbers>
#include <string>
#include <vector>

#include "kernels/krylov/krylov.hpp"
#include "support/sparse_cases.hpp"

/// Systems for Krylov methods on any backend, and what their solutions are compared with.
namespace gridstride::test {

using krylov::Method;
using krylov::Outcome;
inline constexpr Method all_methods[] = {Method::cg, Method::bicgstab, Method::gmres,
                                         Method::minres};

template <class T>
krylov::Operator<T> operator_of(Stream& stream, Csr<T> const& matrix,
                                std::string_view variant = "auto") {
  auto const there = std::make_shared<sparse::Matrix<T>>(stream, matrix, variant);
  return {.size = matrix.rows, .apply = [there](Stream& s, std::span<T const> x, std::span<T> y) {
            there->multiply(s, x, y, static_cast<std::int64_t>(x.size()) / there->columns());
          }};
}

template <class T>
struct Solution {
  std::vector<T> x;
  krylov::Result result;
};

/// From x = 0, or from `start`.
template <class T>
Solution<T> solve_krylov(Stream& stream, Method method, krylov::Operator<T> const& a,
                         std::vector<T> const& b, krylov::Options const& options = {},
                         krylov::Preconditioner<T> const& preconditioner = {},
                         std::vector<T> start = {}) {
  start.resize(b.size());
  Buffer<T> right(stream, MemorySpace::device, b.size());
  Buffer<T> x(stream, MemorySpace::device, b.size());
  copy_async(right.span(), std::span(b), stream);
  copy_async(x.span(), std::span(start), stream);
  auto const result =
      krylov::solve<T>(stream, method, a, preconditioner, right.span(), x.span(), options);
  Solution<T> solution{std::vector<T>(b.size()), result};
  copy_async(std::span(solution.x), x.span(), stream);
  stream.synchronize();
  return solution;
}

/// ‖b − A·x‖ / ‖b‖ in extended precision.
template <class T>
double residual_of(Csr<T> const& matrix, std::vector<T> const& x, std::vector<T> const& b) {
  long double residual = 0, right = 0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    long double sum = b[i];
    for (auto k = static_cast<std::size_t>(matrix.offsets[i]);
         k < static_cast<std::size_t>(matrix.offsets[i + 1]); ++k)
      sum -= static_cast<long double>(matrix.values[k]) *
             x[static_cast<std::size_t>(matrix.column_indices[k])];
    residual += sum * sum;
    right += static_cast<long double>(b[i]) * b[i];
  }
  return static_cast<double>(std::sqrt(residual / right));
}

/// The solution by elimination with exchanges of rows, in extended precision.
template <class T>
std::vector<long double> eliminated(Csr<T> const& matrix, std::vector<T> const& b) {
  auto const n = b.size();
  std::vector<std::vector<long double>> rows(n, std::vector<long double>(n + 1));
  for (std::size_t i = 0; i < n; ++i) {
    for (auto k = static_cast<std::size_t>(matrix.offsets[i]);
         k < static_cast<std::size_t>(matrix.offsets[i + 1]); ++k)
      rows[i][static_cast<std::size_t>(matrix.column_indices[k])] = matrix.values[k];
    rows[i][n] = b[i];
  }
  for (std::size_t k = 0; k < n; ++k) {
    auto const pivot = std::max_element(
        rows.begin() + static_cast<std::ptrdiff_t>(k), rows.end(),
        [k](auto const& p, auto const& q) { return std::abs(p[k]) < std::abs(q[k]); });
    std::swap(rows[k], *pivot);
    for (std::size_t i = k + 1; i < n; ++i) {
      auto const factor = rows[i][k] / rows[k][k];
      if (factor == 0) continue;
      for (std::size_t j = k; j <= n; ++j) rows[i][j] -= factor * rows[k][j];
    }
  }
  std::vector<long double> x(n);
  for (std::size_t i = n; i-- > 0;) {
    long double sum = rows[i][n];
    for (std::size_t j = i + 1; j < n; ++j) sum -= rows[i][j] * x[j];
    x[i] = sum / rows[i][i];
  }
  return x;
}

/// −1, 2, −1: eigenvalues 4·sin²(πk/(2n + 2)), eigenvectors sin(πk(i + 1)/(n + 1)), k = 1 … n.
template <class T>
Csr<T> second_differences(std::int64_t n) {
  return sparse::stencil_matrix<T>(sparse::Neighbours::axes, {n, 1, 1});
}

template <class T>
std::vector<T> sum_of_eigenvectors(std::int64_t n, std::vector<int> const& numbers) {
  std::vector<T> sum(static_cast<std::size_t>(n));
  for (int const k : numbers)
    for (std::size_t i = 0; i < sum.size(); ++i)
      sum[i] += static_cast<T>(
          std::sin(std::numbers::pi * k * static_cast<double>(i + 1) / static_cast<double>(n + 1)));
  return sum;
}

/// A + shift·1.
template <class T>
Csr<T> shifted(Csr<T> matrix, double shift) {
  for (std::size_t i = 0; i < static_cast<std::size_t>(matrix.rows); ++i)
    for (auto k = static_cast<std::size_t>(matrix.offsets[i]);
         k < static_cast<std::size_t>(matrix.offsets[i + 1]); ++k)
      if (matrix.column_indices[k] == static_cast<std::int32_t>(i))
        matrix.values[k] += static_cast<T>(shift);
  return matrix;
}

/// −Δu with a flow of the given strength along x, on a grid: not symmetric.
template <class T>
Csr<T> convection_diffusion(sparse::GridPoints const& points, double strength) {
  auto matrix = sparse::stencil_matrix<T>(sparse::Neighbours::axes, points);
  for (std::size_t i = 0; i < static_cast<std::size_t>(matrix.rows); ++i)
    for (auto k = static_cast<std::size_t>(matrix.offsets[i]);
         k < static_cast<std::size_t>(matrix.offsets[i + 1]); ++k) {
      auto const apart = matrix.column_indices[k] - static_cast<std::int32_t>(i);
      if (apart == 1) matrix.values[k] += static_cast<T>(strength);
      if (apart == -1) matrix.values[k] -= static_cast<T>(strength);
    }
  return matrix;
}

/// The matrix of second differences with Neumann's sides: constants are its null space.
template <class T>
Csr<T> free_differences(std::int64_t n) {
  Entries entries;
  for (std::int64_t i = 0; i < n; ++i) {
    entries[{i, i}] = (i > 0) + (i + 1 < n);
    if (i > 0) entries[{i, i - 1}] = -1;
    if (i + 1 < n) entries[{i, i + 1}] = -1;
  }
  return csr_of<T>(n, n, entries);
}

/// max |x|, beside which the rounding of products is small.
template <class T>
double largest_of(std::vector<T> const& x) {
  double largest = 0;
  for (T const value : x) largest = std::max(largest, std::abs(static_cast<double>(value)));
  return largest;
}

// -------------------------------------------------------------------------- what is asked of all

/// m eigenvectors on the right take m iterations, and one more for rounding.
inline void expect_few_iterations(Stream& stream) {
  constexpr std::int64_t n = 300;
  auto const a = operator_of(stream, second_differences<double>(n));
  auto const b = sum_of_eigenvectors<double>(n, {60, 100, 150, 200, 280});
  for (auto const method : {Method::cg, Method::gmres, Method::minres}) {
    auto const [x, result] = solve_krylov(stream, method, a, b, {.tolerance = 1e-9});
    EXPECT_TRUE(result.converged()) << name_of(method) << ": " << result.advice;
    EXPECT_LE(result.iterations, 6) << name_of(method);
    EXPECT_GE(result.iterations, 5) << name_of(method);
  }
}

/// All methods that take a matrix come to what elimination does: the error is at most that of a
/// residual of the tolerance, ‖A⁻¹‖·tolerance·‖b‖.
template <class T>
void expect_agreement(Stream& stream) {
  double const tolerance = sizeof(T) == 8 ? 1e-11 : 3e-6;
  struct Case {
    std::string name;
    Csr<T> matrix;
    std::vector<Method> methods;
    double norm_of_inverse;
  };
  auto const grid = sparse::stencil_matrix<T>(sparse::Neighbours::axes, {7, 6, 5});
  double const least = 6 - 2 * (std::cos(std::numbers::pi / 8) + std::cos(std::numbers::pi / 7) +
                                std::cos(std::numbers::pi / 6));
  Case const cases[] = {
      {"definite", grid, {Method::cg, Method::bicgstab, Method::gmres, Method::minres}, 1 / least},
      // Eigenvalues of 2 cos lie on both sides, none within 0.05 of 0.
      {"indefinite", shifted(second_differences<T>(60), -1.9), {Method::gmres, Method::minres}, 20},
      // The symmetric part is that of the grid.
      {"not symmetric",
       convection_diffusion<T>({7, 6, 5}, 0.8),
       {Method::bicgstab, Method::gmres},
       1 / least}};
  for (auto const& [name, matrix, methods, norm_of_inverse] : cases) {
    auto const b = random_vector<T>(matrix.rows, 5);
    auto const exact = eliminated(matrix, b);
    double norm = 0;
    for (T const value : b) norm += static_cast<double>(value) * static_cast<double>(value);
    norm = std::sqrt(norm);
    auto const a = operator_of(stream, matrix);
    for (auto const method : methods) {
      SCOPED_TRACE(name + " by " + std::string(name_of(method)));
      auto const [x, result] =
          solve_krylov(stream, method, a, b, {.tolerance = tolerance, .restart = 60});
      EXPECT_TRUE(result.converged()) << result.advice;
      EXPECT_LE(result.residual_norm, tolerance);
      EXPECT_NEAR(residual_of(matrix, x, b), result.residual_norm,
                  100 * std::numeric_limits<T>::epsilon());
      EXPECT_EQ(result.history.size(), static_cast<std::size_t>(result.iterations) + 1);
      EXPECT_NEAR(result.history[0], 1, 1e-6);
      EXPECT_NEAR(result.right_norm, norm, 1e-6 * norm);
      long double error = 0;
      for (std::size_t i = 0; i < b.size(); ++i) error += (x[i] - exact[i]) * (x[i] - exact[i]);
      EXPECT_LE(std::sqrt(static_cast<double>(error)),
                norm_of_inverse * norm * (tolerance + 100 * std::numeric_limits<T>::epsilon()));
      auto const again =
          solve_krylov(stream, method, a, b, {.tolerance = tolerance, .restart = 60});
      EXPECT_EQ(again.x, x);
      EXPECT_EQ(again.result.history, result.history);
    }
  }
}

/// What methods cannot solve is told, with the residual that was reached.
inline void expect_outcomes(Stream& stream) {
  struct Case {
    std::string name;
    Csr<double> matrix;
    std::vector<double> b;
    Method method;
    krylov::Options options;
    Outcome outcome;
    std::string advice;  // a part of it
  };
  auto const n = std::int64_t{50};
  auto const random = random_vector<double>(n, 3);
  Entries turn, shift;
  for (std::int64_t i = 0; i < n; i += 2) {
    turn[{i, i + 1}] = 1;
    turn[{i + 1, i}] = -1;
  }
  for (std::int64_t i = 0; i < n; ++i) shift[{i, (i + 1) % n}] = 1;
  auto const rotation = csr_of<double>(n, n, turn), cycle = csr_of<double>(n, n, shift);
  std::vector<double> first(static_cast<std::size_t>(n));
  first[0] = 1;
  // Eigenvalues that are there twice: the null space does not stand out in single iterations.
  Entries plane;
  constexpr std::int64_t side = 20;
  for (std::int64_t i = 0; i < side * side; ++i)
    for (std::int64_t const step : {std::int64_t{1}, side}) {
      bool const inside = step == 1 ? i % side + 1 < side : i + side < side * side;
      if (!inside) continue;
      plane[{i, i + step}] = plane[{i + step, i}] = -1;
      plane[{i, i}] += 1;
      plane[{i + step, i + step}] += 1;
    }
  auto const free_plane = csr_of<double>(side * side, side * side, plane);
  auto const on_plane = random_vector<double>(side * side, 3);
  auto nan = second_differences<double>(n);
  nan.values[7] = std::numeric_limits<double>::quiet_NaN();
  Case const cases[] = {
      {"indefinite",
       shifted(second_differences<double>(n), -1.9),
       random,
       Method::cg,
       {},
       Outcome::indefinite,
       "method: minres"},
      {"negative definite",
       shifted(second_differences<double>(n), -9),
       random,
       Method::cg,
       {},
       Outcome::indefinite,
       "method: minres"},
      {"singular",
       free_differences<double>(n),
       random,
       Method::cg,
       {},
       Outcome::incompatible,
       "singular"},
      {"singular",
       free_differences<double>(n),
       random,
       Method::minres,
       {},
       Outcome::incompatible,
       "singular"},
      {"singular",
       free_differences<double>(n),
       random,
       Method::gmres,
       {.restart = 60},
       Outcome::incompatible,
       "singular"},
      {"singular, in a plane",
       free_plane,
       on_plane,
       Method::minres,
       {.tolerance = 1e-10, .iterations = 100000},
       Outcome::incompatible,
       "singular"},
      {"singular, in a plane",
       free_plane,
       on_plane,
       Method::gmres,
       {.tolerance = 1e-10, .restart = 1000},
       Outcome::incompatible,
       "singular"},
      {"a turn by a right angle",
       rotation,
       random,
       Method::bicgstab,
       {},
       Outcome::breakdown,
       "method: gmres"},
      {"a cycle",
       cycle,
       first,
       Method::gmres,
       {.restart = 5},
       Outcome::stagnated,
       "longer restart"},
      {"a long way",
       second_differences<double>(n),
       random,
       Method::cg,
       {.iterations = 5},
       Outcome::iterations,
       "after 5 iterations"},
      {"a long way",
       second_differences<double>(n),
       random,
       Method::gmres,
       {.iterations = 7, .restart = 4},
       Outcome::iterations,
       "after 7 iterations"},
      {"more than rounding allows",
       second_differences<double>(n),
       random,
       Method::cg,
       {.tolerance = 1e-20},
       Outcome::stagnated,
       "larger tolerance"},
      {"no number", nan, random, Method::bicgstab, {}, Outcome::not_finite, "not finite"},
      {"no number", nan, random, Method::cg, {}, Outcome::not_finite, "not finite"},
      {"no number", nan, random, Method::gmres, {}, Outcome::not_finite, "not finite"},
      {"no number", nan, random, Method::minres, {}, Outcome::not_finite, "not finite"}};
  for (auto const& c : cases) {
    SCOPED_TRACE(c.name + " by " + std::string(name_of(c.method)));
    auto const [x, result] =
        solve_krylov(stream, c.method, operator_of(stream, c.matrix), c.b, c.options);
    EXPECT_EQ(static_cast<int>(result.outcome), static_cast<int>(c.outcome)) << result.advice;
    EXPECT_NE(result.advice.find(c.advice), std::string::npos) << result.advice;
    if (c.outcome == Outcome::not_finite) continue;
    EXPECT_NEAR(residual_of(c.matrix, x, c.b), result.residual_norm, 1e-12 * (1 + largest_of(x)));
    EXPECT_GT(result.residual_norm, c.options.tolerance);
  }
}

/// What looks alike and can be solved.
inline void expect_solved(Stream& stream) {
  auto const n = std::int64_t{50};
  auto random = random_vector<double>(n, 3);
  Entries shift;
  for (std::int64_t i = 0; i < n; ++i) shift[{i, (i + 1) % n}] = 1;
  std::vector<double> first(static_cast<std::size_t>(n));
  first[0] = 1;
  auto const cycle = operator_of(stream, csr_of<double>(n, n, shift));
  EXPECT_TRUE(
      solve_krylov(stream, Method::gmres, cycle, first, {.restart = 50}).result.converged());
  // Singular, and the right side is within reach.
  double mean = 0;
  for (double const value : random) mean += value / static_cast<double>(n);
  for (double& value : random) value -= mean;
  auto const free = free_differences<double>(n);
  for (auto const method : all_methods) {
    auto const [x, result] =
        solve_krylov(stream, method, operator_of(stream, free), random, {.restart = 60});
    EXPECT_TRUE(result.converged()) << name_of(method) << ": " << result.advice;
    EXPECT_LE(residual_of(free, x, random), 1.001e-8);
  }
}

/// Jacobi's preconditioner: the rows of a matrix may have any scale, if its columns have it too.
inline void expect_preconditioned(Stream& stream) {
  auto matrix = second_differences<double>(80);
  std::vector<double> scale(80), diagonal(80);
  for (std::size_t i = 0; i < 80; ++i) scale[i] = std::pow(10.0, static_cast<double>(i % 5) - 2);
  for (std::size_t i = 0; i < 80; ++i)
    for (auto k = static_cast<std::size_t>(matrix.offsets[i]);
         k < static_cast<std::size_t>(matrix.offsets[i + 1]); ++k) {
      auto const j = static_cast<std::size_t>(matrix.column_indices[k]);
      matrix.values[k] *= scale[i] * scale[j];
      if (i == j) diagonal[i] = matrix.values[k];
    }
  auto const b = random_vector<double>(80, 9);
  auto const jacobi = krylov::jacobi<double>(stream, diagonal);
  auto const a = operator_of(stream, matrix);
  for (auto const method : all_methods) {
    SCOPED_TRACE(name_of(method));
    krylov::Options const options{.tolerance = 1e-8, .iterations = 400, .restart = 80};
    auto const [x, result] = solve_krylov(stream, method, a, b, options, jacobi);
    EXPECT_TRUE(result.converged()) << result.advice;
    EXPECT_LE(residual_of(matrix, x, b), 1.001e-8);
    if (method == Method::gmres) {
      continue;  // 80 vectors reach everything, whatever the scales are
    }
    auto const without = solve_krylov(stream, method, a, b, options);
    EXPECT_GT(without.result.iterations, result.iterations);
  }
  for (double& value : diagonal) value = -value;
  auto const wrong = krylov::jacobi<double>(stream, diagonal);
  for (auto const method : {Method::cg, Method::minres}) {
    auto const [x, result] = solve_krylov(stream, method, a, b, {}, wrong);
    EXPECT_EQ(static_cast<int>(result.outcome), static_cast<int>(Outcome::preconditioner));
    EXPECT_EQ(result.iterations, 0);
  }
}

/// Powers of two on the right go through to x; a start that is the solution takes no iteration.
inline void expect_scales_and_starts(Stream& stream) {
  auto const a = operator_of(stream, second_differences<double>(64));
  auto const b = random_vector<double>(64, 4);
  for (auto const method : all_methods) {
    SCOPED_TRACE(name_of(method));
    auto const [x, result] = solve_krylov(stream, method, a, b, {.restart = 64});
    for (int const power : {-300, 300}) {
      auto scaled = b, expected = x;
      for (double& value : scaled) value = std::ldexp(value, power);
      for (double& value : expected) value = std::ldexp(value, power);
      auto const other = solve_krylov(stream, method, a, scaled, {.restart = 64});
      EXPECT_EQ(other.x, expected);
      EXPECT_EQ(other.result.history, result.history);
    }
    auto const again = solve_krylov(stream, method, a, b, {.tolerance = 1e-7}, {}, x);
    EXPECT_EQ(again.result.iterations, 0);
    EXPECT_EQ(again.x, x);
    auto const zero = solve_krylov(stream, method, a, std::vector<double>(64), {}, {}, x);
    EXPECT_TRUE(zero.result.converged());
    EXPECT_EQ(zero.x, std::vector<double>(64));
    auto tiny = b;
    for (double& value : tiny) value = std::ldexp(value, -600);
    EXPECT_EQ(static_cast<int>(solve_krylov(stream, method, a, tiny).result.outcome),
              static_cast<int>(Outcome::not_finite));
  }
}

}  // namespace gridstride::test

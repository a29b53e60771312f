#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "kernels/sparse/incomplete.hpp"
#include "support/krylov_cases.hpp"

/// Incomplete factors on any backend, and what they are compared with.
namespace gridstride::test {

using sparse::Incomplete;

/// −∂xx − a·∂yy with 5 points and Dirichlet's sides.
template <class T>
Csr<T> anisotropic(std::int64_t nx, std::int64_t ny, double a) {
  auto matrix = sparse::stencil_matrix<T>(sparse::Neighbours::axes, {nx, ny, 1});
  for (std::int64_t i = 0; i < matrix.rows; ++i)
    for (auto k = matrix.offsets[static_cast<std::size_t>(i)];
         k < matrix.offsets[static_cast<std::size_t>(i) + 1]; ++k) {
      auto const apart = std::abs(matrix.column_indices[static_cast<std::size_t>(k)] - i);
      auto& value = matrix.values[static_cast<std::size_t>(k)];
      value = static_cast<T>(apart == 0 ? 2 + 2 * a : apart == 1 ? -1 : -a);
    }
  return matrix;
}

/// A of which M⁻¹ is asked, with what its factors have to be like.
template <class T>
struct FactorsCase {
  std::string name;
  Csr<T> matrix;
  Incomplete kind;
};

template <class T>
std::vector<FactorsCase<T>> cases_of_factors() {
  using sparse::Neighbours;
  return {
      {"one row", csr_of<T>(1, 1, {{{0, 0}, 3}}), Incomplete::cholesky},
      {"a diagonal", csr_of<T>(3, 3, {{{0, 0}, 3}, {{1, 1}, -2}, {{2, 2}, 5}}), Incomplete::lu},
      {"3 points", second_differences<T>(700), Incomplete::cholesky},
      {"5 points", sparse::stencil_matrix<T>(Neighbours::axes, {40, 33, 1}), Incomplete::cholesky},
      {"27 points", sparse::stencil_matrix<T>(Neighbours::all, {9, 8, 7}), Incomplete::cholesky},
      {"a flow", convection_diffusion<T>({30, 21, 3}, 0.9), Incomplete::lu},
      // Levels of more than a step: all rows but the first wait for that one alone.
      {"an arrow",
       [] {
         Entries arrow;
         for (std::int64_t i = 0; i < 1500; ++i) {
           arrow[{i, i}] = i == 0 ? 2000 : 4;
           arrow[{i, 0}] += i == 0 ? 0 : 1;
           arrow[{0, i}] += i == 0 ? 0 : 0.5;
           if (i > 1000 && i % 3 == 0) arrow[{i, i - 1}] = -1;
         }
         return csr_of<T>(1500, 1500, arrow);
       }(),
       Incomplete::lu}};
}

/// z = M⁻¹·r by substitution in extended precision, without levels.
inline std::vector<long double> substituted(sparse::IncompleteFactors const& factors,
                                            std::vector<long double> x) {
  auto const subtract = [&](Csr<double> const& part, std::size_t i) {
    for (auto k = static_cast<std::size_t>(part.offsets[i]);
         k < static_cast<std::size_t>(part.offsets[i + 1]); ++k)
      x[i] -= part.values[k] * x[static_cast<std::size_t>(part.column_indices[k])];
  };
  for (std::size_t i = 0; i < x.size(); ++i) subtract(factors.lower, i);
  for (std::size_t i = x.size(); i-- > 0;) {
    x[i] /= factors.diagonal[i];
    subtract(factors.upper, i);
  }
  return x;
}

template <class T>
std::vector<T> solved(Stream& stream, sparse::IncompleteSolver<T> const& solver,
                      std::vector<T> const& r) {
  Buffer<T> from(stream, MemorySpace::device, r.size()), to(stream, MemorySpace::device, r.size());
  std::vector<T> z(r.size(), std::numeric_limits<T>::quiet_NaN());
  copy_async(from.span(), std::span(r), stream);
  copy_async(to.span(), std::span(z), stream);
  solver.solve(stream, std::as_const(from).span(), to.span());
  copy_async(std::span(z), to.span(), stream);
  stream.synchronize();
  return z;
}

/// Solves come to what substitution does, to the same bits each time. The factors' rows do not exceed
/// their diagonals, so that what is rounded at a level, a few ε of the largest, does not grow on its way
/// through the others.
template <class T>
void expect_solves(Stream& stream) {
  for (auto const& [name, matrix, kind] : cases_of_factors<T>()) {
    SCOPED_TRACE(name);
    auto const factors = sparse::factorize(matrix, kind);
    EXPECT_EQ(factors.shift, 0);
    sparse::IncompleteSolver<T> const solver(stream, factors);
    auto const r = random_vector<T>(matrix.rows, 4);
    auto const z = solved(stream, solver, r);
    auto const expected = substituted(factors, {r.begin(), r.end()});
    long double largest = 0;
    for (auto const value : expected) largest = std::max(largest, std::abs(value));
    auto const levels = static_cast<long double>(solver.levels());
    for (std::size_t i = 0; i < z.size(); ++i)
      ASSERT_NEAR(static_cast<double>(z[i]), static_cast<double>(expected[i]),
                  static_cast<double>(8 * levels * std::numeric_limits<T>::epsilon() * largest))
          << i;
    EXPECT_EQ(solved(stream, solver, r), z);
  }
}

template <class T>
krylov::Preconditioner<T> incomplete(Stream& stream, Csr<T> const& matrix, Incomplete kind) {
  auto const solver =
      std::make_shared<sparse::IncompleteSolver<T>>(stream, sparse::factorize(matrix, kind));
  return [solver, n = static_cast<std::size_t>(matrix.rows)](Stream& s, std::span<T const> r,
                                                             std::span<T> z) {
    for (std::size_t first = 0; first < r.size(); first += n)
      solver->solve(s, r.subspan(first, n), z.subspan(first, n));
  };
}

/// Factors of a matrix that elimination does not fill in are all of it: an iteration, and one more for
/// rounding.
inline void expect_exact_factors(Stream& stream) {
  auto const check = [&](Csr<double> const& matrix, Incomplete kind, Method method) {
    auto const b = random_vector<double>(matrix.rows, 2);
    auto const result = solve_krylov(stream, method, operator_of(stream, matrix), b,
                                     {.tolerance = 1e-9}, incomplete(stream, matrix, kind))
                            .result;
    EXPECT_TRUE(result.converged()) << name_of(method) << ": " << result.advice;
    EXPECT_LE(result.iterations, 2) << name_of(method);
  };
  auto const line = second_differences<double>(300);
  auto const flow = convection_diffusion<double>({300, 1, 1}, 0.7);
  for (auto const method : {Method::cg, Method::minres}) check(line, Incomplete::cholesky, method);
  for (auto const method : {Method::bicgstab, Method::gmres}) check(flow, Incomplete::lu, method);
}

/// Iterations with the diagonal and with factors.
inline void expect_fewer_iterations(Stream& stream) {
  struct Case {
    std::string name;
    Csr<double> matrix;
    Incomplete kind;
    std::vector<Method> methods;
    double times;  ///< so many fewer, at least
  };
  std::vector<Method> const symmetric = {Method::cg, Method::minres},
                            any = {Method::bicgstab, Method::gmres};
  using sparse::Neighbours;
  Case const cases[] = {
      {"5 points", sparse::stencil_matrix<double>(Neighbours::axes, {50, 50, 1}),
       Incomplete::cholesky, symmetric, 2},
      {"27 points", sparse::stencil_matrix<double>(Neighbours::all, {14, 13, 12}),
       Incomplete::cholesky, symmetric, 2},
      {"anisotropic", anisotropic<double>(50, 50, 100), Incomplete::cholesky, symmetric, 2},
      {"a flow", convection_diffusion<double>({50, 50, 1}, 0.5), Incomplete::lu, any, 2}};
  for (auto const& [name, matrix, kind, methods, times] : cases) {
    auto const b = random_vector<double>(matrix.rows, 3);
    auto const a = operator_of(stream, matrix);
    std::vector<double> diagonal;
    for (std::int64_t i = 0; i < matrix.rows; ++i) diagonal.push_back(element(matrix, i, i));
    for (auto const method : methods) {
      SCOPED_TRACE(name + " by " + std::string(name_of(method)));
      krylov::Options const options{.tolerance = 1e-8, .iterations = 2000, .restart = 100};
      auto const with =
          solve_krylov(stream, method, a, b, options, incomplete(stream, matrix, kind)).result;
      auto const without =
          solve_krylov(stream, method, a, b, options, krylov::jacobi<double>(stream, diagonal))
              .result;
      EXPECT_TRUE(with.converged()) << with.advice;
      EXPECT_TRUE(without.converged()) << without.advice;
      EXPECT_LE(times * static_cast<double>(with.iterations),
                static_cast<double>(without.iterations));
    }
  }
}

}  // namespace gridstride::test

#pragma once

#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernels/amg/amg.hpp"
#include "kernels/krylov/chebyshev.hpp"
#include "kernels/sparse/blocks.hpp"
#include "support/incomplete_cases.hpp"
#include "support/krylov_cases.hpp"
#include "support/same_bits.hpp"

/// Right-hand sides that are solved together, on any backend: each has what it has alone.
namespace gridstride::test {

/// What came of each, also of those that did not converge.
template <class T>
std::vector<Outcome> expect_as_alone(Stream& stream, Method method, krylov::Operator<T> const& a,
                                     std::vector<std::vector<T>> const& rights,
                                     krylov::Options const& options,
                                     krylov::Preconditioner<T> const& preconditioner = {}) {
  auto const n = static_cast<std::size_t>(a.size);
  std::vector<T> all;
  for (auto const& right : rights) all.insert(all.end(), right.begin(), right.end());
  Buffer<T> b(stream, MemorySpace::device, all.size()), x(stream, MemorySpace::device, all.size());
  copy_async(b.span(), std::span(all), stream);
  zero_async(x.span(), stream);
  auto const results =
      krylov::solve_together<T>(stream, method, a, preconditioner, std::as_const(b).span(),
                                x.span(), static_cast<std::int64_t>(rights.size()), options);
  copy_async(std::span(all), std::as_const(x).span(), stream);
  stream.synchronize();
  EXPECT_EQ(results.size(), rights.size());
  std::vector<Outcome> outcomes;
  for (std::size_t k = 0; k < results.size(); ++k) {
    auto const alone = solve_krylov(stream, method, a, rights[k], options, preconditioner);
    auto const& [outcome, iterations, residual, right, condition, history, advice] = results[k];
    std::string const which = std::to_string(k) + " of " + std::to_string(rights.size());
    EXPECT_EQ(static_cast<int>(outcome), static_cast<int>(alone.result.outcome)) << which;
    EXPECT_EQ(iterations, alone.result.iterations) << which;
    EXPECT_TRUE(same_bits(
        std::vector{residual, right, condition},
        std::vector{alone.result.residual_norm, alone.result.right_norm, alone.result.condition}))
        << which;
    EXPECT_TRUE(same_bits(history, alone.result.history)) << which;
    EXPECT_EQ(advice, alone.result.advice) << which;
    auto const first = all.begin() + static_cast<std::ptrdiff_t>(k * n);
    EXPECT_TRUE(same_bits(std::vector<T>(first, first + static_cast<std::ptrdiff_t>(n)), alone.x))
        << which;
    outcomes.push_back(outcome);
  }
  return outcomes;
}

/// Nothing, what A takes an iteration for, numbers of other sizes, one that is no number, one without
/// squares; then random ones.
template <class T>
std::vector<std::vector<T>> mixed_rights(std::int64_t n, std::size_t count) {
  std::vector<std::vector<T>> rights;
  for (unsigned k = 0; rights.size() < count; ++k) {
    auto right = random_vector<T>(n, 20 + k);
    if (k == 0) right[0] = std::numeric_limits<T>::quiet_NaN();
    if (k == 1) right.assign(right.size(), 0);
    if (k == 3)
      for (T& value : right) value *= static_cast<T>(1e-15);
    if (k == 4) {
      right.assign(right.size(), 0);
      right[right.size() / 2] = 1;
    }
    if (k == 5) right = sum_of_eigenvectors<T>(n, {3});
    if (k == 6) right.assign(right.size(), std::numeric_limits<T>::max());
    rights.push_back(std::move(right));
  }
  return rights;
}

inline constexpr Method methods_together[] = {Method::cg, Method::minres, Method::bicgstab};

/// Numbers of right-hand sides about those of a product, all methods, iterations that end at once, by
/// the tolerance, by their number, by rounding.
template <class T>
void expect_together(Stream& stream) {
  auto const matrix = sparse::stencil_matrix<T>(sparse::Neighbours::axes, {71, 60, 1});
  auto const chain = second_differences<T>(130);
  auto const flow = convection_diffusion<T>({23, 17, 1}, 0.7);
  double const tolerance = std::is_same_v<T, double> ? 1e-8 : 1e-4;
  for (auto const method : methods_together)
    for (std::size_t const count : {1, 2, 7, 9, 33}) {
      SCOPED_TRACE(std::string(name_of(method)) + ", " + std::to_string(count));
      auto const a = operator_of(stream, count == 33 ? chain : matrix);
      auto const rights = mixed_rights<T>(a.size, count);
      expect_as_alone(stream, method, a, rights, {.tolerance = tolerance, .iterations = 700});
      expect_as_alone(stream, method, a, rights, {.tolerance = tolerance, .iterations = 9});
      if (count != 7) continue;
      // Rounding allows no less: they begin anew, each after a number of its own, and with as many left.
      for (std::int64_t const iterations : {150, 200, 300, 2000})
        expect_as_alone(stream, method, operator_of(stream, chain),
                        mixed_rights<T>(chain.rows, count),
                        {.tolerance = 1e-30, .iterations = iterations, .replace_every = 7});
    }
  expect_as_alone(stream, Method::bicgstab, operator_of(stream, flow),
                  mixed_rights<T>(flow.rows, 8), {.tolerance = tolerance, .iterations = 300});
}

/// What cg finds out to be indefinite, and what has no solution, for some right-hand sides and not for
/// others.
inline void expect_ends_together(Stream& stream) {
  // Eigenvalues 4·sin²(πk/(2n + 2)) − 0.03: the three lowest are negative.
  constexpr std::int64_t n = 60;
  auto const indefinite = operator_of(stream, shifted(second_differences<double>(n), -0.03));
  auto const mixed = sum_of_eigenvectors<double>(n, {1, 20, 40});
  auto const upper = sum_of_eigenvectors<double>(n, {20, 30, 40, 50});
  auto const lower = sum_of_eigenvectors<double>(n, {2});
  krylov::Options const options{.tolerance = 1e-9, .iterations = 200};
  auto const found = expect_as_alone<double>(stream, Method::cg, indefinite,
                                             {upper, mixed, lower, upper, mixed}, options);
  EXPECT_EQ(found,
            (std::vector<Outcome>{Outcome::converged, Outcome::indefinite, Outcome::indefinite,
                                  Outcome::converged, Outcome::indefinite}));
  expect_as_alone<double>(stream, Method::minres, indefinite, {upper, mixed, lower}, options);
  // Sums of rows are 0: b has to have the mean 0.
  Entries closed;
  for (std::int64_t i = 0; i + 1 < 700; ++i) {
    closed[{i, i}] += 1;
    closed[{i + 1, i + 1}] += 1;
    closed[{i, i + 1}] = closed[{i + 1, i}] = -1;
  }
  auto const singular = operator_of(stream, csr_of<double>(700, 700, closed));
  auto balanced = random_vector<double>(700, 5);
  double mean = 0;
  for (double const value : balanced) mean += value / 700;
  for (double& value : balanced) value -= mean;
  for (auto const method : methods_together) {
    auto const outcomes = expect_as_alone<double>(
        stream, method, singular,
        {balanced, random_vector<double>(700, 6), balanced, random_vector<double>(700, 7)},
        {.tolerance = 1e-7, .iterations = 3000});
    EXPECT_EQ(static_cast<int>(outcomes[0]), static_cast<int>(Outcome::converged));
    EXPECT_NE(static_cast<int>(outcomes[1]), static_cast<int>(Outcome::converged));
  }
}

/// Preconditioners of all kinds take several vectors, more of them than before, and fewer.
template <class T>
void expect_preconditioned_together(Stream& stream) {
  auto const matrix = sparse::stencil_matrix<T>(sparse::Neighbours::axes, {40, 31, 2});
  auto const a = operator_of(stream, matrix);
  std::vector<T> const diagonal(static_cast<std::size_t>(matrix.rows), T{6});
  auto const blocks = std::make_shared<sparse::BlockJacobi<T> const>(
      stream, sparse::invert_blocks(matrix, 5, sparse::Blocks::definite));
  auto const levels = [&](std::int64_t vectors) {
    return amg::preconditioner<T>(std::make_shared<amg::Hierarchy<T> const>(
        stream, amg::on_device(stream, matrix), amg::Options{.vectors = vectors}));
  };
  std::pair<std::string, krylov::Preconditioner<T>> const all[] = {
      {"jacobi", krylov::jacobi<T>(stream, diagonal)},
      {"chebyshev", krylov::chebyshev<T>(stream, a, diagonal, 2)},
      {"blocks",
       [blocks](Stream& s, std::span<T const> r, std::span<T> z) { blocks->solve(s, r, z); }},
      {"ic0", incomplete(stream, matrix, Incomplete::cholesky)},
      {"levels for 3", levels(3)},
      {"levels for 16", levels(16)}};
  double const tolerance = std::is_same_v<T, double> ? 1e-9 : 1e-4;
  for (auto const& [name, preconditioner] : all)
    for (auto const method : methods_together)
      for (std::size_t const count : {7, 15, 3}) {
        SCOPED_TRACE(name + ", " + std::string(name_of(method)) + ", " + std::to_string(count));
        expect_as_alone(stream, method, a, mixed_rights<T>(matrix.rows, count),
                        {.tolerance = tolerance, .iterations = 100}, preconditioner);
      }
  krylov::Options const flexible{.tolerance = tolerance, .flexible = true};
  expect_as_alone(stream, Method::cg, a, mixed_rights<T>(matrix.rows, 9), flexible, levels(9));
}

}  // namespace gridstride::test

#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "kernels/factorize/solve/mixed_solve.hpp"
#include "support/factorize_cases.hpp"

namespace gridstride::test {

struct MixedResult {
  factorize::MixedSolve report;
  HostMatrix<double> x;
};

/// A·X = B by `mixed_solve`; what it may not change is compared with what it was.
inline MixedResult mixed_solved(Stream& stream, HostMatrix<double> const& a,
                                HostMatrix<double> const& b,
                                factorize::Variants const& variants = {}) {
  DeviceMatrix<double> a_there(stream, a), b_there(stream, b);
  DeviceMatrix<double> x_there(stream, HostMatrix<double>(b.rows, b.columns, 1));
  auto const report = factorize::mixed_solve(stream, a_there.constant(), b_there.constant(),
                                             x_there.view(), variants);
  EXPECT_TRUE(same_bits(a_there.back().values, a.values));
  EXPECT_TRUE(same_bits(b_there.back().values, b.values));
  return {report, x_there.back()};
}

/// H·D·H' of two Householder matrices and a diagonal that falls from 1 to 1/κ.
inline HostMatrix<double> matrix_of_condition(std::int64_t n, double condition, unsigned seed = 5) {
  auto const reflect = [n](HostMatrix<double>& a, unsigned of_v, bool rows) {
    auto const v = random_matrix<double>(n, 1, 0, of_v);
    double squares = 0;
    for (std::int64_t i = 0; i < n; ++i) squares += v(i, 0) * v(i, 0);
    for (std::int64_t k = 0; k < n; ++k) {
      double product = 0;
      for (std::int64_t i = 0; i < n; ++i) product += v(i, 0) * (rows ? a(i, k) : a(k, i));
      for (std::int64_t i = 0; i < n; ++i)
        (rows ? a(i, k) : a(k, i)) -= 2 / squares * product * v(i, 0);
    }
  };
  auto a = HostMatrix<double>(n, n).fill([&](auto i, auto j) {
    return i != j ? 0 : std::pow(condition, -static_cast<double>(i) / static_cast<double>(n - 1));
  });
  reflect(a, seed, true);
  reflect(a, seed + 1, false);
  return a;
}

/// A·x of a random x.
inline HostMatrix<double> right_side_of(HostMatrix<double> const& a) {
  auto const x = random_matrix<double>(a.columns, 1, 0, 7);
  return HostMatrix<double>(a.rows, 1).fill([&](auto i, auto) {
    double sum = 0;
    for (std::int64_t j = 0; j < a.columns; ++j) sum += a(i, j) * x(j, 0);
    return sum;
  });
}

inline double mixed_goal(std::int64_t n) {
  return std::sqrt(static_cast<double>(n)) * std::numeric_limits<double>::epsilon();
}

/// What holds on either backend.
inline void check_mixed_solves(Stream& stream, std::initializer_list<std::int64_t> sizes) {
  for (std::int64_t const n : sizes)
    for (std::int64_t const columns : {1, 3}) {
      SCOPED_TRACE(testing::Message() << "n = " << n << ", " << columns << " columns");
      auto const a = well_conditioned_matrix<double>(n, gap_for(n));
      auto const b = random_matrix<double>(n, columns, gap_for(n), 7);
      auto const solved = mixed_solved(stream, a, b);
      EXPECT_TRUE(solved.report.converged) << solved.report.reason;
      EXPECT_FALSE(solved.report.used_gmres);
      EXPECT_EQ(solved.report.exchanged_rows, stream.backend() == Backend::cpu);
      EXPECT_LE(solved.report.backward_error, mixed_goal(n));
      EXPECT_LE(backward_error(a, Op::none, solved.x, b), backward_bound<double>(n));
    }
}

/// Systems whose diagonal does not do: rows have to be exchanged, and then the solution is as good
/// as any.
inline void check_mixed_exchanges(Stream& stream, std::int64_t n) {
  auto const good = well_conditioned_matrix<double>(n);
  auto const expect_exchanges = [&](HostMatrix<double> const& a, char const* what) {
    SCOPED_TRACE(what);
    auto const b = random_matrix<double>(n, 2, 0, 7);
    auto const solved = mixed_solved(stream, a, b);
    EXPECT_TRUE(solved.report.converged) << solved.report.reason;
    EXPECT_TRUE(solved.report.exchanged_rows);
    EXPECT_LE(solved.report.backward_error, mixed_goal(n));
    EXPECT_LE(backward_error(a, Op::none, solved.x, b), backward_bound<double>(n));
    EXPECT_TRUE(same_bits(mixed_solved(stream, a, b).x.values, solved.x.values));
  };
  auto shifted = good;
  shifted.fill([&](auto i, auto j) { return good((i + n / 3) % n, j); });
  expect_exchanges(shifted, "rows in another order");

  auto zero_pivot = good;
  zero_pivot(0, 0) = 0;
  expect_exchanges(zero_pivot, "a zero pivot");

  // The last two rows in each other's place, and a multiplier of thousands far from the first
  // panel.
  auto late = good;
  for (std::int64_t j = 0; j < n; ++j) std::swap(late(n - 2, j), late(n - 1, j));
  for (std::int64_t j = 0; j < n - 1; ++j) late(n - 2, j) = j < n - 2 ? 0 : 1e-4;
  expect_exchanges(late, "a small pivot near the end");
}

/// L·D·U with small L and U and a last pivot that is far below the rounding of float32: it needs no
/// exchanges, but only GMRES finds what is wrong with the last pivot.
inline void check_mixed_stall(Stream& stream) {
  constexpr std::int64_t n = 100;
  auto const random = random_matrix<double>(n, n);
  auto const factor = [&](auto i, auto j) { return i == j ? 1 : 0.05 * random(i, j); };
  auto const a = HostMatrix<double>(n, n).fill([&](auto i, auto j) {
    double sum = 0;
    for (std::int64_t k = 0; k <= std::min(i, j); ++k)
      sum += factor(i, k) * (k == n - 1 ? 1e-9 : 1) * factor(k, j);
    return sum;
  });
  auto const solved = mixed_solved(stream, a, right_side_of(a));
  EXPECT_TRUE(solved.report.converged) << solved.report.reason;
  EXPECT_TRUE(solved.report.exchanged_rows);
  EXPECT_TRUE(solved.report.used_gmres);
  EXPECT_LE(solved.report.backward_error, mixed_goal(n));
}

/// Whatever rounding the float32 factorization has (other seeds and rows of the ladder stand for
/// other machines), systems whose plain refinement stalls, or diverges, are solved; also where
/// squares of the elements, or of the solution, overflow or vanish.
inline void check_mixed_gmres(Stream& stream, std::initializer_list<std::string_view> variants) {
  bool used_gmres = false;
  for (std::string_view const variant : variants)
    for (std::int64_t const n : {60, 100})
      for (double const condition : {1e8, 1e9, 1e10, 1e11})
        for (unsigned const seed : {5U, 15U, 25U, 35U})
          for (double const unit : {1.0, 1e-200, 1e200}) {
            SCOPED_TRACE(testing::Message() << variant << ", n = " << n << ", condition "
                                            << condition << ", seed " << seed << ", " << unit);
            auto a = matrix_of_condition(n, condition, seed);
            auto b = right_side_of(a);
            for (double& value : seed == 15 ? a.values : b.values) value *= unit;
            auto const solved = mixed_solved(stream, a, b, {.factorize = variant});
            EXPECT_TRUE(solved.report.converged) << solved.report.reason;
            EXPECT_LE(solved.report.backward_error, mixed_goal(n));
            used_gmres = used_gmres || solved.report.used_gmres;
          }
  EXPECT_TRUE(used_gmres);
}

inline void check_mixed_failures(Stream& stream) {
  auto const b = random_matrix<double>(20, 1, 0, 7);
  auto const zero = HostMatrix<double>(20, 20).fill([](auto, auto) { return 0; });
  EXPECT_FALSE(mixed_solved(stream, zero, b).report.converged);
  EXPECT_EQ(mixed_solved(stream, zero, b).report.reason, "the matrix is zero or not finite");

  auto singular = random_matrix<double>(20, 20);
  for (std::int64_t i = 0; i < 20; ++i) singular(i, 7) = 0;
  EXPECT_EQ(mixed_solved(stream, singular, b).report.reason, "a pivot is zero in float32");

  auto spoiled = random_matrix<double>(20, 20);
  spoiled(3, 4) = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(mixed_solved(stream, spoiled, b).report.converged);

  // Too ill-conditioned for factors in float32, with GMRES or without.
  auto const hopeless = matrix_of_condition(60, 1e15);
  auto const report = mixed_solved(stream, hopeless, right_side_of(hopeless)).report;
  EXPECT_TRUE(report.used_gmres);
  EXPECT_EQ(report.converged, report.backward_error <= mixed_goal(60));
  EXPECT_EQ(report.converged, report.reason.empty());
}

}  // namespace gridstride::test

#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/factorize/mixed_solve.hpp"
#include "support/factorize_cases.hpp"

namespace gridstride::test {

struct MixedResult {
  factorize::MixedSolve report;
  HostMatrix<double> x;
};

/// A·X = B by `mixed_solve`; what it may not change is compared with what it was.
inline MixedResult mixed_solved(Stream& stream, HostMatrix<double> const& a,
                                HostMatrix<double> const& b) {
  DeviceMatrix<double> a_there(stream, a), b_there(stream, b);
  DeviceMatrix<double> x_there(stream, HostMatrix<double>(b.rows, b.columns, 1));
  auto const report =
      factorize::mixed_solve(stream, a_there.constant(), b_there.constant(), x_there.view());
  EXPECT_TRUE(same_bits(a_there.back().values, a.values));
  EXPECT_TRUE(same_bits(b_there.back().values, b.values));
  return {report, x_there.back()};
}

/// Random, with so much added to the diagonal that the condition number is a few units.
inline HostMatrix<double> well_conditioned_matrix(std::int64_t n, std::int64_t gap = 0) {
  auto a = random_matrix<double>(n, n, gap);
  for (std::int64_t i = 0; i < n; ++i) a(i, i) += 2 * std::sqrt(static_cast<double>(n));
  return a;
}

/// H·D·H' of two Householder matrices and a diagonal that falls from 1 to 1/κ.
inline HostMatrix<double> matrix_of_condition(std::int64_t n, double condition) {
  auto const reflect = [n](HostMatrix<double>& a, unsigned seed, bool rows) {
    auto const v = random_matrix<double>(n, 1, 0, seed);
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
  reflect(a, 5, true);
  reflect(a, 6, false);
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
      auto const a = well_conditioned_matrix(n, gap_for(n));
      auto const b = random_matrix<double>(n, columns, gap_for(n), 7);
      auto const solved = mixed_solved(stream, a, b);
      EXPECT_TRUE(solved.report.converged) << solved.report.reason;
      EXPECT_FALSE(solved.report.used_gmres);
      EXPECT_LE(solved.report.backward_error, mixed_goal(n));
      EXPECT_LE(backward_error(a, Op::none, solved.x, b), backward_bound<double>(n));
    }
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

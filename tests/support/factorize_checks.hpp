#pragma once

#include <algorithm>
#include <array>
#include <initializer_list>

#include "support/factorize_cases.hpp"

/// What is asked of every row of the family, on any device.
namespace gridstride::test {

inline constexpr std::initializer_list<std::int64_t> factorize_sizes = {
    1, 2, 3, 31, 32, 33, 64, 65, 97, 128, 130, 257, 500, 1000};

/// The pivots of a good matrix, of the host's default row.
template <class T>
std::vector<std::int32_t> expected_pivots(HostMatrix<T> const& a) {
  Stream host(Device::open(Backend::cpu));
  return lu_of(host, a, "auto").pivots;
}

/// Sizes up to which rounding leaves no doubt about the largest element of a column.
template <class T>
constexpr std::int64_t unique_pivots = std::is_same_v<T, float> ? 97 : 3000;

template <class T>
void check_lu(Stream& stream, std::initializer_list<std::int64_t> sizes) {
  for (auto const n : sizes) {
    auto const a = system_matrix<T>(SystemData::random, n, gap_for(n));
    auto const pivots = expected_pivots(a);
    for_each_row<T>(stream, [&](std::string_view row) {
      auto const lu = lu_of(stream, a, row);
      EXPECT_EQ(lu.status, 0) << n;
      EXPECT_LE(lu_error(a, lu), 1) << n;
      if (n <= unique_pivots<T>) {
        EXPECT_EQ(lu.pivots, pivots) << n;
      }
    });
  }
}

template <class T>
void check_lu_unpivoted(Stream& stream, std::initializer_list<std::int64_t> sizes) {
  for (auto const n : sizes) {
    auto const a = well_conditioned_matrix<T>(n, gap_for(n));
    for_each_row<T>(stream, [&](std::string_view row) {
      auto const lu = lu_unpivoted_of(stream, a, row);
      EXPECT_EQ(lu.status, 0) << n;
      EXPECT_LE(lu_error(a, lu), 1) << n;
      EXPECT_TRUE(same_bits(lu_unpivoted_of(stream, a, row).matrix.values, lu.matrix.values)) << n;
    });
  }
}

/// A system that takes the blocks of a GPU several turns, with the factors where they are found.
template <class T>
void check_large_system(Stream& stream, std::int64_t n) {
  using factorize::Diagonal, factorize::Triangle;
  auto const a = well_conditioned_matrix<T>(n, 3);
  auto const b = random_matrix<T>(n, 2, 0, 7);
  DeviceMatrix<T> lu(stream, a);
  Buffer<std::int32_t> status(stream, MemorySpace::device, 1);
  factorize::lu_unpivoted(stream, lu.view(), status.span());
  EXPECT_EQ(fetch(status, stream), 0);
  for (auto const op : {Op::none, Op::transpose}) {
    DeviceMatrix<T> x(stream, b);
    auto const solve = [&](Triangle triangle) {
      factorize::triangular_solve<T>(
          stream, triangle, op, triangle == Triangle::lower ? Diagonal::unit : Diagonal::general,
          lu.constant(), x.view());
    };
    solve(op == Op::none ? Triangle::lower : Triangle::upper);
    solve(op == Op::none ? Triangle::upper : Triangle::lower);
    EXPECT_LE(backward_error(a, op, x.back(), b), backward_bound<T>(n)) << static_cast<int>(op);
  }
}

/// A row that vanishes up to its pivot, or up to what is not a number, is seen at that pivot.
template <class T>
void check_unpivoted_failures(Stream& stream) {
  for_each_row<T>(stream, [&](std::string_view row) {
    for (std::int64_t const n : {1, 3, 33, 300})
      for (std::int64_t const i : {0, 2, 32, 127, 128, 255, 256, 299})
        for (T const bad : {T(0), std::numeric_limits<T>::quiet_NaN()}) {
          if (i >= n || (bad != 0 && row == "cusolver")) continue;  // it takes NaN for 0
          auto a = well_conditioned_matrix<T>(n, gap_for(n));
          for (std::int64_t j = 0; j <= i; ++j) a(i, j) = j < i ? T(0) : bad;
          EXPECT_EQ(lu_unpivoted_of(stream, a, row).status, i + 1) << bad << " in " << n;
        }
  });
}

/// After the first panel one may stop: then its columns of L are as they would have been.
template <class T>
void check_unpivoted_stops(Stream& stream) {
  constexpr std::int64_t n = 600;
  auto const a = well_conditioned_matrix<T>(n, 2);
  for_each_row<T>(stream, [&](std::string_view row) {
    if (row == "cusolver") return;  // it comes in one piece
    auto const whole = lu_unpivoted_of(stream, a, row);
    std::vector<std::int64_t> asked;
    auto const answering = [&](bool answer) {
      return [&asked, answer](std::int64_t columns) { return asked.push_back(columns), answer; };
    };
    EXPECT_TRUE(same_bits(lu_unpivoted_of(stream, a, row, answering(true)).matrix.values,
                          whole.matrix.values));
    auto const part = lu_unpivoted_of(stream, a, row, answering(false));
    EXPECT_EQ(part.status, 0);
    ASSERT_EQ(asked.size(), 2u);
    EXPECT_EQ(asked[0], asked[1]);
    ASSERT_TRUE(asked[0] > 0 && asked[0] < n);
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < asked[0]; ++j)
        ASSERT_EQ(part.matrix(i, j), whole.matrix(i, j)) << i << ", " << j;
    EXPECT_NE(part.matrix(n - 1, n - 1), whole.matrix(n - 1, n - 1)) << "not stopped";
  });
}

template <class T>
void check_cholesky(Stream& stream, std::initializer_list<std::int64_t> sizes) {
  for (auto const n : sizes) {
    auto const a = positive_definite_matrix<T>(n, gap_for(n));
    for_each_row<T>(stream, [&](std::string_view row) {
      auto const l = cholesky_of(stream, a, row);
      EXPECT_EQ(l.status, 0) << n;
      EXPECT_LE(cholesky_error(a, l), 1) << n;
      for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t j = i + 1; j < n; ++j)
          ASSERT_EQ(l.matrix(i, j), HostMatrix<T>::gap_value) << n << ": above the diagonal";
    });
  }
}

/// Both ops with LU of all kinds of matrices, and Cholesky.
template <class T>
void check_solves(Stream& stream, std::initializer_list<std::int64_t> sizes) {
  for (auto const n : sizes) {
    auto const symmetric = positive_definite_matrix<T>(n, gap_for(n + 1));
    auto const whole = mirrored(symmetric);
    for_each_row<T>(stream, [&](std::string_view row) {
      auto const l = cholesky_of(stream, symmetric, row);
      for (std::int64_t const columns : {1, 3, 33, 100}) {
        auto const b = random_matrix<T>(n, columns, gap_for(columns), 7);
        auto const x = cholesky_solved(stream, l, b, row);
        EXPECT_LE(backward_error(whole, Op::none, x, b), backward_bound<T>(n))
            << "Cholesky, " << n << " x " << columns;
        for (auto const data : system_data_kinds) {
          if (data != SystemData::random && columns != 3) continue;
          auto const a = system_matrix<T>(data, n, gap_for(n));
          auto const lu = lu_of(stream, a, row);
          // Elimination leaves nothing but rounding of a large Hilbert matrix, maybe a zero.
          if (data == SystemData::hilbert && lu.status > 8) continue;
          EXPECT_EQ(lu.status, 0) << n << ", data " << static_cast<int>(data);
          for (auto const op : {Op::none, Op::transpose})
            EXPECT_LE(backward_error(a, op, lu_solved(stream, op, lu, b, row), b),
                      backward_bound<T>(n))
                << n << " x " << columns << ", data " << static_cast<int>(data) << ", op "
                << static_cast<int>(op);
        }
      }
    });
  }
}

/// All triangles, ops and diagonals. What is not to be read is not a number.
template <class T>
void check_triangular_solves(Stream& stream, std::initializer_list<std::int64_t> sizes) {
  using factorize::Diagonal, factorize::Triangle;
  T const nan = std::numeric_limits<T>::quiet_NaN();
  for (auto const n : sizes)
    for (auto const triangle : {Triangle::lower, Triangle::upper})
      for (auto const diagonal : {Diagonal::general, Diagonal::unit}) {
        auto a = random_matrix<T>(n, n, gap_for(n));
        auto whole = HostMatrix<T>(n, n).fill([](auto, auto) { return 0; });
        double const small = 1 / std::sqrt(static_cast<double>(n));
        a.fill([&](auto i, auto j) -> T {
          if (i == j && diagonal == Diagonal::unit) return whole(i, j) = 1, nan;
          if (i != j && (i > j) != (triangle == Triangle::lower)) return nan;
          return whole(i, j) = static_cast<T>(i == j ? 2 + a(i, j) : small * a(i, j));
        });
        for (auto const op : {Op::none, Op::transpose})
          for (std::int64_t const columns : {1, 3, 33, 100}) {
            auto const b = random_matrix<T>(n, columns, gap_for(columns), 5);
            for_each_row<T>(stream, [&](std::string_view row) {
              auto const x = solved(stream, a, b, [&](Matrix<T const> matrix, Matrix<T> right) {
                factorize::triangular_solve(stream, triangle, op, diagonal, matrix, right, {row});
              });
              EXPECT_LE(backward_error(whole, op, x, b), backward_bound<T>(n))
                  << n << " x " << columns << ", triangle " << static_cast<int>(triangle) << ", op "
                  << static_cast<int>(op) << ", diagonal " << static_cast<int>(diagonal);
            });
          }
      }
}

/// Zero columns, equal rows, zero and negative pivots, and NaN.
template <class T>
void check_failures(Stream& stream) {
  T const nan = std::numeric_limits<T>::quiet_NaN();
  for_each_row<T>(stream, [&](std::string_view row) {
    for (std::int64_t const n : {1, 3, 33, 130, 300}) {
      auto const status_of_lu = [&](auto const& change) {
        auto a = random_matrix<T>(n, n, gap_for(n));
        change(a);
        auto const lu = lu_of(stream, a, row);
        for (std::int64_t i = 0; i < n; ++i) {
          auto const pivot = lu.pivots[static_cast<std::size_t>(i)];
          EXPECT_TRUE(pivot >= i && pivot < n) << "pivot " << i << " of " << n << ": " << pivot;
        }
        return lu.status;
      };
      auto const status_of_cholesky = [&](auto const& change) {
        auto a = positive_definite_matrix<T>(n, gap_for(n));
        change(a);
        return cholesky_of(stream, a, row).status;
      };
      for (std::int64_t const i : {0, 1, 2, 32, 64, 129, 130, 299}) {
        if (i >= n) continue;
        EXPECT_EQ(status_of_lu([&](auto& a) {
                    for (std::int64_t k = 0; k < n; ++k) a(k, i) = 0;
                  }),
                  i + 1)
            << "zero column of " << n;
        if (row != "cusolver") {  // it takes NaN for 0
          EXPECT_GT(status_of_lu([&](auto& a) { a(i, i) = nan; }), 0) << "NaN in " << n;
          EXPECT_GT(status_of_lu([&](auto& a) { a(i, n - 1) = nan; }), 0) << "NaN in " << n;
          EXPECT_GT(status_of_lu([&](auto& a) { a(n - 1, i) = nan; }), 0) << "NaN in " << n;
        }
        EXPECT_EQ(status_of_cholesky([&](auto& a) { a(i, i) = -1; }), i + 1) << "−1 in " << n;
        EXPECT_EQ(status_of_cholesky([&](auto& a) { a(i, i) = nan; }), i + 1) << "NaN in " << n;
        EXPECT_EQ(status_of_cholesky([&](auto& a) { a(i, 0) = nan; }), i + 1) << "NaN in " << n;
      }
      if (n > 1) {
        EXPECT_EQ(status_of_lu([](auto& a) { a.fill([](auto, auto) { return 1; }); }), 2) << n;
      }
      EXPECT_EQ(status_of_cholesky([](auto& a) { a.fill([](auto, auto) { return 0; }); }), 1) << n;
    }
  });
}

/// Equal magnitudes: the first counts, and then nothing is rounded.
template <class T>
void check_growth(Stream& stream) {
  constexpr std::int64_t n = 20;
  double const growth = std::ldexp(1.0, n - 1);
  auto const a = growing_matrix<T>(n);
  auto const b = random_matrix<T>(n, 2);
  for_each_row<T>(stream, [&](std::string_view row) {
    auto const lu = lu_of(stream, a, row);
    for (std::int64_t i = 0; i < n; ++i)
      EXPECT_EQ(lu.pivots[static_cast<std::size_t>(i)], i) << "not the first of the largest";
    EXPECT_EQ(lu_error(a, lu), 0);
    DeviceMatrix<T> factors(stream, lu.matrix), matrix(stream, a), right(stream, b);
    EXPECT_EQ(factorize::upper_triangle_maximum(stream, factors.constant()), growth);

    auto const x = lu_solved(stream, Op::none, lu, b, row);
    DeviceMatrix<T> solution(stream, x);
    auto const norms = factorize::matrix_norms(stream, matrix.constant());
    auto const errors = factorize::solution_errors(stream, matrix.constant(), norms.infinity,
                                                   solution.constant(), right.constant());
    double const exact = backward_error(a, Op::none, x, b);
    EXPECT_LE(exact, growth * backward_bound<T>(n));
    EXPECT_NEAR(errors.backward_error, exact, 2 * n * std::numeric_limits<T>::epsilon());
  });
}

template <class T>
void check_same_bits(Stream& stream, std::int64_t n, int runs) {
  auto const a = system_matrix<T>(SystemData::random, n);
  auto const symmetric = positive_definite_matrix<T>(n);
  auto const b = random_matrix<T>(n, 5);
  for_each_row<T>(stream, [&](std::string_view row) {
    std::vector<HostMatrix<T>> first;
    for (int run = 0; run < runs; ++run) {
      auto const lu = lu_of(stream, a, row);
      auto const l = cholesky_of(stream, symmetric, row);
      std::vector<HostMatrix<T>> const results = {lu.matrix,
                                                  lu_solved(stream, Op::none, lu, b, row),
                                                  lu_solved(stream, Op::transpose, lu, b, row),
                                                  l.matrix, cholesky_solved(stream, l, b, row)};
      if (run == 0) first = results;
      for (std::size_t i = 0; i < results.size(); ++i)
        ASSERT_TRUE(same_bits(results[i].values, first[i].values)) << i << " in run " << run;
    }
  });
}

// ---------------------------------------------------------------------------------------- measures

template <class T>
void check_norms(Stream& stream, std::int64_t rows, std::int64_t columns) {
  auto a = random_matrix<T>(rows, columns, gap_for(columns));
  double one = 0, infinity = 0, maximum = 0, upper = 0, lower = 0;
  for (std::int64_t i = 0; i < rows; ++i) {
    double sum = 0;
    for (std::int64_t j = 0; j < columns; ++j) {
      double const magnitude = std::abs(static_cast<double>(a(i, j)));
      sum += magnitude;
      maximum = std::max(maximum, magnitude);
      double& of_triangle = j >= i ? upper : lower;
      of_triangle = std::max(of_triangle, magnitude);
    }
    infinity = std::max(infinity, sum);
  }
  for (std::int64_t j = 0; j < columns; ++j) {
    double sum = 0;
    for (std::int64_t i = 0; i < rows; ++i) sum += std::abs(static_cast<double>(a(i, j)));
    one = std::max(one, sum);
  }
  DeviceMatrix<T> matrix(stream, a);
  auto const norms = factorize::matrix_norms(stream, matrix.constant());
  double const rounding = static_cast<double>(rows + columns) * 2.3e-16;
  EXPECT_NEAR(norms.one, one, one * rounding) << rows << " x " << columns;
  EXPECT_NEAR(norms.infinity, infinity, infinity * rounding) << rows << " x " << columns;
  EXPECT_EQ(norms.maximum, maximum) << rows << " x " << columns;
  EXPECT_EQ(factorize::upper_triangle_maximum(stream, matrix.constant()), upper);
  EXPECT_EQ(factorize::lower_triangle_maximum(stream, matrix.constant()), lower);

  a(rows / 2, columns / 2) = -std::numeric_limits<T>::quiet_NaN();
  DeviceMatrix<T> spoiled(stream, a);
  auto const nothing = factorize::matrix_norms(stream, spoiled.constant());
  EXPECT_TRUE(std::isnan(nothing.one) && std::isnan(nothing.infinity) &&
              std::isnan(nothing.maximum));
  EXPECT_EQ(std::isnan(factorize::upper_triangle_maximum(stream, spoiled.constant())),
            columns / 2 >= rows / 2);
  EXPECT_EQ(std::isnan(factorize::lower_triangle_maximum(stream, spoiled.constant())),
            columns / 2 < rows / 2);
}

template <class T>
void check_solution_errors(Stream& stream, std::int64_t n, std::int64_t columns) {
  auto const a = random_matrix<T>(n, n, gap_for(n));
  auto const x = random_matrix<T>(n, columns, gap_for(columns), 3);
  auto const b = random_matrix<T>(n, columns, gap_for(columns + 1), 4);
  double worst = 0, norm = 0;
  for (std::int64_t c = 0; c < columns; ++c) {
    double squares = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      double rest = b(i, c);
      for (std::int64_t k = 0; k < n; ++k) rest -= static_cast<double>(a(i, k)) * x(k, c);
      squares += rest * rest;
    }
    worst = std::max(worst, std::sqrt(squares));
  }
  for (std::int64_t i = 0; i < n; ++i) {
    double sum = 0;
    for (std::int64_t k = 0; k < n; ++k) sum += std::abs(static_cast<double>(a(i, k)));
    norm = std::max(norm, sum);
  }
  DeviceMatrix<T> matrix(stream, a), left(stream, x), right(stream, b);
  auto const errors = factorize::solution_errors(stream, matrix.constant(), norm, left.constant(),
                                                 right.constant());
  double const rounding = static_cast<double>(n + 1) * std::numeric_limits<T>::epsilon();
  double const scale = std::sqrt(static_cast<double>(n)) * (norm + 1);
  EXPECT_NEAR(errors.residual_norm, worst, rounding * scale) << n << " x " << columns;
  EXPECT_NEAR(errors.backward_error, backward_error(a, Op::none, x, b), rounding)
      << n << " x " << columns;

  auto spoiled = x;
  spoiled(n - 1, columns - 1) = std::numeric_limits<T>::quiet_NaN();
  DeviceMatrix<T> no_numbers(stream, spoiled);
  auto const nothing = factorize::solution_errors(stream, matrix.constant(), norm,
                                                  no_numbers.constant(), right.constant());
  EXPECT_TRUE(std::isnan(nothing.residual_norm) && std::isnan(nothing.backward_error));
}

/// ‖A‖₁·‖A⁻¹‖₁ from the inverse, column by column.
template <class T>
double condition_of(HostMatrix<T> const& a) {
  Stream host(Device::open(Backend::cpu));
  auto const identity =
      HostMatrix<double>(a.rows, a.rows).fill([](auto i, auto j) { return i == j; });
  auto const wide =
      HostMatrix<double>(a.rows, a.rows).fill([&](auto i, auto j) { return a(i, j); });
  auto const inverse =
      lu_solved(host, Op::none, lu_of(host, wide, "reference"), identity, "reference");
  DeviceMatrix<double> matrix(host, wide), inverted(host, inverse);
  return factorize::matrix_norms(host, matrix.constant()).one *
         factorize::matrix_norms(host, inverted.constant()).one;
}

/// The estimate is no more than the condition number, but for rounding, and not far below it.
inline void expect_condition(double estimate, double condition, double rounding,
                             std::string const& what) {
  EXPECT_LE(estimate, condition * (1.0001 + condition * rounding)) << what;
  EXPECT_GE(estimate, condition * (0.1 - condition * rounding)) << what;
}

template <class T>
void check_condition_estimates(Stream& stream) {
  using Case = std::pair<std::string, HostMatrix<T>>;
  std::vector<Case> cases;
  for (std::int64_t const n : {1, 2, 33, 100})
    cases.emplace_back("random " + std::to_string(n), random_matrix<T>(n, n, gap_for(n)));
  cases.emplace_back("hilbert",
                     system_matrix<T>(SystemData::hilbert, std::is_same_v<T, float> ? 3 : 6));
  cases.emplace_back("growing", growing_matrix<T>(12));
  cases.emplace_back("bidiagonal", HostMatrix<T>(40, 40).fill([](auto i, auto j) {
    return i == j ? 1 : j == i + 1 ? 2 : 0;
  }));
  // The climb starts and ends at the first unit vector, where it sees nothing of the 500.
  cases.emplace_back("hidden", HostMatrix<T>(6, 6).fill([](auto i, auto j) {
    double const u[] = {0, 1, -1, 0, 0, 0}, v[] = {0, 0, 0, 1, -1, 0};
    return (i == j) - 500 * u[i] * v[j];
  }));
  for (auto const& [what, a] : cases) {
    double const condition = condition_of(a);
    double const rounding = static_cast<double>(a.rows) * std::numeric_limits<T>::epsilon();
    DeviceMatrix<T> matrix(stream, a);
    double const norm = factorize::matrix_norms(stream, matrix.constant()).one;
    for_each_row<T>(stream, [&](std::string_view row) {
      auto const lu = lu_of(stream, a, row);
      DeviceMatrix<T> factors(stream, lu.matrix);
      Buffer<std::int32_t> pivots(stream, MemorySpace::device, lu.pivots.size());
      copy_async(pivots.span(), std::span<std::int32_t const>(lu.pivots), stream);
      expect_condition(
          factorize::lu_condition_estimate(stream, factors.constant(), pivots.span(), norm, {row}),
          condition, rounding, what);
    });
  }
  auto const symmetric = positive_definite_matrix<T>(65, 1);
  auto const whole = mirrored(symmetric);
  DeviceMatrix<T> matrix(stream, whole);
  double const norm = factorize::matrix_norms(stream, matrix.constant()).one;
  for_each_row<T>(stream, [&](std::string_view row) {
    DeviceMatrix<T> factor(stream, cholesky_of(stream, symmetric, row).matrix);
    expect_condition(factorize::cholesky_condition_estimate(stream, factor.constant(), norm, {row}),
                     condition_of(whole), 65 * std::numeric_limits<T>::epsilon(), "symmetric");
  });
}

}  // namespace gridstride::test

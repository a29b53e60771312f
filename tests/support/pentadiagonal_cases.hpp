#pragma once

#include <array>

#include "kernels/pentadiagonal/pentadiagonal.hpp"
#include "support/tridiagonal_cases.hpp"

/// Pentadiagonal systems, solved on any backend, and what they are compared with.
namespace gridstride::test {

/// Systems with all their numbers: those of x_(i−2) to x_(i+2), and the right-hand sides.
template <class T>
struct Pentadiagonal : Systems {
  std::array<std::vector<T>, 5> of;
  std::vector<T> right;

  /// What multiplies x_(i+k−2) in row i, if there is such an unknown.
  T factor(std::int64_t system, std::int64_t i, int k) const {
    std::int64_t const other = i + k - 2;
    return other < 0 || other >= shape.size
               ? T{0}
               : of[static_cast<std::size_t>(k)][coefficient(system, i)];
  }
};

/// Random systems. Rows that are dominant are so by at least a half, so that ‖A⁻¹‖∞ ≤ 2.
template <class T>
Pentadiagonal<T> random_five(Shape const& shape, Rows kind, unsigned seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> between(-1, 1);
  Pentadiagonal<T> all{{shape}, {}, {}};
  T const nan = std::numeric_limits<T>::quiet_NaN();
  for (auto& array : all.of)
    array.assign(static_cast<std::size_t>(extent(shape, shape.coefficients)), nan);
  all.right.assign(static_cast<std::size_t>(extent(shape, shape.values)), nan);
  for (std::int64_t s = 0; s < shape.count(); ++s)
    for (std::int64_t i = 0; i < shape.size; ++i) {
      auto const at = all.coefficient(s, i);
      double sum = 0.5;
      for (auto& array : all.of) {
        double const value = between(random);
        array[at] = static_cast<T>(value);
        sum += std::abs(value);
      }
      T& diagonal = all.of[2][at];
      if (kind == Rows::dominant) diagonal = static_cast<T>(diagonal < 0 ? -sum : sum);
      all.right[all.value(s, i)] = static_cast<T>(between(random));
    }
  return all;
}

/// The matrix of a biharmonic step between sides that hold the value and its second derivative,
/// I + k·(δ²)², for one system.
template <class T>
Pentadiagonal<T> biharmonic(std::int64_t n, double k) {
  Pentadiagonal<T> all{{tridiagonal::contiguous(n, 1)}, {}, {}};
  for (std::int64_t i = 0; i < n; ++i) {
    double const at_side = (i == 0) + (i == n - 1);
    double const row[5] = {k, -4 * k, 1 + (6 - at_side) * k, -4 * k, k};
    for (std::size_t j = 0; j < 5; ++j) all.of[j].push_back(static_cast<T>(row[j]));
  }
  all.right.assign(static_cast<std::size_t>(n), 0);
  return all;
}

/// The solution by a variant.
template <class T>
Solved<T> solved(Stream& stream, Pentadiagonal<T> const& systems, std::string_view variant,
                 bool in_place = false) {
  auto const a = placed(stream, systems.of[0]), b = placed(stream, systems.of[1]),
             c = placed(stream, systems.of[2]), d = placed(stream, systems.of[3]),
             e = placed(stream, systems.of[4]);
  return solved_by(stream, systems.shape, systems.right, in_place,
                   [&](auto right, auto x, auto findings) {
                     pentadiagonal::solve<T>(stream, systems.shape,
                                             {a.span(), b.span(), c.span(), d.span(), e.span()},
                                             right, x, findings, variant);
                   });
}

/// b − A·x of every row in extended precision, in the order of systems and rows.
template <class T>
std::vector<long double> residuals(Pentadiagonal<T> const& all, std::vector<T> const& x) {
  std::vector<long double> result;
  for (std::int64_t s = 0; s < all.shape.count(); ++s)
    for (std::int64_t i = 0; i < all.shape.size; ++i) {
      long double sum = all.right[all.value(s, i)];
      for (int k = 0; k < 5; ++k)
        if (T const factor = all.factor(s, i, k); factor != 0)
          sum -= static_cast<long double>(factor) * x[all.value(s, i + k - 2)];
      result.push_back(sum);
    }
  return result;
}

/// Checks a solution of `Rows::dominant` systems.
template <class T>
void expect_solved(Pentadiagonal<T> const& all, Solved<T> const& solution, std::string_view what) {
  expect_solved(all, residuals(all, solution.x), solution, what);
}

/// A system's matrix, and behind it its right-hand side.
template <class T>
Dense dense_of(Pentadiagonal<T> const& all, std::int64_t system) {
  auto const n = static_cast<std::size_t>(all.shape.size);
  Dense m(n, std::vector<long double>(n + 1, 0));
  for (std::size_t i = 0; i < n; ++i) {
    auto const row = static_cast<std::int64_t>(i);
    for (int k = 0; k < 5; ++k)
      if (T const factor = all.factor(system, row, k); factor != 0)
        m[i][static_cast<std::size_t>(row + k - 2)] = factor;
    m[i][n] = all.right[all.value(system, row)];
  }
  return m;
}

inline std::vector<std::string_view> pentadiagonal_variants(Backend backend) {
  std::vector<std::string_view> names;
  for (auto const& row : pentadiagonal::variants<double>())
    if (row.backend == backend && row.run != nullptr) names.push_back(row.name);
  return names;
}

/// Solves every shape of these sizes with every variant, apart and in place. Counts what was solved.
template <class T>
void check_pentadiagonal(Stream& stream, std::vector<std::int64_t> const& sizes,
                         int& solved_count) {
  for (auto const n : sizes)
    for (auto const& shape : tridiagonal_shapes(n, false)) {
      auto const systems = random_five<T>(shape, Rows::dominant, static_cast<unsigned>(n));
      for (auto const name : pentadiagonal_variants(stream.backend()))
        for (bool const in_place : {false, true}) {
          auto const found = solved(stream, systems, name, in_place);
          expect_solved(systems, found, std::string(name) + " of " + std::to_string(n));
          EXPECT_FALSE(found.report.backward_error.has_value());
          ++solved_count;
        }
    }
}

/// LAPACK's gbsv, where OpenBLAS is there.
inline std::vector<double> by_gbsv(Pentadiagonal<double> const& all) {
  using Gbsv = void(int const*, int const*, int const*, int const*, double*, int const*, int*,
                    double*, int const*, int*);
  int const n = static_cast<int>(all.shape.size), two = 2, columns = 1, leading = 7;
  // Column j holds rows j − 2 to j + 2 from its third element on, behind room for exchanges.
  std::vector<double> band(static_cast<std::size_t>(leading * n), 0), x = all.right;
  for (int i = 0; i < n; ++i)
    for (int k = 0; k < 5; ++k)
      if (double const factor = all.factor(0, i, k); factor != 0)
        band[static_cast<std::size_t>(leading * (i + k - 2) + 4 + 2 - k)] = factor;
  std::vector<int> pivots(static_cast<std::size_t>(n));
  int info = 0;
  openblas().function<Gbsv>("dgbsv_")(&n, &two, &two, &columns, band.data(), &leading,
                                      pivots.data(), x.data(), &n, &info);
  EXPECT_EQ(info, 0);
  return x;
}

/// Checks a system that needs no exchanges against dense elimination in extended precision, and
/// LAPACK: with |L|·|U| of the size of |A|, which is what dominance and symmetry are for, elimination
/// of bands of five solves A + E exactly with |E| ≤ 16·ε·|A|, so that all are within
/// 16·ε·‖A⁻¹‖·‖A‖·‖x‖ of the exact solution.
inline void expect_gbsv(Stream& stream, Pentadiagonal<double> const& all) {
  auto const n = static_cast<std::size_t>(all.shape.size);
  auto const dense = dense_of(all, 0);
  auto const exact = dense_solution(dense);
  std::vector<long double> inverse(n, 0);
  long double norm = 0, largest = 0;
  for (std::size_t j = 0; j < n; ++j) {
    auto unit = dense;
    long double row = 0;
    for (std::size_t i = 0; i < n; ++i) {
      unit[i][n] = i == j ? 1 : 0;
      row += std::abs(dense[j][i]);
    }
    auto const column = dense_solution(unit);
    for (std::size_t i = 0; i < n; ++i) inverse[i] += std::abs(column[i]);
    norm = std::max(norm, row);
    largest = std::max(largest, std::abs(exact[j]));
  }
  long double const bound =
      16 * std::numeric_limits<double>::epsilon() * std::ranges::max(inverse) * norm * largest;
  std::vector<std::vector<double>> solutions;
  if (openblas().available()) solutions.push_back(by_gbsv(all));
  for (auto const name : pentadiagonal_variants(stream.backend()))
    solutions.push_back(solved(stream, all, name).x);
  for (auto const& x : solutions)
    for (std::size_t i = 0; i < n; ++i) {
      EXPECT_LE(std::abs(x[i] - exact[i]), bound) << n << ", row " << i;
      EXPECT_LE(std::abs(x[i] - solutions[0][i]), 2 * bound) << n << ", row " << i;
    }
}

/// sin(πk(i+1)/(n+1)) are the eigenvectors of a biharmonic step, 1 + step·λ² its eigenvalues, with
/// λ = 4·sin²(πk/(2(n+1))). No eigenvalue is below 1, and ‖A‖ ≤ 1 + 16·step: bound as `expect_gbsv`.
template <class T>
void check_eigenvectors(Stream& stream, std::int64_t n, double step) {
  for (std::int64_t const k : {std::int64_t{1}, n / 3 + 1, n}) {
    double const angle = std::numbers::pi * static_cast<double>(k) / static_cast<double>(n + 1);
    double const lambda = 4 * std::pow(std::sin(angle / 2), 2);
    auto all = biharmonic<T>(n, step);
    std::vector<double> modes;
    for (std::int64_t i = 0; i < n; ++i) {
      modes.push_back(std::sin(angle * static_cast<double>(i + 1)));
      all.right[static_cast<std::size_t>(i)] =
          static_cast<T>((1 + step * lambda * lambda) * modes.back());
    }
    double const allowed = 16 * std::numeric_limits<T>::epsilon() * (1 + 16 * step) *
                           std::sqrt(static_cast<double>(n));
    for (auto const name : pentadiagonal_variants(stream.backend())) {
      auto const found = solved(stream, all, name);
      EXPECT_EQ(found.report.template fault<T>(), "") << name;
      EXPECT_EQ(found.report.backward_error.has_value(), step > 0.25 && n > 2) << name;
      for (std::size_t i = 0; i < modes.size(); ++i)
        EXPECT_NEAR(found.x[i], modes[i], allowed) << name << ", " << n << ", mode " << k;
    }
  }
}

/// The same system alone and among others, and again, has the same bits.
template <class T>
void check_five_batches(Stream& stream, std::int64_t n) {
  for (auto const name : pentadiagonal_variants(stream.backend()))
    for (bool const across : {false, true}) {
      auto const shape = across ? tridiagonal::interleaved(n, 11) : tridiagonal::contiguous(n, 11);
      auto const all = random_five<T>(shape, Rows::dominant, 5);
      auto const many = solved(stream, all, name), again = solved(stream, all, name);
      for (std::int64_t const s : {0, 1, 7, 10}) {
        EXPECT_EQ(of_system(all, many.x, s), of_system(all, again.x, s)) << name;
        Pentadiagonal<T> one{{tridiagonal::contiguous(n, 1)}, {}, {}};
        for (std::int64_t i = 0; i < n; ++i) {
          for (std::size_t k = 0; k < 5; ++k) one.of[k].push_back(all.of[k][all.coefficient(s, i)]);
          one.right.push_back(all.right[all.value(s, i)]);
        }
        EXPECT_EQ(of_system(one, solved(stream, one, name).x, 0), of_system(all, many.x, s))
            << name << ", " << n << " unknowns, system " << s;
      }
    }
}

/// Matrices with a row of zeros are singular in that row.
template <class T>
void check_five_bad_pivots(Stream& stream, std::int64_t n) {
  for (auto const name : pentadiagonal_variants(stream.backend()))
    for (std::int64_t const row : {n / 2, n - 1}) {
      auto all = random_five<T>(tridiagonal::contiguous(n, 6), Rows::dominant, 3);
      for (std::int64_t const s : {5, 3})
        for (auto& array : all.of) array[all.coefficient(s, row)] = 0;
      auto const found = solved(stream, all, name);
      ASSERT_TRUE(found.report.bad_pivot.has_value()) << name << ", " << n << " unknowns";
      EXPECT_EQ(found.report.bad_pivot->system, 3) << name;
      EXPECT_EQ(found.report.bad_pivot->row, row) << name << ", " << n << " unknowns";
      EXPECT_NE(found.report.template fault<T>(), "");
    }
}

/// What rows that are not dominant leave is told as it is; elimination that loses all digits, and
/// numbers that are none, are faults.
template <class T>
void check_five_judgement(Stream& stream) {
  T const tiny = std::numeric_limits<T>::epsilon() / 1024;
  T const nan = std::numeric_limits<T>::quiet_NaN(), infinity = std::numeric_limits<T>::infinity();
  for (auto const name : pentadiagonal_variants(stream.backend())) {
    // Rows 0 and 1 say nearly nothing of their own unknowns, which rows 2 and 3 settle.
    Pentadiagonal<T> hidden{{tridiagonal::contiguous(4, 1)}, {}, {}};
    hidden.of = {
        std::vector<T>{0, 0, 1, 1}, {0, 0, 1, 0}, {tiny, tiny, 1, 1}, {0, 1, 0, 0}, {1, 1, 0, 0}};
    hidden.right = {1, static_cast<T>(2.5), static_cast<T>(1.3), 1};
    auto const lost = solved(stream, hidden, name);
    ASSERT_TRUE(lost.report.backward_error.has_value()) << name;
    EXPECT_GT(*lost.report.backward_error, 1024 * std::numeric_limits<T>::epsilon()) << name;
    EXPECT_NE(lost.report.template fault<T>().find("not diagonally dominant"), std::string::npos);

    auto all = random_five<T>(tridiagonal::contiguous(200, 7), Rows::dominant, 17);
    all.of[2][all.coefficient(4, 77)] /= 4;
    auto const found = solved(stream, all, name);
    ASSERT_TRUE(found.report.backward_error.has_value()) << name;
    double largest = 0;
    auto const rows = residuals(all, found.x);
    for (std::int64_t s = 0; s < 7; ++s) {
      long double x = 0;
      for (auto const value : of_system(all, found.x, s))
        x = std::max(x, std::abs(static_cast<long double>(value)));
      for (std::int64_t i = 0; i < 200; ++i) {
        long double row = 0;
        for (int k = 0; k < 5; ++k) row += std::abs(all.factor(s, i, k));
        auto const r = std::abs(rows[static_cast<std::size_t>(s * 200 + i)]);
        largest = std::max(
            largest, static_cast<double>(r / (row * x + std::abs(all.right[all.value(s, i)]))));
      }
    }
    EXPECT_GT(largest, 0);
    EXPECT_LE(largest, 64 * std::numeric_limits<T>::epsilon());
    EXPECT_NEAR(*found.report.backward_error, largest, 8 * std::numeric_limits<double>::epsilon());
    EXPECT_NE(solved(stream, all, name, true).report.template fault<T>().find("cannot be judged"),
              std::string::npos);
    for (T const value : {nan, infinity})
      for (auto const& array : {0, 1, 2, 3, 4}) {
        auto spoilt = random_five<T>(tridiagonal::contiguous(20, 3), Rows::dominant, 1);
        spoilt.of[static_cast<std::size_t>(array)][25] = value;
        EXPECT_NE(solved(stream, spoilt, name).report.template fault<T>(), "") << name;
      }
  }
}

}  // namespace gridstride::test

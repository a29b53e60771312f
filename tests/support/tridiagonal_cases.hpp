#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string_view>
#include <utility>
#include <vector>

#include "core/buffer.hpp"
#include "kernels/support/openblas.hpp"
#include "kernels/tridiagonal/tridiagonal.hpp"

/// Tridiagonal systems, solved on any backend, and what they are compared with.
namespace gridstride::test {

using tridiagonal::Findings;
using tridiagonal::Report;
using tridiagonal::Shape;

/// Where the numbers of systems lie.
struct Systems {
  Shape shape;

  std::int64_t place(tridiagonal::Strides const& strides, std::int64_t system,
                     std::int64_t row) const {
    std::int64_t const p = system % shape.systems[0], rest = system / shape.systems[0];
    return row * strides.element + p * strides.of[0] + rest % shape.systems[1] * strides.of[1] +
           rest / shape.systems[1] * strides.of[2];
  }
  std::size_t coefficient(std::int64_t system, std::int64_t row) const {
    return static_cast<std::size_t>(place(shape.coefficients, system, row));
  }
  std::size_t value(std::int64_t system, std::int64_t row) const {
    return static_cast<std::size_t>(place(shape.values, system, row));
  }
};

/// Systems with all their numbers. Memory between the elements, which no stride reaches, is NaN.
template <class T>
struct Tridiagonal : Systems {
  std::vector<T> lower, diagonal, upper, right;
};

enum class Rows { dominant, any };

/// Random systems. Rows that are dominant are so by at least a half, so that ‖A⁻¹‖∞ ≤ 2.
template <class T>
Tridiagonal<T> random_systems(Shape const& shape, Rows kind, unsigned seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> between(-1, 1);
  Tridiagonal<T> all{shape, {}, {}, {}, {}};
  T const nan = std::numeric_limits<T>::quiet_NaN();
  auto const coefficients = static_cast<std::size_t>(extent(shape, shape.coefficients));
  all.lower = all.diagonal = all.upper = std::vector<T>(coefficients, nan);
  all.right.assign(static_cast<std::size_t>(extent(shape, shape.values)), nan);
  for (std::int64_t s = 0; s < shape.count(); ++s)
    for (std::int64_t i = 0; i < shape.size; ++i) {
      auto const at = all.coefficient(s, i);
      double const a = between(random), c = between(random), b = between(random);
      double const large = std::abs(a) + std::abs(c) + 0.5 + std::abs(b);
      all.lower[at] = static_cast<T>(a);
      all.upper[at] = static_cast<T>(c);
      all.diagonal[at] = static_cast<T>(kind == Rows::any ? b : b < 0 ? -large : large);
      all.right[all.value(s, i)] = static_cast<T>(between(random));
    }
  return all;
}

template <class T>
struct Solved {
  std::vector<T> x;
  Report report;
};

/// Numbers where the stream's device has them.
template <class T>
Buffer<T> placed(Stream& stream, std::vector<T> const& values) {
  Buffer<T> buffer(stream, MemorySpace::device, values.size());
  copy_async(buffer.span(), std::span(values), stream);
  return buffer;
}

/// What `solve(right, x, findings)` comes to; in place, or in memory full of NaN.
template <class T, class Solve>
Solved<T> solved_by(Stream& stream, Shape const& shape, std::vector<T> const& given, bool in_place,
                    Solve const& solve) {
  std::vector<T> const empty(given.size(), std::numeric_limits<T>::quiet_NaN());
  auto right = placed(stream, given), apart = placed(stream, empty);
  auto const x = in_place ? right.span() : apart.span();
  Buffer<Findings> findings(stream, MemorySpace::device, 1);
  zero_async(findings.span(), stream);
  solve(right.span(), x, findings.span());
  Solved<T> result{std::vector<T>(x.size()), tridiagonal::read(stream, shape, findings.span())};
  copy_async(std::span(result.x), x, stream);
  stream.synchronize();
  return result;
}

/// The solution by a variant.
template <class T>
Solved<T> solved(Stream& stream, Tridiagonal<T> const& systems, std::string_view variant,
                 bool in_place = false) {
  auto const lower = placed(stream, systems.lower), diagonal = placed(stream, systems.diagonal),
             upper = placed(stream, systems.upper);
  return solved_by(
      stream, systems.shape, systems.right, in_place, [&](auto right, auto x, auto findings) {
        tridiagonal::solve<T>(stream, systems.shape, {lower.span(), diagonal.span(), upper.span()},
                              right, x, findings, variant);
      });
}

/// b − A·x of every row in extended precision, in the order of systems and rows.
template <class T>
std::vector<long double> residuals(Tridiagonal<T> const& all, std::vector<T> const& x) {
  std::vector<long double> result;
  std::int64_t const n = all.shape.size;
  for (std::int64_t s = 0; s < all.shape.count(); ++s)
    for (std::int64_t i = 0; i < n; ++i) {
      auto const at = all.coefficient(s, i);
      auto const term = [&](T coefficient, std::int64_t row) {
        return static_cast<long double>(coefficient) * x[all.value(s, row)];
      };
      long double sum = all.right[all.value(s, i)] - term(all.diagonal[at], i);
      if (i > 0 || all.shape.periodic) sum -= term(all.lower[at], (i + n - 1) % n);
      if (i + 1 < n || all.shape.periodic) sum -= term(all.upper[at], (i + 1) % n);
      result.push_back(sum);
    }
  return result;
}

/// Checks a solution of systems of which ‖A⁻¹‖∞ ≤ 2, from the residuals of all rows: each x is at most
/// 450·ε·‖x‖∞ from the exact one (1e-13 in float64), since ‖x − A⁻¹·b‖∞ ≤ ‖A⁻¹‖∞·‖b − A·x‖∞; and
/// memory between is as it was.
template <class T>
void expect_solved(Systems const& all, std::vector<long double> const& rows,
                   Solved<T> const& solution, std::string_view what) {
  EXPECT_FALSE(solution.report.bad_pivot.has_value()) << what;
  EXPECT_EQ(solution.report.template fault<T>(), "") << what;
  std::int64_t const n = all.shape.size;
  std::vector<bool> used(solution.x.size(), false);
  double worst = 0;
  for (std::int64_t s = 0; s < all.shape.count(); ++s) {
    long double largest = 0, residual = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      auto const at = all.value(s, i);
      used[at] = true;
      largest = std::max(largest, std::abs(static_cast<long double>(solution.x[at])));
      auto const r = std::abs(rows[static_cast<std::size_t>(s * n + i)]);
      residual = r >= 0 ? std::max(residual, r) : std::numeric_limits<long double>::infinity();
    }
    worst = std::max(worst, static_cast<double>(2 * residual / largest));
  }
  EXPECT_LE(worst, 450 * std::numeric_limits<T>::epsilon()) << what;
  for (std::size_t at = 0; at < used.size(); ++at)
    EXPECT_TRUE(used[at] || std::isnan(solution.x[at])) << what << " wrote between, at " << at;
}
template <class T>
void expect_solved(Tridiagonal<T> const& all, Solved<T> const& solution, std::string_view what) {
  expect_solved(all, residuals(all, solution.x), solution, what);
}

using Dense = std::vector<std::vector<long double>>;

/// The solution of dense equations in extended precision, of which each row ends with its right-hand
/// side.
inline std::vector<long double> dense_solution(Dense m) {
  std::size_t const n = m.size();
  for (std::size_t k = 0; k < n; ++k) {
    std::size_t best = k;
    for (std::size_t i = k + 1; i < n; ++i)
      if (std::abs(m[i][k]) > std::abs(m[best][k])) best = i;
    std::swap(m[k], m[best]);
    for (std::size_t i = k + 1; i < n; ++i) {
      long double const factor = m[i][k] / m[k][k];
      if (factor == 0) continue;
      for (std::size_t j = k; j <= n; ++j) m[i][j] -= factor * m[k][j];
    }
  }
  std::vector<long double> x(n);
  for (std::size_t i = n; i-- > 0;) {
    long double rest = m[i][n];
    for (std::size_t j = i + 1; j < n; ++j) rest -= m[i][j] * x[j];
    x[i] = rest / m[i][i];
  }
  return x;
}

/// One system's solution in extended precision.
template <class T>
std::vector<long double> exact_solution(Tridiagonal<T> const& all, std::int64_t system) {
  auto const n = static_cast<std::size_t>(all.shape.size);
  Dense m(n, std::vector<long double>(n + 1, 0));
  for (std::size_t i = 0; i < n; ++i) {
    auto const at = all.coefficient(system, static_cast<std::int64_t>(i));
    if (i > 0 || all.shape.periodic) m[i][(i + n - 1) % n] += all.lower[at];
    m[i][i] += all.diagonal[at];
    if (i + 1 < n || all.shape.periodic) m[i][(i + 1) % n] += all.upper[at];
    m[i][n] = all.right[all.value(system, static_cast<std::int64_t>(i))];
  }
  return dense_solution(std::move(m));
}

/// LAPACK's gtsv, where OpenBLAS is there.
inline std::vector<double> by_lapack(Tridiagonal<double> all) {
  using Gtsv = void(int const*, int const*, double*, double*, double*, double*, int const*, int*);
  int const n = static_cast<int>(all.shape.size), columns = 1;
  int info = 0;
  openblas().function<Gtsv>("dgtsv_")(&n, &columns, all.lower.data() + 1, all.diagonal.data(),
                                      all.upper.data(), all.right.data(), &n, &info);
  EXPECT_EQ(info, 0);
  return all.right;
}

/// Checks a variant with exchanges of rows against LAPACK's: both are within the bound of such
/// elimination, |x − x*| ≤ 16·ε·|A⁻¹|·|A|·|x|, of the exact solution.
inline void expect_lapack(Stream& stream, std::int64_t n, std::string_view variant) {
  auto const all = random_systems<double>(tridiagonal::contiguous(n, 1), Rows::any, 22);
  auto const exact = exact_solution(all, 0);
  std::vector<long double> bound(static_cast<std::size_t>(n), 0);
  for (std::size_t row = 0; row < bound.size(); ++row) {
    auto unit = all;
    std::ranges::fill(unit.right, 0);
    unit.right[row] = 1;
    long double size = std::abs(all.diagonal[row] * exact[row]);
    if (row > 0) size += std::abs(all.lower[row] * exact[row - 1]);
    if (row + 1 < bound.size()) size += std::abs(all.upper[row] * exact[row + 1]);
    auto const column = exact_solution(unit, 0);
    for (std::size_t i = 0; i < bound.size(); ++i)
      bound[i] += 16 * std::numeric_limits<double>::epsilon() * std::abs(column[i]) * size;
  }
  auto const lapack = by_lapack(all);
  auto const found = solved(stream, all, variant);
  EXPECT_EQ(found.report.fault<double>(), "");
  for (std::size_t i = 0; i < bound.size(); ++i) {
    EXPECT_LE(std::abs(found.x[i] - exact[i]), bound[i]) << n << ", row " << i;
    EXPECT_LE(std::abs(found.x[i] - lapack[i]), 2 * bound[i]) << n << ", row " << i;
  }
}

/// Shapes of every kind: contiguous, side by side, lines along the axes of a grid, many right-hand
/// sides, coefficients that are one number, gaps.
inline std::vector<Shape> tridiagonal_shapes(std::int64_t n, bool periodic) {
  using tridiagonal::Strides;
  auto const grid = [n](std::int64_t element, std::array<std::int64_t, 3> of) {
    return Strides{element, of};
  };
  auto const plain = grid(1, {n, 0, 0});
  std::vector<Shape> shapes = {
      tridiagonal::contiguous(n, 1),
      tridiagonal::contiguous(n, 5),
      tridiagonal::interleaved(n, 1),
      tridiagonal::interleaved(n, 67),
      // Along y of a grid of 5 x n x 3 points; along z of one of 3 x 2 x n.
      {n, {5, 3, 1}, grid(5, {1, 5 * n, 0}), grid(5, {1, 5 * n, 0})},
      {n, {3, 2, 1}, grid(6, {1, 3, 0}), grid(6, {1, 3, 0})},
      // Three right-hand sides of each of four systems; the same coefficients for eleven systems.
      {n, {4, 3, 1}, grid(1, {n, 0, 0}), grid(1, {n, 4 * n, 0})},
      {n, {11, 1, 1}, grid(1, {0, 0, 0}), plain},
      {n, {11, 1, 1}, grid(1, {0, 0, 0}), grid(11, {1, 0, 0})},
      {n, {2, 3, 2}, grid(0, {0, 0, 0}), grid(1, {n, 2 * n, 6 * n})},
      // Gaps between elements, and between systems.
      {n, {3, 1, 1}, grid(2, {2 * n + 1, 0, 0}), grid(3, {3 * n + 4, 0, 0})},
      {n, {4, 1, 1}, grid(9, {2, 0, 0}), grid(11, {2, 0, 0})},
  };
  for (auto& shape : shapes) shape.periodic = periodic;
  return shapes;
}

/// The variants of the backend that can run here.
template <class T>
std::vector<std::string_view> tridiagonal_variants(Backend backend) {
  static VendorLibrary const cusparse("libcusparse.so.12");
  std::vector<std::string_view> names;
  for (auto const& row : tridiagonal::variants<T>())
    if (row.backend == backend && row.run != nullptr &&
        (cusparse.available() || !row.name.starts_with("cusparse")))
      names.push_back(row.name);
  return names;
}

/// Solves every shape of these sizes with every variant that takes it, apart and in place. Counts
/// what was solved.
template <class T>
void check_tridiagonal(Stream& stream, std::vector<std::int64_t> const& sizes, int& solved_count) {
  for (auto const n : sizes)
    for (bool const periodic : {false, true})
      for (auto const& shape : tridiagonal_shapes(n, periodic)) {
        auto const systems = random_systems<T>(shape, Rows::dominant, static_cast<unsigned>(n));
        for (auto const name : tridiagonal_variants<T>(stream.backend()))
          for (bool const in_place : {false, true}) try {
              auto const found = solved(stream, systems, name, in_place);
              expect_solved(systems, found,
                            std::string(name) + " of " + std::to_string(n) + " unknowns, shape " +
                                std::to_string(shape.values.element));
              EXPECT_FALSE(found.report.backward_error.has_value());
              ++solved_count;
            } catch (std::invalid_argument const& refusal) {
              EXPECT_NE(std::string(refusal.what()).find("takes"), std::string::npos)
                  << refusal.what();
            }
      }
}

/// Many right-hand sides of one matrix, one after the other and side by side.
template <class T>
void check_shared_coefficients(Stream& stream, std::vector<std::int64_t> const& sizes,
                               std::string_view variant) {
  for (auto const n : sizes)
    for (bool const across : {false, true})
      for (std::int64_t const element : {0, 1}) {
        auto shape = across ? tridiagonal::interleaved(n, 90) : tridiagonal::contiguous(n, 90);
        shape.coefficients = {element, {0, 0, 0}};
        auto const all = random_systems<T>(shape, Rows::dominant, 23);
        auto const found = solved(stream, all, variant);
        expect_solved(all, found, std::string(variant) + " of " + std::to_string(n) + " unknowns");
        EXPECT_EQ(solved(stream, all, variant, true).x, found.x) << variant << ", in place";
        auto few = all;
        few.shape.systems[0] = 2;
        few.shape.values = all.shape.values;
        auto const first = solved(stream, few, variant);
        for (std::int64_t const s : {0, 1})
          EXPECT_EQ(of_system(few, first.x, s), of_system(all, found.x, s)) << variant << ' ' << n;
      }
}

/// The bits of each system's solution, gathered.
template <class T>
std::vector<T> of_system(Systems const& all, std::vector<T> const& x, std::int64_t system) {
  std::vector<T> values;
  for (std::int64_t i = 0; i < all.shape.size; ++i) values.push_back(x[all.value(system, i)]);
  return values;
}

/// The same system alone and among others, and again, has the same bits.
template <class T>
void check_batches(Stream& stream, std::int64_t n, std::string_view variant) {
  for (bool const across : {false, true}) {
    auto const shape = across ? tridiagonal::interleaved(n, 70) : tridiagonal::contiguous(n, 70);
    auto const all = random_systems<T>(shape, Rows::dominant, 5);
    auto const many = solved(stream, all, variant), again = solved(stream, all, variant);
    for (std::int64_t const s : {0, 1, 37, 69}) {
      EXPECT_EQ(of_system(all, many.x, s), of_system(all, again.x, s)) << variant;
      // Where it lay, without the others.
      Tridiagonal<T> one = all;
      one.shape.systems[0] = 1;
      auto const skip = all.value(s, 0);
      for (auto* array : {&one.lower, &one.diagonal, &one.upper, &one.right})
        array->erase(array->begin(), array->begin() + static_cast<std::ptrdiff_t>(skip));
      EXPECT_EQ(of_system(one, solved(stream, one, variant).x, 0), of_system(all, many.x, s))
          << variant << ", " << n << " unknowns, system " << s;
    }
  }
}

/// A matrix with a row of zeros: elimination without exchanges meets it in its place, with exchanges
/// wherever the row has gone.
template <class T>
void check_bad_pivots(Stream& stream, std::int64_t n, std::string_view variant) {
  auto all = random_systems<T>(tridiagonal::contiguous(n, 6), Rows::dominant, 3);
  std::int64_t const row = n / 2;
  for (std::int64_t const s : {5, 3}) {
    auto const at = all.coefficient(s, row);
    all.lower[at] = all.diagonal[at] = all.upper[at] = 0;
  }
  auto const found = solved(stream, all, variant);
  ASSERT_TRUE(found.report.bad_pivot.has_value()) << variant << ", " << n << " unknowns";
  EXPECT_EQ(found.report.bad_pivot->system, 3) << variant;
  EXPECT_LT(found.report.bad_pivot->row, n) << variant;
  EXPECT_TRUE(variant.starts_with("pivoted") || found.report.bad_pivot->row == row)
      << variant << ", " << n << " unknowns, row " << found.report.bad_pivot->row;
  EXPECT_NE(found.report.template fault<T>().find("system 3 has a zero pivot in row"),
            std::string::npos);
}

}  // namespace gridstride::test

#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <random>
#include <ranges>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/buffer.hpp"
#include "kernels/factorize/factorize.hpp"
#include "kernels/factorize/measures/measures.hpp"
#include "support/same_bits.hpp"
#include "support/vendor_rows.hpp"

/// Matrices to factorize and systems to solve on any device, and how far from exact the results may
/// be. Bounds are of N. J. Higham, "Accuracy and Stability of Numerical Algorithms", 2nd ed., with
/// the unit roundoff ε/2 rounded up to ε.
namespace gridstride::test {

/// A row-major matrix in host memory; what fills the gaps between its rows has to stay there.
template <class T>
struct HostMatrix {
  static constexpr T gap_value = 77;
  std::int64_t rows, columns, leading;
  std::vector<T> values;

  HostMatrix(std::int64_t row_count, std::int64_t column_count, std::int64_t gap = 0)
      : rows(row_count),
        columns(column_count),
        leading(column_count + gap),
        values(static_cast<std::size_t>(rows * leading), gap_value) {}

  T& operator()(std::int64_t i, std::int64_t j) {
    return values[static_cast<std::size_t>(i * leading + j)];
  }
  T operator()(std::int64_t i, std::int64_t j) const {
    return values[static_cast<std::size_t>(i * leading + j)];
  }
  /// Every element from its row and column.
  template <class Element>
  HostMatrix& fill(Element const& element) {
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < columns; ++j) (*this)(i, j) = static_cast<T>(element(i, j));
    return *this;
  }
  bool gaps_are_whole() const {
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = columns; j < leading; ++j)
        if ((*this)(i, j) != gap_value) return false;
    return true;
  }
};

/// A copy of it in the memory of a stream's device.
template <class T>
class DeviceMatrix {
 public:
  DeviceMatrix(Stream& stream, HostMatrix<T> const& host)
      : stream_(stream), host_(host), memory_(stream, MemorySpace::device, host.values.size()) {
    copy_async(memory_.span(), std::span<T const>(host.values), stream);
    stream.synchronize();
  }
  Matrix<T> view() { return {memory_.data(), host_.rows, host_.columns, host_.leading}; }
  Matrix<T const> constant() { return view(); }
  HostMatrix<T> back() {
    HostMatrix<T> result = host_;
    copy_async(std::span<T>(result.values), memory_.span(), stream_);
    stream_.synchronize();
    EXPECT_TRUE(result.gaps_are_whole()) << "written between the rows";
    return result;
  }

 private:
  Stream& stream_;
  HostMatrix<T> host_;
  Buffer<T> memory_;
};

// ---------------------------------------------------------------------------------------- matrices

enum class SystemData {
  random,    // from −1 to 1
  graded,    // random, with rows that shrink to 1e-12
  hilbert,   // 1/(i + j + 1): as good as singular
  permuted,  // one random number in each row and column
};
inline constexpr SystemData system_data_kinds[] = {SystemData::random, SystemData::graded,
                                                   SystemData::hilbert, SystemData::permuted};

template <class T>
HostMatrix<T> random_matrix(std::int64_t rows, std::int64_t columns, std::int64_t gap = 0,
                            unsigned seed = 1) {
  std::mt19937_64 generator(seed * 1000003u + static_cast<unsigned>(rows * 31 + columns));
  std::uniform_real_distribution<T> uniform(-1, 1);
  return HostMatrix<T>(rows, columns, gap).fill([&](auto, auto) { return uniform(generator); });
}

template <class T>
HostMatrix<T> system_matrix(SystemData data, std::int64_t n, std::int64_t gap = 0) {
  auto a = random_matrix<T>(n, n, gap);
  if (data == SystemData::graded)
    a.fill([&](auto i, auto j) {
      return a(i, j) * std::pow(10.0, -12.0 * static_cast<double>(i) / static_cast<double>(n));
    });
  if (data == SystemData::hilbert)
    a.fill([](auto i, auto j) { return 1 / static_cast<double>(i + j + 1); });
  if (data == SystemData::permuted) {
    std::vector<std::int64_t> column(static_cast<std::size_t>(n));
    for (std::int64_t i = 0; i < n; ++i) column[static_cast<std::size_t>(i)] = i;
    std::shuffle(column.begin(), column.end(), std::mt19937_64(static_cast<unsigned>(n)));
    a.fill([&](auto i, auto j) {
      return column[static_cast<std::size_t>(i)] == j ? 1 + a(i, j) / 2 : T(0);
    });
  }
  return a;
}

/// Random, with so much added to the diagonal that the condition number is a few units and that no
/// element of L exceeds 1 by much.
template <class T>
HostMatrix<T> well_conditioned_matrix(std::int64_t n, std::int64_t gap = 0) {
  auto a = random_matrix<T>(n, n, gap);
  for (std::int64_t i = 0; i < n; ++i)
    a(i, i) += static_cast<T>(2 * std::sqrt(static_cast<double>(n)));
  return a;
}

/// G·Gᵀ + n·I of a random G in the lower triangle; the upper one is not to be read.
template <class T>
HostMatrix<T> positive_definite_matrix(std::int64_t n, std::int64_t gap = 0) {
  auto const g = random_matrix<double>(n, n);
  return HostMatrix<T>(n, n, gap).fill([&](auto i, auto j) -> double {
    if (j > i) return HostMatrix<T>::gap_value;
    double sum = i == j ? static_cast<double>(n) : 0;
    double const *const g_i = &g.values[static_cast<std::size_t>(i * g.leading)],
                        *const g_j = &g.values[static_cast<std::size_t>(j * g.leading)];
    for (std::int64_t k = 0; k < n; ++k) sum += g_i[k] * g_j[k];
    return sum;
  });
}

/// The whole symmetric matrix of a lower triangle.
template <class T>
HostMatrix<T> mirrored(HostMatrix<T> const& lower) {
  return HostMatrix<T>(lower.rows, lower.rows).fill([&](auto i, auto j) {
    return lower(std::max(i, j), std::min(i, j));
  });
}

/// Elimination doubles the last column in each of its steps (Higham, section 9.4).
template <class T>
HostMatrix<T> growing_matrix(std::int64_t n) {
  return HostMatrix<T>(n, n).fill([&](auto i, auto j) {
    return i == j || j == n - 1 ? 1 : i > j ? -1 : 0;
  });
}

// ------------------------------------------------------------------------------------ on the
// device

template <class T>
struct Factors {
  HostMatrix<T> matrix;
  std::vector<std::int32_t> pivots;
  std::int32_t status = 0;
};

inline std::int32_t fetch(Buffer<std::int32_t> const& value, Stream& stream) {
  std::int32_t host = -1;
  copy_async(std::span(&host, 1), value.span(), stream);
  stream.synchronize();
  return host;
}

template <class T>
Factors<T> lu_of(Stream& stream, HostMatrix<T> const& a, std::string_view row) {
  DeviceMatrix<T> matrix(stream, a);
  std::vector<std::int32_t> pivots(static_cast<std::size_t>(a.rows), -1);
  Buffer<std::int32_t> device_pivots(stream, MemorySpace::device, pivots.size());
  Buffer<std::int32_t> status(stream, MemorySpace::device, 1);
  factorize::lu(stream, matrix.view(), device_pivots.span(), status.span(), {row});
  copy_async(std::span(pivots), device_pivots.span(), stream);
  stream.synchronize();
  return {matrix.back(), pivots, fetch(status, stream)};
}

/// `pivots` are those of rows that stay where they are.
template <class T>
Factors<T> lu_unpivoted_of(Stream& stream, HostMatrix<T> const& a, std::string_view row,
                           std::function<bool(std::int64_t)> const& go_on = {}) {
  DeviceMatrix<T> matrix(stream, a);
  std::vector<std::int32_t> pivots(static_cast<std::size_t>(a.rows));
  std::iota(pivots.begin(), pivots.end(), 0);
  Buffer<std::int32_t> status(stream, MemorySpace::device, 1);
  factorize::lu_unpivoted(stream, matrix.view(), status.span(), {row}, go_on);
  return {matrix.back(), pivots, fetch(status, stream)};
}

template <class T>
Factors<T> cholesky_of(Stream& stream, HostMatrix<T> const& a, std::string_view row) {
  DeviceMatrix<T> matrix(stream, a);
  Buffer<std::int32_t> status(stream, MemorySpace::device, 1);
  factorize::cholesky(stream, matrix.view(), status.span(), {row});
  return {matrix.back(), {}, fetch(status, stream)};
}

/// b made into x by `solve(a, b)` on matrices of the device.
template <class T, class Solve>
HostMatrix<T> solved(Stream& stream, HostMatrix<T> const& a, HostMatrix<T> const& b,
                     Solve const& solve) {
  DeviceMatrix<T> matrix(stream, a), right(stream, b);
  solve(matrix.constant(), right.view());
  return right.back();
}

template <class T>
HostMatrix<T> lu_solved(Stream& stream, Op op, Factors<T> const& lu, HostMatrix<T> const& b,
                        std::string_view row) {
  Buffer<std::int32_t> pivots(stream, MemorySpace::device, lu.pivots.size());
  copy_async(pivots.span(), std::span<std::int32_t const>(lu.pivots), stream);
  return solved(stream, lu.matrix, b, [&](Matrix<T const> a, Matrix<T> right) {
    factorize::lu_solve(stream, op, a, pivots.span(), right, {row});
  });
}

template <class T>
HostMatrix<T> cholesky_solved(Stream& stream, Factors<T> const& l, HostMatrix<T> const& b,
                              std::string_view row) {
  return solved(stream, l.matrix, b, [&](Matrix<T const> a, Matrix<T> right) {
    factorize::cholesky_solve(stream, a, right, {row});
  });
}

/// Calls `body(name)` for every row of the stream's backend whose library this machine has.
template <class T, class Body>
void for_each_row(Stream& stream, Body const& body) {
  for (auto const& row : factorize::variants<T>()) {
    if (row.backend != stream.backend() || !has_library_of(row.name)) continue;
    SCOPED_TRACE(std::string(row.name) + (sizeof(T) == 4 ? ", float32" : ", float64"));
    body(row.name);
  }
}

// ------------------------------------------------------------------------------------------ bounds

/// Numbers whose rounding does not matter beside that of T.
template <class T>
using Exact = std::conditional_t<std::is_same_v<T, float>, double, long double>;

/// The rows of an n x n matrix to be looked at: all of a small one.
inline std::vector<std::int64_t> rows_to_check(std::int64_t n) {
  std::vector<std::int64_t> rows;
  for (std::int64_t i = 0; i < n; i += 1 + n / 40) rows.push_back(i);
  if (n > 0 && rows.back() != n - 1) rows.push_back(n - 1);
  return rows;
}

/// The largest |M − L·U|_ij / (n·ε·(|L|·|U|)_ij), which is to be at most 1 (theorem 9.3, and 10.3
/// for the Cholesky factorization): `l(i, k)` and `u(k, j)` for k ≤ min(i, j), `m(i, j)` for
/// j ≤ `last(i)`.
template <class T, class L, class U, class M, class Last>
double product_error(std::int64_t n, L const& l, U const& u, M const& m, Last const& last) {
  using Number = Exact<T>;
  Number worst = 0;
  for (auto const i : rows_to_check(n))
    for (std::int64_t j = 0; j <= last(i); ++j) {
      Number product = 0, magnitude = 0;
      for (std::int64_t k = 0; k <= std::min(i, j); ++k) {
        Number const term = static_cast<Number>(l(i, k)) * static_cast<Number>(u(k, j));
        product += term;
        magnitude += std::abs(term);
      }
      Number const error = std::abs(static_cast<Number>(m(i, j)) - product);
      if (std::isnan(error)) return std::numeric_limits<double>::quiet_NaN();
      if (error == 0) continue;
      Number const epsilon = std::numeric_limits<T>::epsilon();
      worst = std::max(worst, error / (static_cast<Number>(n) * epsilon * magnitude));
    }
  return static_cast<double>(worst);
}

template <class T>
double lu_error(HostMatrix<T> const& a, Factors<T> const& lu) {
  std::vector<std::int64_t> row(static_cast<std::size_t>(a.rows));
  for (std::size_t i = 0; i < row.size(); ++i) row[i] = static_cast<std::int64_t>(i);
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (lu.pivots[i] < static_cast<int>(i) || lu.pivots[i] >= a.rows)
      return std::numeric_limits<double>::quiet_NaN();
    std::swap(row[i], row[static_cast<std::size_t>(lu.pivots[i])]);
  }
  auto const& f = lu.matrix;
  return product_error<T>(
      a.rows, [&](auto i, auto k) { return i == k ? T(1) : f(i, k); },
      [&](auto k, auto j) { return f(k, j); },
      [&](auto i, auto j) { return a(row[static_cast<std::size_t>(i)], j); },
      [&](auto) { return a.rows - 1; });
}

template <class T>
double cholesky_error(HostMatrix<T> const& a, Factors<T> const& l) {
  auto const& f = l.matrix;
  return product_error<T>(
      a.rows, f, [&](auto k, auto j) { return f(j, k); }, a, [](auto i) { return i; });
}

/// ‖b − op(A)·x‖∞ / (‖op(A)‖∞·‖x‖∞ + ‖b‖∞), the largest of a column.
template <class T>
double backward_error(HostMatrix<T> const& a, Op op, HostMatrix<T> const& x,
                      HostMatrix<T> const& b) {
  using Number = Exact<T>;
  std::vector<Number> residual(static_cast<std::size_t>(x.columns)), largest_x = residual,
                                                                     largest_b = residual;
  Number norm = 0;
  auto const raise = [](Number& most, Number value) {
    if (!(std::abs(value) <= most)) most = std::abs(value);
  };
  std::vector<Number> rest(residual.size());
  for (std::int64_t i = 0; i < b.rows; ++i) {
    Number sum = 0;
    for (std::size_t c = 0; c < rest.size(); ++c) {
      rest[c] = b(i, static_cast<std::int64_t>(c));
      raise(largest_x[c], x(i, static_cast<std::int64_t>(c)));
      raise(largest_b[c], rest[c]);
    }
    for (std::int64_t k = 0; k < b.rows; ++k) {
      Number const element = op == Op::none ? a(i, k) : a(k, i);
      sum += std::abs(element);
      for (std::size_t c = 0; c < rest.size(); ++c)
        rest[c] -= element * x(k, static_cast<std::int64_t>(c));
    }
    norm = std::max(norm, sum);
    for (std::size_t c = 0; c < rest.size(); ++c) raise(residual[c], rest[c]);
  }
  Number worst = 0;
  for (std::size_t c = 0; c < rest.size(); ++c)
    if (residual[c] != 0) raise(worst, residual[c] / (norm * largest_x[c] + largest_b[c]));
  return static_cast<double>(worst);
}

/// What every solve has to reach.
template <class T>
double backward_bound(std::int64_t n) {
  return 50 * static_cast<double>(n) * std::numeric_limits<T>::epsilon();
}

/// Rows without gaps, or with gaps that leave hardly a row aligned.
inline std::int64_t gap_for(std::int64_t n) { return n % 4 < 2 ? 0 : n % 2 == 0 ? 3 : 2; }

}  // namespace gridstride::test

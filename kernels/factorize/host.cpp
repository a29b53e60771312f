// Factorizations and solves on the host.
//
// `reference` is the textbook's: LU a column at a time, right-looking, Cholesky and substitution a
// row at a time: the oracle.
// `lapack` is LAPACK as OpenBLAS has it, whose matrices are column-major. A row-major matrix is its
// transpose there. LU with exchanges of rows needs a transposed copy; the lower triangle of a
// symmetric matrix is the upper one of the same matrix; and the solves are those of CBLAS, which
// takes row-major matrices.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/buffer.hpp"
#include "kernels/factorize/rows.hpp"
#include "kernels/support/openblas.hpp"
#include "kernels/support/parallel_for.hpp"

namespace gridstride::factorize {

namespace {

template <class T>
T* row(Matrix<T> const& m, std::int64_t i) {
  return m.data + i * m.leading;
}

template <class T>
void exchange_rows(Matrix<T> const& m, std::int64_t i, std::int64_t k) {
  if (i != k) std::swap_ranges(row(m, i), row(m, i) + m.columns, row(m, k));
}

/// The status of a factorization whose diagonal is in `a`: of the first pivot that is not `good`.
template <class T, class Good>
std::int32_t status_of(Matrix<T> const& a, Good const& good) {
  for (std::int64_t i = 0; i < a.rows; ++i)
    if (!good(row(a, i)[i])) return static_cast<std::int32_t>(i + 1);
  return 0;
}

/// Solves with the factors of LU, by a `solve(triangle, op, diagonal, a, b)` with one triangle.
template <class T, class Solve>
void solve_lu(Arguments<T> const& w, Solve const& solve) {
  auto const exchange = [&](std::int64_t i) { exchange_rows(w.b, i, w.pivots[i]); };
  if (w.op == Op::none) {
    for (std::int64_t i = 0; i < w.a.rows; ++i) exchange(i);
    solve(Triangle::lower, Op::none, Diagonal::unit, w.a, w.b);
    solve(Triangle::upper, Op::none, Diagonal::general, w.a, w.b);
  } else {
    solve(Triangle::upper, Op::transpose, Diagonal::general, w.a, w.b);
    solve(Triangle::lower, Op::transpose, Diagonal::unit, w.a, w.b);
    for (std::int64_t i = w.a.rows; i-- > 0;) exchange(i);
  }
}

template <class T, class Solve>
void solve_cholesky(Arguments<T> const& w, Solve const& solve) {
  solve(Triangle::lower, Op::none, Diagonal::general, w.a, w.b);
  solve(Triangle::lower, Op::transpose, Diagonal::general, w.a, w.b);
}

// -------------------------------------------------------------------------------------- reference

template <class T>
bool is_pivot(T value) {
  return value != 0 && !std::isnan(value);
}

/// Subtracts the multiples of row i from those below that make their column i vanish.
template <class T>
void eliminate(Matrix<T> const& a, std::int64_t i) {
  T const* const pivot_row = row(a, i);
  if (!is_pivot(pivot_row[i])) return;
  for (std::int64_t k = i + 1; k < a.rows; ++k) {
    T* const below = row(a, k);
    below[i] /= pivot_row[i];
    for (std::int64_t j = i + 1; j < a.columns; ++j) below[j] -= below[i] * pivot_row[j];
  }
}

template <class T>
void factor_lu(Matrix<T> const& a, std::int32_t* pivots) {
  for (std::int64_t i = 0; i < a.rows; ++i) {
    std::int64_t largest = i;
    for (std::int64_t k = i + 1; k < a.rows; ++k)
      if (std::abs(row(a, k)[i]) > std::abs(row(a, largest)[i])) largest = k;
    pivots[i] = static_cast<std::int32_t>(largest);
    exchange_rows(a, i, largest);
    eliminate(a, i);
  }
}

template <class T>
void factor_lu_unpivoted(Arguments<T> const& w) {
  constexpr std::int64_t panel = 256;
  for (std::int64_t i = 0; i < w.a.rows; ++i) {
    eliminate(w.a, i);
    if (i + 1 != panel || i + 1 == w.a.rows || !w.go_on) continue;
    *w.status = status_of(w.a.block(0, 0, panel, panel), is_pivot<T>);
    if (!w.go_on(panel)) return;
  }
  *w.status = status_of(w.a, is_pivot<T>);
}

/// Row by row. Ends at the first pivot that is not positive, and leaves it in its place.
template <class T>
void factor_cholesky(Matrix<T> const& a) {
  for (std::int64_t i = 0; i < a.rows; ++i) {
    for (std::int64_t j = 0; j <= i; ++j) {
      T rest = row(a, i)[j];
      for (std::int64_t k = 0; k < j; ++k) rest -= row(a, i)[k] * row(a, j)[k];
      row(a, i)[j] = j < i ? rest / row(a, j)[j] : rest;
    }
    T& pivot = row(a, i)[i];
    if (!(pivot > 0)) return;
    pivot = std::sqrt(pivot);
  }
}

template <class T>
void substitute(Triangle triangle, Op op, Diagonal diagonal, Matrix<T> const& a,
                Matrix<T> const& b) {
  bool const forward = (triangle == Triangle::lower) == (op == Op::none);
  auto const element = [&](std::int64_t i, std::int64_t j) {
    return op == Op::none ? row(a, i)[j] : row(a, j)[i];
  };
  for (std::int64_t step = 0; step < a.rows; ++step) {
    auto const place = [&](std::int64_t k) { return forward ? k : a.rows - 1 - k; };
    std::int64_t const i = place(step);
    T* const x = row(b, i);
    for (std::int64_t known = 0; known < step; ++known) {
      T const factor = element(i, place(known));
      T const* const y = row(b, place(known));
      for (std::int64_t c = 0; c < b.columns; ++c) x[c] -= factor * y[c];
    }
    if (diagonal == Diagonal::general)
      for (std::int64_t c = 0; c < b.columns; ++c) x[c] /= element(i, i);
  }
}

}  // namespace

template <class T>
void host_reference(Stream&, Arguments<T> const& w) {
  switch (w.task) {
    case Task::lu:
      factor_lu(w.a, w.pivots);
      *w.status = status_of(w.a, is_pivot<T>);
      return;
    case Task::lu_unpivoted:
      return factor_lu_unpivoted(w);
    case Task::cholesky:
      factor_cholesky(w.a);
      *w.status = status_of(w.a, [](T pivot) { return pivot > 0; });
      return;
    case Task::lu_solve:
      return solve_lu(w, substitute<T>);
    case Task::cholesky_solve:
      return solve_cholesky(w, substitute<T>);
    case Task::triangular_solve:
      return substitute(w.triangle, w.op, w.diagonal, w.a, w.b);
  }
}

// ----------------------------------------------------------------------------------------- lapack

namespace {

template <class T>
constexpr bool is_double = std::is_same_v<T, double>;

/// The library counts in int.
int to_int(std::int64_t size) {
  if (size > std::numeric_limits<int>::max())
    throw std::invalid_argument(
        fmt::format("factorize: lapack takes no size or leading dimension of {}", size));
  return static_cast<int>(size);
}

/// target(j, i) = source(i, j), in squares that stay in a near cache.
template <class T>
void transpose(Matrix<T> const& source, Matrix<T> const& target) {
  constexpr std::int64_t side = 32;
  parallel_for((source.rows + side - 1) / side, side * source.columns, [&](std::int64_t band) {
    std::int64_t const last = std::min(source.rows, (band + 1) * side);
    for (std::int64_t first = 0; first < source.columns; first += side)
      for (std::int64_t i = band * side; i < last; ++i)
        for (std::int64_t j = first; j < std::min(source.columns, first + side); ++j)
          row(target, j)[i] = row(source, i)[j];
  });
}

template <class T>
void lapack_lu(Matrix<T> const& a, std::int32_t* pivots) {
  using Getrf =
      void(int const* rows, int const* columns, T* a, int const* leading, int* pivots, int* info);
  static auto* const getrf = openblas().function<Getrf>(is_double<T> ? "dgetrf_" : "sgetrf_");
  Stream const host(Device::open(Backend::cpu));
  Buffer<T> memory(host, MemorySpace::host, static_cast<std::size_t>(a.rows * a.columns));
  Matrix<T> const by_columns(memory.data(), a.columns, a.rows);
  transpose(a, by_columns);
  int const n = to_int(a.rows);
  int info = 0;
  getrf(&n, &n, memory.data(), &n, pivots, &info);
  transpose(by_columns, a);
  for (int i = 0; i < n; ++i) --pivots[i];  // it counts from 1
}

/// The first pivot that is not positive, counted from 1, or 0.
template <class T>
std::int32_t lapack_cholesky(Matrix<T> const& a) {
  using Potrf = void(char const* triangle, int const* n, T* a, int const* leading, int* info);
  static auto* const potrf = openblas().function<Potrf>(is_double<T> ? "dpotrf_" : "spotrf_");
  int const n = to_int(a.rows), leading = to_int(a.leading);
  int info = 0;
  potrf("U", &n, a.data, &leading, &info);
  // It goes on after a pivot that is not a number.
  auto const spoiled = status_of(a, [](T pivot) { return pivot > 0; });
  return info > 0 && (spoiled == 0 || info < spoiled) ? info : spoiled;
}

template <class T>
void lapack_substitute(Triangle triangle, Op op, Diagonal diagonal, Matrix<T> const& a,
                       Matrix<T> const& b) {
  enum Cblas { row_major = 101, no_transpose = 111, transposed = 112, upper = 121, lower = 122 };
  enum CblasMore { non_unit = 131, unit = 132, left = 141 };
  using Trsm = void(int order, int side, int triangle, int op, int diagonal, int rows, int columns,
                    T alpha, T const* a, int lda, T* b, int ldb);
  static auto* const trsm = openblas().function<Trsm>(is_double<T> ? "cblas_dtrsm" : "cblas_strsm");
  trsm(row_major, left, triangle == Triangle::lower ? lower : upper,
       op == Op::none ? no_transpose : transposed, diagonal == Diagonal::unit ? unit : non_unit,
       to_int(b.rows), to_int(b.columns), T(1), a.data, to_int(a.leading), b.data,
       to_int(b.leading));
}

}  // namespace

bool lapack_available() { return openblas().available(); }

template <class T>
void host_lapack(Stream&, Arguments<T> const& w) {
  switch (w.task) {
    case Task::lu:
      lapack_lu(w.a, w.pivots);
      *w.status = status_of(w.a, is_pivot<T>);
      return;
    case Task::lu_unpivoted:
      return factor_lu_unpivoted(w);
    case Task::cholesky:
      *w.status = lapack_cholesky(w.a);
      return;
    case Task::lu_solve:
      return solve_lu(w, lapack_substitute<T>);
    case Task::cholesky_solve:
      return solve_cholesky(w, lapack_substitute<T>);
    case Task::triangular_solve:
      return lapack_substitute(w.triangle, w.op, w.diagonal, w.a, w.b);
  }
}

#define GRIDSTRIDE_INSTANTIATE(T)                             \
  template void host_reference(Stream&, Arguments<T> const&); \
  template void host_lapack(Stream&, Arguments<T> const&);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::factorize

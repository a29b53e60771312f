// Matrix products on the host.
//
// `reference` is the definition: each element of C is a sum of k products, in order. The oracle.
//
// `threads` cuts C into blocks that are shared among the threads, and k into pieces. For each piece
// the parts of op(A) and op(B) are copied in the order in which they are used, so that they come
// from the caches with stride one whatever op and leading dimension are. The innermost loops keep
// `tile_rows` x `tile_columns` elements of C in registers and add one product to each per step; the
// compiler makes vectors of a row's columns. Every element's products are added in order within a
// piece of k, and the pieces in order, so that the bits do not depend on the number of threads.
// K. Goto and R. A. van de Geijn, "Anatomy of high-performance matrix multiplication", ACM
// Transactions on Mathematical Software 34 (2008).
//
// `openblas` calls the library of that name.

#include <algorithm>
#include <limits>
#include <vector>

#include "kernels/matmul/element.hpp"
#include "kernels/matmul/rows.hpp"
#include "kernels/support/openblas.hpp"
#include "kernels/support/parallel_for.hpp"
#include "kernels/support/vector_widths.hpp"

namespace gridstride::matmul {

template <class T>
void host_reference(Stream&, Arguments<T> const& x) {
  auto const a = strided(x.op_a, x.a, x.lda);
  auto const b = strided(x.op_b, x.b, x.ldb);
  for (std::int64_t i = 0; i < x.m; ++i)
    for (std::int64_t j = 0; j < x.n; ++j) {
      T sum = 0;
      for (std::int64_t p = 0; p < x.k; ++p) sum += a(i, p) * b(p, j);
      T* const c = x.c + i * x.ldc + j;
      *c = combine(x.alpha, sum, x.beta, c);
    }
}

// -------------------------------------------------------------------------------------- threads

namespace {

/// A tile of C that the registers hold: its rows are two vectors of the widest kind.
constexpr int tile_rows = 6;
template <class T>
constexpr int tile_columns = 128 / sizeof(T);
/// A block of C that a thread takes at a time, and the piece of k for which the parts of op(A) and
/// op(B) stay in a core's caches.
constexpr std::int64_t block_rows = 24 * tile_rows;
template <class T>
constexpr std::int64_t block_columns = 4 * tile_columns<T>;
constexpr std::int64_t block_depth = 256;

constexpr std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

/// Copies `rows` x `depth` elements in strips of `strip` rows, each strip column by column. Rows
/// that fill up the last strip are zero.
template <class T>
void pack(Strided<T> const& from, std::int64_t rows, std::int64_t depth, int strip, T* to) {
  for (std::int64_t first = 0; first < rows; first += strip, to += strip * depth) {
    int const there = static_cast<int>(std::min<std::int64_t>(strip, rows - first));
    for (std::int64_t p = 0; p < depth; ++p) {
      T* const column = to + p * strip;
      for (int i = 0; i < there; ++i) column[i] = from(first + i, p);
      std::fill(column + there, column + strip, T(0));
    }
  }
}

/// tile = the product of a strip of op(A) and one of op(B).
template <class T>
GRIDSTRIDE_VECTOR_WIDTHS void multiply_strips(T const* a, T const* b, std::int64_t depth,
                                              T (&tile)[tile_rows][tile_columns<T>]) {
  constexpr int columns = tile_columns<T>;
  T sums[tile_rows][columns] = {};
  for (std::int64_t p = 0; p < depth; ++p, a += tile_rows, b += columns)
    for (int i = 0; i < tile_rows; ++i)
#pragma omp simd
      for (int j = 0; j < columns; ++j) sums[i][j] += a[i] * b[j];
  for (int i = 0; i < tile_rows; ++i) std::copy_n(sums[i], columns, tile[i]);
}

/// The block of C that begins at (i, j).
template <class T>
void multiply_block(Arguments<T> const& x, std::int64_t i, std::int64_t j) {
  constexpr int columns = tile_columns<T>;
  auto const a = strided(x.op_a, x.a, x.lda);
  auto const b = strided(x.op_b, x.b, x.ldb);
  std::int64_t const m = std::min(block_rows, x.m - i);
  std::int64_t const n = std::min(block_columns<T>, x.n - j);
  std::int64_t const most = std::min(block_depth, x.k);
  std::vector<T> a_strips(round_up(m, tile_rows) * most), b_strips(round_up(n, columns) * most);
  T tile[tile_rows][columns];
  for (std::int64_t p = 0; p < x.k; p += block_depth) {
    std::int64_t const depth = std::min(block_depth, x.k - p);
    T const beta = p == 0 ? x.beta : T(1);
    pack<T>({a.at(i, p), a.row, a.column}, m, depth, tile_rows, a_strips.data());
    pack<T>(transposed<T>({b.at(p, j), b.row, b.column}), n, depth, columns, b_strips.data());
    for (std::int64_t s = 0; s < n; s += columns)
      for (std::int64_t r = 0; r < m; r += tile_rows) {
        multiply_strips(&a_strips[r * depth], &b_strips[s * depth], depth, tile);
        for (std::int64_t u = 0; u < std::min<std::int64_t>(tile_rows, m - r); ++u)
          for (std::int64_t v = 0; v < std::min<std::int64_t>(columns, n - s); ++v) {
            T* const c = x.c + (i + r + u) * x.ldc + j + s + v;
            *c = combine(x.alpha, tile[u][v], beta, c);
          }
      }
  }
}

}  // namespace

template <class T>
void host_threads(Stream&, Arguments<T> const& x) {
  std::int64_t const across = (x.n + block_columns<T> - 1) / block_columns<T>;
  std::int64_t const down = (x.m + block_rows - 1) / block_rows;
  // Of a whole block, as vectors do it.
  std::int64_t const work = std::min(block_rows, x.m) * std::min(block_columns<T>, x.n) * x.k / 8;
  parallel_for(across * down, work, [&](std::int64_t block) {
    multiply_block(x, block / across * block_rows, block % across * block_columns<T>);
  });
}

// ------------------------------------------------------------------------------------- openblas

namespace {

/// cblas_sgemm, cblas_dgemm.
template <class T>
using Gemm = void(int order, int op_a, int op_b, int m, int n, int k, T alpha, T const* a, int lda,
                  T const* b, int ldb, T beta, T* c, int ldc);

}  // namespace

bool openblas_available() { return openblas().available(); }

template <class T>
bool openblas_takes(Arguments<T> const& x) {
  return openblas_available() &&
         std::max({x.m, x.n, x.k, x.lda, x.ldb, x.ldc}) <= std::numeric_limits<int>::max();
}

template <class T>
void host_openblas(Stream&, Arguments<T> const& x) {
  static auto* const gemm =
      openblas().function<Gemm<T>>(sizeof(T) == sizeof(float) ? "cblas_sgemm" : "cblas_dgemm");
  if (!openblas_takes(x))
    throw std::invalid_argument("multiply: openblas counts rows and columns in 32 bits");
  static constexpr int row_major = 101, none = 111, transpose = 112;
  auto const code = [](Op op) { return op == Op::none ? none : transpose; };
  auto const size = [](std::int64_t value) { return static_cast<int>(value); };
  gemm(row_major, code(x.op_a), code(x.op_b), size(x.m), size(x.n), size(x.k), x.alpha, x.a,
       size(x.lda), x.b, size(x.ldb), x.beta, x.c, size(x.ldc));
}

#define GRIDSTRIDE_INSTANTIATE(T)                             \
  template void host_reference(Stream&, Arguments<T> const&); \
  template void host_threads(Stream&, Arguments<T> const&);   \
  template void host_openblas(Stream&, Arguments<T> const&);  \
  template bool openblas_takes(Arguments<T> const&);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::matmul

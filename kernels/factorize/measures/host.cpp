// The host's part of the measures: strips of columns or rows are shared among the threads and cut
// the same way whatever their number, so that the bits do not depend on it.

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/factorize/measures/parts.hpp"
#include "kernels/support/parallel_for.hpp"

namespace gridstride::factorize {

template <class T>
MatrixNorms host_matrix_norms(Stream&, Matrix<T const> const& a) {
  constexpr std::int64_t width = 512;
  std::int64_t const strips = (a.columns + width - 1) / width;
  auto const rows = static_cast<std::size_t>(a.rows);
  std::vector<double> of_rows(rows), of_columns(static_cast<std::size_t>(a.columns));
  std::vector<double> maxima(static_cast<std::size_t>(strips));
  std::vector<double> parts(static_cast<std::size_t>(strips) * rows);  // of rows, in each strip
  parallel_for(strips, width * a.rows, [&](std::int64_t strip) {
    std::int64_t const first = strip * width, last = std::min(first + width, a.columns);
    double maximum = 0;
    for (std::int64_t i = 0; i < a.rows; ++i) {
      T const* const row = a.data + i * a.leading;
      double sum = 0;
#pragma omp simd reduction(+ : sum) reduction(max : maximum)
      for (std::int64_t j = first; j < last; ++j) {
        double const magnitude = std::abs(static_cast<double>(row[j]));
        sum += magnitude;
        of_columns[j] += magnitude;
        maximum = std::max(maximum, magnitude);
      }
      parts[strip * a.rows + i] = sum;
    }
    maxima[strip] = maximum;
  });
  for (std::int64_t strip = 0; strip < strips; ++strip)
    for (std::int64_t i = 0; i < a.rows; ++i) of_rows[i] += parts[strip * a.rows + i];
  return {largest(of_columns), largest(of_rows), largest(maxima)};
}

template <class T>
std::vector<double> host_triangle_maxima(Stream&, Matrix<T const> const& a, Triangle triangle) {
  std::vector<double> maxima(static_cast<std::size_t>(a.rows));
  parallel_for(a.rows, a.columns, [&](std::int64_t i) {
    TriangleRow const row(triangle, i, a.columns);
    for (std::int64_t j = row.begin; j < row.end; ++j)
      maxima[i] = larger(maxima[i], ColumnNorms::magnitude(a.data[i * a.leading + j]));
  });
  return maxima;
}

template <class T>
std::vector<ColumnNorms> host_column_norms(Stream&, Matrix<T const> const& product,
                                           Matrix<T const> const& x, Matrix<T const> const& b) {
  std::vector<ColumnNorms> norms(static_cast<std::size_t>(b.columns));
  constexpr std::int64_t width = 32;
  parallel_for((b.columns + width - 1) / width, 4 * width * b.rows, [&](std::int64_t strip) {
    std::int64_t const last = std::min((strip + 1) * width, b.columns);
    for (std::int64_t i = 0; i < b.rows; ++i)
      for (std::int64_t j = strip * width; j < last; ++j) {
        double const right = b.data[i * b.leading + j];
        double const left = product.data[i * product.leading + j];
        norms[j].take(right - left, x.data[i * x.leading + j], right);
      }
  });
  return norms;
}

#define GRIDSTRIDE_INSTANTIATE(T)                                                               \
  template MatrixNorms host_matrix_norms(Stream&, Matrix<T const> const&);                      \
  template std::vector<double> host_triangle_maxima(Stream&, Matrix<T const> const&, Triangle); \
  template std::vector<ColumnNorms> host_column_norms(                                          \
      Stream&, Matrix<T const> const&, Matrix<T const> const&, Matrix<T const> const&);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::factorize

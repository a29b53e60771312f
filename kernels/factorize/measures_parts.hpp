#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/host_device.hpp"
#include "core/stream.hpp"
#include "kernels/factorize/measures.hpp"
#include "kernels/support/matrix.hpp"

/// What measures.cpp asks of the backends; for the family's own files only. Results are in host
/// memory, and what makes them has waited for them.
namespace gridstride::factorize {

/// The larger one, or the one that is not a number.
GRIDSTRIDE_HOST_DEVICE constexpr double larger(double a, double b) {
  return a != a || b <= a ? a : b;
}

/// The largest of the values, which are not negative, or NaN where there is one.
inline double largest(std::span<double const> values) {
  double result = 0;
  for (double const value : values) result = larger(result, value);
  return result;
}

/// `maximum` may be a number where the matrix holds NaN; the sums are not.
template <class T>
MatrixNorms host_matrix_norms(Stream&, Matrix<T const> const& a);
template <class T>
MatrixNorms cuda_matrix_norms(Stream&, Matrix<T const> const& a);

/// The columns of row i that belong to a triangle: the upper one begins at the diagonal, the lower
/// one ends before it.
struct TriangleRow {
  std::int64_t begin, end;

  GRIDSTRIDE_HOST_DEVICE TriangleRow(Triangle triangle, std::int64_t i, std::int64_t columns)
      : begin(triangle == Triangle::upper ? i : 0),
        end(triangle == Triangle::upper || i > columns ? columns : i) {}
};

/// The largest magnitudes of parts of a triangle: NaN where there is one.
template <class T>
std::vector<double> host_triangle_maxima(Stream&, Matrix<T const> const& a, Triangle triangle);
template <class T>
std::vector<double> cuda_triangle_maxima(Stream&, Matrix<T const> const& a, Triangle triangle);

/// Of one column of x, b and their residual: the largest magnitudes, and a sum.
struct ColumnNorms {
  double residual_squares;
  double residual;
  double x;
  double b;

  GRIDSTRIDE_HOST_DEVICE constexpr void take(double residual_value, double x_value,
                                             double b_value) {
    combine({residual_value * residual_value, magnitude(residual_value), magnitude(x_value),
             magnitude(b_value)});
  }
  GRIDSTRIDE_HOST_DEVICE constexpr void combine(ColumnNorms const& other) {
    residual_squares += other.residual_squares;
    residual = larger(residual, other.residual);
    x = larger(x, other.x);
    b = larger(b, other.b);
  }
  GRIDSTRIDE_HOST_DEVICE static constexpr double magnitude(double value) {
    return value < 0 ? -value : value;
  }
};
/// The norms of each column; `product` is A·x.
template <class T>
std::vector<ColumnNorms> column_norms(Stream& stream, Matrix<T const> product, Matrix<T const> x,
                                      Matrix<T const> b);
template <class T>
std::vector<ColumnNorms> host_column_norms(Stream&, Matrix<T const> const& product,
                                           Matrix<T const> const& x, Matrix<T const> const& b);
template <class T>
std::vector<ColumnNorms> cuda_column_norms(Stream&, Matrix<T const> const& product,
                                           Matrix<T const> const& x, Matrix<T const> const& b);

}  // namespace gridstride::factorize

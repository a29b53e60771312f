#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/host_device.hpp"
#include "core/stream.hpp"
#include "kernels/factorize/measures/measures.hpp"
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

/// Of one column of x, b and their residual: the largest magnitudes, and a sum of squares in units
/// of the largest one, which neither overflows nor vanishes.
struct ColumnNorms {
  double residual_squares;  ///< Σ (r_i/residual)²
  double residual;
  double x;
  double b;

  GRIDSTRIDE_HOST_DEVICE constexpr void take(double residual_value, double x_value,
                                             double b_value) {
    combine({1, magnitude(residual_value), magnitude(x_value), magnitude(b_value)});
  }
  GRIDSTRIDE_HOST_DEVICE constexpr void combine(ColumnNorms const& other) {
    double const unit = larger(residual, other.residual);
    residual_squares = squares_in(unit) + other.squares_in(unit);
    residual = unit;
    x = larger(x, other.x);
    b = larger(b, other.b);
  }
  GRIDSTRIDE_HOST_DEVICE static constexpr double magnitude(double value) {
    return value < 0 ? -value : value;
  }

 private:
  GRIDSTRIDE_HOST_DEVICE constexpr double squares_in(double unit) const {
    if (residual == 0) return 0;
    double const share = residual / unit;
    return residual_squares * share * share;
  }
};
/// ‖b − A·x‖₂ of a column.
double residual_norm(ColumnNorms const& column);
/// ‖b − A·x‖∞ / (‖A‖∞·‖x‖∞ + ‖b‖∞) of a column, also where the denominator is beyond float64.
double backward_error(ColumnNorms const& column, double norm_infinity);
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

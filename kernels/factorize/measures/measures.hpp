#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "core/stream.hpp"
#include "kernels/factorize/factorize.hpp"
#include "kernels/support/matrix.hpp"

/// What tells how good a solution of a linear system is. T is float or double; matrices are
/// row-major in the stream's device memory. These wait for their results.
namespace gridstride::factorize {

/// Norms of a matrix: NaN where it holds one.
struct MatrixNorms {
  double one = 0;       ///< largest column sum of magnitudes
  double infinity = 0;  ///< largest row sum of magnitudes
  double maximum = 0;   ///< largest magnitude
};
template <class T>
MatrixNorms matrix_norms(Stream& stream, Matrix<T const> a);

/// The largest magnitude of the upper triangle, the diagonal included: of U, where A holds LU.
template <class T>
double upper_triangle_maximum(Stream& stream, Matrix<T const> a);

/// The largest magnitude strictly below the diagonal: of L's multipliers, where A holds LU.
template <class T>
double lower_triangle_maximum(Stream& stream, Matrix<T const> a);

/// Of A·x = b, one column or several.
struct SolutionErrors {
  double residual_norm = 0;  ///< largest ‖b − A·x‖₂ of a column
  double backward_error = 0;  ///< largest ‖b − A·x‖∞ / (‖A‖∞·‖x‖∞ + ‖b‖∞) of a column
};
template <class T>
SolutionErrors solution_errors(Stream& stream, Matrix<T const> a, double norm_infinity,
                               Matrix<T const> x, Matrix<T const> b);

/// An estimate of the condition number ‖A‖₁·‖A⁻¹‖₁ from A's factors, almost always within a factor
/// of 3 below it: Hager's method as in LAPACK's xGECON (Higham, "Accuracy and Stability of
/// Numerical Algorithms", 2nd ed., algorithm 15.4). A dozen solves.
template <class T>
double lu_condition_estimate(Stream& stream, Matrix<T const> lu,
                             std::span<std::int32_t const> pivots, double norm_one,
                             Variants const& variants = {});
template <class T>
double cholesky_condition_estimate(Stream& stream, Matrix<T const> l, double norm_one,
                                   Variants const& variants = {});

}  // namespace gridstride::factorize

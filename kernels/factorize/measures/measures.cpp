#include "kernels/factorize/measures/measures.hpp"

#include <fmt/format.h>

#include <cmath>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "core/buffer.hpp"
#include "kernels/factorize/measures/parts.hpp"
#include "kernels/matmul/matmul.hpp"

namespace gridstride::factorize {

namespace {

/// The function of the stream's backend; that of the GPU is null in a build without CUDA, which has
/// no such streams.
template <class Function>
Function* of_backend(Stream& stream, Function* host, std::type_identity_t<Function>* cuda) {
  return stream.backend() == Backend::cpu ? host : cuda;
}

template <class T>
double triangle_maximum(Stream& stream, Matrix<T const> const& a, Triangle triangle) {
  if (a.empty()) return 0;
  auto* const maxima_of =
      of_backend(stream, host_triangle_maxima<T>, GRIDSTRIDE_CUDA_ROW(cuda_triangle_maxima<T>));
  return largest(maxima_of(stream, a, triangle));
}

}  // namespace

template <class T>
MatrixNorms matrix_norms(Stream& stream, Matrix<T const> a) {
  if (a.empty()) return {};
  auto* const norms_of =
      of_backend(stream, host_matrix_norms<T>, GRIDSTRIDE_CUDA_ROW(cuda_matrix_norms<T>));
  auto norms = norms_of(stream, a);
  // Magnitudes that are numbers have a sum that is one.
  if (std::isnan(norms.infinity)) norms.maximum = norms.infinity;
  return norms;
}

template <class T>
double upper_triangle_maximum(Stream& stream, Matrix<T const> a) {
  return triangle_maximum(stream, a, Triangle::upper);
}

template <class T>
double lower_triangle_maximum(Stream& stream, Matrix<T const> a) {
  return triangle_maximum(stream, a, Triangle::lower);
}

template <class T>
std::vector<ColumnNorms> column_norms(Stream& stream, Matrix<T const> product, Matrix<T const> x,
                                      Matrix<T const> b) {
  auto* const norms_of =
      of_backend(stream, host_column_norms<T>, GRIDSTRIDE_CUDA_ROW(cuda_column_norms<T>));
  return norms_of(stream, product, x, b);
}

double residual_norm(ColumnNorms const& column) {
  return std::isfinite(column.residual) ? column.residual * std::sqrt(column.residual_squares)
                                        : column.residual;
}

double backward_error(ColumnNorms const& column, double norm_infinity) {
  if (column.residual == 0) return 0;
  // An infinite denominator would make any residual a perfect one.
  auto const size = static_cast<long double>(norm_infinity) * column.x + column.b;
  return static_cast<double>(column.residual / size);
}

template <class T>
SolutionErrors solution_errors(Stream& stream, Matrix<T const> a, double norm_infinity,
                               Matrix<T const> x, Matrix<T const> b) {
  if (x.rows != a.columns || b.rows != a.rows || x.columns != b.columns)
    throw std::invalid_argument(
        fmt::format("solution_errors: a is {} x {}, x is {} x {}, b is {} x {} (they must fit)",
                    a.rows, a.columns, x.rows, x.columns, b.rows, b.columns));
  if (a.rows != a.columns)
    throw std::invalid_argument(
        fmt::format("solution_errors: a is {} x {} (it must be square)", a.rows, a.columns));
  if (b.empty()) return {};
  Buffer<T> workspace(stream, MemorySpace::device, static_cast<std::size_t>(b.rows * b.columns));
  Matrix<T> const product(workspace.data(), b.rows, b.columns);
  matmul::multiply<T>(stream, 1, a, x, 0, product);
  SolutionErrors errors;
  for (auto const& column : column_norms<T>(stream, product, x, b)) {
    errors.residual_norm = larger(errors.residual_norm, residual_norm(column));
    errors.backward_error = larger(errors.backward_error, backward_error(column, norm_infinity));
  }
  return errors;
}

#define GRIDSTRIDE_INSTANTIATE(T)                                                            \
  template MatrixNorms matrix_norms(Stream&, Matrix<T const>);                               \
  template double upper_triangle_maximum(Stream&, Matrix<T const>);                          \
  template double lower_triangle_maximum(Stream&, Matrix<T const>);                          \
  template std::vector<ColumnNorms> column_norms(Stream&, Matrix<T const>, Matrix<T const>,  \
                                                 Matrix<T const>);                           \
  template SolutionErrors solution_errors(Stream&, Matrix<T const>, double, Matrix<T const>, \
                                          Matrix<T const>);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::factorize

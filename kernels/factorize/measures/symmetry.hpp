#pragma once

#include <cstdint>

#include "core/stream.hpp"
#include "kernels/support/matrix.hpp"

namespace gridstride::factorize {

/// How a square matrix looks to Cholesky's method.
struct Symmetry {
  std::int64_t row = -1;       ///< the first a_ij that is not a_ji, row by row; -1: symmetric
  std::int64_t column = -1;    ///< its column
  std::int64_t diagonal = -1;  ///< the first a_ii that is not positive; -1: all are

  bool symmetric() const { return row < 0; }
};

/// One read of a row-major matrix in the stream's device memory; waits for the result. T is float
/// or double. NaN is no equal of itself. Throws `std::invalid_argument` when it is not square.
template <class T>
Symmetry symmetry(Stream& stream, Matrix<T const> a);

}  // namespace gridstride::factorize

#pragma once

#include <cstdint>
#include <type_traits>

namespace gridstride {

/// op(A) in a matrix product or a solve: A itself, or its transpose.
enum class Op { none, transpose };

/// A view of a row-major matrix: element (i, j) is data[i·leading + j], leading ≥ columns.
template <class T>
struct Matrix {
  T* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t leading = 0;

  Matrix() = default;
  Matrix(T* first, std::int64_t row_count, std::int64_t column_count,
         std::int64_t leading_dimension)
      : data(first), rows(row_count), columns(column_count), leading(leading_dimension) {}
  /// Rows without gaps between them.
  Matrix(T* first, std::int64_t row_count, std::int64_t column_count)
      : Matrix(first, row_count, column_count, column_count) {}

  /// A view for reading of one for writing.
  template <class U>
  requires(std::is_same_v<T, U const> && !std::is_const_v<U>) Matrix(Matrix<U> const& other)
      : Matrix(other.data, other.rows, other.columns, other.leading) {}

  /// The `row_count` by `column_count` elements from (i, j) on.
  Matrix block(std::int64_t i, std::int64_t j, std::int64_t row_count,
               std::int64_t column_count) const {
    return {data + i * leading + j, row_count, column_count, leading};
  }
  bool empty() const { return rows == 0 || columns == 0; }
};

}  // namespace gridstride

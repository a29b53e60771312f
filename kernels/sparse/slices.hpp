#pragma once

#include <cstdint>
#include <vector>

#include "core/csr.hpp"

/// The form of the row `slices`: 32 rows at a time, cut along diagonals.
namespace gridstride::sparse {

/// What 32 neighbouring rows have on one diagonal.
struct Diagonal {
  std::int32_t offset;  ///< column − row
  std::uint32_t rows;   ///< bit i: row i of the slice has an element
};

/// A slice is 32 rows. Its elements lie diagonal after diagonal, in ascending offsets, those of a
/// diagonal in the order of their rows: a thread for each row reads values side by side, and x too.
/// Instead of a column, each element takes 1/32 of a `Diagonal`: 8.25 bytes an element in float64.
template <class T>
struct Slices {
  static constexpr std::int64_t rows_of_slice = 32;
  /// Values of a slice begin at a multiple of 128 bytes.
  static constexpr std::int64_t alignment = 128 / static_cast<std::int64_t>(sizeof(T));

  std::int64_t rows = 0;
  /// Where the diagonals and the values of each slice begin, and where those of the last end.
  struct Begin {
    std::int64_t diagonal, value;
  };
  std::vector<Begin> begins;
  typename Csr<T>::template Array<Diagonal> diagonals;
  typename Csr<T>::template Array<T> values;

  explicit Slices(Csr<T> const& matrix);
};

/// How many diagonals all slices of a matrix have; one more than `most` where there are more.
template <class T>
std::int64_t count_diagonals(Csr<T> const& matrix, std::int64_t most);

/// Whether the form is smaller than the rows are, and warps have work for most of their threads.
template <class T>
bool suits_slices(Csr<T> const& matrix);

}  // namespace gridstride::sparse

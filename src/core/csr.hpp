#pragma once

#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace gridstride {

/// Leaves the elements of a vector that grows as they are in memory: many threads then fill what
/// would take one thread longer to set to zero.
template <class T>
struct Uninitialised : std::allocator<T> {
  template <class U>
  struct rebind {
    using other = Uninitialised<U>;
  };
  Uninitialised() = default;
  template <class U>
  Uninitialised(Uninitialised<U> const&) noexcept {}
  template <class U>
  void construct(U* place) noexcept {
    ::new (static_cast<void*>(place)) U;
  }
  template <class U, class... Arguments>
  void construct(U* place, Arguments&&... arguments) {
    ::new (static_cast<void*>(place)) U(std::forward<Arguments>(arguments)...);
  }
};

/// A sparse matrix in host memory, row after row (CSR): the elements of row i are number
/// offsets[i] … offsets[i + 1] − 1, in columns that ascend, each at most once. What is not there is
/// 0; what is there may be 0 too.
template <class T>
struct Csr {
  template <class U>
  using Array = std::vector<U, Uninitialised<U>>;

  std::int64_t rows = 0, columns = 0;
  Array<std::int64_t> offsets;  ///< rows + 1
  Array<std::int32_t> column_indices;
  Array<T> values;

  std::int64_t nonzeros() const { return static_cast<std::int64_t>(values.size()); }
};

/// The most rows, and columns, that a sparse matrix may have: an int32 counts them.
inline constexpr std::int64_t most_sparse_rows = (std::int64_t{1} << 31) - 1;

/// What is known of a sparse matrix before it is read.
struct SparseExtents {
  std::int64_t rows = 0, columns = 0;
  std::int64_t entries = 0;   ///< of the file
  std::int64_t elements = 0;  ///< of the matrix, at most
};

/// What keeps the arrays from being a matrix as above, in words; empty where nothing does.
template <class T>
std::string fault_of(Csr<T> const& matrix);

/// Puts the elements of rows whose columns have any order, and may be there several times, in
/// their order: those of one place are added up as they stand. The bits do not depend on threads.
/// Returns the row and the column of a sum that is not finite, of the first one.
template <class T>
std::optional<std::pair<std::int64_t, std::int64_t>> order_rows(Csr<T>& matrix);

/// a_ii of all rows.
template <class T>
std::vector<T> diagonal_of(Csr<T> const& matrix);

/// Aᵀ.
template <class T>
Csr<T> transposed(Csr<T> const& matrix);

/// What a look at all elements tells of a square matrix.
struct CsrFindings {
  /// Where a_ij ≠ a_ji first, by rows; −1 where the matrix is symmetric.
  std::int64_t row = -1, column = -1;
  std::int64_t not_positive = -1;  ///< the first row whose diagonal element is not above 0, or −1
  std::int64_t empty = -1;         ///< the first row without an element other than 0, or −1
  bool symmetric() const { return row < 0; }
};
template <class T>
CsrFindings examine(Csr<T> const& matrix);

/// a_ij; 0 where it is not there.
template <class T>
T element(Csr<T> const& matrix, std::int64_t row, std::int64_t column);

}  // namespace gridstride

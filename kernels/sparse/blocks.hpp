#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/buffer.hpp"
#include "core/csr.hpp"

/// Blocks on the diagonal of a sparse matrix, to precondition by (block Jacobi):
///
///   M = diag(B_0, B_1, …)      B_k: rows and columns k·s … (k + 1)·s − 1 of A, the last one fewer
///
/// Where unknowns of one place are coupled among themselves more than with others, as the components
/// of a system of equations are, M⁻¹ takes what division by the diagonal leaves. M is symmetric
/// positive definite where A is.
namespace gridstride::sparse {

inline constexpr std::int64_t most_block_rows = 64;

enum class Blocks {
  definite,  ///< symmetric positive definite
  any,
};

/// Element (i, j) of the inverse of block k is number (k·s + j)·s + i.
template <class T>
struct BlockInverses {
  std::int64_t rows = 0, block_rows = 1;  ///< of A, and s
  typename Csr<T>::template Array<T> values;
  std::int64_t failed = -1;  ///< the first block that has no inverse in T, −1 without any
};

/// In float64 by Gauss' and Jordan's elimination, of `any` with partial pivoting; those of `definite`
/// blocks are symmetric to the last bit. A block fails whose pivot is nothing beside its row as T
/// has it, or of `definite` not positive, or whose inverse is beyond T. The bits do not depend on threads.
/// Throws `std::invalid_argument` for a matrix that is not square, and a block of no rows or more than
/// `most_block_rows`.
template <class T>
BlockInverses<T> invert_blocks(Csr<T> const& matrix, std::int64_t block_rows, Blocks kind);

/// M⁻¹ on a device. A row's sum has the order of its columns: the same bits every time.
template <class T>
class BlockJacobi {
 public:
  /// Waits for the stream, so that the inverses may go. Throws `std::invalid_argument` where one failed.
  BlockJacobi(Stream& stream, BlockInverses<T> const& inverses);

  /// Queues z ← M⁻¹·r, of as many vectors, one after the other, as r is longer than M has rows. Throws
  /// `std::invalid_argument` for vectors of other sizes, or that overlap.
  void solve(Stream& stream, std::span<T const> r, std::span<T> z) const;

 private:
  std::int64_t rows_, block_rows_;
  Buffer<T> values_;
};

#ifdef GRIDSTRIDE_WITH_CUDA
template <class T>
void cuda_multiply_blocks(Stream& stream, std::int64_t rows, std::int64_t block_rows,
                          T const* values, T const* r, T* z, std::int64_t vectors);
#endif

}  // namespace gridstride::sparse

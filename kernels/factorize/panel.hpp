#pragma once

#include <cstdint>
#include <span>
#include <type_traits>

#include "core/stream.hpp"
#include "kernels/factorize/factorize.hpp"
#include "kernels/support/matrix.hpp"

/// The parts that LU factorizations on a GPU are made of. Matrices are row-major in device memory.
namespace gridstride::factorize {

/// A leaf is what is factored column by column; it has at most so many columns.
inline constexpr int leaf_limit = 32;

/// A panel is what is factored before the columns right of it are updated.
inline constexpr int panel_limit = 256;

/// Exchanges of rows as moves that can be made at once: row `from` goes to row `to`. Unused ones
/// have −1. What goes to one row twice is the same.
template <int exchanges>
struct RowMoves {
  std::int32_t from[2 * exchanges];
  std::int32_t to[2 * exchanges];
};
using LeafMoves = RowMoves<leaf_limit>;
using PanelMoves = RowMoves<panel_limit>;

/// Where a leaf leaves what it finds; `first` is the row and column of the whole matrix that it
/// begins at.
struct LeafResults {
  std::int32_t first;
  std::int32_t* pivots;  ///< of the whole matrix
  LeafMoves* moves;      ///< of this leaf, with rows of the whole matrix
  std::int32_t* status;  ///< set at the first bad pivot, unless it is set
};

/// How many columns a leaf of so many rows has where clusters of blocks factor it; 0 where the
/// device has no clusters or there are too many rows.
template <class T>
int cluster_leaf_columns(Device const& device, std::int64_t rows);

/// The most multiprocessors that a cluster occupies.
inline constexpr int cluster_processors = 16;

/// Factors a leaf, rows ≥ columns, by a cluster of blocks that keeps it in registers.
template <class T>
void factor_leaf_in_cluster(Stream& stream, Matrix<T> leaf, LeafResults const& results);

/// Factors one by two kernels for each column, on any device and for any number of rows.
template <class T>
void factor_leaf_by_columns(Stream& stream, Matrix<T> leaf, LeafResults const& results);

/// Makes a leaf's moves in `left`, `right` and `origins`, which hold all rows of the matrix, and
/// turns the leaf's rows of the first `solved` columns of `right` into L⁻¹ times them, with the
/// leaf's unit lower triangle.
template <class T>
void move_and_solve(Stream& stream, LeafMoves const* moves,
                    std::type_identity_t<Matrix<T const>> leaf_triangle, std::int64_t first,
                    Matrix<T> left, Matrix<T> right, std::int64_t solved, std::int32_t* origins);

/// The moves of a panel with columns [begin, end), from the pivots and from `origins`, which tells
/// of every row where it was before the panel; then lets `origins` begin anew.
void list_panel_moves(Stream& stream, std::int32_t const* pivots, std::int32_t* origins,
                      std::int64_t begin, std::int64_t end, PanelMoves* moves);

/// Makes a panel's moves in a matrix with all rows.
template <class T>
void move_rows(Stream& stream, Matrix<T> a, PanelMoves const* moves);

/// Sets values_i = i.
void number_rows(Stream& stream, std::span<std::int32_t> values);

/// order_i: the row that comes to be row i when all exchanges are made.
void list_order(Stream& stream, std::int32_t const* pivots, std::span<std::int32_t> order);

enum class Reorder {
  gather,   ///< row i becomes what row order_i was
  scatter,  ///< row order_i becomes what row i was
};
template <class T>
void reorder_rows(Stream& stream, Matrix<T> a, std::int32_t const* order, Reorder how);

/// A matrix by its strides in any direction: element (i, j) is data[i·row_stride +
/// j·column_stride].
template <class T>
struct Strided {
  T* data;
  std::int64_t row_stride;
  std::int64_t column_stride;
};

/// The most rows that `solve_lower_block` takes on a device: 256, or less where a block has little
/// shared memory.
template <class T>
int block_rows(Device const& device);

/// B becomes L⁻¹·B for a lower triangle of at most `block_rows` rows. Upper triangles and
/// transposes are lower ones by their strides.
template <class T>
void solve_lower_block(Stream& stream, int rows, bool unit,
                       std::type_identity_t<Strided<T const>> l, std::int64_t columns,
                       Strided<T> b);

/// x = L⁻¹·b for a lower triangle of n rows and one right-hand side; x and b do not overlap.
template <class T>
void solve_lower_vector(Stream& stream, std::int64_t n, bool unit,
                        std::type_identity_t<Strided<T const>> l, T const* b, std::int64_t b_stride,
                        T* x);

/// The most rows of what `factor_square` takes, and those of the blocks on its diagonal that it
/// inverts.
inline constexpr int square_limit = 128;
inline constexpr int inverse_rows = 32;

/// LU without exchanges of rows of a square of at most `square_limit` rows, in place. `first` is
/// its first row in the whole matrix; `status` is set at the first bad pivot, unless it is set. For
/// each 32 of its rows, `inverses` gets the inverses of the blocks on the diagonal, row-major: of
/// L, then of the transpose of U. Both are lower triangles.
template <class T>
void factor_square(Stream& stream, Matrix<T> a, T* inverses, std::int64_t first,
                   std::int32_t* status);

/// The most rows that `solve_strips` takes on a device: 256, or less where a block has little
/// shared memory.
template <class T>
int strip_rows(Device const& device);

/// What is beside a factored square of 32, 64, 128 or 256 `rows` in the corner of a square matrix:
/// L⁻¹·A right of it, A·U⁻¹ below it, with the inverses of `factor_square`.
template <class T>
void solve_strips(Stream& stream, Matrix<T> a, int rows, T const* inverses);

/// What is queued on `later` from now on waits for all that is on `earlier`.
inline void follow(Stream& later, Stream& earlier) {
  if (later.native() == earlier.native()) return;
  Event done(earlier.device());
  earlier.record(done);
  later.wait(done);
}

/// The tasks of the family that need no factorization, for every rung on a GPU.
template <class T>
void solve_on_gpu(Stream& stream, Arguments<T> const& arguments);

template <class T>
void cholesky_on_gpu(Stream& stream, Arguments<T> const& arguments, bool look_ahead);

template <class T>
void unpivoted_lu_on_gpu(Stream& stream, Arguments<T> const& arguments, bool look_ahead);

}  // namespace gridstride::factorize

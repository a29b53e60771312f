// Exchanges of rows, and the leaves of LU without clusters.
//
// Exchanges are not made one after the other: those of a leaf, up to 32, are put together into at
// most 64 moves of a row to another place, all of which are read before any is written; those of a
// panel into at most 512. For that, an array goes along like one more column of the matrix, which
// holds the row's number.
//
//   move_and_solve_kernel   a thread has a column: it makes the moves of one leaf and, right of it,
//                           solves for U with the leaf's triangle from shared memory.
//   panel_moves_kernel      the rows of the panel and the pivots' are the ones that moves go to;
//                           the array tells from where.
//   move_rows_kernel        a block has 32 columns and makes a panel's moves there.
//   leaf_moves_kernel       the moves of 32 exchanges from the pivots: a warp follows them in its
//                           registers, a lane for each of the 32 rows, and for each other row.
//   order_kernel            one block makes the moves of all leaves in an array of row numbers.
//   pivot_kernel,           column by column: one block finds the pivot, exchanges the rows within
//   eliminate_kernel        the leaf and scales; then all rows are updated. Two launches a column.

#include <cuda_runtime.h>

#include "core/buffer.hpp"
#include "kernels/factorize/panel.hpp"
#include "kernels/support/collectives.cuh"
#include "kernels/support/launch.cuh"

namespace gridstride::factorize {

namespace {

// -------------------------------------------------------------------------------- lists of moves

__global__ void leaf_moves_kernel(std::int32_t const* pivots, std::int64_t first, int columns,
                                  LeafMoves* moves) {
  int const lane = lane_index();
  static_assert(leaf_limit == warp_size);
  int const begin = static_cast<int>(first) + static_cast<int>(blockIdx.x) * warp_size;
  int const count = min(warp_size, static_cast<int>(first) + columns - begin);
  // Lane l has what is now in row begin + l, and in the l-th other row that was met.
  int near = begin + lane, other = -1, other_content = -1, others = 0;
  int const pivot = lane < count ? pivots[begin + lane] : 0;
  for (int i = 0; i < count; ++i) {
    int const target = __shfl_sync(whole_warp, pivot, i);
    int const mine = __shfl_sync(whole_warp, near, i);
    if (target < begin + warp_size) {
      int const theirs = __shfl_sync(whole_warp, near, target - begin);
      if (lane == i) near = theirs;
      if (lane == target - begin) near = mine;
      continue;
    }
    unsigned found = __ballot_sync(whole_warp, other == target);
    if (found == 0) {
      if (lane == others) other = other_content = target;
      found = 1u << others++;
    }
    int const place = __ffs(static_cast<int>(found)) - 1;
    int const theirs = __shfl_sync(whole_warp, other_content, place);
    if (lane == i) near = theirs;
    if (lane == place) other_content = mine;
  }
  LeafMoves& list = moves[blockIdx.x];
  bool const near_moved = near != begin + lane, other_moved = other != other_content;
  list.from[lane] = near_moved ? near : -1;
  list.to[lane] = near_moved ? begin + lane : -1;
  list.from[leaf_limit + lane] = other_moved ? other_content : -1;
  list.to[leaf_limit + lane] = other_moved ? other : -1;
}

/// All of one block; the array stands in shared memory where it fits.
constexpr int order_threads = 2 * leaf_limit;

__global__ void __launch_bounds__(order_threads)
    order_kernel(LeafMoves const* moves, int lists, std::int32_t* order, int rows, bool in_shared) {
  extern __shared__ __align__(16) unsigned char dynamic_shared[];
  auto* const values = in_shared ? reinterpret_cast<std::int32_t*>(dynamic_shared) : order;
  int const entry = static_cast<int>(threadIdx.x);
  for (int i = entry; i < rows; i += order_threads) values[i] = i;
  int from = moves[0].from[entry], to = moves[0].to[entry];
  __syncthreads();
  for (int l = 0; l < lists; ++l) {
    int const next = min(l + 1, lists - 1);
    int const next_from = moves[next].from[entry], next_to = moves[next].to[entry];
    int const value = from >= 0 ? values[from] : 0;
    __syncthreads();
    if (to >= 0) values[to] = value;
    __syncthreads();
    from = next_from;
    to = next_to;
  }
  if (in_shared)
    for (int i = entry; i < rows; i += order_threads) order[i] = values[i];
}

template <class T>
__global__ void __launch_bounds__(256)
    reorder_kernel(Matrix<T> a, T const* content, std::int32_t const* order, bool gather) {
  std::int64_t const element = std::int64_t{blockIdx.x} * 256 + threadIdx.x;
  if (element >= a.rows * a.columns) return;
  std::int64_t const row = element / a.columns, column = element % a.columns;
  if (gather)
    a.data[row * a.leading + column] = content[order[row] * a.columns + column];
  else
    a.data[order[row] * a.leading + column] = content[element];
}

/// Copies a matrix into rows without gaps.
template <class T>
__global__ void __launch_bounds__(256) gather_rows_kernel(Matrix<T> a, T* content) {
  std::int64_t const element = std::int64_t{blockIdx.x} * 256 + threadIdx.x;
  if (element < a.rows * a.columns)
    content[element] = a.data[element / a.columns * a.leading + element % a.columns];
}

__global__ void __launch_bounds__(256) number_rows_kernel(std::int32_t* values, int count) {
  int const i = static_cast<int>(blockIdx.x * 256 + threadIdx.x);
  if (i < count) values[i] = i;
}

// ----------------------------------------------------------------------------------- of a panel

constexpr int panel_moves = 2 * panel_limit;

__global__ void __launch_bounds__(panel_moves)
    panel_moves_kernel(std::int32_t const* pivots, std::int32_t* origins, int begin, int end,
                       PanelMoves* moves) {
  int const entry = static_cast<int>(threadIdx.x), row = begin + entry % panel_limit;
  int to = -1;
  if (row < end) {
    to = entry < panel_limit ? row : pivots[row];
    if (entry >= panel_limit && to < end) to = -1;
  }
  int const from = to >= 0 ? origins[to] : -1;
  bool const moved = from != to;
  moves->from[entry] = moved ? from : -1;
  moves->to[entry] = moved ? to : -1;
  __syncthreads();
  if (to >= 0) origins[to] = to;
}

constexpr int move_columns = 32, move_threads = 256;

template <class T>
__global__ void __launch_bounds__(move_threads)
    move_rows_kernel(T* a, std::int64_t leading, std::int64_t columns, PanelMoves const* moves) {
  constexpr int rows_at_once = move_threads / move_columns;
  constexpr int per_thread = panel_moves / rows_at_once;
  __shared__ int from[panel_moves], to[panel_moves];
  for (int e = static_cast<int>(threadIdx.x); e < panel_moves; e += move_threads) {
    from[e] = moves->from[e];
    to[e] = moves->to[e];
  }
  __syncthreads();
  int const row = static_cast<int>(threadIdx.x) / move_columns;
  std::int64_t const column = std::int64_t{blockIdx.x} * move_columns + threadIdx.x % move_columns;
  T* const mine = a + column;
  bool const inside = column < columns;
  T content[per_thread];
#pragma unroll
  for (int r = 0; r < per_thread; ++r) {
    int const source = from[r * rows_at_once + row];
    content[r] = inside && source >= 0 ? mine[source * leading] : T(0);
  }
  __syncthreads();
#pragma unroll
  for (int r = 0; r < per_thread; ++r) {
    int const target = to[r * rows_at_once + row];
    if (inside && target >= 0) mine[target * leading] = content[r];
  }
}

// ------------------------------------------------------------------------------- beside one leaf

constexpr int solve_threads = 64;

template <class T>
__global__ void __launch_bounds__(solve_threads)
    move_and_solve_kernel(LeafMoves const* moves, Matrix<T const> triangle, std::int64_t first,
                          Matrix<T> left, Matrix<T> right, std::int64_t solved,
                          std::int32_t* origins) {
  constexpr int width = leaf_limit;
  __shared__ __align__(16) T l[width][width];
  __shared__ int from[2 * leaf_limit], to[2 * leaf_limit];
  int const columns = static_cast<int>(triangle.columns);
  static_assert(solve_threads == 2 * leaf_limit);
  from[threadIdx.x] = moves->from[threadIdx.x];
  to[threadIdx.x] = moves->to[threadIdx.x];
#pragma unroll
  for (int e = 0; e < width * width; e += solve_threads) {
    int const i = (e + static_cast<int>(threadIdx.x)) / width;
    int const k = static_cast<int>(threadIdx.x) % width;
    l[i][k] = i < columns && k < i ? triangle.data[i * triangle.leading + k] : T(0);
  }
  __syncthreads();
  if (blockIdx.x == 0) {  // the array of row numbers, an entry for each thread
    int const source = from[threadIdx.x], target = to[threadIdx.x];
    std::int32_t const value = source >= 0 ? origins[source] : 0;
    __syncthreads();
    if (target >= 0) origins[target] = value;
    return;
  }

  std::int64_t const block = std::int64_t{blockIdx.x} - 1;
  std::int64_t const left_blocks = (left.columns + solve_threads - 1) / solve_threads;
  bool const is_left = block < left_blocks;
  std::int64_t const column = (block - (is_left ? 0 : left_blocks)) * solve_threads + threadIdx.x;
  if (column >= (is_left ? left.columns : right.columns)) return;
  T* const a = (is_left ? left.data : right.data) + column;
  std::int64_t const leading = is_left ? left.leading : right.leading;
  T x[width], pushed_out[width];
#pragma unroll
  for (int i = 0; i < width; ++i) {
    std::int64_t const source = from[i] >= 0 ? from[i] : first + i;
    x[i] = i < columns ? a[source * leading] : T(0);
    // Where nothing is pushed out, any row that exists will do.
    std::int64_t const pushed = from[leaf_limit + i] >= 0 ? from[leaf_limit + i] : first;
    pushed_out[i] = a[pushed * leading];
  }
#pragma unroll
  for (int i = 0; i < width; ++i) {
    std::int64_t const target = to[leaf_limit + i];
    if (target >= 0) a[target * leading] = pushed_out[i];
  }
  if (!is_left && column < solved) {
#pragma unroll
    for (int k = 0; k < width; k += 2) {
      x[k + 1] -= l[k + 1][k] * x[k];
#pragma unroll
      for (int i = k + 2; i < width; ++i) x[i] = x[i] - l[i][k] * x[k] - l[i][k + 1] * x[k + 1];
    }
  }
#pragma unroll
  for (int i = 0; i < width; ++i)
    if (i < columns) a[(first + i) * leading] = x[i];
}

// ------------------------------------------------------------------------------ column by column

constexpr int pivot_threads = 1024;

template <class T>
struct Largest {
  T magnitude;
  int row, unused;
};

template <class T>
__global__ void __launch_bounds__(pivot_threads)
    pivot_kernel(Matrix<T> leaf, int j, LeafResults results) {
  __shared__ Largest<T> shared[warp_size];
  auto const larger = [](Largest<T> const& a, Largest<T> const& b) {
    if (a.row < 0) return b;
    if (b.row < 0) return a;
    bool const a_is_nan = a.magnitude != a.magnitude, b_is_nan = b.magnitude != b.magnitude;
    if (a_is_nan != b_is_nan) return a_is_nan ? a : b;
    if (a.magnitude == b.magnitude || a_is_nan) return a.row < b.row ? a : b;
    return a.magnitude > b.magnitude ? a : b;
  };
  int const rows = static_cast<int>(leaf.rows);
  Largest<T> best{T(0), -1, 0};
  for (int i = j + static_cast<int>(threadIdx.x); i < rows; i += pivot_threads)
    best = larger(best, {abs(leaf.data[i * leaf.leading + j]), i, 0});
  best = block_reduce<pivot_threads>(best, larger, shared);
  T* const top = leaf.data + j * leaf.leading;
  T* const chosen = leaf.data + best.row * leaf.leading;
  T const pivot = chosen[j];
  __syncthreads();
  for (int k = static_cast<int>(threadIdx.x); k < leaf.columns; k += pivot_threads) {
    T const content = top[k];
    top[k] = chosen[k];
    chosen[k] = content;
  }
  __syncthreads();
  T const reciprocal = pivot == T(0) ? T(0) : T(1) / pivot;
  for (int i = j + 1 + static_cast<int>(threadIdx.x); i < rows; i += pivot_threads)
    leaf.data[i * leaf.leading + j] *= reciprocal;
  if (threadIdx.x != 0) return;
  results.pivots[results.first + j] = results.first + best.row;
  if (!(pivot != T(0) && pivot == pivot) && *results.status == 0)
    *results.status = results.first + j + 1;
}

template <class T>
__global__ void __launch_bounds__(256) eliminate_kernel(Matrix<T> leaf, int j) {
  constexpr int rows_at_once = 256 / leaf_limit;
  std::int64_t const i = j + 1 + std::int64_t{blockIdx.x} * rows_at_once + threadIdx.x / leaf_limit;
  int const k = j + 1 + static_cast<int>(threadIdx.x) % leaf_limit;
  if (i >= leaf.rows || k >= leaf.columns) return;
  leaf.data[i * leaf.leading + k] -=
      leaf.data[i * leaf.leading + j] * leaf.data[j * leaf.leading + k];
}

}  // namespace

void list_panel_moves(Stream& stream, std::int32_t const* pivots, std::int32_t* origins,
                      std::int64_t begin, std::int64_t end, PanelMoves* moves) {
  panel_moves_kernel<<<1, panel_moves, 0, native(stream)>>>(
      pivots, origins, static_cast<int>(begin), static_cast<int>(end), moves);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "factorize panel_moves");
}

template <class T>
void move_rows(Stream& stream, Matrix<T> a, PanelMoves const* moves) {
  if (a.columns == 0) return;
  move_rows_kernel<<<blocks_for(a.columns, move_columns), move_threads, 0, native(stream)>>>(
      a.data, a.leading, a.columns, moves);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "factorize move_rows");
}

void number_rows(Stream& stream, std::span<std::int32_t> values) {
  auto const count = static_cast<int>(values.size());
  number_rows_kernel<<<blocks_for(count, 256), 256, 0, native(stream)>>>(values.data(), count);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "factorize number_rows");
}

void list_order(Stream& stream, std::int32_t const* pivots, std::span<std::int32_t> order) {
  auto const rows = static_cast<int>(order.size());
  unsigned const lists = blocks_for(rows, warp_size);
  Buffer<LeafMoves> moves(stream, MemorySpace::device, lists);
  leaf_moves_kernel<<<lists, warp_size, 0, native(stream)>>>(pivots, 0, rows, moves.data());
  GRIDSTRIDE_CHECK_LAUNCH(stream, "factorize leaf_moves");
  auto const most_shared = static_cast<int>(stream.device().capabilities().shared_bytes);
  GRIDSTRIDE_CUDA(
      cudaFuncSetAttribute(order_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, most_shared));
  std::size_t const bytes = order.size_bytes();
  bool const in_shared = bytes <= static_cast<std::size_t>(most_shared);
  order_kernel<<<1, order_threads, in_shared ? bytes : 0, native(stream)>>>(
      moves.data(), static_cast<int>(lists), order.data(), rows, in_shared);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "factorize order");
}

template <class T>
void reorder_rows(Stream& stream, Matrix<T> a, std::int32_t const* order, Reorder how) {
  std::int64_t const size = a.rows * a.columns;
  Buffer<T> content(stream, MemorySpace::device, static_cast<std::size_t>(size));
  gather_rows_kernel<<<blocks_for(size, 256), 256, 0, native(stream)>>>(a, content.data());
  GRIDSTRIDE_CHECK_LAUNCH(stream, "factorize gather_rows");
  reorder_kernel<<<blocks_for(size, 256), 256, 0, native(stream)>>>(
      a, static_cast<T const*>(content.data()), order, how == Reorder::gather);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "factorize reorder");
}

template <class T>
void move_and_solve(Stream& stream, LeafMoves const* moves,
                    std::type_identity_t<Matrix<T const>> leaf_triangle, std::int64_t first,
                    Matrix<T> left, Matrix<T> right, std::int64_t solved, std::int32_t* origins) {
  unsigned const blocks =
      1 + blocks_for(left.columns, solve_threads) + blocks_for(right.columns, solve_threads);
  move_and_solve_kernel<<<blocks, solve_threads, 0, native(stream)>>>(moves, leaf_triangle, first,
                                                                      left, right, solved, origins);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "factorize move_and_solve");
}

template <class T>
void factor_leaf_by_columns(Stream& stream, Matrix<T> leaf, LeafResults const& results) {
  for (int j = 0; j < leaf.columns; ++j) {
    pivot_kernel<<<1, pivot_threads, 0, native(stream)>>>(leaf, j, results);
    GRIDSTRIDE_CHECK_LAUNCH(stream, "factorize pivot");
    if (j + 1 == leaf.columns) break;
    eliminate_kernel<<<blocks_for(leaf.rows - j, 256 / leaf_limit), 256, 0, native(stream)>>>(leaf,
                                                                                              j);
    GRIDSTRIDE_CHECK_LAUNCH(stream, "factorize eliminate");
  }
  leaf_moves_kernel<<<1, warp_size, 0, native(stream)>>>(
      results.pivots, results.first, static_cast<int>(leaf.columns), results.moves);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "factorize leaf_moves");
}

#define GRIDSTRIDE_INSTANTIATE(T)                                                        \
  template void move_rows(Stream&, Matrix<T>, PanelMoves const*);                        \
  template void reorder_rows(Stream&, Matrix<T>, std::int32_t const*, Reorder);          \
  template void move_and_solve(Stream&, LeafMoves const*, Matrix<T const>, std::int64_t, \
                               Matrix<T>, Matrix<T>, std::int64_t, std::int32_t*);       \
  template void factor_leaf_by_columns(Stream&, Matrix<T>, LeafResults const&);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::factorize

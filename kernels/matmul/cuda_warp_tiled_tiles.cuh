#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/matmul/element.hpp"
#include "kernels/support/async_copy.cuh"
#include "kernels/support/collectives.cuh"
#include "kernels/support/vector.cuh"

/// What a block of `warp_tiled` does: see cuda_warp_tiled.cu.
namespace gridstride::matmul::warp_tiled {

/// Places along k of a stage, and those of them that the inner loop unrolls: all are 8 % slower.
constexpr int depth = 16, unrolled = 8;
constexpr int stages = 3;
/// Neighbours along k that a transposing copy takes together: 32 bytes of float32.
constexpr int run = 8;
/// Rows of tiles whose blocks run side by side, so that they share columns of B in the cache.
constexpr int group = 8;

/// A block's tile of C, `Rows` x `Columns`: its warps have `WarpRows` x `WarpColumns` of it, its
/// threads `OwnRows` x `OwnColumns`, and `Resident` blocks share a multiprocessor.
template <int Rows, int Columns, int WarpRows, int WarpColumns, int OwnRows, int OwnColumns,
          int Resident>
struct Shape {
  static constexpr int rows = Rows, columns = Columns;
  static constexpr int warp_rows = WarpRows, warp_columns = WarpColumns;
  static constexpr int own_rows = OwnRows, own_columns = OwnColumns;
  static constexpr int resident = Resident;
  static constexpr int warps_down = Rows / WarpRows;
  static constexpr int threads = warps_down * (Columns / WarpColumns) * warp_size;
  /// A warp's threads, as rows and columns of threads.
  static constexpr int lanes_down = WarpRows / OwnRows, lanes_across = WarpColumns / OwnColumns;
  static_assert(lanes_down * lanes_across == warp_size && lanes_across % 2 == 0);
};

/// The product as the kernels see it. Layer l of blocks has the places along k from l·piece on; its
/// sums go to c + l·layer.
template <class T>
struct Product {
  std::int64_t m, n, k;
  T const* a;
  std::int64_t lda;
  T const* b;
  std::int64_t ldb;
  T alpha, beta;
  T* c;
  std::int64_t ldc;
  std::int64_t piece, layer;
  bool vectors;  ///< C can be read and written 16 bytes at a time: beyond n, as far as ldc
};

/// A thread's share in bringing one operand to shared memory: per stage `extent` places across and
/// `depth` along k, as a row of `extent` elements for each place along k. Memory is contiguous
/// either along k, so that the copy transposes, or across, and is then read `width` elements at a
/// time. Places across beyond the last are those of the last: their products are never stored.
template <int threads, int extent, bool along_k, int width, class T>
class Feed {
 public:
  /// The gap lets the elements of a transposing copy go to different banks.
  static constexpr int pitch = extent + vector_width<T>;

  /// For `count` places across in all, the tile's from `first` on, and places along k from `k` on.
  /// Rows of `x` that a tile has lie within 2^32 bytes.
  __device__ Feed(T const* x, std::int64_t leading, std::int64_t first, std::int64_t count,
                  std::int64_t k, T* shared)
      : leading_(leading * bytes) {
    int const neighbour = static_cast<int>(threadIdx.x) % neighbours;
    int const line = static_cast<int>(threadIdx.x) / neighbours;
    int const last = static_cast<int>(min(count - first, std::int64_t{extent})) - width;
    from_ =
        reinterpret_cast<char const*>(x + (along_k ? first * leading + k : k * leading + first));
#pragma unroll
    for (int i = 0; i < across; ++i) {
      int const row = along_k ? min(line + i * lines, last) : line;
      int const column = along_k ? neighbour : min(neighbour * width, last);
      offsets_[i] = static_cast<unsigned>(row) * static_cast<unsigned>(leading_) + column * bytes;
    }
    k_ = along_k ? neighbour : line;
    to_ = static_cast<unsigned>(
        __cvta_generic_to_shared(shared + k_ * pitch + (along_k ? line : neighbour * width)));
  }

  /// Begins the copies of the next `depth` places along k to the stage that lies `stage` bytes
  /// after the first.
  __device__ void bring(unsigned stage) { bring<false>(stage, depth); }
  /// The same for `places` places; zeros follow.
  __device__ void bring(unsigned stage, int places) { bring<true>(stage, places); }

 private:
  static constexpr int bytes = static_cast<int>(sizeof(T));
  /// Threads side by side in memory, and lines of them.
  static constexpr int neighbours = along_k ? run : extent / width;
  static constexpr int lines = threads / neighbours;
  /// The thread's copies per stage: across, and along k.
  static constexpr int across = along_k ? extent / lines : 1;
  static constexpr int along = along_k ? depth / run : depth / lines;
  static_assert(lines * neighbours == threads &&
                across * along * width * threads == extent * depth);

  template <bool ragged>
  __device__ void bring(unsigned stage, int places) {
    constexpr int k_step = along_k ? run : lines;
#pragma unroll
    for (int p = 0; p < along; ++p)
#pragma unroll
      for (int i = 0; i < across; ++i)
        begin_copy<width * bytes>(
            to_ + stage + (p * k_step * pitch + i * lines) * bytes,
            from_ + (along_k ? std::int64_t{p * run * bytes} : p * lines * leading_) + offsets_[i],
            !ragged || k_ + p * k_step < places);
    from_ += along_k ? places * std::int64_t{bytes} : places * leading_;
  }

  char const* from_;
  std::int64_t leading_;  ///< bytes
  unsigned offsets_[across];
  unsigned to_;
  int k_;
};

/// A stage of both operands, or an empty group where there are no more.
template <class FeedA, class FeedB>
__device__ void bring_stage(FeedA& a, FeedB& b, unsigned stage, bool more) {
  if (more) {
    a.bring(stage);
    b.bring(stage);
  }
  close_group();
}

// ------------------------------------------------------------------------------------- the product

/// Where the block's tile begins in C: blocks go down `group` rows of tiles, then on to the next
/// column of tiles.
template <class S>
struct Place {
  std::int64_t i, j;

  __device__ Place(std::int64_t m, std::int64_t n) {
    unsigned const down = static_cast<unsigned>((m + S::rows - 1) / S::rows);
    unsigned const across = static_cast<unsigned>((n + S::columns - 1) / S::columns);
    unsigned const first = blockIdx.x / (group * across) * group;
    unsigned const rows = min(unsigned{group}, down - first);
    unsigned const within = blockIdx.x % (group * across);
    i = std::int64_t{first + within % rows} * S::rows;
    j = std::int64_t{within / rows} * S::columns;
  }
};

/// Reads a thread's places of one row of shared memory: vectors, `apart` elements from each other.
template <int apart, int count, class T>
__device__ void read(T const* from, T (&values)[count]) {
  constexpr int width = vector_width<T>;
#pragma unroll
  for (int i = 0; i < count; i += width) {
    auto const v = *reinterpret_cast<Vector<T, width> const*>(from + i / width * apart);
#pragma unroll
    for (int e = 0; e < width; ++e) values[i + e] = v.at[e];
  }
}

/// sums += column·row, along one row of sums and back along the next, so that each multiply-add has
/// an operand in common with the one before it, which then need not be read from the register file
/// again.
template <int rows, int columns, class T>
__device__ void add_products(T const (&column)[rows], T const (&row)[columns],
                             T (&sums)[rows][columns]) {
#pragma unroll
  for (int i = 0; i < rows; ++i)
#pragma unroll
    for (int n = 0; n < columns; ++n) {
      int const j = i % 2 == 0 ? n : columns - 1 - n;
      sums[i][j] += column[i] * row[j];
    }
}

/// The thread's places in its warp's part of the tile.
template <class T, class S>
struct Spot {
  static constexpr int width = vector_width<T>;
  /// From one of a thread's vectors to the next.
  static constexpr int down_step = S::lanes_down * width, across_step = S::lanes_across * width;
  int down, across;

  /// Neighbours alternate between two columns of threads: a half of a warp then reads so few places
  /// of either operand that one access of all banks serves it.
  __device__ Spot()
      : down(lane_index() / 2 % S::lanes_down),
        across(lane_index() % 2 + lane_index() / (2 * S::lanes_down) * 2) {}
  /// Row and column of the thread's first vector.
  __device__ int row() const { return down * width; }
  __device__ int column() const { return across * width; }
  /// The row, counted from there, of number r of its rows.
  __device__ static int row_of(int r) { return r / width * down_step + r % width; }
};

/// Stores the warp's part of the tile, which begins at (i, j), as vectors of 16 bytes.
template <class S, class T>
__device__ void store_vectors(Product<T> const& x, T* c, std::int64_t i, std::int64_t j,
                              T const (&sums)[S::own_rows][S::own_columns]) {
  using Own = Spot<T, S>;
  constexpr int width = Own::width;
  Own const own;
#pragma unroll
  for (int r = 0; r < S::own_rows; ++r) {
    std::int64_t const row = i + own.row() + Own::row_of(r);
    if (row >= x.m) continue;
#pragma unroll
    for (int s = 0; s < S::own_columns; s += width) {
      std::int64_t const column = j + own.column() + s / width * Own::across_step;
      if (column >= x.n) continue;
      auto* const target = reinterpret_cast<Vector<T, width>*>(c + row * x.ldc + column);
      Vector<T, width> result;
      if (x.beta != T(0)) result = *target;
#pragma unroll
      for (int e = 0; e < width; ++e)
        result.at[e] = combine(x.alpha, sums[r][s + e], x.beta, &result.at[e]);
      *target = result;
    }
  }
}

/// The same element by element: the rows, as many as the warp has rows of threads at a time, go
/// through shared memory, so that neighbours store neighbours.
template <class S, class T>
__device__ void store_elements(Product<T> const& x, T* c, std::int64_t i, std::int64_t j,
                               T const (&sums)[S::own_rows][S::own_columns], T* shared) {
  using Own = Spot<T, S>;
  constexpr int width = Own::width;
  constexpr int pitch = S::warp_columns + 2 * width;
  static_assert(S::threads / warp_size * S::lanes_down * pitch <=
                stages * depth * (S::rows + S::columns));
  Own const own;
  T* const rows = shared + warp_index() * S::lanes_down * pitch;
#pragma unroll
  for (int r = 0; r < S::own_rows; ++r) {
#pragma unroll
    for (int s = 0; s < S::own_columns; s += width) {
      Vector<T, width> v;
#pragma unroll
      for (int e = 0; e < width; ++e) v.at[e] = x.alpha * sums[r][s + e];
      *reinterpret_cast<Vector<T, width>*>(rows + own.down * pitch + own.column() +
                                           s / width * Own::across_step) = v;
    }
    __syncwarp();
#pragma unroll
    for (int d = 0; d < S::lanes_down; ++d) {
      std::int64_t const row = i + d * width + Own::row_of(r);
#pragma unroll
      for (int s = 0; s < S::warp_columns; s += warp_size) {
        std::int64_t const column = j + s + lane_index();
        T* const element = c + row * x.ldc + column;
        if (row < x.m && column < x.n)
          *element = combine(T(1), rows[d * pitch + s + lane_index()], x.beta, element);
      }
    }
    __syncwarp();
  }
}

/// Bytes of shared memory of a block.
template <class T, class S>
constexpr int shared_bytes = stages* depth*(S::rows + S::columns +
                                            2 * vector_width<T>)*static_cast<int>(sizeof(T));

template <class T, class S, bool a_along_k, bool b_along_k, int width>
__global__ void __launch_bounds__(S::threads, S::resident) product_kernel(Product<T> x) {
  using FeedA = Feed<S::threads, S::rows, a_along_k, a_along_k ? 1 : width, T>;
  using FeedB = Feed<S::threads, S::columns, b_along_k, b_along_k ? 1 : width, T>;
  constexpr int a_pitch = FeedA::pitch, b_pitch = FeedB::pitch;
  constexpr int stage_size = depth * (a_pitch + b_pitch);
  constexpr unsigned stage_bytes = stage_size * sizeof(T);
  extern __shared__ __align__(128) unsigned char memory[];
  T* const shared = reinterpret_cast<T*>(memory);

  Place<S> const place(x.m, x.n);
  std::int64_t const begin = blockIdx.y * x.piece;
  std::int64_t const places = min(x.piece, x.k - begin);
  int const count = static_cast<int>((places + depth - 1) / depth);
  FeedA a(x.a, x.lda, place.i, x.m, begin, shared);
  FeedB b(x.b, x.ldb, place.j, x.n, begin, shared + depth * a_pitch);
  // The first stage has the places that do not make up a whole one.
  int const odd = static_cast<int>(places - std::int64_t{count - 1} * depth);
  a.bring(0, odd);
  b.bring(0, odd);
  close_group();
  for (int s = 1; s < stages - 1; ++s) bring_stage(a, b, s * stage_bytes, s < count);

  using Own = Spot<T, S>;
  Own const own;
  int const i = warp_index() % S::warps_down * S::warp_rows;
  int const j = warp_index() / S::warps_down * S::warp_columns;
  T const* const first_column = shared + i + own.row();
  T const* const first_row = shared + depth * a_pitch + j + own.column();
  T const* column = first_column;
  T const* row = first_row;
  T columns[2][S::own_rows], rows[2][S::own_columns];
  T sums[S::own_rows][S::own_columns] = {};
  auto const read_next = [&](int ahead, int into) {
    read<Own::down_step>(column + ahead * a_pitch, columns[into]);
    read<Own::across_step>(row + ahead * b_pitch, rows[into]);
  };
  await_groups<stages - 2>();
  __syncthreads();
  read_next(0, 0);

  // While the products of one place along k are added, the operands of the next come from shared
  // memory. They come from the next stage at the end of this one: when all threads are there, its
  // copies have arrived, and the stage before this one is free for those that begin next.
  int stage = 0, free_stage = stages - 1, half = 0;
  for (int done = 0; done < count;) {
#pragma unroll
    for (int p = 0; p < unrolled; ++p) {
      if (p < unrolled - 1) {
        read_next(p + 1, (p + 1) % 2);
      } else {
        if (half == depth / unrolled - 1) {
          await_groups<stages - 2>();
          __syncthreads();
          stage = stage == stages - 1 ? 0 : stage + 1;
          column = first_column + stage * stage_size;
          row = first_row + stage * stage_size;
          half = 0;
          ++done;
        } else {
          column += unrolled * a_pitch;
          row += unrolled * b_pitch;
          ++half;
        }
        read_next(0, 0);
      }
      if (p == 0 && half == 0) {
        bring_stage(a, b, free_stage * stage_bytes, done + stages - 1 < count);
        free_stage = free_stage == stages - 1 ? 0 : free_stage + 1;
      }
      add_products(columns[p % 2], rows[p % 2], sums);
    }
  }

  T* const c = x.c + blockIdx.y * x.layer;
  if (x.vectors) {
    store_vectors<S>(x, c, place.i + i, place.j + j, sums);
  } else {
    __syncthreads();
    store_elements<S>(x, c, place.i + i, place.j + j, sums, shared);
  }
}

/// C = α·Σ layers + β·C, the layers of `x` in their order.
template <class T>
__global__ void add_layers_kernel(Product<T> x, int layers, T alpha, T beta, T* c,
                                  std::int64_t ldc) {
  std::int64_t const step = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t e = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; e < x.m * x.n;
       e += step) {
    std::int64_t const i = e / x.n, j = e % x.n;
    T const* const first = x.c + i * x.ldc + j;
    T sum = 0;
#pragma unroll 8
    for (int l = 0; l < layers; ++l) sum += first[l * x.layer];
    T* const element = c + i * ldc + j;
    *element = combine(alpha, sum, beta, element);
  }
}

}  // namespace gridstride::matmul::warp_tiled

#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/tridiagonal/reduction.cuh"
#include "kernels/tridiagonal/tiles.cuh"

/// The kernel of the rung `pivoted` (cuda_pivoted.cu).
namespace gridstride::tridiagonal {

/// Rows of a thread, with an element of shared memory between those of two, so that what the threads
/// of a warp read at the same time lies in different banks.
constexpr int pivoted_gap_shift = 5, pivoted_chunk_rows = 1 << pivoted_gap_shift;
constexpr int most_pivoted_threads = 128;

/// What a kernel makes of the chunks of the systems.
enum class PivotedTask {
  whole,       ///< a chunk is a system: its solution
  reduce,      ///< the rows of the chunk's first and last unknown, without all between
  substitute,  ///< the solution, once those are known
};

/// Which rows of the caller's the rows of a level are: each level has the first and the last row of
/// each chunk of the one before.
struct Ancestors {
  static constexpr int most = 16;
  int count = 0;
  std::int64_t sizes[most] = {};

  GRIDSTRIDE_HOST_DEVICE std::int64_t row(std::int64_t r) const {
    for (int level = count; level-- > 0;) {
      std::int64_t const first = r / 2 * pivoted_chunk_rows, last = first + pivoted_chunk_rows - 1;
      r = r % 2 == 0 ? first : last < sizes[level] ? last : sizes[level] - 1;
    }
    return r;
  }
};

/// A row by which elimination goes on: spike·(the unknown before the chunk) + pivot·x_i + next·x_(i+1)
/// = right. `scale` is 1 over the size of the row it was, about.
template <class T>
struct Carried {
  T spike, pivot, next, right, scale;
};

/// x_i = (right − next·x_(i+1) − second·x_(i+2))·inverse
template <class T>
struct Pivot {
  T next, second, right, inverse;

  __device__ T at(T x_next, T x_second) const {
    return (right - next * x_next - second * x_second) * inverse;
  }
};

/// A power of two between 1/2 and 2 times 1/max(|a|, |b|, |c|).
template <class T>
GRIDSTRIDE_HOST_DEVICE T inverse_scale(Row<T> const& row) {
  auto const larger = [](T x, T y) { return y > x ? y : x; };
  auto const magnitude = [](T x) { return x < 0 ? -x : x; };
  T const size = larger(larger(magnitude(row.a), magnitude(row.c)), magnitude(row.b));
  using Word = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
  constexpr int digits = sizeof(T) == 8 ? 52 : 23;
  constexpr Word twice_bias = sizeof(T) == 8 ? 2046 : 254;
  Word bits;
  memcpy(&bits, &size, sizeof bits);
  Word const exponent = bits >> digits;
  bits = (exponent < twice_bias ? twice_bias - exponent : 1) << digits;
  T scale;
  memcpy(&scale, &bits, sizeof scale);
  return scale;
}

/// The row by which elimination begins, whose unknowns are (spike, x_i, x_(i+1)).
template <class T>
__device__ Carried<T> begin_with(Row<T> const& row) {
  return {row.a, row.b, row.c, row.d, inverse_scale(row)};
}

/// Eliminates x_i from two rows: what is carried, and the next one, of x_i, x_(i+1) and x_(i+2). The
/// one in which x_i is larger, compared with the row's size, becomes its pivot; the other one is
/// carried on. `good` becomes false for a pivot of zero.
template <class T>
__device__ Pivot<T> eliminate(Carried<T>& carried, Row<T> const& row, bool& good) {
  T const scale = inverse_scale(row);
  bool const exchange = fabs(row.a) * scale > fabs(carried.pivot) * carried.scale;
  T const inverse = 1 / (exchange ? row.a : carried.pivot);
  T const factor = (exchange ? carried.pivot : row.a) * inverse;
  good = good && !of_zero(inverse);
  Pivot<T> const pivot{exchange ? row.b : carried.next, exchange ? row.c : T{0},
                       exchange ? row.d : carried.right, inverse};
  T const spike = exchange ? T{0} : carried.spike;
  carried = {(exchange ? carried.spike : T{0}) - factor * spike,
             (exchange ? carried.next : row.b) - factor * pivot.next,
             (exchange ? T{0} : row.c) - factor * pivot.second,
             (exchange ? carried.right : row.d) - factor * pivot.right,
             exchange ? carried.scale : scale};
  return pivot;
}

/// A thread's rows in shared memory.
template <class T>
struct PivotedChunk {
  T *a, *b, *c, *d;
  int size;
  bool opens, ends;  ///< whether its first and last row are those of the system
  bool dominant = true;
  int bad = -1;  ///< an unknown whose pivot is zero

  __device__ Row<T> row(int i) const {
    return {opens && i == 0 ? T{0} : a[i], b[i], ends && i == size - 1 ? T{0} : c[i], d[i]};
  }
  __device__ Row<T> judged(int i) {
    auto const found = row(i);
    dominant = dominant && found.dominant();
    return found;
  }
  /// The row seen from the other end.
  __device__ Row<T> mirrored(int i) const {
    Row<T> const r = row(i);
    return {r.c, r.b, r.a, r.d};
  }
  __device__ void note(bool good, int i) {
    if (!good && bad < 0) bad = i;
  }
};

/// The rows of the first and the last unknown of a chunk, from both ends at once.
template <class T>
__device__ void reduce_chunk(PivotedChunk<T>& chunk, Row<T>& first, Row<T>& last) {
  int const size = chunk.size;
  first = chunk.judged(0);
  if (size < 3) {
    last = chunk.judged(size - 1);
    return;
  }
  auto down = begin_with(chunk.judged(1)), up = begin_with(chunk.mirrored(size - 2));
  for (int i = 1; i < size - 1; ++i) {
    bool good = true;
    eliminate(down, chunk.judged(i + 1), good);
    chunk.note(good, i);
    good = true;
    eliminate(up, chunk.mirrored(size - 2 - i), good);
    chunk.note(good, size - 1 - i);
  }
  first = {up.next, up.pivot, up.spike, up.right};
  last = {down.spike, down.pivot, down.next, down.right};
}

/// Eliminates x_begin to x_(end−1) by what is carried, the row of x_begin, and the rows up to that of
/// x_end. Pivots take the place of the rows.
template <class T>
__device__ void eliminate_rows(PivotedChunk<T>& chunk, Carried<T>& carried, int begin, int end) {
  for (int i = begin; i < end; ++i) {
    bool good = true;
    auto const pivot = eliminate(carried, chunk.row(i + 1), good);
    chunk.note(good, i);
    chunk.a[i] = pivot.next;
    chunk.b[i] = pivot.second;
    chunk.c[i] = pivot.inverse;
    chunk.d[i] = pivot.right;
  }
}

/// Those unknowns, from the two behind them, in the place of d.
template <class T>
__device__ void substitute_rows(PivotedChunk<T> const& chunk, int begin, int end, T next,
                                T second) {
  for (int i = end; i-- > begin;) {
    T const x = Pivot<T>{chunk.a[i], chunk.b[i], chunk.d[i], chunk.c[i]}.at(next, second);
    chunk.d[i] = x;
    second = next;
    next = x;
  }
}

template <class T>
__device__ void solve_whole(PivotedChunk<T>& chunk) {
  int const last = chunk.size - 1;
  for (int i = 0; i <= last; ++i) chunk.judged(i);
  auto carried = begin_with(chunk.row(0));
  eliminate_rows(chunk, carried, 0, last);
  T const inverse = 1 / carried.pivot, end = carried.right * inverse;
  chunk.note(!of_zero(inverse), last);
  substitute_rows(chunk, 0, last, end, T{0});
  chunk.d[last] = end;
}

/// `second` is the unknown behind the chunk.
template <class T>
__device__ void solve_between(PivotedChunk<T>& chunk, T first, T last, T second) {
  int const end = chunk.size - 1;
  if (end > 1) {
    auto carried = begin_with(chunk.row(1));
    carried.right -= carried.spike * first;
    carried.spike = 0;
    eliminate_rows(chunk, carried, 1, end);
    substitute_rows(chunk, 1, end, last, second);
  }
  chunk.d[0] = first;
  if (end > 0) chunk.d[end] = last;
}

/// Rows of the next level for each system.
GRIDSTRIDE_HOST_DEVICE inline std::int64_t reduced_size(std::int64_t size) {
  std::int64_t const chunks = (size + pivoted_chunk_rows - 1) / pivoted_chunk_rows;
  return 2 * chunks - (size % pivoted_chunk_rows == 1 ? 1 : 0);
}

template <class T>
__device__ void write_row(T* to, std::int64_t all, Row<T> const& row) {
  to[0] = row.a;
  to[all] = row.b;
  to[2 * all] = row.c;
  to[3 * all] = row.d;
}

/// One block: a tile of some systems in shared memory; a thread has a chunk of rows there.
template <PivotedTask task, class T>
__global__ void __launch_bounds__(most_pivoted_threads)
    pivoted_kernel(__grid_constant__ Level<T> const level,
                   __grid_constant__ Ancestors const ancestors) {
  extern __shared__ __align__(16) unsigned char pivoted_memory[];
  T* const memory = reinterpret_cast<T*>(pivoted_memory);
  Tile<T> const tile(level, memory,
                     task == PivotedTask::substitute ? gridDim.x - 1 - blockIdx.x : blockIdx.x);
  Begins<T> const begins(level, memory);
  find_systems(tile, begins);
  __syncthreads();
  bring_arrays(tile, begins);
  close_group();
  await_groups<0>();
  __syncthreads();

  int const thread = static_cast<int>(threadIdx.x);
  int const system = thread / level.chunks, index = thread % level.chunks;
  int const begin = index * pivoted_chunk_rows, left = tile.rows - begin;
  std::int64_t const row = tile.first_row + begin, number = tile.first_system + system;
  bool const active = system < tile.systems && left > 0;
  int const at = system * level.pitch + shared_place(level, begin);
  int const size = left < pivoted_chunk_rows ? left : pivoted_chunk_rows;
  PivotedChunk<T> chunk{tile.array(0) + at,
                        tile.array(1) + at,
                        tile.array(2) + at,
                        tile.array(3) + at,
                        size,
                        row == 0,
                        row + size == level.places.size};
  if (active) {
    std::int64_t const reduced = reduced_size(level.places.size);
    std::int64_t const place = number * reduced + row / pivoted_chunk_rows * 2;
    if (task == PivotedTask::whole) {
      solve_whole(chunk);
    } else if (task == PivotedTask::reduce) {
      std::int64_t const all = reduced * level.places.count;
      Row<T> first, last;
      reduce_chunk(chunk, first, last);
      write_row(level.reduced + place, all, first);
      if (size > 1) write_row(level.reduced + place + 1, all, last);
    } else {
      T const* const known = level.separators + place;
      solve_between(chunk, known[0], known[size > 1 ? 1 : 0], chunk.ends ? T{0} : known[2]);
    }
    if (chunk.bad >= 0)
      raise(level.work.findings->bad_pivot,
            word_of(level.named_size, number, ancestors.row(row + chunk.bad)));
  }
  if (task != PivotedTask::substitute && ancestors.count == 0 &&
      __syncthreads_or(!chunk.dominant) && thread == 0)
    raise(level.work.findings->measured, 1);
  if (task == PivotedTask::reduce) return;
  __syncthreads();
  write_solution(tile, tile.array(3), begins.values);
}

}  // namespace gridstride::tridiagonal

#pragma once

#include <cstdint>

#include "kernels/tridiagonal/equations.hpp"
#include "kernels/tridiagonal/reduction.cuh"
#include "kernels/tridiagonal/tiles.cuh"

/// The kernels of the rung `pivoted` (cuda_pivoted.cu).
namespace gridstride::tridiagonal {

/// Rows of a thread, with an element of shared memory between those of two, so that what the threads
/// of a warp read at the same time lies in different banks.
constexpr int pivoted_gap_shift = 5, pivoted_chunk_rows = 1 << pivoted_gap_shift;
constexpr int most_pivoted_threads = 128;
/// Pieces that a thread puts together.
constexpr int joined_pieces = 8, join_threads = 64;

/// Pieces in global memory: ten numbers each, in arrays, and the unknowns at their ends, once they
/// are known.
template <class T>
struct Pieces {
  T* equations;
  T *first, *last;
  std::int64_t size;  ///< of a system
  std::int64_t all;   ///< of all systems
  std::int64_t rows;  ///< of a piece, but the last

  __device__ void put(std::int64_t at, Piece<T> const& piece) const {
    T const values[10] = {piece.one.before,  piece.one.first,  piece.one.last,
                          piece.one.behind,  piece.one.right,  piece.other.before,
                          piece.other.first, piece.other.last, piece.other.behind,
                          piece.other.right};
#pragma unroll
    for (int i = 0; i < 10; ++i) equations[i * all + at] = values[i];
  }
  __device__ Piece<T> get(std::int64_t at) const {
    T v[10];
#pragma unroll
    for (int i = 0; i < 10; ++i) v[i] = equations[i * all + at];
    return {scaled(Equation<T>{v[0], v[1], v[2], v[3], v[4]}),
            scaled(Equation<T>{v[5], v[6], v[7], v[8], v[9]})};
  }
};

/// What is known about a piece: the unknowns before it, at its ends, and behind it.
template <class T>
struct Known {
  T before, first, last, behind;
};

template <class T>
__device__ Known<T> known_of(Pieces<T> const& pieces, std::int64_t system, std::int64_t piece,
                             bool periodic) {
  std::int64_t const begin = system * pieces.size, at = begin + piece;
  bool const opens = piece == 0, ends = piece + 1 == pieces.size;
  return {opens && !periodic ? T{0} : pieces.last[opens ? begin + pieces.size - 1 : at - 1],
          pieces.first[at], pieces.last[at],
          ends && !periodic ? T{0} : pieces.first[ends ? begin : at + 1]};
}

/// A thread's rows in shared memory.
template <class T>
struct PivotedChunk {
  T *a, *b, *c, *d;
  int size;
  bool opens, ends;  ///< whether its first and last row are those of an open system
  bool dominant = true;
  int bad = -1;  ///< an unknown whose pivot is zero

  __device__ Row<T> row(int i) {
    Row<T> const found{opens && i == 0 ? T{0} : a[i], b[i], ends && i == size - 1 ? T{0} : c[i],
                       d[i]};
    dominant = dominant && found.dominant();
    return scaled(found);
  }
  __device__ void note(bool good, int i) {
    if (!good && bad < 0) bad = i > 0 ? i : 0;
  }
};

template <class T>
__device__ Piece<T> piece_of(PivotedChunk<T>& chunk) {
  auto piece = no_rows<T>();
  for (int i = 0; i < chunk.size; ++i) {
    bool good = true;
    append(piece, chunk.row(i), good);
    chunk.note(good, i - 1);
  }
  return piece;
}

/// The unknowns of a chunk in the place of d. Pivots take the place of rows meanwhile: that of x_i
/// the place of row i + 1.
template <class T>
__device__ void solve_between(PivotedChunk<T>& chunk, Known<T> const& known) {
  auto piece = no_rows_behind(known.before, known.first);
  for (int i = 0; i < chunk.size; ++i) {
    bool good = true;
    auto const pivot = append(piece, chunk.row(i), good);
    chunk.note(good, i - 1);
    chunk.a[i] = pivot.next;
    chunk.b[i] = pivot.second;
    chunk.c[i] = pivot.inverse;
    chunk.d[i] = pivot.right;
  }
  T x = known.last, next = known.behind;
  for (int i = chunk.size; i-- > 1;) {
    T const lower = (chunk.d[i] - chunk.a[i] * x - chunk.b[i] * next) * chunk.c[i];
    chunk.d[i] = x;
    next = x;
    x = lower;
  }
  chunk.d[0] = known.first;
}

enum class PivotedTask {
  reduce,      ///< rows become pieces
  substitute,  ///< the solution, once the ends of pieces are known
};

/// One block: a tile of some systems in shared memory; a thread has a chunk of rows there.
template <PivotedTask task, class T>
__global__ void __launch_bounds__(most_pivoted_threads)
    pivoted_kernel(__grid_constant__ Level<T> const level, Pieces<T> const pieces) {
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

  auto const& places = level.places;
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
                        !places.periodic && row == 0,
                        !places.periodic && row + size == places.size};
  if (active) {
    std::int64_t const piece = row / pivoted_chunk_rows;
    if (task == PivotedTask::reduce)
      pieces.put(number * pieces.size + piece, piece_of(chunk));
    else
      solve_between(chunk, known_of(pieces, number, piece, places.periodic));
    if (chunk.bad >= 0)
      raise(level.work.findings->bad_pivot, word_of(places.size, number, row + chunk.bad));
  }
  bool const judged = __syncthreads_or(task == PivotedTask::reduce && !chunk.dominant);
  if (judged && thread == 0) raise(level.work.findings->measured, 1);
  if (task == PivotedTask::substitute) write_solution(tile, tile.array(3), begins.values);
}

/// Where a system's bad pivots are noted.
struct Names {
  Findings* findings;
  std::int64_t size;

  __device__ void note(std::int64_t system, std::int64_t row) const {
    row = row < 0 ? 0 : row < size ? row : size - 1;
    raise(findings->bad_pivot, word_of(size, system, row));
  }
};

/// A thread's pieces of a level: [begin, end) of a system.
struct Joined {
  std::int64_t system, group, begin, end;
};
template <class T>
__device__ Joined joined(Pieces<T> const& pieces, std::int64_t groups) {
  std::int64_t const at = std::int64_t{blockIdx.x} * join_threads + threadIdx.x;
  std::int64_t const group = at % groups, begin = group * joined_pieces;
  return {at / groups, group, begin,
          begin + joined_pieces < pieces.size ? begin + joined_pieces : pieces.size};
}

/// A thread puts some pieces together; where these are all of a system, it finds its ends.
template <class T>
__global__ void __launch_bounds__(join_threads)
    join_kernel(Pieces<T> const pieces, Pieces<T> const joint, Names const names, bool periodic) {
  auto const mine = joined(pieces, joint.size);
  if (mine.system * pieces.size >= pieces.all) return;
  auto piece = no_rows<T>();
  for (std::int64_t i = mine.begin; i < mine.end; ++i) {
    bool good = true;
    append(piece, pieces.get(mine.system * pieces.size + i), good);
    if (!good && i > mine.begin) names.note(mine.system, i * pieces.rows - 1);
  }
  std::int64_t const at = mine.system * joint.size + mine.group;
  if (joint.size > 1) return joint.put(at, piece);
  bool good = true;
  auto const ends = close(piece, periodic, good);
  if (!good) names.note(mine.system, names.size - 1);
  joint.first[at] = ends.first;
  joint.last[at] = ends.last;
}

/// The ends of a thread's pieces, from those of all of them.
template <class T>
__global__ void __launch_bounds__(join_threads)
    part_kernel(Pieces<T> const pieces, Pieces<T> const joint, Names const names, bool periodic) {
  auto const mine = joined(pieces, joint.size);
  if (mine.system * pieces.size >= pieces.all) return;
  auto const known = known_of(joint, mine.system, mine.group, periodic);
  std::int64_t const first = mine.system * pieces.size + mine.begin;
  int const count = static_cast<int>(mine.end - mine.begin);
  JointPivots<T> pivots[joined_pieces];
  auto piece = no_rows_behind(known.before, known.first);
#pragma unroll
  for (int i = 0; i < joined_pieces; ++i) {
    if (i >= count) continue;
    bool good = true;
    pivots[i] = append(piece, pieces.get(first + i), good);
    if (!good) names.note(mine.system, (mine.begin + i) * pieces.rows - 1);
  }
  T last = known.last, behind = known.behind;
#pragma unroll
  for (int i = joined_pieces - 1; i >= 0; --i) {
    if (i >= count) continue;
    auto const& p = pivots[i];
    T const begin =
        (p.first_right - p.first_last * last - p.first_behind * behind) * p.first_inverse;
    pieces.last[first + i] = last;
    pieces.first[first + i] = i == 0 ? known.first : begin;
    last = (p.left_right - p.left_first * begin - p.left_last * last - p.left_behind * behind) *
           p.left_inverse;
    behind = begin;
  }
}

}  // namespace gridstride::tridiagonal

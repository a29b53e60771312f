#pragma once

#include <cstdint>

#include "kernels/support/collectives.cuh"
#include "kernels/tridiagonal/pieces.cuh"
#include "kernels/tridiagonal/tiles.cuh"

/// The kernel of the rung `pivoted` (cuda_pivoted.cu) that goes through rows.
namespace gridstride::tridiagonal {

/// Rows of a thread, odd, so that what the threads of a warp read at the same time lies in different
/// banks; and of the two threads of a piece.
constexpr int half_rows = 17, piece_rows = 2 * half_rows;

/// A thread's rows in shared memory, from the first on, or, backwards, from the last on.
template <class T>
struct HalfPiece {
  T* memory;
  int a, b, c, d;  ///< where those of the first row are
  int size, step;
  bool dominant = true;
  int bad = -1;  ///< an unknown whose pivot is zero

  __device__ Row<T> row(int i) const {
    int const at = i * step;
    return {memory[a + at], memory[b + at], memory[c + at], memory[d + at]};
  }
  /// Calls `body(i, row)` for all rows, which it may overwrite, scaled.
  template <class Body>
  __device__ void each_row(Body const& body) {
    if (size <= 0) return;
    auto next = row(0);
    for (int i = 0; i < size; ++i) {
      auto const present = next;
      next = row(i + 1 < size ? i + 1 : i);
      dominant = dominant && present.dominant();
      body(i, scaled(present));
    }
  }
  __device__ void note(bool good, int i) {
    if (!good && bad < 0) bad = i > 0 ? i : 0;
  }
};

/// What is in the next thread.
template <class T>
__device__ Equation<T> of_next(Equation<T> const& e) {
  auto const from = [](T value) { return __shfl_down_sync(~0u, value, 1); };
  return {from(e.before), from(e.first), from(e.last), from(e.behind), from(e.right)};
}

/// The piece of two threads' rows, in the first of them.
template <class T>
__device__ Piece<T> piece_of(HalfPiece<T>& half, bool joins) {
  auto piece = no_rows<T>();
  half.each_row([&](int i, Row<T> const& row) {
    bool good = true;
    append(piece, row, good);
    half.note(good, i - 1);
  });
  piece = {scaled(piece.one), scaled(piece.other)};
  Piece<T> const next{of_next(piece.one), of_next(piece.other)};
  bool good = true;
  if (joins) append(piece, next, good);
  half.note(good, half_rows - 1);
  return piece;
}

/// Two unknowns from the equations of two threads, in both: the last of the first thread, and the
/// first of the second one.
template <class T>
__device__ void solve_middle(Piece<T> const& piece, bool second, T& mine, T& others, bool& good) {
  struct Two {
    T p, q, right;
  };
  auto const exchange_if = [](bool condition, Two& x, Two& y) {
    Two const z = x;
    x = condition ? y : x;
    y = condition ? z : y;
  };
  auto const without = [](Two const& row, T factor, Two const& pivot) {
    return Two{T{0}, row.q - factor * pivot.q, row.right - factor * pivot.right};
  };
  auto const ours = [&](Equation<T> const& e) {
    return second ? Two{e.behind, e.last, e.right} : Two{e.last, e.behind, e.right};
  };
  auto const theirs = [](Two const& e) {
    auto const from = [](T value) { return __shfl_xor_sync(~0u, value, 1); };
    return Two{from(e.p), from(e.q), from(e.right)};
  };
  Two a = ours(piece.one), b = ours(piece.other), c = theirs(a), d = theirs(b);
  // In both threads the equations come in the same order.
  exchange_if(second, a, c);
  exchange_if(second, b, d);
  exchange_if(std::fabs(b.p) > std::fabs(a.p), a, b);
  exchange_if(std::fabs(c.p) > std::fabs(a.p), a, c);
  exchange_if(std::fabs(d.p) > std::fabs(a.p), a, d);
  T const inverse = 1 / a.p;
  b = without(b, b.p * inverse, a);
  c = without(c, c.p * inverse, a);
  d = without(d, d.p * inverse, a);
  exchange_if(std::fabs(c.q) > std::fabs(b.q), b, c);
  exchange_if(std::fabs(d.q) > std::fabs(b.q), b, d);
  T const second_inverse = 1 / b.q;
  good = !of_zero(inverse) && !of_zero(second_inverse);
  T const q = b.right * second_inverse, p = (a.right - a.q * q) * inverse;
  mine = second ? q : p;
  others = second ? p : q;
}

/// The unknowns of a piece in the place of d, by two threads that come from its ends and meet in the
/// middle, or by one alone. Pivots take the place of rows meanwhile: that of x_i the place of row
/// i + 1. Returns the largest of its unknowns.
template <class T>
__device__ T solve_between(HalfPiece<T>& half, Known<T> const& known, bool second, bool together) {
  auto piece =
      second ? no_rows_behind(known.behind, known.last) : no_rows_behind(known.before, known.first);
  T* const memory = half.memory;
  half.each_row([&](int i, Row<T> const& row) {
    bool good = true;
    auto const pivot = append(piece, row, good);
    half.note(good, i - 1);
    int const at = i * half.step;
    memory[half.a + at] = pivot.next;
    memory[half.b + at] = pivot.second;
    memory[half.c + at] = pivot.inverse;
    memory[half.d + at] = pivot.right;
  });
  bool good = true;
  T x = 0, next = 0;
  solve_middle(piece, second, x, next, good);
  if (together) half.note(good, half.size - 1);
  if (!together) {
    x = known.last;
    next = known.behind;
  }
  T largest = 0;
  for (int i = half.size; i-- > 1;) {
    int const at = i * half.step;
    T const lower = (memory[half.d + at] - memory[half.a + at] * x - memory[half.b + at] * next) *
                    memory[half.c + at];
    memory[half.d + at] = x;
    largest = larger(largest, std::fabs(x));
    next = x;
    x = lower;
  }
  T const end = second ? known.last : known.first;
  if (half.size > 0) memory[half.d] = end;
  return larger(largest, std::fabs(end));
}

/// Where a thread's rows are.
template <class T>
struct HalfPlace {
  int system, begin, piece_size;
  bool second, active, together;

  __device__ explicit HalfPlace(Tile<T> const& tile) {
    int const piece = static_cast<int>(threadIdx.x) / 2;
    system = piece / tile.level.chunks;
    begin = piece % tile.level.chunks * piece_rows;
    int const left = tile.rows - begin;
    piece_size = left < piece_rows ? left : piece_rows;
    second = threadIdx.x % 2 != 0;
    together = system < tile.systems && piece_size > half_rows;
    active = system < tile.systems && piece_size > 0 && (!second || together);
  }

  /// `backwards`: the second half comes from its end. What multiplies nothing becomes 0.
  __device__ HalfPiece<T> rows(Tile<T> const& tile, bool backwards) const {
    auto const& level = tile.level;
    int const first = begin + (second ? half_rows : 0);
    int const size = !active ? 0 : second ? piece_size - half_rows : min(piece_size, half_rows);
    int const from = system * level.pitch + first, last = from + size - 1;
    std::int64_t const row = tile.first_row + first;
    auto const place = [&](int which) { return static_cast<int>(tile.array(which) - tile.memory); };
    int const a = place(0), b = place(1), c = place(2), d = place(3);
    if (size > 0 && !level.places.periodic) {
      if (row == 0) tile.memory[a + from] = 0;
      if (row + size == level.places.size) tile.memory[c + last] = 0;
    }
    if (!backwards || !second)
      return {tile.memory, a + from, b + from, c + from, d + from, size, 1};
    return {tile.memory, c + last, b + last, a + last, d + last, size, -1};
  }
  /// The row of a pivot, in the system.
  __device__ std::int64_t row_of(Tile<T> const& tile, HalfPiece<T> const& half) const {
    int const first = begin + (second ? half_rows : 0);
    return tile.first_row + first + (half.step > 0 ? half.bad : half.size - 1 - half.bad);
  }
};

/// Raises to a number that is not negative.
__device__ inline void raise_shared(double* at, double value) {
  atomicMax(reinterpret_cast<unsigned long long*>(at),
            static_cast<unsigned long long>(__double_as_longlong(value)));
}
__device__ inline void raise_shared(float* at, float value) {
  atomicMax(reinterpret_cast<unsigned*>(at), __float_as_uint(value));
}

/// The largest backward error of a system's rows of the tile: of those that are `step` after `first`.
/// `ends` are the unknowns before the first and behind the last one.
template <class T>
__device__ double judge_system(Tile<T> const& tile, Begins<T> const& begins, T const* ends, int s,
                               int first, int step) {
  auto const& level = tile.level;
  constexpr int batch = 4;  // rows that are on their way at the same time
  T const* const x = tile.array(3) + s * level.pitch;
  double error = 0;
  for (int begin = first; begin < tile.rows; begin += batch * step) {
    Row<T> rows[batch];
#pragma unroll
    for (int k = 0; k < batch; ++k)
      if (int const r = begin + k * step; r < tile.rows)
        rows[k] = row_of(level.work, level.places, begins.coefficients[s], begins.values[s],
                         tile.first_row + r);
#pragma unroll
    for (int k = 0; k < batch; ++k)
      if (int const r = begin + k * step; r < tile.rows)
        error = fmax(error, backward_error(rows[k], r > 0 ? x[r - 1] : ends[2 * s], x[r],
                                           r + 1 < tile.rows ? x[r + 1] : ends[2 * s + 1],
                                           begins.last[s], error));
  }
  return error;
}

/// The same of all rows, for the findings: the solution is in shared memory, the largest of each
/// system's unknowns in `begins.last`. The cache still has the rows.
template <class T>
__device__ void judge_rows(Tile<T> const& tile, Begins<T> const& begins, T const* ends) {
  int const thread = static_cast<int>(threadIdx.x), systems = tile.level.systems;
  double error = 0;
  if (tile.level.across && thread % systems < tile.systems)
    error =
        judge_system(tile, begins, ends, thread % systems, thread / systems, warp_size / systems);
  for (int s = 0; !tile.level.across && s < tile.systems; ++s)
    error = fmax(error, judge_system(tile, begins, ends, s, thread, warp_size));
  for (int lane = 16; lane > 0; lane /= 2) error = fmax(error, __shfl_xor_sync(~0u, error, lane));
  if (thread == 0 && error > 0)
    raise(tile.level.work.findings->backward_error,
          static_cast<std::uint64_t>(__double_as_longlong(error)));
}

enum class PivotedTask {
  reduce,      ///< rows become pieces
  substitute,  ///< the solution, once the ends of pieces are known
};

/// One block, a warp: a tile of some systems in shared memory; two threads have a piece of rows there.
template <PivotedTask task, class T>
__global__ void __launch_bounds__(warp_size, 12)
    pivoted_kernel(__grid_constant__ Level<T> const level, Pieces<T> const pieces) {
  extern __shared__ __align__(16) unsigned char pivoted_memory[];
  T* const memory = reinterpret_cast<T*>(pivoted_memory);
  Tile<T> const tile(level, memory,
                     task == PivotedTask::substitute ? gridDim.x - 1 - blockIdx.x : blockIdx.x);
  Begins<T> const begins(level, memory);
  __shared__ std::uint64_t barrier;
  find_systems(tile, begins);
  make_barrier(tile, barrier);
  int const thread = static_cast<int>(threadIdx.x);
  if (thread < level.systems) begins.last[thread] = 0;
  __syncwarp();
  bring_arrays(tile, begins, barrier);
  HalfPlace<T> const place(tile);
  std::int64_t const number = tile.first_system + place.system,
                     piece = (tile.first_row + place.begin) / piece_rows;
  bool const periodic = level.places.periodic;
  Known<T> known{};
  if (task == PivotedTask::substitute && place.active)
    known = known_of(pieces, number, piece, periodic);
  await_arrays(level, barrier);

  auto half = place.rows(tile, task == PivotedTask::substitute);
  if (task == PivotedTask::reduce) {
    auto const found = piece_of(half, place.together && !place.second);
    if (place.active && !place.second)
      pieces.at[number * pieces.size + piece] = StoredPiece<T>::of(found);
    if (__any_sync(~0u, !half.dominant) && thread == 0) raise(level.work.findings->measured, 1);
  } else {
    T const largest = solve_between(half, known, place.second, place.together);
    if (place.active) raise_shared(begins.last + place.system, largest);
  }
  if (half.bad >= 0)
    raise(level.work.findings->bad_pivot,
          word_of(level.places.size, number, place.row_of(tile, half)));
  if (task == PivotedTask::reduce) return;
  __syncwarp();
  bool const judged = level.work.findings->measured != 0 && level.work.right != level.work.solution;
  if (judged) {
    // What pivots are left of a is of no use any more.
    T* const ends = tile.array(0);
    if (place.active && place.begin == 0 && !place.second) ends[2 * place.system] = known.before;
    if (place.active && place.begin + place.piece_size == tile.rows)
      ends[2 * place.system + 1] = known.behind;
    __syncwarp();
    judge_rows(tile, begins, ends);
  }
  write_solution(tile, tile.array(3), begins.values);
}

}  // namespace gridstride::tridiagonal

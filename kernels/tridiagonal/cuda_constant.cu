// The rung `constant` of the ladder in cuda.cu, for many systems with the same coefficients, as they
// are in implicit steps of one equation along all lines of a grid.
//
// Thread-to-data: that of `hybrid` for systems that a block holds, nine rows to a thread. But blocks
// stay: each thread keeps what elimination makes of its rows in registers, with what the steps of
// cyclic reduction make of its last one, and right-hand sides come by, the next while one is solved.
// No division is left in the loop.
//
// Bytes, of n unknowns: 2·n·sizeof(T), and the coefficients once for each block, from the cache. The
// roof is the copy bandwidth.

#include <algorithm>
#include <cstdint>
#include <stdexcept>

#include "kernels/support/launch.cuh"
#include "kernels/support/shared_bytes.cuh"
#include "kernels/tridiagonal/reduction.cuh"
#include "kernels/tridiagonal/rows.hpp"
#include "kernels/tridiagonal/tiles.cuh"

namespace gridstride::tridiagonal {

namespace {

constexpr int rows_of_thread = 9, most_constant_threads = 384, most_steps = 9;
static_assert(1 << most_steps >= most_constant_threads);
constexpr Cut cut{rows_of_thread, 128, 0, 8}, cut_across{rows_of_thread, 256, 0, 8};

/// A step of cyclic reduction: constant·own − lower·(the one below) − upper·(the one above).
template <class T>
struct Step {
  T own, lower, upper;
};

/// What becomes of a thread's rows, whatever their right-hand sides.
template <class T>
struct Factors {
  T inverse[rows_of_thread - 1];  ///< of pivots
  T lower[rows_of_thread - 1];    ///< a·inverse
  T upper[rows_of_thread - 1];    ///< c·inverse
  Step<T> last;                   ///< of the right-hand side of the last row, and its neighbours'
  Step<T> steps[most_steps];
};

/// Rows [begin, begin + size) of the systems; `good` and `dominant` become false as everywhere.
/// Returns the first unknown and the last row with d = 0.
template <class T>
__device__ void factor_rows(Level<T> const& level, std::int64_t begin, int size,
                            Factors<T>& factors, Relation<T>& first, Row<T>& last, bool& dominant,
                            int& bad) {
  auto const& work = level.work;
  auto const read = [&](int i) {
    std::int64_t const row = begin + i, at = row * level.places.coefficient_stride;
    Row<T> const found{row == 0 ? T{0} : work.lower[at], work.diagonal[at],
                       row == level.places.size - 1 ? T{0} : work.upper[at], T{0}};
    dominant = dominant && found.dominant();
    return found;
  };
  Relation<T> relations[rows_of_thread - 1];
  auto before = before_piece<T>();
#pragma unroll
  for (int i = 0; i < rows_of_thread - 1; ++i) {
    factors.inverse[i] = factors.lower[i] = factors.upper[i] = 0;
    if (i + 1 >= size) continue;
    auto const row = read(i);
    bool good = true;
    T const inverse = 1 / (row.b - row.a * before.right);
    factors.inverse[i] = inverse;
    factors.lower[i] = row.a * inverse;
    before = relations[i] = solved(without_lower(row, before), good);
    factors.upper[i] = before.right;
    if (of_zero(inverse) && bad < 0) bad = i;
  }
  auto const row = read(size - 1);
  last = without_lower(row, before);
  factors.last = {1, row.a, row.c};
  first = separator<T>();
#pragma unroll
  for (int i = rows_of_thread - 2; i >= 0; --i)
    if (i + 1 < size) first = through(relations[i], first);
}

/// A thread's place in its block.
struct Seat {
  int system, chunk, size;
  bool active, inner;  ///< has rows; has rows of another thread behind them
};

/// The steps of cyclic reduction between the chunks' last unknowns. Barriers.
template <class T>
__device__ void factor_steps(Level<T> const& level, Seat const& seat, Relation<T> const& first,
                             Row<T> last, SharedRelations<T> shared, SharedRelations<T> spare,
                             Factors<T>& factors, bool& good) {
  int const thread = static_cast<int>(threadIdx.x);
  if (seat.active) spare.put(thread, first);
  __syncthreads();
  Relation<T> mine{};
  if (seat.active) {
    if (seat.inner) last = without_upper(last, spare.get(thread + 1));
    T const inverse = 1 / last.b;
    factors.last = {inverse, factors.last.lower * inverse, factors.last.upper * inverse};
    mine = solved(last, good);
    shared.put(thread, mine);
  }
  __syncthreads();
#pragma unroll
  for (int s = 0; s < most_steps; ++s) {
    int const distance = 1 << s;
    factors.steps[s] = {};
    if (distance >= level.chunks) continue;
    if (seat.active) {
      bool const has_lower = seat.chunk >= distance,
                 has_upper = seat.chunk + distance < level.chunks;
      T pivot = 1;
      if (has_lower) pivot -= mine.left * shared.get(thread - distance).right;
      if (has_upper) pivot -= mine.right * shared.get(thread + distance).left;
      T const inverse = 1 / pivot;
      factors.steps[s] = {inverse, has_lower ? mine.left * inverse : T{0},
                          has_upper ? mine.right * inverse : T{0}};
      mine = reach_further(mine, shared, thread, has_lower, has_upper, distance, good);
      spare.put(thread, mine);
    }
    __syncthreads();
    auto const next = spare;
    spare = shared;
    shared = next;
  }
}

/// A thread's unknowns in the place of its right-hand sides. `exchange` is memory for two values of
/// each thread. Barriers.
template <class T>
__device__ void solve_rows(Level<T> const& level, Seat const& seat, Factors<T> const& factors,
                           T* rows, T* exchange) {
  int const thread = static_cast<int>(threadIdx.x), slots = level.systems * level.chunks;
  T constant[rows_of_thread - 1];
  T before = 0, first = 0, mine = 0;
  T *shared = exchange, *spare = exchange + slots;
  if (seat.active) {
#pragma unroll
    for (int i = 0; i < rows_of_thread - 1; ++i)
      if (i + 1 < seat.size)
        before = constant[i] = rows[i] * factors.inverse[i] - factors.lower[i] * before;
#pragma unroll
    for (int i = rows_of_thread - 2; i >= 0; --i)
      if (i + 1 < seat.size) first = constant[i] - factors.upper[i] * first;
    spare[thread] = first;
  }
  __syncthreads();
  if (seat.active) {
    mine = rows[seat.size - 1] * factors.last.own - factors.last.lower * before;
    if (seat.inner) mine -= factors.last.upper * spare[thread + 1];
    shared[thread] = mine;
  }
  __syncthreads();
#pragma unroll
  for (int s = 0; s < most_steps; ++s) {
    int const distance = 1 << s;
    if (distance >= level.chunks) continue;
    if (seat.active) {
      auto const& step = factors.steps[s];
      mine *= step.own;
      if (seat.chunk >= distance) mine -= step.lower * shared[thread - distance];
      if (seat.chunk + distance < level.chunks) mine -= step.upper * shared[thread + distance];
      spare[thread] = mine;
    }
    __syncthreads();
    T* const next = spare;
    spare = shared;
    shared = next;
  }
  if (!seat.active) return;
  T left = seat.chunk == 0 ? T{0} : -shared[thread - 1], next = mine;
#pragma unroll
  for (int i = 0; i < rows_of_thread - 1; ++i)
    if (i + 1 < seat.size) constant[i] -= left = -factors.lower[i] * left;
  rows[seat.size - 1] = mine;
#pragma unroll
  for (int i = rows_of_thread - 2; i >= 0; --i)
    if (i + 1 < seat.size) rows[i] = next = constant[i] - factors.upper[i] * next;
}

/// Blocks that take one group of systems after the other.
template <class T>
__global__ void __launch_bounds__(most_constant_threads)
    constant_kernel(__grid_constant__ Level<T> const level, std::int64_t groups) {
  extern __shared__ __align__(16) unsigned char constant_memory[];
  constexpr int turns = 3;
  __shared__ std::int64_t begins[turns][most_systems];
  T* const memory = reinterpret_cast<T*>(constant_memory);
  int const thread = static_cast<int>(threadIdx.x), slots = level.systems * level.chunks;
  int const buffer_size = (level.systems * level.pitch + 3) / 4 * 4;
  T* const exchange = memory + 2 * buffer_size;

  auto const find = [&](std::int64_t group, int turn) {
    std::int64_t const system = group * level.systems + thread;
    if (thread < level.systems && system < level.places.count)
      begins[turn][thread] = level.places.values(system);
  };
  auto const bring_group = [&](std::int64_t group, int turn, int buffer) {
    Tile<T> const tile(level, memory, static_cast<unsigned>(group));
    bring_rows(tile, Sources<T, 1>{{level.work.right}, {memory + buffer * buffer_size}},
               begins[turn], level.places.value_stride);
    close_group();
  };

  Seat seat{};
  seat.system = thread / level.chunks;
  seat.chunk = thread % level.chunks;
  int const begin = seat.chunk * rows_of_thread;
  int const left = static_cast<int>(level.places.size) - begin;
  seat.active = thread < slots;
  seat.inner = seat.active && seat.chunk + 1 < level.chunks;
  seat.size = left < rows_of_thread ? left : rows_of_thread;

  Factors<T> factors;
  Relation<T> first{};
  Row<T> last{};
  bool dominant = true, good = true;
  int bad = -1;
  if (seat.active) factor_rows(level, begin, seat.size, factors, first, last, dominant, bad);
  factor_steps(level, seat, first, last, SharedRelations<T>{exchange, slots},
               SharedRelations<T>{exchange + 3 * slots, slots}, factors, good);
  if (blockIdx.x == 0 && seat.active && seat.system == 0) {
    if (!dominant) raise(level.work.findings->measured, 1);
    if (bad >= 0 || !good)
      raise(level.work.findings->bad_pivot,
            word_of(level.named_size, 0, begin + (bad >= 0 ? bad : seat.size - 1)));
  }

  int turn = 0, buffer = 0;
  find(blockIdx.x, turn);
  __syncthreads();
  bring_group(blockIdx.x, turn, buffer);
  for (std::int64_t group = blockIdx.x; group < groups; group += gridDim.x) {
    std::int64_t const next = group + gridDim.x;
    int const next_turn = turn + 1 < turns ? turn + 1 : 0;
    if (next < groups) find(next, next_turn);
    await_groups<0>();
    __syncthreads();
    if (next < groups) bring_group(next, next_turn, 1 - buffer);
    Tile<T> const tile(level, memory, static_cast<unsigned>(group));
    T* const rows = memory + buffer * buffer_size;
    solve_rows(level, seat, factors, rows + seat.system * level.pitch + begin, exchange);
    write_solution(tile, rows, begins[turn]);
    buffer = 1 - buffer;
    turn = next_turn;
  }
}

template <class T>
std::size_t constant_bytes(Level<T> const& level) {
  std::size_t const buffer = (level.systems * level.pitch + 3) / 4 * 4;
  return (2 * buffer + 6 * static_cast<std::size_t>(level.systems * level.chunks)) * sizeof(T);
}

/// The level with systems of one tile.
template <class T>
Level<T> planned(Level<T> level) {
  level.across = lie_across(level.places);
  Cut how = level.across ? cut_across : cut;
  level = in_tiles(level, how, most_constant_threads);
  while (threads_of(level) > most_constant_threads) {
    how.least_systems /= 2;
    level = in_tiles(level, how, most_constant_threads);
  }
  level.vectors = tiles_in_vectors(level, false);
  return level;
}

}  // namespace

template <class T>
void cuda_constant(Stream& stream, Arguments<T> const& work) {
  require_open("constant", work.shape);
  require_at_most("constant", work.shape, std::int64_t{rows_of_thread} * most_constant_threads);
  for (std::size_t axis = 0; axis < 3; ++axis)
    if (work.shape.coefficients.of[axis] != 0 && work.shape.systems[axis] > 1)
      throw std::invalid_argument(
          "tridiagonal: 'constant' takes systems with the same coefficients (strides of 0)");
  Level<T> level{};
  level.work = work;
  level.places = places_of(work.shape);
  level.named_size = level.places.size;
  level = planned(level);
  auto const bytes = constant_bytes(level);
  int const threads = threads_of(level);
  auto* const kernel = constant_kernel<T>;
  allow_shared_bytes(kernel, bytes);
  int blocks = 0;
  GRIDSTRIDE_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, bytes));
  std::int64_t const groups = blocks_of(level);
  std::int64_t const most = std::int64_t{blocks} * stream.device().processors();
  kernel<<<static_cast<unsigned>(std::min(groups, most)), threads, bytes, native(stream)>>>(level,
                                                                                            groups);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "tridiagonal constant");
}

template void cuda_constant(Stream&, Arguments<float> const&);
template void cuda_constant(Stream&, Arguments<double> const&);

}  // namespace gridstride::tridiagonal

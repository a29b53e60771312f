#pragma once

#include <cstdint>

#include "kernels/tridiagonal/reduction.cuh"
#include "kernels/tridiagonal/tiles.cuh"

/// The kernel of the rung `hybrid` (cuda_hybrid.cu).
namespace gridstride::tridiagonal {

/// Rows of a thread. Odd, so that the rows that the threads of a warp read from shared memory at the
/// same time lie in different banks.
constexpr int chunk_rows = 9;
/// Threads of a block, at most, and of a multiprocessor by the registers that they have.
constexpr int most_threads = 768;
/// What a kernel makes of the tiles of the systems.
enum class Task {
  whole,       ///< a tile is a system: its solution
  reduce,      ///< the row of the tile's last unknown, and its first unknown as a relation
  substitute,  ///< the solution, once the last unknowns of all tiles are known
};

/// Arrays of tiles, one after the other for each system, seven of them in a row: a, b, c and d of
/// `Row` and constant, left and right of `Relation`.
constexpr int reduced_arrays = 7;

/// The rows of another level's last unknowns: each knows the next tile's first unknown.
template <class T>
__device__ void make_rows(Tile<T> const& tile) {
  auto const& level = tile.level;
  std::int64_t const size = level.places.size, all = size * level.places.count;
  tile.each_place(1, [&](int system, int r) {
    std::int64_t const begin = (tile.first_system + system) * size, at = begin + tile.first_row + r;
    std::int64_t const next = at + 1 == begin + size ? begin : at + 1;
    T const* const from = level.rows;
    Row<T> const row = without_upper(
        Row<T>{from[at], from[all + at], from[2 * all + at], from[3 * all + at]},
        Relation<T>{from[4 * all + next], from[5 * all + next], from[6 * all + next]});
    int const to = system * level.pitch + r;
    tile.array(0)[to] = row.a;
    tile.array(1)[to] = row.b;
    tile.array(2)[to] = row.c;
    tile.array(3)[to] = row.d;
  });
}

/// A thread's rows: all but the last one as relations.
template <class T>
struct Chunk {
  Relation<T> relations[chunk_rows - 1];
  Relation<T> first;  ///< the first unknown, by the one before the chunk and its separator
  Row<T> last;        ///< of the separator, without the unknown before it
  bool dominant = true;
};

/// Rows in shared memory, from the first of a chunk on. The coefficients beyond the ends of an open
/// system do not count.
template <class T>
struct ChunkRows {
  T const *a, *b, *c, *d;
  int size;
  bool opens, ends;  ///< whether the first and the last one are those of an open system

  __device__ Row<T> get(int i) const {
    return {opens && i == 0 ? T{0} : a[i], b[i], ends && i == size - 1 ? T{0} : c[i], d[i]};
  }
};

/// Eliminates rows. `whole`: as many as there can be.
template <bool whole, class T>
__device__ void eliminate(ChunkRows<T> rows, Chunk<T>& chunk) {
  if (whole) rows.size = chunk_rows;
  auto const read = [&](int i) {
    auto const row = rows.get(i);
    chunk.dominant &= row.dominant();
    return row;
  };
  auto before = before_piece<T>();
#pragma unroll
  for (int i = 0; i < chunk_rows - 1; ++i) {
    bool good = true;
    if (i + 1 < rows.size)
      before = chunk.relations[i] = solved(without_lower(read(i), before), good);
  }
  chunk.last = without_lower(read(rows.size - 1), before);
  chunk.first = separator<T>();
#pragma unroll
  for (int i = chunk_rows - 2; i >= 0; --i)
    if (i + 1 < rows.size)
      chunk.first = chunk.relations[i] = through(chunk.relations[i], chunk.first);
}

/// The row whose pivot is zero, or −1. After one, no right-hand side is finite.
template <class T>
__device__ int bad_row(ChunkRows<T> const& rows, Row<T> const& last) {
  if (std::fabs(last.d) <= std::numeric_limits<T>::max()) return -1;
  auto before = before_piece<T>();
  for (int i = 0; i + 1 < rows.size; ++i) {
    bool good = true;
    before = solved(without_lower(rows.get(i), before), good);
    if (!good) return i;
  }
  return -1;
}

/// Notes a bad pivot in row `row` of a tile's system.
template <class T>
__device__ void note_bad_pivot(Tile<T> const& tile, int system, int row) {
  auto const& level = tile.level;
  std::int64_t const end = (tile.first_row + row + 1) * level.named_rows;
  raise(level.work.findings->bad_pivot,
        word_of(level.named_size, tile.first_system + system,
                (end < level.named_size ? end : level.named_size) - 1));
}

/// Finds the unknowns before and at the end of the tiles, once they are known.
template <class T>
__device__ void find_ends(Tile<T> const& tile, Begins<T> const& begins) {
  auto const& level = tile.level;
  int const s = static_cast<int>(threadIdx.x);
  if (s >= tile.systems) return;
  T const* const known = level.separators + (tile.first_system + s) * level.tiles;
  bool const opens = !level.places.periodic && tile.index == 0;
  begins.before[s] = opens ? T{0} : known[(tile.index > 0 ? tile.index : level.tiles) - 1];
  begins.last[s] = known[tile.index];
}

template <class T>
__device__ void write_reduced(Tile<T> const& tile, int system, Row<T> const& last,
                              Relation<T> const& first) {
  auto const& level = tile.level;
  std::int64_t const all = level.places.count * level.tiles;
  T* const to = level.reduced + (tile.first_system + system) * level.tiles + tile.index;
  T const values[reduced_arrays] = {last.a,         last.b,     last.c,     last.d,
                                    first.constant, first.left, first.right};
#pragma unroll
  for (int i = 0; i < reduced_arrays; ++i) to[i * all] = values[i];
}

/// One block: a tile of some systems. A thread eliminates a chunk of nine rows; the chunks' last
/// unknowns but the tile's own are solved for by parallel cyclic reduction.
template <Task task, class T>
__global__ void __launch_bounds__(most_threads)
    hybrid_kernel(__grid_constant__ Level<T> const level) {
  extern __shared__ __align__(16) unsigned char hybrid_memory[];
  T* const memory = reinterpret_cast<T*>(hybrid_memory);
  // What the pass before has read last is still in the cache.
  Tile<T> const tile(level, memory,
                     task == Task::substitute ? gridDim.x - 1 - blockIdx.x : blockIdx.x);
  Begins<T> const begins(level, memory);
  find_systems(tile, begins);
  if (task == Task::substitute) find_ends(tile, begins);
  __syncthreads();
  if (level.rows != nullptr) {
    make_rows(tile);
  } else {
    bring_arrays(tile, begins);
    close_group();
    await_groups<0>();
  }
  __syncthreads();

  int const thread = static_cast<int>(threadIdx.x);
  int const system = thread / level.chunks, chunk = thread % level.chunks;
  int const chunks = (tile.rows + chunk_rows - 1) / chunk_rows, row = chunk * chunk_rows;
  bool const active = system < tile.systems && chunk < chunks, inner = active && chunk + 1 < chunks;
  int const size = tile.rows - row < chunk_rows ? tile.rows - row : chunk_rows;
  bool const open = !level.places.periodic;
  Chunk<T> rows;
  int const begin = system * level.pitch + row;
  ChunkRows<T> const given{tile.array(0) + begin,
                           tile.array(1) + begin,
                           tile.array(2) + begin,
                           tile.array(3) + begin,
                           size,
                           open && tile.first_row + row == 0,
                           open && tile.first_row + row + size == level.places.size};
  int bad = -1;
  if (active) {
    if (size == chunk_rows)
      eliminate<true>(given, rows);
    else
      eliminate<false>(given, rows);
    bad = bad_row(given, rows.last);
  }
  // From here on the memory of a, b and c holds relations.
  if (__syncthreads_or(!rows.dominant) && level.rows == nullptr && thread == 0)
    raise(level.work.findings->measured, 1);
  int const slots = level.systems * level.chunks;
  SharedRelations<T> const firsts{memory, slots};
  if (active) firsts.put(thread, rows.first);
  __syncthreads();

  SharedRelations<T> separators{memory + 3 * slots, slots}, spare{memory + 6 * slots, slots};
  Relation<T> mine{};
  bool good = true;
  if (inner) {
    mine = solved(without_upper(rows.last, firsts.get(thread + 1)), good);
    separators.put(thread, mine);
  }
  __syncthreads();
  for (int distance = 1; distance < chunks - 1; distance *= 2) {
    if (inner) {
      mine = reach_further(mine, separators, thread, chunk >= distance,
                           chunk + distance < chunks - 1, distance, good);
      spare.put(thread, mine);
    }
    __syncthreads();
    auto const next = spare;
    spare = separators;
    separators = next;
  }

  if (task != Task::substitute && active && !inner) {
    auto first = firsts.get(thread - chunk);
    if (chunks > 1) first = through(first, separators.get(thread - chunk));
    auto last =
        without_lower(rows.last, chunks > 1 ? separators.get(thread - 1) : before_piece<T>());
    if (task == Task::reduce) {
      write_reduced(tile, system, last, first);
    } else {
      if (!open) last = closed(last, first);
      T const end = solved(last, good).constant;
      begins.last[system] = end;
      begins.before[system] = open ? T{0} : end;
    }
  }
  if (bad >= 0)
    note_bad_pivot(tile, system, row + bad);
  else if (active && !good)
    note_bad_pivot(tile, system, row + size - 1);
  if (task == Task::reduce) return;
  if (task == Task::whole) __syncthreads();

  if (active) {
    T const before = begins.before[system], last = begins.last[system];
    T const left = chunk == 0 ? before : separators.get(thread - 1).at(before, last);
    T const own = inner ? mine.at(before, last) : last;
    T* const x = tile.array(3) + system * level.pitch + row;
#pragma unroll
    for (int i = 0; i < chunk_rows - 1; ++i)
      if (i + 1 < size) x[i] = rows.relations[i].at(left, own);
    x[size - 1] = own;
  }
  __syncthreads();
  write_solution(tile, tile.array(3), begins.values);
}

}  // namespace gridstride::tridiagonal

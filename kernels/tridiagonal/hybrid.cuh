#pragma once

#include <cstdint>

#include "kernels/tridiagonal/reduction.cuh"
#include "kernels/tridiagonal/tiles.cuh"

/// The kernels of the rungs `hybrid` and `ahead` (cuda_hybrid.cu).
namespace gridstride::tridiagonal {

/// Rows of a thread. Odd, so that the rows that the threads of a warp read from shared memory at the
/// same time lie in different banks.
constexpr int chunk_rows = 9;
/// Threads of a block, at most, and of a multiprocessor by the registers that they have.
constexpr int most_threads = 768;
/// The same for blocks that stay, which have more to remember.
constexpr int most_ahead_threads = 640;
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

/// A thread's place in a tile.
template <class T>
struct TilePlace {
  int system, chunk, chunks, row, size;
  bool active, inner;  ///< has rows; has rows of another thread behind them

  __device__ explicit TilePlace(Tile<T> const& tile) {
    int const thread = static_cast<int>(threadIdx.x);
    system = thread / tile.level.chunks;
    chunk = thread % tile.level.chunks;
    chunks = (tile.rows + chunk_rows - 1) / chunk_rows;
    row = chunk * chunk_rows;
    size = tile.rows - row < chunk_rows ? tile.rows - row : chunk_rows;
    active = system < tile.systems && chunk < chunks;
    inner = active && chunk + 1 < chunks;
  }
};

/// Eliminates a thread's rows of the tile in shared memory. A pivot that is zero is noted, and `bad`
/// set. A barrier.
template <class T>
__device__ void eliminate_tile(Tile<T> const& tile, TilePlace<T> const& seat, Chunk<T>& chunk,
                               bool& bad) {
  auto const& level = tile.level;
  bool const open = !level.places.periodic;
  int const begin = seat.system * level.pitch + seat.row;
  std::int64_t const first = tile.first_row + seat.row;
  ChunkRows<T> const given{tile.array(0) + begin,
                           tile.array(1) + begin,
                           tile.array(2) + begin,
                           tile.array(3) + begin,
                           seat.size,
                           open && first == 0,
                           open && first + seat.size == level.places.size};
  int row = -1;
  if (seat.active) {
    if (seat.size == chunk_rows)
      eliminate<true>(given, chunk);
    else
      eliminate<false>(given, chunk);
    row = bad_row(given, chunk.last);
  }
  bad = row >= 0;
  if (bad) note_bad_pivot(tile, seat.system, seat.row + row);
  if (__syncthreads_or(!chunk.dominant) && level.rows == nullptr && threadIdx.x == 0)
    raise(level.work.findings->measured, 1);
}

/// Solves for the chunks' last unknowns but the tile's own, by parallel cyclic reduction: `mine` is
/// the thread's, `firsts` and `separators` are those of all. Barriers.
template <class T>
__device__ void solve_separators(Tile<T> const& tile, TilePlace<T> const& seat,
                                 Chunk<T> const& chunk, SharedRelations<T> const& firsts,
                                 SharedRelations<T>& separators, SharedRelations<T> spare,
                                 Relation<T>& mine, bool& good) {
  int const thread = static_cast<int>(threadIdx.x);
  if (seat.active) firsts.put(thread, chunk.first);
  __syncthreads();
  if (seat.inner) {
    mine = solved(without_upper(chunk.last, firsts.get(thread + 1)), good);
    separators.put(thread, mine);
  }
  __syncthreads();
  for (int distance = 1; distance < seat.chunks - 1; distance *= 2) {
    if (seat.inner) {
      mine = reach_further(mine, separators, thread, seat.chunk >= distance,
                           seat.chunk + distance < seat.chunks - 1, distance, good);
      spare.put(thread, mine);
    }
    __syncthreads();
    auto const next = spare;
    spare = separators;
    separators = next;
  }
}

/// One tile whose rows are in shared memory. Once they are in registers `bring_next` is called, and
/// `exchange` is memory in which threads give each other numbers: that of a, b and c, or, where the
/// next rows come meanwhile (`ahead`), other memory, which then takes the solution too.
template <Task task, bool ahead, class T, class BringNext>
__device__ void solve_tile(Tile<T> const& tile, Begins<T> const& begins, T* exchange,
                           BringNext const& bring_next) {
  auto const& level = tile.level;
  TilePlace<T> const seat(tile);
  int const thread = static_cast<int>(threadIdx.x), slots = level.systems * level.chunks;
  Chunk<T> chunk;
  bool bad = false, good = true;
  eliminate_tile(tile, seat, chunk, bad);
  bring_next();

  SharedRelations<T> const firsts{exchange, slots};
  SharedRelations<T> separators{exchange + 3 * slots, slots};
  Relation<T> mine{};
  solve_separators(tile, seat, chunk, firsts, separators,
                   SharedRelations<T>{exchange + 6 * slots, slots}, mine, good);
  if (task != Task::substitute && seat.active && !seat.inner) {
    bool const alone = seat.chunks == 1;
    auto first = firsts.get(thread - seat.chunk);
    if (!alone) first = through(first, separators.get(thread - seat.chunk));
    auto last = without_lower(chunk.last, alone ? before_piece<T>() : separators.get(thread - 1));
    if (task == Task::reduce) {
      write_reduced(tile, seat.system, last, first);
    } else {
      bool const open = !level.places.periodic;
      if (!open) last = closed(last, first);
      T const end = solved(last, good).constant;
      begins.last[seat.system] = end;
      begins.before[seat.system] = open ? T{0} : end;
    }
  }
  if (seat.active && !bad && !good) note_bad_pivot(tile, seat.system, seat.row + seat.size - 1);
  if (task == Task::reduce) return;
  if (task == Task::whole) __syncthreads();

  T left = 0, own = 0;
  if (seat.active) {
    T const before = begins.before[seat.system], last = begins.last[seat.system];
    left = seat.chunk == 0 ? before : separators.get(thread - 1).at(before, last);
    own = seat.inner ? mine.at(before, last) : last;
  }
  T* const solution = ahead ? exchange : tile.array(3);
  if (ahead) __syncthreads();  // what threads have given each other makes room
  if (seat.active) {
    T* const x = solution + seat.system * level.pitch + seat.row;
#pragma unroll
    for (int i = 0; i < chunk_rows - 1; ++i)
      if (i + 1 < seat.size) x[i] = chunk.relations[i].at(left, own);
    x[seat.size - 1] = own;
  }
  __syncthreads();
  write_solution(tile, solution, begins.values);
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
  solve_tile<task, false>(tile, begins, memory, [] {});
}

/// The same by blocks that stay, and take one tile after the other: the next one comes while one is
/// solved. For the caller's systems.
template <Task task, class T>
__global__ void __launch_bounds__(most_ahead_threads)
    ahead_kernel(__grid_constant__ Level<T> const level, unsigned tiles) {
  extern __shared__ __align__(16) unsigned char hybrid_memory[];
  T* const memory = reinterpret_cast<T*>(hybrid_memory);
  auto const tile_of = [&](unsigned index) {
    return Tile<T>(level, memory, task == Task::substitute ? tiles - 1 - index : index);
  };
  auto const find = [&](unsigned index, int turn) {
    Begins<T> const begins(level, memory, turn);
    find_systems(tile_of(index), begins);
    if (task == Task::substitute) find_ends(tile_of(index), begins);
  };
  auto const bring = [&](unsigned index, int turn) {
    bring_arrays(tile_of(index), Begins<T>(level, memory, turn));
    close_group();
  };
  int turn = 0;
  find(blockIdx.x, turn);
  __syncthreads();
  bring(blockIdx.x, turn);
  for (unsigned index = blockIdx.x; index < tiles; index += gridDim.x) {
    unsigned const next = index + gridDim.x;
    await_groups<0>();
    __syncthreads();
    if (next < tiles) find(next, 1 - turn);
    solve_tile<task, true>(tile_of(index), Begins<T>(level, memory, turn),
                           memory + elements_before_exchange(level), [&] {
                             if (next < tiles) bring(next, 1 - turn);
                           });
    turn = 1 - turn;
  }
}

}  // namespace gridstride::tridiagonal

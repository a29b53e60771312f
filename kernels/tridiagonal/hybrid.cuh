#pragma once

#include <cstdint>

#include "kernels/tridiagonal/reduction.cuh"
#include "kernels/tridiagonal/tiles.cuh"

/// The kernel of the rung `hybrid` (cuda_hybrid.cu).
namespace gridstride::tridiagonal {

/// How a block takes its rows.
template <int rows_, int threads_, int blocks_, bool across_>
struct Form {
  static constexpr int rows = rows_;             ///< of a thread
  static constexpr int most_threads = threads_;  ///< of a block
  static constexpr int blocks = blocks_;         ///< that share a multiprocessor, at least
  /// Systems lie side by side, and rows go straight to registers.
  static constexpr bool across = across_;
};

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
template <int most, class T>
struct Chunk {
  Relation<T> relations[most - 1];
  Relation<T> first;  ///< the first unknown, by the one before the chunk and its separator
  Row<T> last;        ///< of the separator, without the unknown before it
  bool dominant = true;
};

/// Rows in memory, from the first of a chunk on. The coefficients beyond the ends of an open system
/// do not count.
template <class T>
struct ChunkRows {
  T const *a, *b, *c, *d;
  std::int64_t coefficient_stride, value_stride;
  int size;
  bool opens, ends;  ///< whether the first and the last one are those of an open system

  __device__ Row<T> get(int i) const {
    std::int64_t const at = i * coefficient_stride;
    return {opens && i == 0 ? T{0} : a[at], b[at], ends && i == size - 1 ? T{0} : c[at],
            d[i * value_stride]};
  }
};

/// Eliminates `size` rows. `whole`: as many as there can be.
template <bool whole, int most, class T, class Get>
__device__ void eliminate(int size, Get const& get, Chunk<most, T>& chunk) {
  if (whole) size = most;
  auto const read = [&](int i) {
    Row<T> const row = get(i);
    chunk.dominant &= row.dominant();
    return row;
  };
  auto before = before_piece<T>();
#pragma unroll
  for (int i = 0; i < most; ++i) {
    bool good = true;
    if (i + 1 < size) before = chunk.relations[i] = solved(without_lower(read(i), before), good);
    if (i + 1 == size) chunk.last = without_lower(read(i), before);
  }
  chunk.first = separator<T>();
#pragma unroll
  for (int i = most - 2; i >= 0; --i)
    if (i + 1 < size) chunk.first = chunk.relations[i] = through(chunk.relations[i], chunk.first);
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
template <class Form, class T>
struct TilePlace {
  int system, chunk, chunks, row, size;
  int step;            ///< from a thread to that of the next chunk
  bool active, inner;  ///< has rows; has rows of another thread behind them

  __device__ explicit TilePlace(Tile<T> const& tile) {
    int const thread = static_cast<int>(threadIdx.x);
    int const fast = Form::across ? tile.level.systems : tile.level.chunks;
    system = Form::across ? thread % fast : thread / fast;
    chunk = Form::across ? thread / fast : thread % fast;
    step = Form::across ? fast : 1;
    chunks = (tile.rows + Form::rows - 1) / Form::rows;
    row = chunk * Form::rows;
    size = tile.rows - row < Form::rows ? tile.rows - row : Form::rows;
    active = system < tile.systems && chunk < chunks;
    inner = active && chunk + 1 < chunks;
  }

  /// Where the thread's rows are.
  __device__ ChunkRows<T> rows(Tile<T> const& tile, Begins<T> const& begins) const {
    auto const& level = tile.level;
    std::int64_t const first = tile.first_row + row;
    bool const open = !level.places.periodic;
    bool const opens = open && first == 0, ends = open && first + size == level.places.size;
    if (!Form::across) {
      int const at = system * level.pitch + row;
      return {tile.array(0) + at,
              tile.array(1) + at,
              tile.array(2) + at,
              tile.array(3) + at,
              1,
              1,
              size,
              opens,
              ends};
    }
    auto const& work = level.work;
    auto const& places = level.places;
    std::int64_t const at = begins.coefficients[system] + first * places.coefficient_stride;
    return {work.lower + at,
            work.diagonal + at,
            work.upper + at,
            work.right + begins.values[system] + first * places.value_stride,
            places.coefficient_stride,
            places.value_stride,
            size,
            opens,
            ends};
  }
};

/// Eliminates a thread's rows. A pivot that is zero is noted, and `bad` set. A barrier.
template <class Form, class T>
__device__ void eliminate_rows(Tile<T> const& tile, TilePlace<Form, T> const& seat,
                               Begins<T> const& begins, Chunk<Form::rows, T>& chunk, bool& bad) {
  auto const& level = tile.level;
  int row = -1;
  if (seat.active) {
    auto const given = seat.rows(tile, begins);
    Row<T> loaded[Form::across ? Form::rows : 1];
    if (Form::across) {
#pragma unroll
      for (int i = 0; i < Form::rows; ++i)
        if (i < seat.size) loaded[i] = given.get(i);
    }
    auto const get = [&](int i) { return Form::across ? loaded[i] : given.get(i); };
    if (seat.size == Form::rows)
      eliminate<true>(seat.size, get, chunk);
    else
      eliminate<false>(seat.size, get, chunk);
    row = bad_row(given, chunk.last);
  }
  bad = row >= 0;
  if (bad) note_bad_pivot(tile, seat.system, seat.row + row);
  if (__syncthreads_or(!chunk.dominant) && level.rows == nullptr && threadIdx.x == 0)
    raise(level.work.findings->measured, 1);
}

/// Solves for the chunks' last unknowns but the tile's own, by parallel cyclic reduction: `mine` is
/// the thread's, `firsts` and `separators` are those of all. Barriers.
template <class Form, class T>
__device__ void solve_separators(Tile<T> const& tile, TilePlace<Form, T> const& seat,
                                 Chunk<Form::rows, T> const& chunk,
                                 SharedRelations<T> const& firsts, SharedRelations<T>& separators,
                                 Relation<T>& mine, bool& good) {
  int const thread = static_cast<int>(threadIdx.x);
  int const slots = tile.level.systems * tile.level.chunks;
  SharedRelations<T> spare{separators.at + 3 * separators.size, separators.size};
  if (seat.active) firsts.put(thread, chunk.first);
  // Behind the chunks is what unknowns beyond the ends are related to: themselves.
  if (thread < 2) {
    auto const beyond = thread == 0 ? before_piece<T>() : separator<T>();
    separators.put(slots + thread, beyond);
    spare.put(slots + thread, beyond);
  }
  __syncthreads();
  if (seat.inner) {
    mine = solved(without_upper(chunk.last, firsts.get(thread + seat.step)), good);
    separators.put(thread, mine);
  }
  __syncthreads();
  for (int distance = 1; distance < seat.chunks - 1; distance *= 2) {
    if (seat.inner) {
      int const lower = seat.chunk >= distance ? thread - distance * seat.step : slots;
      int const upper =
          seat.chunk + distance < seat.chunks - 1 ? thread + distance * seat.step : slots + 1;
      mine = reach_further(mine, separators.get(lower), separators.get(upper), good);
      spare.put(thread, mine);
    }
    __syncthreads();
    auto const next = spare;
    spare = separators;
    separators = next;
  }
}

/// What a tile's rows say of its last unknown: that itself, or what is left of the tile.
template <Task task, class Form, class T>
__device__ void finish_tile(Tile<T> const& tile, TilePlace<Form, T> const& seat,
                            Chunk<Form::rows, T> const& chunk, SharedRelations<T> const& firsts,
                            SharedRelations<T> const& separators, Begins<T> const& begins,
                            bool& good) {
  int const thread = static_cast<int>(threadIdx.x), begin = thread - seat.chunk * seat.step;
  bool const alone = seat.chunks == 1, open = !tile.level.places.periodic;
  auto first = firsts.get(begin);
  if (!alone) first = through(first, separators.get(begin));
  auto last =
      without_lower(chunk.last, alone ? before_piece<T>() : separators.get(thread - seat.step));
  if (task == Task::reduce) return write_reduced(tile, seat.system, last, first);
  if (!open) last = closed(last, first);
  T const end = solved(last, good).constant;
  begins.last[seat.system] = end;
  begins.before[seat.system] = open ? T{0} : end;
}

/// One block: a tile of some systems. A thread eliminates a chunk of rows; the chunks' last unknowns
/// but the tile's own are solved for by parallel cyclic reduction.
template <Task task, class Form, class T>
__global__ void __launch_bounds__(Form::most_threads, Form::blocks)
    hybrid_kernel(__grid_constant__ Level<T> const level) {
  extern __shared__ __align__(16) unsigned char hybrid_memory[];
  __shared__ std::uint64_t barrier;
  T* const memory = reinterpret_cast<T*>(hybrid_memory);
  // What the pass before has read last is still in the cache.
  Tile<T> const tile(level, memory,
                     task == Task::substitute ? gridDim.x - 1 - blockIdx.x : blockIdx.x);
  Begins<T> const begins(level, memory);
  find_systems(tile, begins);
  if (task == Task::substitute) find_ends(tile, begins);
  make_barrier(tile, barrier);
  __syncthreads();
  if (!Form::across) {
    if (level.rows != nullptr)
      make_rows(tile);
    else
      bring_arrays(tile, begins, barrier);
    await_arrays(level, barrier);
  }

  TilePlace<Form, T> const seat(tile);
  int const thread = static_cast<int>(threadIdx.x), slots = level.systems * level.chunks;
  Chunk<Form::rows, T> chunk;
  bool bad = false, good = true;
  eliminate_rows(tile, seat, begins, chunk, bad);
  // From here on the memory of a, b and c holds relations.
  SharedRelations<T> const firsts{memory, slots + 2};
  SharedRelations<T> separators{memory + 3 * firsts.size, firsts.size};
  Relation<T> mine{};
  solve_separators(tile, seat, chunk, firsts, separators, mine, good);
  if (task != Task::substitute && seat.active && !seat.inner)
    finish_tile<task>(tile, seat, chunk, firsts, separators, begins, good);
  if (seat.active && !bad && !good) note_bad_pivot(tile, seat.system, seat.row + seat.size - 1);
  if (task == Task::reduce) return;
  if (task == Task::whole) __syncthreads();

  if (seat.active) {
    T const before = begins.before[seat.system], last = begins.last[seat.system];
    T const left = seat.chunk == 0 ? before : separators.get(thread - seat.step).at(before, last);
    T const own = seat.inner ? mine.at(before, last) : last;
    std::int64_t const stride = Form::across ? level.places.value_stride : 1;
    T* const x = Form::across ? level.work.solution + begins.values[seat.system] +
                                    (tile.first_row + seat.row) * stride
                              : tile.array(3) + seat.system * level.pitch + seat.row;
#pragma unroll
    for (int i = 0; i < Form::rows - 1; ++i)
      if (i + 1 < seat.size) x[i * stride] = chunk.relations[i].at(left, own);
    x[(seat.size - 1) * stride] = own;
  }
  if (!Form::across) write_solution(tile, tile.array(3), begins.values);
}

}  // namespace gridstride::tridiagonal

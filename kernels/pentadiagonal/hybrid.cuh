#pragma once

#include <cstdint>

#include "kernels/pentadiagonal/blocks.hpp"
#include "kernels/tridiagonal/tiles.cuh"

/// The kernel of the rung `hybrid` (cuda_hybrid.cu).
namespace gridstride::pentadiagonal {

/// Pairs of a thread. Odd, so that those that the threads of a warp read from shared memory at the
/// same time lie in different banks.
constexpr int chunk_pairs = 9, chunk_rows = 2 * chunk_pairs;
constexpr int most_threads = 256;
/// Numbers of a tile in `Level::reduced`: a, b, c and d of its last row, and its first pair as a
/// relation.
constexpr int reduced_numbers = 24;

template <class T>
constexpr int arrays_of(Arguments<T> const*) {
  return 5;
}
template <class T>
GRIDSTRIDE_HOST_DEVICE T const* coefficients_of(Arguments<T> const& work, int which) {
  return which == 0   ? work.a
         : which == 1 ? work.b
         : which == 2 ? work.c
         : which == 3 ? work.d
                      : work.e;
}

template <class T>
using TileLevel = tridiagonal::Level<T, Arguments<T>>;
template <class T>
using Tile = tridiagonal::Tile<T, Arguments<T>>;

/// What a kernel makes of the tiles of the systems.
enum class TileTask {
  whole,       ///< a tile is a system: its solution
  reduce,      ///< the row of the tile's last pair, and its first pair as a relation
  substitute,  ///< the solution, once the last pairs of all tiles are known
};

/// Two numbers that move at once.
template <class T>
struct alignas(2 * sizeof(T)) SharedPair {
  T x, y;
};

/// Relations in shared memory, as five arrays of pairs.
template <class T>
struct SharedRelations {
  SharedPair<T>* at;
  int size;

  __device__ void put(int i, BlockRelation<T> const& r) const {
    at[i] = {r.constant.x, r.constant.y};
    at[size + i] = {r.left.xx, r.left.xy};
    at[2 * size + i] = {r.left.yx, r.left.yy};
    at[3 * size + i] = {r.right.xx, r.right.xy};
    at[4 * size + i] = {r.right.yx, r.right.yy};
  }
  __device__ BlockRelation<T> get(int i) const {
    auto const c = at[i], p = at[size + i], q = at[2 * size + i], r = at[3 * size + i],
               s = at[4 * size + i];
    return {{c.x, c.y}, {p.x, p.y, q.x, q.y}, {r.x, r.y, s.x, s.y}};
  }
};

/// A thread's place in a tile.
template <class T>
struct TilePlace {
  int system, chunk, chunks, row;
  int size;            ///< pairs
  bool active, inner;  ///< has rows; has rows of another thread behind them

  __device__ explicit TilePlace(Tile<T> const& tile) {
    int const thread = static_cast<int>(threadIdx.x);
    system = thread / tile.level.chunks;
    chunk = thread % tile.level.chunks;
    chunks = (tile.rows + chunk_rows - 1) / chunk_rows;
    row = chunk * chunk_rows;
    int const pairs = (tile.rows - row + 1) / 2;
    size = pairs < chunk_pairs ? pairs : chunk_pairs;
    active = system < tile.systems && chunk < chunks;
    inner = active && chunk + 1 < chunks;
  }
};

/// A thread's pairs in shared memory: first their rows, then, in the same place, what they are
/// related to, then themselves, where the right-hand side was.
template <bool given, class T>
struct Pairs {
  Tile<T> const& tile;
  int at, size;
  std::int64_t number;  ///< of another level: where the first row is among those of all systems
  bool ends;            ///< whether the last row is that of a system
  bool dominant = true;

  __device__ Pairs(Tile<T> const& t, TilePlace<T> const& seat)
      : tile(t), at(seat.system * t.level.pitch + seat.row), size(seat.size) {
    std::int64_t const rows = t.level.places.size, first = t.first_row + seat.row;
    number = ((t.first_system + seat.system) * rows + first) / 2;
    ends = first + 2 * size >= rows;
    if (given && seat.active) clear_ends(first);
  }
  __device__ SharedPair<T>& pair(int array, int i) const {
    return *reinterpret_cast<SharedPair<T>*>(tile.array(array) + at + 2 * i);
  }

  /// What multiplies nothing becomes 0, and what is no unknown, behind the last of an odd number,
  /// too.
  __device__ void clear_ends(std::int64_t first) const {
    auto const element = [&](int array, std::int64_t row) -> T& {
      return tile.array(array)[at + row];
    };
    if (first == 0) element(0, 0) = element(0, 1) = element(1, 0) = 0;
    std::int64_t const last = tile.level.places.size - 1 - first;
    if (last >= 1 && last - 1 < 2 * size) element(4, last - 1) = 0;
    if (last >= 2 * size) return;
    element(3, last) = element(4, last) = 0;
    if (last % 2 != 0) return;
    for (int array = 0; array < 6; ++array) element(array, last + 1) = array == 2 ? T{1} : T{0};
  }

  __device__ BlockRow<T> row(int i) {
    if (!given) return reduced_row(i);
    auto const a = pair(0, i), b = pair(1, i), c = pair(2, i), d = pair(3, i), e = pair(4, i),
               f = pair(5, i);
    ScalarRow<T> const p{a.x, b.x, c.x, d.x, e.x, f.x}, q{a.y, b.y, c.y, d.y, e.y, f.y};
    dominant = dominant && p.dominant() && q.dominant();
    return {{p.a, p.b, 0, q.a}, {p.c, p.d, q.b, q.c}, {p.e, 0, q.d, q.e}, {p.right, q.right}};
  }
  __device__ BlockRow<T> reduced_row(int i) const {
    T const* const from = tile.level.rows + (number + i) * reduced_numbers;
    auto const block = [&](int k) {
      return Block<T>{from[k], from[k + 1], from[k + 2], from[k + 3]};
    };
    BlockRow<T> const row{block(0), block(4), block(8), {from[12], from[13]}};
    if (ends && i + 1 == size) return row;
    constexpr int next = reduced_numbers + 14;
    return without_upper(row, {{from[next], from[next + 1]}, block(next + 2), block(next + 6)});
  }

  __device__ void put(int i, BlockRelation<T> const& r) const {
    pair(5, i) = {r.constant.x, r.constant.y};
    pair(0, i) = {r.left.xx, r.left.xy};
    pair(1, i) = {r.left.yx, r.left.yy};
    pair(2, i) = {r.right.xx, r.right.xy};
    pair(3, i) = {r.right.yx, r.right.yy};
  }
  /// Finds all pairs from the one before them and the last one.
  __device__ void substitute(Pair<T> const& before, Pair<T> x) const {
    pair(5, size - 1) = {x.x, x.y};
    for (int i = size - 2; i >= 0; --i) {
      auto const c = pair(5, i), p = pair(0, i), q = pair(1, i), r = pair(2, i), s = pair(3, i);
      x = Pair<T>{c.x, c.y} - Block<T>{p.x, p.y, q.x, q.y} * before -
          Block<T>{r.x, r.y, s.x, s.y} * x;
      pair(5, i) = {x.x, x.y};
    }
  }
};

/// What is left of a thread's pairs.
template <class T>
struct Chunk {
  BlockRow<T> last;        ///< of the last one, without those before it
  BlockRelation<T> first;  ///< the first one, by the one before the chunk and the last one
  int bad = -1;            ///< a row with a pivot of zero
};

/// The first pair of a piece by the pair that `next` relates.
template <class T>
__device__ BlockRelation<T> through(BlockRelation<T> const& first, BlockRelation<T> const& next) {
  return {first.constant - first.right * next.constant, first.left - first.right * next.left,
          -(first.right * next.right)};
}
/// What a pair is, seen from itself.
template <class T>
__device__ BlockRelation<T> itself() {
  return {{0, 0}, {0, 0, 0, 0}, {-1, 0, 0, -1}};
}

template <bool given, class T>
__device__ void eliminate(Pairs<given, T>& pairs, Chunk<T>& chunk) {
  auto before = before_piece<T>();
  chunk.first = itself<T>();
  for (int i = 0; i + 1 < pairs.size; ++i) {
    int bad = -1;
    before = solved(without_lower(pairs.row(i), before), bad);
    if (bad >= 0 && chunk.bad < 0) chunk.bad = 2 * i + bad;
    chunk.first = through(chunk.first, before);
    pairs.put(i, before);
  }
  chunk.last = without_lower(pairs.row(pairs.size - 1), before);
}

/// Notes a zero pivot in a row of the tile.
template <class T>
__device__ void note_bad_row(Tile<T> const& tile, int system, int row) {
  auto const& level = tile.level;
  std::int64_t const pair = (tile.first_row + row) / 2;
  std::int64_t const named = (pair + 1) * level.named_rows - 2 + row % 2;
  tridiagonal::raise(level.work.findings->bad_pivot,
                     tridiagonal::word_of(level.named_size, tile.first_system + system,
                                          named < level.named_size ? named : level.named_size - 1));
}

/// Solves for the chunks' last pairs, but for the tile's own where it has others behind it, by
/// parallel cyclic reduction: `mine` is the thread's, `separators` are those of all. Barriers.
template <class T>
__device__ void solve_separators(TilePlace<T> const& seat, int slots, int separated,
                                 Chunk<T> const& chunk, SharedRelations<T>& separators,
                                 SharedRelations<T> spare, BlockRelation<T>& mine, int& bad) {
  int const thread = static_cast<int>(threadIdx.x);
  bool const has_one = seat.active && seat.chunk < separated;
  if (seat.active) spare.put(thread, chunk.first);
  __syncthreads();
  if (has_one)
    mine = solved(seat.inner ? without_upper(chunk.last, spare.get(thread + 1)) : chunk.last, bad);
  __syncthreads();
  if (has_one) separators.put(thread, mine);
  // Behind the chunks is what pairs beyond the ends are related to: themselves.
  if (thread < 2) {
    auto const beyond = thread == 0 ? before_piece<T>() : itself<T>();
    separators.put(slots + thread, beyond);
    spare.put(slots + thread, beyond);
  }
  __syncthreads();
  for (int distance = 1; distance < separated; distance *= 2) {
    if (has_one) {
      auto const lower = separators.get(seat.chunk >= distance ? thread - distance : slots);
      auto const upper =
          separators.get(seat.chunk + distance < separated ? thread + distance : slots + 1);
      int now = -1;
      mine = solved(
          without_upper(
              without_lower(BlockRow<T>{mine.left, {1, 0, 0, 1}, mine.right, mine.constant}, lower),
              upper),
          now);
      if (now >= 0 && bad < 0) bad = now;
      spare.put(thread, mine);
    }
    __syncthreads();
    auto const next = spare;
    spare = separators;
    separators = next;
  }
}

/// Leaves what a tile's rows say of its last pair and its first one.
template <class T>
__device__ void write_reduced(Tile<T> const& tile, TilePlace<T> const& seat, Chunk<T> const& chunk,
                              SharedRelations<T> const& separators) {
  auto const& level = tile.level;
  int const thread = static_cast<int>(threadIdx.x);
  bool const alone = seat.chunks == 1;
  T* const to = level.reduced +
                ((tile.first_system + seat.system) * level.tiles + tile.index) * reduced_numbers;
  auto const put = [&](int k, Block<T> const& block) {
    to[k] = block.xx;
    to[k + 1] = block.xy;
    to[k + 2] = block.yx;
    to[k + 3] = block.yy;
  };
  if (seat.active && !seat.inner) {
    auto const last =
        without_lower(chunk.last, alone ? before_piece<T>() : separators.get(thread - 1));
    put(0, last.a);
    put(4, last.b);
    put(8, last.c);
    to[12] = last.d.x;
    to[13] = last.d.y;
  }
  if (seat.active && seat.chunk == 0) {
    auto const first = alone ? chunk.first : through(chunk.first, separators.get(thread));
    to[14] = first.constant.x;
    to[15] = first.constant.y;
    put(16, first.left);
    put(20, first.right);
  }
}

/// One block: a tile of some systems. A thread eliminates a chunk of pairs; the chunks' last pairs
/// are solved for by parallel cyclic reduction. `given`: the systems are the caller's, not what is
/// left of another level's tiles.
template <TileTask task, bool given, class T>
__global__ void __launch_bounds__(most_threads)
    hybrid_kernel(__grid_constant__ TileLevel<T> const level) {
  extern __shared__ __align__(16) unsigned char penta_memory[];
  __shared__ std::uint64_t barrier;
  T* const memory = reinterpret_cast<T*>(penta_memory);
  // What the pass before has read last is still in the cache.
  Tile<T> const tile(level, memory,
                     task == TileTask::substitute ? gridDim.x - 1 - blockIdx.x : blockIdx.x);
  tridiagonal::Begins<T> const begins(level, memory);
  find_systems(tile, begins);
  make_barrier(tile, barrier);
  __syncthreads();
  if (given) {
    bring_arrays(tile, begins, barrier);
    await_arrays(level, barrier);
  }

  TilePlace<T> const seat(tile);
  int const slots = level.systems * level.chunks;
  Pairs<given, T> pairs(tile, seat);
  Chunk<T> chunk{};
  chunk.bad = -1;
  if (seat.active) eliminate(pairs, chunk);
  if (chunk.bad >= 0) note_bad_row(tile, seat.system, seat.row + chunk.bad);
  bool const judged = __syncthreads_or(given && !pairs.dominant);
  if (judged && threadIdx.x == 0) tridiagonal::raise(level.work.findings->measured, 1);

  // From here on the memory of the last coefficients is for what threads give each other.
  auto* const exchange = reinterpret_cast<SharedPair<T>*>(tile.array(4));
  SharedRelations<T> separators{exchange, slots + 2}, spare{exchange + 5 * (slots + 2), slots + 2};
  BlockRelation<T> mine{};
  int bad = -1;
  int const separated = seat.chunks - (task == TileTask::whole ? 0 : 1);
  solve_separators(seat, slots, separated, chunk, separators, spare, mine, bad);
  if (bad >= 0 && chunk.bad < 0)
    note_bad_row(tile, seat.system, seat.row + 2 * (seat.size - 1) + bad);
  if (task == TileTask::reduce) return write_reduced(tile, seat, chunk, separators);

  if (seat.active) {
    int const thread = static_cast<int>(threadIdx.x);
    Pair<T> before{0, 0}, last{0, 0};
    if (task == TileTask::substitute) {
      T const* const known =
          level.separators + 2 * ((tile.first_system + seat.system) * level.tiles + tile.index);
      last = {known[0], known[1]};
      if (tile.index > 0) before = {known[-2], known[-1]};
    }
    auto const at = [&](BlockRelation<T> const& r) {
      return r.constant - r.left * before - r.right * last;
    };
    Pair<T> const left = seat.chunk == 0 ? before : at(separators.get(thread - 1));
    pairs.substitute(left, seat.chunk < separated ? at(mine) : last);
  }
  write_solution(tile, tile.array(5), begins.values);
}

}  // namespace gridstride::pentadiagonal

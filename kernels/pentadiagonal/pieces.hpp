#pragma once

#include <cstdint>
#include <utility>

#include "core/buffer.hpp"
#include "kernels/pentadiagonal/blocks.hpp"

/// Systems in pieces of block rows, so that the work is shared out. All pairs of a piece but its last
/// become relations to two, the one before the piece and its own last; the last pairs of all pieces
/// are a block tridiagonal system again, solved by the same means, and then each piece is by itself.
/// For the family's own files only.
namespace gridstride::pentadiagonal {

/// Systems of block rows: those of the caller, or of the last pairs of another level's pieces.
template <class T>
struct Level {
  Arguments<T> work;  ///< of the caller
  tridiagonal::Places places;
  std::int64_t size;   ///< block rows of a system
  std::int64_t piece;  ///< block rows of a piece, but the last
  /// Of another level: 24 arrays, a, b, c and d of `BlockRow` and constant, left and right of
  /// `BlockRelation`; null for that of the caller.
  T const* rows;
  T* solution;          ///< of another level: pairs
  T* reduced;           ///< of `reduce`: arrays as `rows` has them
  T const* separators;  ///< of `substitute`: the last pairs of all pieces
  std::int64_t blocks;  ///< of the caller, in a block row
  bool across;          ///< whether systems lie side by side

  GRIDSTRIDE_HOST_DEVICE std::int64_t pieces() const { return (size + piece - 1) / piece; }
  /// Where what belongs to row i of a system lies among `count` of each system.
  GRIDSTRIDE_HOST_DEVICE std::int64_t place(std::int64_t system, std::int64_t i,
                                            std::int64_t count) const {
    return across ? i * places.count + system : system * count + i;
  }
};

constexpr int reduced_arrays = 24;

enum class Task {
  whole,       ///< a piece is a system: its solution
  reduce,      ///< the row of the piece's last pair, and its first pair as a relation
  substitute,  ///< the solution, once the last pairs of all pieces are known
};

/// One system of a level.
template <class T>
struct LevelSystem {
  Level<T> const& level;
  std::int64_t number, coefficients, values;
  bool dominant = true;

  GRIDSTRIDE_HOST_DEVICE LevelSystem(Level<T> const& l, std::int64_t system)
      : level(l),
        number(system),
        coefficients(l.places.coefficients(system)),
        values(l.places.values(system)) {}

  GRIDSTRIDE_HOST_DEVICE BlockRow<T> row(std::int64_t r) {
    return level.rows != nullptr ? reduced_row(r) : given_row(r);
  }
  /// What is no unknown, behind the last of an odd number, is 0.
  GRIDSTRIDE_HOST_DEVICE BlockRow<T> given_row(std::int64_t r) {
    bool const odd = 2 * r + 1 == level.places.size;
    auto const read = [&](std::int64_t i) {
      auto const found = row_of(level.work, level.places, coefficients, values, i);
      dominant = dominant && found.dominant();
      return found;
    };
    auto const p = read(2 * r), q = odd ? ScalarRow<T>{0, 0, 1, 0, 0, 0} : read(2 * r + 1);
    return {{p.a, p.b, 0, q.a}, {p.c, p.d, q.b, q.c}, {p.e, 0, q.d, q.e}, {p.right, q.right}};
  }
  GRIDSTRIDE_HOST_DEVICE BlockRow<T> reduced_row(std::int64_t r) const {
    std::int64_t const all = level.size * level.places.count;
    auto const get = [&](int array, std::int64_t at) { return level.rows[array * all + at]; };
    auto const block = [&](int array, std::int64_t at) {
      return Block<T>{get(array, at), get(array + 1, at), get(array + 2, at), get(array + 3, at)};
    };
    std::int64_t const at = level.place(number, r, level.size);
    BlockRow<T> const row{block(0, at), block(4, at), block(8, at), {get(12, at), get(13, at)}};
    if (r + 1 == level.size) return row;
    std::int64_t const next = level.place(number, r + 1, level.size);
    return without_upper(row, {{get(14, next), get(15, next)}, block(16, next), block(20, next)});
  }
  GRIDSTRIDE_HOST_DEVICE void put(std::int64_t r, Pair<T> const& x) const {
    if (level.rows != nullptr) {
      std::int64_t const at = 2 * level.place(number, r, level.size);
      level.solution[at] = x.x;
      level.solution[at + 1] = x.y;
      return;
    }
    std::int64_t const stride = level.places.value_stride;
    T* const to = level.work.solution + values + 2 * r * stride;
    to[0] = x.x;
    if (2 * r + 1 < level.places.size) to[stride] = x.y;
  }
  GRIDSTRIDE_HOST_DEVICE void note(std::int64_t r, int bad) const {
    if (bad < 0) return;
    std::int64_t const row = 2 * ((r + 1) * level.blocks - 1) + bad, last = level.places.size - 1;
    tridiagonal::raise(level.work.findings->bad_pivot,
                       tridiagonal::word_of(level.places.size, number, row < last ? row : last));
  }
  GRIDSTRIDE_HOST_DEVICE void judge() const {
    if (!dominant) tridiagonal::raise(level.work.findings->measured, 1);
  }
};

template <class T>
GRIDSTRIDE_HOST_DEVICE void reduce_piece(Level<T> const& level, std::int64_t number,
                                         std::int64_t piece) {
  LevelSystem<T> system(level, number);
  std::int64_t const begin = piece * level.piece, left = level.size - begin;
  std::int64_t const last = begin + (left < level.piece ? left : level.piece) - 1;
  auto before = before_piece<T>();
  // The first pair, by the one before the piece and the present one: at first itself.
  BlockRelation<T> first{{0, 0}, {0, 0, 0, 0}, {-1, 0, 0, -1}};
  for (std::int64_t r = begin; r < last; ++r) {
    int bad = -1;
    before = solved(without_lower(system.row(r), before), bad);
    system.note(r, bad);
    first = {first.constant - first.right * before.constant, first.left - first.right * before.left,
             -(first.right * before.right)};
  }
  auto const row = without_lower(system.row(last), before);
  T const values[reduced_arrays] = {
      row.a.xx,         row.a.xy,       row.a.yx,       row.a.yy,      row.b.xx,
      row.b.xy,         row.b.yx,       row.b.yy,       row.c.xx,      row.c.xy,
      row.c.yx,         row.c.yy,       row.d.x,        row.d.y,       first.constant.x,
      first.constant.y, first.left.xx,  first.left.xy,  first.left.yx, first.left.yy,
      first.right.xx,   first.right.xy, first.right.yx, first.right.yy};
  std::int64_t const pieces = level.pieces(), all = pieces * level.places.count;
  T* const to = level.reduced + level.place(number, piece, pieces);
  for (int i = 0; i < reduced_arrays; ++i) to[i * all] = values[i];
  system.judge();
}

/// X_r = constant − right·X_(r+1)
template <class T>
struct Step {
  Pair<T> constant;
  Block<T> right;
};

/// Solves a piece between known pairs, or a whole system. `steps` has room for all rows of a piece
/// but the last. `most`: so many at most, if there is a limit.
template <int most, class T>
GRIDSTRIDE_HOST_DEVICE void solve_piece(Level<T> const& level, std::int64_t number,
                                        std::int64_t piece, Step<T>* steps) {
  LevelSystem<T> system(level, number);
  std::int64_t const begin = piece * level.piece, left = level.size - begin;
  std::int64_t const inner = (left < level.piece ? left : level.piece) - 1;
  std::int64_t const turns = most > 0 ? most : inner;
  auto const known = [&](std::int64_t i) {
    std::int64_t const at = 2 * level.place(number, i, level.pieces());
    return Pair<T>{level.separators[at], level.separators[at + 1]};
  };
  auto before = known_before(piece > 0 ? known(piece - 1) : Pair<T>{0, 0});
  for (std::int64_t i = 0; i < turns; ++i) {
    if (i >= inner) continue;
    int bad = -1;
    before = solved(without_lower(system.row(begin + i), before), bad);
    system.note(begin + i, bad);
    steps[i] = {before.constant, before.right};
  }
  Pair<T> x;
  if (level.separators != nullptr) {
    x = known(piece);
  } else {
    int bad = -1;
    x = solved(without_lower(system.row(begin + inner), before), bad).constant;
    system.note(begin + inner, bad);
    system.judge();
  }
  system.put(begin + inner, x);
  for (std::int64_t i = turns - 1; i >= 0; --i) {
    if (i >= inner) continue;
    x = steps[i].constant - steps[i].right * x;
    system.put(begin + i, x);
  }
}

/// Queues the solution of a level by `run(task, level)`, which does the task for all pieces.
template <class T, class Run>
void solve_level(Stream& stream, Level<T> level, Run const& run) {
  std::int64_t const pieces = level.pieces(), all = pieces * level.places.count;
  if (pieces == 1) return run(Task::whole, level);
  auto const memory = [&](std::int64_t arrays) {
    return Buffer<T>(stream, MemorySpace::device, static_cast<std::size_t>(arrays * all));
  };
  auto reduced = memory(reduced_arrays), known = memory(2);
  level.reduced = reduced.data();
  level.separators = known.data();
  run(Task::reduce, level);
  Level<T> next = level;
  next.size = pieces;
  next.rows = reduced.data();
  next.solution = known.data();
  next.reduced = nullptr;
  next.separators = nullptr;
  next.blocks = level.blocks * level.piece;
  solve_level(stream, next, run);
  run(Task::substitute, level);
}

/// The caller's systems.
template <class T>
Level<T> level_of(Arguments<T> const& work, std::int64_t piece) {
  auto const places = tridiagonal::places_of(work.shape);
  bool const across = places.values_of[0] > 0 && places.values_of[0] < places.value_stride;
  return {work, places, (places.size + 1) / 2, piece, nullptr, nullptr, nullptr, nullptr,
          1,    across};
}

}  // namespace gridstride::pentadiagonal

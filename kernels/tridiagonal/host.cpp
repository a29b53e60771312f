// Tridiagonal systems on the host.
//
// `reference` is Thomas's elimination as a textbook has it: the oracle. A periodic system is cut
// open at its last unknown: all others become relations to it, and its own row then closes the
// circle.
// `threads` takes sixteen systems at a time through the same steps, each in a lane of vectors
// (host_lanes.hpp); the bits are those of `reference`. Long systems are cut into pieces of a fixed size
// instead: the pieces' last unknowns are a small system (relation.hpp), and between them each piece
// is by itself.
// `pivoted` exchanges a row with the next one where that has the larger element, as LAPACK's gtsv.

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>
#include <vector>

#include "kernels/support/parallel_for.hpp"
#include "kernels/tridiagonal/host_lanes.hpp"
#include "kernels/tridiagonal/relation.hpp"
#include "kernels/tridiagonal/rows.hpp"

namespace gridstride::tridiagonal {

namespace {

/// The rows of the systems, and where their unknowns and faults go.
template <class T>
struct Systems {
  struct Place {
    std::int64_t number, coefficients, values;
  };

  explicit Systems(Arguments<T> const& arguments)
      : work(arguments), places(places_of(arguments.shape)) {}

  Place place(std::int64_t number) const {
    return {number, places.coefficients(number), places.values(number)};
  }
  Row<T> row(Place const& s, std::int64_t i) const {
    auto const found = row_of(work, places, s.coefficients, s.values, i);
    if (!found.dominant()) raise(work.findings->measured, 1);
    return found;
  }
  T& x(Place const& s, std::int64_t i) const {
    return work.solution[s.values + i * places.value_stride];
  }
  Relation<T> solve(Place const& s, std::int64_t i, Row<T> const& row) const {
    bool good = true;
    auto const relation = solved(row, good);
    if (!good) raise(work.findings->bad_pivot, word_of(places.size, s.number, i));
    return relation;
  }

  Arguments<T> const& work;
  Places places;
};

/// The unknowns of `count` systems at a time, whose rows are row(k, i). `relations` is memory for
/// size·count of them.
template <class T, class RowAt, class Solve, class Put>
void thomas(std::int64_t size, bool periodic, int count, Relation<T>* relations,
            RowAt const& row_at, Solve const& solve, Put const& put) {
  std::int64_t const last = size - 1;
  auto const relation = [&](std::int64_t i, int k) -> Relation<T>& {
    return relations[i * count + k];
  };
  auto const reduced = [&](std::int64_t i, int k) {
    return without_lower(row_at(k, i), i == 0 ? before_piece<T>() : relation(i - 1, k));
  };
  for (std::int64_t i = 0; i < last; ++i)
    for (int k = 0; k < count; ++k) relation(i, k) = solve(k, i, reduced(i, k));
  for (int k = 0; k < count; ++k) {
    Row<T> row = reduced(last, k);
    if (periodic) {
      auto first = separator<T>();
      for (std::int64_t i = last; i-- > 0;) first = through(relation(i, k), first);
      row = closed(row, first);
    }
    relation(last, k) = {solve(k, last, row).constant, 0, 0};
  }
  for (int k = 0; k < count; ++k) {
    T const end = relation(last, k).constant, before = periodic ? end : T{0};
    T next = end;
    put(k, last, end);
    for (std::int64_t i = last; i-- > 0;) put(k, i, next = relation(i, k).at(before, next));
  }
}

template <class T>
void solve_group(Systems<T> const& systems, std::int64_t first, int count,
                 std::vector<Relation<T>>& memory) {
  std::vector<typename Systems<T>::Place> group;
  for (int k = 0; k < count; ++k) group.push_back(systems.place(first + k));
  memory.resize(static_cast<std::size_t>(systems.places.size * count));
  auto const of = [&](int k) -> auto const& { return group[static_cast<std::size_t>(k)]; };
  thomas<T>(
      systems.places.size, systems.places.periodic, count, memory.data(),
      [&](int k, std::int64_t i) { return systems.row(of(k), i); },
      [&](int k, std::int64_t i, Row<T> const& row) { return systems.solve(of(k), i, row); },
      [&](int k, std::int64_t i, T value) { systems.x(of(k), i) = value; });
}

}  // namespace

template <class T>
void host_reference(Stream&, Arguments<T> const& work) {
  Systems<T> const systems(work);
  std::vector<Relation<T>> memory;
  for (std::int64_t s = 0; s < systems.places.count; ++s) solve_group(systems, s, 1, memory);
}

namespace {

/// Rows of a piece, and the systems that are worth cutting.
constexpr std::int64_t piece_rows = 8192, longest_whole = 4 * piece_rows;

/// A piece as the others see it.
template <class T>
struct Reduced {
  Relation<T> first;  ///< its first unknown, by the one before it and its last
  Row<T> last;        ///< of its last unknown, without the one before that
};

/// One system in pieces.
template <class T>
class Pieces {
 public:
  explicit Pieces(Systems<T> const& systems)
      : systems_(systems), count_((systems.places.size + piece_rows - 1) / piece_rows) {}

  void solve(std::int64_t number) {
    auto const place = systems_.place(number);
    std::vector<Reduced<T>> reduced(static_cast<std::size_t>(count_));
    std::vector<T> separators(reduced.size());
    each_piece([&](std::int64_t p) { reduced[static_cast<std::size_t>(p)] = reduce(place, p); });
    solve_separators(place, reduced, separators);
    each_piece([&](std::int64_t p) { substitute(place, p, separators); });
  }

 private:
  using Place = typename Systems<T>::Place;

  std::int64_t begin(std::int64_t piece) const { return piece * piece_rows; }
  std::int64_t last(std::int64_t piece) const {
    return std::min(begin(piece) + piece_rows, systems_.places.size) - 1;
  }

  template <class Body>
  void each_piece(Body const& body) const {
    parallel_for(count_, 10 * piece_rows, body);
  }

  /// All but the last unknown of a piece, each by the one before the piece and the next.
  std::vector<Relation<T>> eliminated(Place const& place, std::int64_t piece) const {
    std::vector<Relation<T>> relations;
    relations.reserve(piece_rows);
    auto before = before_piece<T>();
    for (std::int64_t i = begin(piece); i < last(piece); ++i) {
      before = systems_.solve(place, i, without_lower(systems_.row(place, i), before));
      relations.push_back(before);
    }
    return relations;
  }

  Reduced<T> reduce(Place const& place, std::int64_t piece) const {
    auto const relations = eliminated(place, piece);
    Reduced<T> result{separator<T>(), systems_.row(place, last(piece))};
    if (relations.empty()) return result;
    result.last = without_lower(result.last, relations.back());
    for (auto i = relations.size(); i-- > 0;) result.first = through(relations[i], result.first);
    return result;
  }

  void solve_separators(Place const& place, std::vector<Reduced<T>> const& reduced,
                        std::vector<T>& separators) const {
    std::vector<Relation<T>> memory(reduced.size());
    thomas<T>(
        count_, systems_.places.periodic, 1, memory.data(),
        [&](int, std::int64_t p) {
          auto const at = static_cast<std::size_t>(p);
          return without_upper(reduced[at].last, reduced[(at + 1) % reduced.size()].first);
        },
        [&](int, std::int64_t p, Row<T> const& row) { return systems_.solve(place, last(p), row); },
        [&](int, std::int64_t p, T value) { separators[static_cast<std::size_t>(p)] = value; });
  }

  void substitute(Place const& place, std::int64_t piece, std::vector<T> const& separators) const {
    auto const at = static_cast<std::size_t>(piece);
    T const before = piece > 0                  ? separators[at - 1]
                     : systems_.places.periodic ? separators.back()
                                                : T{0};
    auto const relations = eliminated(place, piece);
    T next = systems_.x(place, last(piece)) = separators[at];
    for (auto i = relations.size(); i-- > 0;)
      next = systems_.x(place, begin(piece) + static_cast<std::int64_t>(i)) =
          relations[i].at(before, next);
  }

  Systems<T> const& systems_;
  std::int64_t count_;
};

}  // namespace

template <class T>
void host_threads(Stream&, Arguments<T> const& work) {
  Systems<T> const systems(work);
  std::int64_t const size = systems.places.size, count = systems.places.count;
  if (size > longest_whole) {
    Pieces<T> pieces(systems);
    for (std::int64_t s = 0; s < count; ++s) pieces.solve(s);
    return;
  }
  if (count < lane_count / 2) {
    std::vector<Relation<T>> memory;
    return solve_group(systems, 0, static_cast<int>(count), memory);
  }
  // Memory of a thread serves for many groups.
  std::int64_t const groups = (count + lane_count - 1) / lane_count;
  std::int64_t const shares = std::min<std::int64_t>(groups, 4 * gridstride::host_threads());
  parallel_for(shares, 10 * size * lane_count * (groups / shares), [&](std::int64_t share) {
    Lanes<T> lanes(work);
    for (std::int64_t g = groups * share / shares; g < groups * (share + 1) / shares; ++g)
      lanes.solve(g * lane_count,
                  static_cast<int>(std::min<std::int64_t>(lane_count, count - g * lane_count)));
  });
}

namespace {

/// Upper triangular rows, made from the first one down.
template <class T>
struct PivotedRow {
  T diagonal, upper, second, right;
};

/// The rows once the unknown of `row` has been eliminated from the next one, `below`.
template <class T>
void eliminate_pivoted(PivotedRow<T>& row, PivotedRow<T>& below, T lower) {
  if (std::abs(row.diagonal) >= std::abs(lower)) {
    T const factor = lower / row.diagonal;
    below.diagonal -= factor * row.upper;
    below.right -= factor * row.right;
    return;
  }
  T const factor = row.diagonal / lower;
  PivotedRow<T> const pivot{lower, below.diagonal, below.upper, below.right};
  below = {row.upper - factor * pivot.upper, -factor * pivot.second, 0,
           row.right - factor * pivot.right};
  row = pivot;
}

template <class T>
void solve_pivoted(Systems<T> const& systems, std::int64_t number,
                   std::vector<PivotedRow<T>>& rows) {
  auto const place = systems.place(number);
  std::int64_t const size = systems.places.size;
  rows.resize(static_cast<std::size_t>(size));
  auto const read = [&](std::int64_t i) {
    auto const row = systems.row(place, i);
    rows[static_cast<std::size_t>(i)] = {row.b, row.c, 0, row.d};
    return row.a;
  };
  read(0);
  for (std::size_t i = 0; i + 1 < rows.size(); ++i) {
    T const lower = read(static_cast<std::int64_t>(i + 1));
    eliminate_pivoted(rows[i], rows[i + 1], lower);
  }
  T next = 0, after = 0;
  for (std::int64_t i = size; i-- > 0;) {
    auto const& row = rows[static_cast<std::size_t>(i)];
    if (of_zero(1 / row.diagonal))
      raise(systems.work.findings->bad_pivot, word_of(size, number, i));
    T const x = (row.right - row.upper * next - row.second * after) / row.diagonal;
    systems.x(place, i) = x;
    after = std::exchange(next, x);
  }
}

}  // namespace

template <class T>
void host_pivoted(Stream&, Arguments<T> const& work) {
  require_open("pivoted", work.shape);
  Systems<T> const systems(work);
  parallel_for(systems.places.count, 20 * systems.places.size, [&](std::int64_t s) {
    thread_local std::vector<PivotedRow<T>> rows;
    solve_pivoted(systems, s, rows);
  });
}

namespace {

/// The largest backward error of rows [first, last).
template <class T>
double judged(Systems<T> const& systems, typename Systems<T>::Place const& place,
              std::int64_t first, std::int64_t last) {
  std::int64_t const size = systems.places.size;
  T largest = 0;
  for (std::int64_t i = first; i < last; ++i)
    largest = std::max(largest, std::abs(systems.x(place, i)));
  double error = 0;
  for (std::int64_t i = first; i < last; ++i)
    error = std::max(
        error,
        backward_error(systems.row(place, i), systems.x(place, (i > 0 ? i : size) - 1),
                       systems.x(place, i), systems.x(place, i + 1 < size ? i + 1 : 0), largest));
  return error;
}

}  // namespace

template <class T>
void host_measure(Arguments<T> const& work) {
  if (work.findings->measured == 0) return;
  Systems<T> const systems(work);
  std::int64_t const size = systems.places.size;
  std::int64_t const windows = (size + window_rows - 1) / window_rows;
  auto const judge = [&](std::int64_t at) {
    std::int64_t const first = at % windows * window_rows;
    double const error = work.right == work.solution
                             ? HUGE_VAL
                             : judged(systems, systems.place(at / windows), first,
                                      std::min(first + window_rows, size));
    raise(work.findings->backward_error, std::bit_cast<std::uint64_t>(error));
  };
  parallel_for(systems.places.count * windows, 20 * std::min(size, window_rows), judge);
}

#define GRIDSTRIDE_INSTANTIATE(T)                             \
  template void host_reference(Stream&, Arguments<T> const&); \
  template void host_threads(Stream&, Arguments<T> const&);   \
  template void host_pivoted(Stream&, Arguments<T> const&);   \
  template void host_measure(Arguments<T> const&);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::tridiagonal

// Pentadiagonal systems on the host.
//
// `reference` is elimination as a textbook has it, row by row, without exchanges of rows: the
// oracle. An unknown is left related to the next two.
// `threads` goes by pairs of unknowns, rows within a pair exchanged where that is better (blocks.hpp).
// A thread has a system; long ones are cut into pieces of a fixed size, whose last pairs are a small
// system (pieces.hpp).

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "kernels/pentadiagonal/pieces.hpp"
#include "kernels/pentadiagonal/rows.hpp"
#include "kernels/support/parallel_for.hpp"

namespace gridstride::pentadiagonal {

namespace {

/// x_i = constant − next·x_(i+1) − second·x_(i+2)
template <class T>
struct Eliminated {
  T constant, next, second;
};

/// The row once the two unknowns before it are known by those behind them.
template <class T>
Eliminated<T> eliminated(ScalarRow<T> const& row, Eliminated<T> const& second_before,
                         Eliminated<T> const& before, bool& good) {
  T const lower = row.b - row.a * second_before.next;
  T const right = row.right - row.a * second_before.constant - lower * before.constant;
  T const diagonal = row.c - row.a * second_before.second - lower * before.next;
  T const inverse = 1 / diagonal;
  good = !tridiagonal::of_zero(inverse);
  return {right * inverse, (row.d - lower * before.second) * inverse, row.e * inverse};
}

template <class T>
void solve_system(Arguments<T> const& work, tridiagonal::Places const& places, std::int64_t number,
                  std::vector<Eliminated<T>>& rows) {
  std::int64_t const size = places.size;
  std::int64_t const coefficients = places.coefficients(number), values = places.values(number);
  rows.assign(static_cast<std::size_t>(size) + 2,
              {0, 0, 0});  // the first two are before the system
  for (std::int64_t i = 0; i < size; ++i) {
    auto const row = row_of(work, places, coefficients, values, i);
    if (!row.dominant()) tridiagonal::raise(work.findings->measured, 1);
    bool good = true;
    auto* const at = &rows[static_cast<std::size_t>(i)];
    at[2] = eliminated(row, at[0], at[1], good);
    if (!good) tridiagonal::raise(work.findings->bad_pivot, tridiagonal::word_of(size, number, i));
  }
  T next = 0, second = 0;
  for (std::int64_t i = size; i-- > 0;) {
    auto const& row = rows[static_cast<std::size_t>(i) + 2];
    T const x = row.constant - row.next * next - row.second * second;
    work.solution[values + i * places.value_stride] = x;
    second = next;
    next = x;
  }
}

}  // namespace

template <class T>
void host_reference(Stream&, Arguments<T> const& work) {
  auto const places = tridiagonal::places_of(work.shape);
  std::vector<Eliminated<T>> rows;
  for (std::int64_t s = 0; s < places.count; ++s) solve_system(work, places, s, rows);
}

template <class T>
void host_threads(Stream& stream, Arguments<T> const& work) {
  constexpr std::int64_t piece = 8192;  // pairs
  auto const run = [](Task task, Level<T> const& level) {
    std::int64_t const pieces = level.pieces();
    parallel_for(level.places.count * pieces, 100 * std::min(level.size, level.piece),
                 [&](std::int64_t i) {
                   std::int64_t const number = i / pieces, at = i % pieces;
                   if (task == Task::reduce) return reduce_piece(level, number, at);
                   thread_local std::vector<Step<T>> steps;
                   steps.resize(static_cast<std::size_t>(std::min(level.size, level.piece)));
                   solve_piece<0>(level, number, at, steps.data());
                 });
  };
  solve_level(stream, level_of(work, piece), run);
}

template <class T>
void host_measure(Arguments<T> const& work) {
  if (work.findings->measured == 0) return;
  auto const places = tridiagonal::places_of(work.shape);
  std::int64_t const size = places.size, window = tridiagonal::window_rows;
  std::int64_t const windows = (size + window - 1) / window;
  auto const judged = [&](std::int64_t at) {
    std::int64_t const number = at / windows, first = at % windows * window;
    std::int64_t const last = std::min(first + window, size);
    std::int64_t const coefficients = places.coefficients(number), values = places.values(number);
    T largest = 0;
    for (std::int64_t i = first; i < last; ++i)
      largest = std::max(largest, std::abs(work.solution[values + i * places.value_stride]));
    double error = 0;
    for (std::int64_t i = first; i < last; ++i)
      error = std::max(error, backward_error(work, places, coefficients, values, i, largest));
    return error;
  };
  parallel_for(places.count * windows, 30 * std::min(size, window), [&](std::int64_t at) {
    double const error = work.right == work.solution ? HUGE_VAL : judged(at);
    tridiagonal::raise(work.findings->backward_error, std::bit_cast<std::uint64_t>(error));
  });
}

#define GRIDSTRIDE_INSTANTIATE(T)                             \
  template void host_reference(Stream&, Arguments<T> const&); \
  template void host_threads(Stream&, Arguments<T> const&);   \
  template void host_measure(Arguments<T> const&);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::pentadiagonal

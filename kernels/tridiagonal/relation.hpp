#pragma once

#include <atomic>
#include <cmath>
#include <cstdint>
#include <limits>

#include "core/host_device.hpp"
#include "kernels/tridiagonal/tridiagonal.hpp"

/// The arithmetic of elimination without exchanges of rows, which the host and the GPU share. For
/// the files of the family and of `pentadiagonal` only.
///
/// A piece of a system is a range of rows. Its last unknown is its separator. All others become
/// relations to two unknowns: `left`, the one before the piece, and another one, at first the next,
/// then the piece's own separator.
namespace gridstride::tridiagonal {

/// value = constant − left·(the unknown before the piece) − right·(the other one)
template <class T>
struct Relation {
  T constant, left, right;

  GRIDSTRIDE_HOST_DEVICE T at(T left_value, T right_value) const {
    return constant - left * left_value - right * right_value;
  }
};

/// What x_(−1) is, seen from the first row: the unknown before the piece.
template <class T>
GRIDSTRIDE_HOST_DEVICE Relation<T> before_piece() {
  return {0, -1, 0};
}
/// What the separator is, seen from the row before it: itself.
template <class T>
GRIDSTRIDE_HOST_DEVICE Relation<T> separator() {
  return {0, 0, -1};
}

/// a·x_(i−1) + b·x_i + c·x_(i+1) = d
template <class T>
struct Row {
  T a, b, c, d;

  /// Not for what is infinite or not a number.
  GRIDSTRIDE_HOST_DEVICE bool dominant() const {
    T const diagonal = std::fabs(b);
    return (diagonal >= std::fabs(a) + std::fabs(c)) & (diagonal <= std::numeric_limits<T>::max());
  }
};

/// The row once x_(i−1) is known by its relation to the unknown before and to x_i: a is the
/// coefficient of the unknown before then.
template <class T>
GRIDSTRIDE_HOST_DEVICE Row<T> without_lower(Row<T> const& row, Relation<T> const& lower) {
  return {-row.a * lower.left, row.b - row.a * lower.right, row.c, row.d - row.a * lower.constant};
}
/// The row once x_(i+1) is known by its relation to x_i and to an unknown behind it.
template <class T>
GRIDSTRIDE_HOST_DEVICE Row<T> without_upper(Row<T> const& row, Relation<T> const& upper) {
  return {row.a, row.b - row.c * upper.left, -row.c * upper.right, row.d - row.c * upper.constant};
}

/// Whether a pivot was zero, or too small to be divided by, from its reciprocal. One that is not a
/// number, or infinite, comes from another such pivot, or from rows that are not `dominant`.
template <class T>
GRIDSTRIDE_HOST_DEVICE bool of_zero(T reciprocal) {
  return std::fabs(reciprocal) > std::numeric_limits<T>::max();
}

/// x_i by the unknowns of its row; `good` becomes false where the pivot is zero.
template <class T>
GRIDSTRIDE_HOST_DEVICE Relation<T> solved(Row<T> const& row, bool& good) {
  T const reciprocal = 1 / row.b;
  good = good && !of_zero(reciprocal);
  return {row.d * reciprocal, row.a * reciprocal, row.c * reciprocal};
}

/// x_i by the unknown before the piece and what `next` is related to, of x_i by x_(i+1).
template <class T>
GRIDSTRIDE_HOST_DEVICE Relation<T> through(Relation<T> const& x, Relation<T> const& next) {
  return {x.constant - x.right * next.constant, x.left - x.right * next.left,
          -x.right * next.right};
}

/// The equation of the last unknown of a periodic system, of which `last` is the row by itself
/// (before and in the middle) and x_0, and `first` is x_0 by the last unknown on both sides.
template <class T>
GRIDSTRIDE_HOST_DEVICE Row<T> closed(Row<T> const& last, Relation<T> const& first) {
  return {0, last.b + last.a - last.c * (first.left + first.right), 0,
          last.d - last.c * first.constant};
}

/// Rows that are judged by the largest of their unknowns.
constexpr std::int64_t window_rows = 4096;

/// |d − a·x_(i−1) − b·x_i − c·x_(i+1)| / ((|a| + |b| + |c|)·largest + |d|); infinity where that is no
/// number, and, without a division, 0 where it is at most `known`.
template <class T>
GRIDSTRIDE_HOST_DEVICE double backward_error(Row<T> const& row, T lower, T x, T upper, T largest,
                                             double known = 0) {
  double const d = row.d, a = row.a, b = row.b, c = row.c;
  double const residual = std::fabs(d - a * lower - b * x - c * upper);
  double const size = (std::fabs(a) + std::fabs(b) + std::fabs(c)) * largest + std::fabs(d);
  if (residual <= known * size) return 0;
  double const error = residual / size;
  constexpr double infinity = __builtin_huge_val();
  return error < infinity ? error : infinity;
}

/// A shape as kernels take it.
struct Places {
  std::int64_t size, count;
  std::int64_t systems[2];  // along the first two axes
  std::int64_t coefficient_stride, value_stride;
  std::int64_t coefficients_of[3], values_of[3];
  bool periodic;

  GRIDSTRIDE_HOST_DEVICE std::int64_t place(std::int64_t const (&of)[3],
                                            std::int64_t system) const {
    if (system < systems[0]) return system * of[0];
    std::int64_t const p = system % systems[0], rest = system / systems[0];
    return p * of[0] + rest % systems[1] * of[1] + rest / systems[1] * of[2];
  }
  GRIDSTRIDE_HOST_DEVICE std::int64_t coefficients(std::int64_t system) const {
    return place(coefficients_of, system);
  }
  GRIDSTRIDE_HOST_DEVICE std::int64_t values(std::int64_t system) const {
    return place(values_of, system);
  }
};

inline Places places_of(Shape const& shape) {
  Places places{shape.size,
                shape.count(),
                {shape.systems[0], shape.systems[1]},
                shape.coefficients.element,
                shape.values.element,
                {},
                {},
                shape.periodic};
  for (int axis = 0; axis < 3; ++axis) {
    places.coefficients_of[axis] = shape.coefficients.of[axis];
    places.values_of[axis] = shape.values.of[axis];
  }
  return places;
}

/// Row i of the system whose coefficients and values begin there.
template <class T>
GRIDSTRIDE_HOST_DEVICE Row<T> row_of(Arguments<T> const& w, Places const& places,
                                     std::int64_t coefficients, std::int64_t values,
                                     std::int64_t i) {
  std::int64_t const at = coefficients + i * places.coefficient_stride;
  Row<T> row{w.lower[at], w.diagonal[at], w.upper[at], w.right[values + i * places.value_stride]};
  if (!places.periodic && i == 0) row.a = 0;
  if (!places.periodic && i == places.size - 1) row.c = 0;
  return row;
}

/// Raises a word of the findings; threads may do so at the same time, and whoever comes first.
GRIDSTRIDE_HOST_DEVICE inline void raise(std::uint64_t& word, std::uint64_t value) {
#ifdef __CUDA_ARCH__
  if (word < value) atomicMax(reinterpret_cast<unsigned long long*>(&word), value);
#else
  std::atomic_ref<std::uint64_t> shared(word);
  std::uint64_t before = shared.load();
  while (before < value && !shared.compare_exchange_weak(before, value)) {
  }
#endif
}

/// The word of `Findings::bad_pivot`: the larger, the earlier the place.
GRIDSTRIDE_HOST_DEVICE inline std::uint64_t word_of(std::int64_t size, std::int64_t system,
                                                    std::int64_t row) {
  return ~static_cast<std::uint64_t>(system * size + row);
}

}  // namespace gridstride::tridiagonal

#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "core/host_device.hpp"
#include "kernels/pentadiagonal/pentadiagonal.hpp"
#include "kernels/tridiagonal/relation.hpp"

/// The arithmetic of elimination by pairs of unknowns, which the host and the GPU share: two
/// neighbouring rows are one row of a block tridiagonal system, of blocks of 2 x 2. For the family's
/// own files only.
namespace gridstride::pentadiagonal {

template <class T>
struct Pair {
  T x, y;
};

/// xx·x + xy·y and yx·x + yy·y
template <class T>
struct Block {
  T xx, xy, yx, yy;

  GRIDSTRIDE_HOST_DEVICE Pair<T> operator*(Pair<T> const& v) const {
    return {xx * v.x + xy * v.y, yx * v.x + yy * v.y};
  }
  GRIDSTRIDE_HOST_DEVICE Block operator*(Block const& m) const {
    return {xx * m.xx + xy * m.yx, xx * m.xy + xy * m.yy, yx * m.xx + yy * m.yx,
            yx * m.xy + yy * m.yy};
  }
  GRIDSTRIDE_HOST_DEVICE Block operator-() const { return {-xx, -xy, -yx, -yy}; }
};
template <class T>
GRIDSTRIDE_HOST_DEVICE Pair<T> operator-(Pair<T> const& v, Pair<T> const& w) {
  return {v.x - w.x, v.y - w.y};
}
template <class T>
GRIDSTRIDE_HOST_DEVICE Block<T> operator-(Block<T> const& m, Block<T> const& n) {
  return {m.xx - n.xx, m.xy - n.xy, m.yx - n.yx, m.yy - n.yy};
}

/// a·X_(r−1) + b·X_r + c·X_(r+1) = d
template <class T>
struct BlockRow {
  Block<T> a, b, c;
  Pair<T> d;
};

/// X = constant − left·(the pair before the piece) − right·(another one)
template <class T>
struct BlockRelation {
  Pair<T> constant;
  Block<T> left, right;
};

/// What the pair before the piece is, seen from its first row.
template <class T>
GRIDSTRIDE_HOST_DEVICE BlockRelation<T> before_piece() {
  return {{0, 0}, {-1, 0, 0, -1}, {0, 0, 0, 0}};
}
/// The same where that pair is known.
template <class T>
GRIDSTRIDE_HOST_DEVICE BlockRelation<T> known_before(Pair<T> const& pair) {
  return {pair, {0, 0, 0, 0}, {0, 0, 0, 0}};
}

template <class T>
GRIDSTRIDE_HOST_DEVICE BlockRow<T> without_lower(BlockRow<T> const& row,
                                                 BlockRelation<T> const& lower) {
  return {-(row.a * lower.left), row.b - row.a * lower.right, row.c,
          row.d - row.a * lower.constant};
}
template <class T>
GRIDSTRIDE_HOST_DEVICE BlockRow<T> without_upper(BlockRow<T> const& row,
                                                 BlockRelation<T> const& upper) {
  return {row.a, row.b - row.c * upper.left, -(row.c * upper.right),
          row.d - row.c * upper.constant};
}

/// Solves with a block, by the larger element of its first column.
template <class T>
class Inverse {
 public:
  GRIDSTRIDE_HOST_DEVICE explicit Inverse(Block<T> const& m)
      : exchanged_(std::fabs(m.yx) > std::fabs(m.xx)) {
    upper_ = exchanged_ ? m.yy : m.xy;
    pivot_ = 1 / (exchanged_ ? m.yx : m.xx);
    factor_ = (exchanged_ ? m.xx : m.yx) * pivot_;
    second_ = 1 / ((exchanged_ ? m.xy : m.yy) - factor_ * upper_);
  }
  /// −1, or the row of the block, 0 or 1, in which a pivot is zero.
  GRIDSTRIDE_HOST_DEVICE int bad_row(Block<T> const& m) const {
    if (!tridiagonal::of_zero(pivot_) && !tridiagonal::of_zero(second_)) return -1;
    bool const is_second = m.yx == 0 && m.yy == 0 && (m.xx != 0 || m.xy != 0);
    return is_second || (!tridiagonal::of_zero(pivot_) && !exchanged_) ? 1 : 0;
  }
  GRIDSTRIDE_HOST_DEVICE Pair<T> operator*(Pair<T> const& v) const {
    T const first = exchanged_ ? v.y : v.x, other = exchanged_ ? v.x : v.y;
    T const y = (other - factor_ * first) * second_;
    return {(first - upper_ * y) * pivot_, y};
  }
  GRIDSTRIDE_HOST_DEVICE Block<T> operator*(Block<T> const& m) const {
    Pair<T> const left = *this * Pair<T>{m.xx, m.yx}, right = *this * Pair<T>{m.xy, m.yy};
    return {left.x, right.x, left.y, right.y};
  }

 private:
  bool exchanged_;
  T upper_, pivot_, factor_, second_;
};

/// X_r by the pairs of its row; `bad` becomes the row of the block in which a pivot is zero.
template <class T>
GRIDSTRIDE_HOST_DEVICE BlockRelation<T> solved(BlockRow<T> const& row, int& bad) {
  Inverse<T> const inverse(row.b);
  bad = inverse.bad_row(row.b);
  return {inverse * row.d, inverse * row.a, inverse * row.c};
}

/// Row i with its five coefficients, those of no influence as zeros.
template <class T>
struct ScalarRow {
  T a, b, c, d, e, right;

  /// Not for what is infinite or not a number.
  GRIDSTRIDE_HOST_DEVICE bool dominant() const {
    T const diagonal = std::fabs(c);
    return (diagonal >= std::fabs(a) + std::fabs(b) + std::fabs(d) + std::fabs(e)) &
           (diagonal <= std::numeric_limits<T>::max());
  }
};

template <class T>
GRIDSTRIDE_HOST_DEVICE ScalarRow<T> row_of(Arguments<T> const& w, tridiagonal::Places const& places,
                                           std::int64_t coefficients, std::int64_t values,
                                           std::int64_t i) {
  std::int64_t const at = coefficients + i * places.coefficient_stride, left = places.size - 1 - i;
  return {i >= 2 ? w.a[at] : T{0},
          i >= 1 ? w.b[at] : T{0},
          w.c[at],
          left >= 1 ? w.d[at] : T{0},
          left >= 2 ? w.e[at] : T{0},
          w.right[values + i * places.value_stride]};
}

/// The backward error of row i beside the largest unknown; infinity where that is no number.
template <class T>
GRIDSTRIDE_HOST_DEVICE double backward_error(Arguments<T> const& w,
                                             tridiagonal::Places const& places,
                                             std::int64_t coefficients, std::int64_t values,
                                             std::int64_t i, T largest) {
  auto const row = row_of(w, places, coefficients, values, i);
  double residual = row.right, size = 0;
  auto const add = [&](double coefficient, std::int64_t at) {
    if (at < 0 || at >= places.size) return;
    residual -= coefficient * w.solution[values + at * places.value_stride];
    size += std::fabs(coefficient);
  };
  add(row.a, i - 2);
  add(row.b, i - 1);
  add(row.c, i);
  add(row.d, i + 1);
  add(row.e, i + 2);
  if (residual == 0) return 0;
  double const error = std::fabs(residual) / (size * largest + std::fabs(double{row.right}));
  constexpr double infinity = __builtin_huge_val();
  return error < infinity ? error : infinity;
}

}  // namespace gridstride::pentadiagonal

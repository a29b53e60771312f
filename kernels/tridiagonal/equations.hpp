#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "core/host_device.hpp"
#include "kernels/tridiagonal/relation.hpp"

/// The arithmetic of elimination with exchanges of rows, of pieces of a system that are put together
/// in any order. For the family's own files only.
///
/// What is left of a piece are two equations of four unknowns: the one before it, its first, its
/// last, and the one behind it. To put the next piece behind it, its last unknown and the first of
/// the next one are eliminated from the four equations of both, the row with the largest element
/// first. So no row is out of reach, as in S. Wright, "Stable parallel algorithms for two-point
/// boundary value problems", SIAM J. Sci. Stat. Comput. 13, 1992; and a pivot of zero means that
/// the system is singular.
namespace gridstride::tridiagonal {

/// before·x_before + first·x_first + last·x_last + behind·x_behind = right
template <class T>
struct Equation {
  T before, first, last, behind, right;
};

template <class T>
struct Piece {
  Equation<T> one, other;
};

/// The piece without rows between x_(i−1) and x_i: its last unknown is the one before it, and its
/// first is the one behind it.
template <class T>
GRIDSTRIDE_HOST_DEVICE Piece<T> no_rows() {
  return {{1, 0, -1, 0, 0}, {0, 1, 0, -1, 0}};
}
/// The same where these two are known.
template <class T>
GRIDSTRIDE_HOST_DEVICE Piece<T> no_rows_behind(T before, T first) {
  return {{0, 0, 1, 0, before}, {0, 0, 0, 1, first}};
}

template <class T>
GRIDSTRIDE_HOST_DEVICE T larger(T a, T b) {
  return b > a ? b : a;
}

/// |value| as a number that grows with it, by the 32 bits that say most: equal ones differ by a
/// millionth at most.
template <class T>
GRIDSTRIDE_HOST_DEVICE std::uint32_t magnitude(T value) {
  using Word = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
  Word bits;
  memcpy(&bits, &value, sizeof bits);
  return static_cast<std::uint32_t>(bits >> (8 * sizeof(T) - 32)) & 0x7fffffff;
}

/// A power of two between 1/2 and 2 times 1/size for the `magnitude` of a size, so that rows can be
/// compared.
template <class T>
GRIDSTRIDE_HOST_DEVICE T inverse_scale(std::uint32_t size) {
  using Word = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
  constexpr int digits = sizeof(T) == 8 ? 20 : 23;
  constexpr std::uint32_t twice_bias = sizeof(T) == 8 ? 2046 : 254;
  std::uint32_t const exponent = size >> digits;
  Word const bits = Word{(exponent < twice_bias ? twice_bias - exponent : 1) << digits}
                    << (8 * sizeof(T) - 32);
  T scale;
  memcpy(&scale, &bits, sizeof scale);
  return scale;
}

template <class T>
GRIDSTRIDE_HOST_DEVICE Row<T> scaled(Row<T> const& row) {
  T const s =
      inverse_scale<T>(larger(larger(magnitude(row.a), magnitude(row.c)), magnitude(row.b)));
  return {row.a * s, row.b * s, row.c * s, row.d * s};
}
template <class T>
GRIDSTRIDE_HOST_DEVICE Equation<T> scaled(Equation<T> const& e) {
  T const s = inverse_scale<T>(larger(larger(magnitude(e.before), magnitude(e.first)),
                                      larger(magnitude(e.last), magnitude(e.behind))));
  return {e.before * s, e.first * s, e.last * s, e.behind * s, e.right * s};
}

template <class T>
GRIDSTRIDE_HOST_DEVICE void exchange_if(bool condition, Equation<T>& a, Equation<T>& b) {
  Equation<T> const c = a;
  a = condition ? b : a;
  b = condition ? c : b;
}

/// x = (right − next·x_next − second·x_second)·inverse
template <class T>
struct Pivot {
  T next, second, right, inverse;
};

/// Puts a row behind a piece: its a belongs to the piece's last unknown, its b to the one behind it.
/// The former is eliminated, by the pivot that is returned where the unknowns before and first have
/// no coefficients. `good` becomes false for a pivot of zero.
template <class T>
GRIDSTRIDE_HOST_DEVICE Pivot<T> append(Piece<T>& piece, Row<T> const& row, bool& good) {
  auto& [one, other] = piece;
  exchange_if(magnitude(other.last) > magnitude(one.last), one, other);
  bool const by_row = magnitude(row.a) > magnitude(one.last);
  T const inverse = 1 / (by_row ? row.a : one.last);
  good = good && !of_zero(inverse);
  Pivot<T> const pivot{by_row ? row.b : one.behind, by_row ? row.c : T{0},
                       by_row ? row.d : one.right, inverse};
  // What is left are sums of `one` and the row, and of all three, with these factors: multiplying
  // by 1 and 0 costs less than to choose between numbers.
  T const factor = -(by_row ? one.last : row.a) * inverse, of_other = -other.last * inverse;
  T const of_one = by_row ? T{1} : factor, of_row = by_row ? factor : T{1};
  T const one_in_other = by_row ? T{0} : of_other, row_in_other = by_row ? of_other : T{0};
  Equation<T> const before = one;
  one = {of_one * before.before, of_one * before.first, of_one * before.behind + of_row * row.b,
         of_row * row.c, of_one * before.right + of_row * row.d};
  other = {other.before + one_in_other * before.before, other.first + one_in_other * before.first,
           other.behind + one_in_other * before.behind + row_in_other * row.b, row_in_other * row.c,
           other.right + one_in_other * before.right + row_in_other * row.d};
  return pivot;
}

/// An equation of two neighbouring pieces: of their outer unknowns, and of the two between them, the
/// last of the left one and the first of the right one.
template <class T>
struct Joint {
  T before, first, left, right_first, last, behind, right;
};

/// How the two unknowns between pieces follow from the last of the right one and the one behind it,
/// and from the one before the left one and its first, where those are not known.
template <class T>
struct JointPivots {
  T left_inverse, left_before, left_outer, left_first, left_last, left_behind, left_right;
  T first_inverse, first_before, first_outer, first_last, first_behind, first_right;
};

/// row −= factor·pivot, but for the unknown that is eliminated.
template <class T>
GRIDSTRIDE_HOST_DEVICE Joint<T> without(Joint<T> const& row, T factor, Joint<T> const& pivot) {
  return {row.before - factor * pivot.before,
          row.first - factor * pivot.first,
          T{0},
          row.right_first - factor * pivot.right_first,
          row.last - factor * pivot.last,
          row.behind - factor * pivot.behind,
          row.right - factor * pivot.right};
}

template <class T>
GRIDSTRIDE_HOST_DEVICE void exchange_if(bool condition, Joint<T>& a, Joint<T>& b) {
  Joint<T> const c = a;
  a = condition ? b : a;
  b = condition ? c : b;
}

/// Puts `next` behind `piece`.
template <class T>
GRIDSTRIDE_HOST_DEVICE JointPivots<T> append(Piece<T>& piece, Piece<T> const& next, bool& good) {
  auto const left = [](Equation<T> const& e) {
    return Joint<T>{e.before, e.first, e.last, e.behind, T{0}, T{0}, e.right};
  };
  auto const right = [](Equation<T> const& e) {
    return Joint<T>{T{0}, T{0}, e.before, e.first, e.last, e.behind, e.right};
  };
  Joint<T> a = left(piece.one), b = left(piece.other), c = right(next.one), d = right(next.other);
  exchange_if(std::fabs(b.left) > std::fabs(a.left), a, b);
  exchange_if(std::fabs(c.left) > std::fabs(a.left), a, c);
  exchange_if(std::fabs(d.left) > std::fabs(a.left), a, d);
  JointPivots<T> pivots;
  pivots.left_inverse = 1 / a.left;
  good = good && !of_zero(pivots.left_inverse);
  pivots.left_before = a.before;
  pivots.left_outer = a.first;
  pivots.left_first = a.right_first;
  pivots.left_last = a.last;
  pivots.left_behind = a.behind;
  pivots.left_right = a.right;
  b = without(b, b.left * pivots.left_inverse, a);
  c = without(c, c.left * pivots.left_inverse, a);
  d = without(d, d.left * pivots.left_inverse, a);
  exchange_if(std::fabs(c.right_first) > std::fabs(b.right_first), b, c);
  exchange_if(std::fabs(d.right_first) > std::fabs(b.right_first), b, d);
  pivots.first_inverse = 1 / b.right_first;
  good = good && !of_zero(pivots.first_inverse);
  pivots.first_before = b.before;
  pivots.first_outer = b.first;
  pivots.first_last = b.last;
  pivots.first_behind = b.behind;
  pivots.first_right = b.right;
  c = without(c, c.right_first * pivots.first_inverse, b);
  d = without(d, d.right_first * pivots.first_inverse, b);
  piece = {{c.before, c.first, c.last, c.behind, c.right},
           {d.before, d.first, d.last, d.behind, d.right}};
  return pivots;
}

/// The unknowns at the ends of a piece.
template <class T>
struct PieceEnds {
  T first, last;
};

/// Those of a whole system: what is before it and behind it is 0, or, where it is periodic, its last
/// and its first unknown.
template <class T>
GRIDSTRIDE_HOST_DEVICE PieceEnds<T> close(Piece<T> const& piece, bool periodic, bool& good) {
  auto const [one, other] = piece;
  T a = one.first, b = one.last, c = other.first, d = other.last, x = one.right, y = other.right;
  if (periodic) {
    a += one.behind;
    b += one.before;
    c += other.behind;
    d += other.before;
  }
  bool const exchange = std::fabs(c) > std::fabs(a);
  T const pivot = exchange ? c : a, beside = exchange ? d : b, right = exchange ? y : x;
  T const inverse = 1 / pivot, factor = (exchange ? a : c) * inverse;
  T const second = 1 / ((exchange ? b : d) - factor * beside);
  good = good && !of_zero(inverse) && !of_zero(second);
  T const last = ((exchange ? x : y) - factor * right) * second;
  return {(right - beside * last) * inverse, last};
}

}  // namespace gridstride::tridiagonal

#pragma once

#include <cmath>

#include "kernels/multigrid/steps.hpp"

/// What stands around cycles, at a point each: residuals of the equations in float64, on the grid's
/// own arrays. For the family's own files only.
namespace gridstride::multigrid {

/// The largest of what points have found, as bits of numbers that are not negative.
struct Found {
  std::uint64_t first = 0, second = 0;
};
GRIDSTRIDE_HOST_DEVICE inline void raise(Found& largest, Found const& other) {
  poisson::raise(largest.first, other.first);
  poisson::raise(largest.second, other.second);
}

/// Where unknowns lie in the grid's arrays.
struct Places {
  std::int64_t first, stride[3];
  GRIDSTRIDE_HOST_DEVICE std::int64_t operator()(int i, int j, int k) const {
    return first + i + j * stride[1] + k * stride[2];
  }
};

template <class T>
Places places_of(poisson::Operator<T> const& a) {
  std::int64_t first = 0;
  for (int axis = 0; axis < 3; ++axis) first += a.first[axis] * a.stride[axis];
  return {first, {a.stride[0], a.stride[1], a.stride[2]}};
}
/// Where an unknown lies in the grid's arrays and in the level's, and its share of a cell where that
/// `counts`.
struct Spot {
  std::int64_t grid, level;
  double share;
};
template <class T, class S>
GRIDSTRIDE_HOST_DEVICE Spot spot_of(poisson::Operator<T> const& a, Level<S> const& level, int i,
                                    int j, int k, bool counts = true) {
  std::int64_t const at[3] = {a.first[0] + i, a.first[1] + j, a.first[2] + k};
  return {at[0] + at[1] * a.stride[1] + at[2] * a.stride[2], level.place(i, j, k),
          counts ? poisson::share_of(a, at) : 1.0};
}

/// With unknowns where they lie in arrays of nothing else.
template <class T>
poisson::Operator<T> unknowns_alone(poisson::Operator<T> a) {
  for (int axis = 0; axis < 3; ++axis) {
    a.first[axis] = 0;
    a.stride[axis] = axis == 0 ? 1 : a.stride[axis - 1] * a.count[axis - 1];
  }
  return a;
}

/// Of steps that have `load` and `finish` several points may be loaded before the first one is finished.
///
/// u = 0, or what it begins with, where u is not null; finds the largest |right|.
template <class T>
struct Begin {
  Extent points;
  Places places;
  T const *right, *start;  ///< the latter may be null
  double* u;
  struct Loaded {
    T right, start;
  };
  GRIDSTRIDE_HOST_DEVICE Extent extent() const { return points; }
  GRIDSTRIDE_HOST_DEVICE Spot spot(int i, int j, int k) const { return {places(i, j, k), 0, 1}; }
  GRIDSTRIDE_HOST_DEVICE Loaded load(Spot const& at) const {
    return {right[at.grid], start == nullptr ? T{0} : start[at.grid]};
  }
  GRIDSTRIDE_HOST_DEVICE Found finish(Spot const& at, Loaded const& has) const {
    if (u != nullptr) u[at.grid] = double{has.start};
    return {poisson::bits_of_magnitude(has.right), 0};
  }
  GRIDSTRIDE_HOST_DEVICE Found operator()(int i, int j, int k) const {
    Spot const at = spot(i, j, k);
    return finish(at, load(at));
  }
};

/// The largest of positive values, and of their reciprocals.
template <class T>
struct FindRange {
  Extent points;
  T const* values;
  GRIDSTRIDE_HOST_DEVICE Extent extent() const { return points; }
  GRIDSTRIDE_HOST_DEVICE Found operator()(int i, int j, int k) const {
    double const value = values[(std::int64_t{k} * points.y + j) * points.x + i];
    return {poisson::bits_of_magnitude(value), poisson::bits_of_magnitude(1 / value)};
  }
};

/// The largest ratio of positive values beside each other.
template <class T>
struct FindJump {
  Extent points;
  T const* values;
  bool goes_on[3];  ///< along an axis: behind the last point there is another value,
  bool wraps[3];    ///< or the first one
  GRIDSTRIDE_HOST_DEVICE Extent extent() const { return points; }
  GRIDSTRIDE_HOST_DEVICE Found operator()(int i, int j, int k) const {
    int const at[3] = {i, j, k}, count[3] = {points.x, points.y, points.z};
    std::int64_t const stride[3] = {1, points.x, std::int64_t{points.x} * points.y};
    T const* const here = values + i + j * stride[1] + k * stride[2];
    double largest = 1;
    for (int axis = 0; axis < 3; ++axis) {
      bool const is_last = at[axis] + 1 == count[axis];
      if (is_last && !goes_on[axis] && !wraps[axis]) continue;
      double const a = *here;
      double const b = is_last && wraps[axis] ? here[-at[axis] * stride[axis]] : here[stride[axis]];
      double const ratio = a > b ? a / b : b / a;
      largest = ratio > largest ? ratio : largest;
    }
    return {poisson::bits_of_magnitude(largest), 0};
  }
};

/// f of the finest level = right − A·u, times `scale`; finds the largest |right − A·u|.
template <class T, class S>
struct TakeResidual {
  poisson::Operator<T> a;
  Level<S> level;
  double const* u;
  T const* right;
  double scale;
  double shift;  ///< what the right-hand side has too much of at each point
  /// Where a is the same everywhere, a/(interval·width) on both sides of the unknowns of an axis;
  /// else null.
  double const *lower[3], *upper[3];
  /// Along the slowest axis: planes of other ranks before the level's own, and behind, that arrays
  /// have.
  int before = 0, behind = 0;
  GRIDSTRIDE_HOST_DEVICE Extent extent() const { return points_of(level); }
  GRIDSTRIDE_HOST_DEVICE Found operator()(int i, int j, int k) const {
    std::int64_t const at[3] = {a.first[0] + i, a.first[1] + j, a.first[2] + k};
    double const residual = poisson::residual_of(a, u, right, at).residual - shift;
    double const volume = level.is_stored() ? poisson::share_of(a, at) : 1.0;
    level.f[level.place(i, j, k)] = static_cast<S>(residual * volume * scale);
    return {poisson::bits_of_magnitude(residual), 0};
  }
};

/// 2⁻ᵉ of a magnitude from 2ᵉ on and below 2ᵉ⁺¹, or the largest power of two; 1 of 0 and of what is not finite.
GRIDSTRIDE_HOST_DEVICE inline double unit_of(std::uint64_t magnitude) {
  auto const exponent = static_cast<int>(magnitude >> 52);
  if (magnitude == 0 || exponent == 2047) return 1;
  if (exponent > 0 && exponent < 2046)
    return __builtin_bit_cast(double, static_cast<std::uint64_t>(2046 - exponent) << 52);
  int const wanted = -std::ilogb(__builtin_bit_cast(double, magnitude));
  return std::ldexp(1.0, wanted < 1023 ? wanted : 1023);
}

/// f of the finest level = right, times the unit of the largest |right|, or `scale`: the residual of u = 0.
template <class T, class S>
struct BeginResidual {
  poisson::Operator<T> a;
  Level<S> level;
  T const* right;
  double scale, shift;
  Found const* largest = nullptr;  ///< in device memory
  GRIDSTRIDE_HOST_DEVICE double unit() const {
    return largest == nullptr ? scale : unit_of(largest->first);
  }
  struct Loaded {
    double right;
  };
  GRIDSTRIDE_HOST_DEVICE Extent extent() const { return points_of(level); }
  GRIDSTRIDE_HOST_DEVICE Spot spot(int i, int j, int k) const {
    return spot_of(a, level, i, j, k, level.is_stored());
  }
  GRIDSTRIDE_HOST_DEVICE Loaded load(Spot const& at) const { return {double{right[at.grid]}}; }
  GRIDSTRIDE_HOST_DEVICE void finish(Spot const& at, Loaded const& has) const {
    double const volume = level.is_stored() ? at.share : 1.0;
    level.f[at.level] = static_cast<S>((has.right - shift) * volume * unit());
  }
  GRIDSTRIDE_HOST_DEVICE void operator()(int i, int j, int k) const {
    if (!level.is_stored()) return from_tables(i, j, k);
    Spot const at = spot(i, j, k);
    finish(at, load(at));
  }
  GRIDSTRIDE_HOST_DEVICE void from_tables(int i, int j, int k) const {
    std::int64_t const place =
        a.first[0] + i + (a.first[1] + j) * a.stride[1] + (a.first[2] + k) * a.stride[2];
    level.f[level.place(i, j, k)] = static_cast<S>((right[place] - shift) * unit());
  }
};

/// Where u goes with what the finest level has found, times `scale`: from `old`, or where that is
/// null from 0, to another array; with the planes of other ranks beside.
struct Correction {
  double const* old;
  double* u;
  double scale;
};

/// u += scale·(what the finest level has found); finds the largest change, and the largest |u|.
template <class T, class S>
struct AddCorrection {
  poisson::Operator<T> a;
  Level<S> level;
  double* u;
  double scale;
  struct Loaded {
    S found;
    double u;
  };
  GRIDSTRIDE_HOST_DEVICE Extent extent() const { return points_of(level); }
  GRIDSTRIDE_HOST_DEVICE Spot spot(int i, int j, int k) const {
    return spot_of(a, level, i, j, k, false);
  }
  GRIDSTRIDE_HOST_DEVICE Loaded load(Spot const& at) const {
    return {level.u[at.level], u[at.grid]};
  }
  GRIDSTRIDE_HOST_DEVICE Found finish(Spot const& at, Loaded const& has) const {
    double const change = double{has.found} * scale, sum = has.u + change;
    u[at.grid] = sum;
    return {poisson::bits_of_magnitude(change), poisson::bits_of_magnitude(sum)};
  }
  GRIDSTRIDE_HOST_DEVICE Found operator()(int i, int j, int k) const {
    Spot const at = spot(i, j, k);
    return finish(at, load(at));
  }
};

/// a of a level's points, and of those a step beside them, times `scale`: what a level has in the place of faces, or
/// in S what products with directions take.
template <class T, class S, class Number>
struct FieldOf {
  poisson::Operator<T> a;
  Level<S> level;
  Number* field;
  double scale;
  GRIDSTRIDE_HOST_DEVICE Extent extent() const {
    return {level.count[0] + 2, level.count[1] + 2, level.count[2] + 2};
  }
  GRIDSTRIDE_HOST_DEVICE void operator()(int x, int y, int z) const {
    int const at[3] = {x - 1, y - 1, z - 1};
    std::int64_t place = 0;
    for (int axis = 0; axis < 3; ++axis) {
      int const count = level.count[axis];
      int const here = level.periodic[axis] ? (at[axis] + count) % count : at[axis];
      std::int64_t of_grid = a.first[axis] + here;
      // Beside a side without flux lies what is inside of it.
      if (of_grid < 0 && a.side[axis][0] == poisson::Rule::neumann) of_grid = 1;
      if (of_grid >= a.points[axis] && a.side[axis][1] == poisson::Rule::neumann)
        of_grid = a.points[axis] - 2;
      place += of_grid * a.stride[axis];
    }
    field[level.field_place(at[0], at[1], at[2])] = Number(a.diffusivities[place] * scale);
  }
};
template <class T, class S>
using KeepField = FieldOf<T, S, Coefficient>;
template <class T, class S>
using ScaleField = FieldOf<T, S, S>;

/// The largest diagonal element of a level's equations.
template <class S>
struct FindDiagonal {
  Level<S> level;
  GRIDSTRIDE_HOST_DEVICE Extent extent() const { return points_of(level); }
  GRIDSTRIDE_HOST_DEVICE Found operator()(int i, int j, int k) const {
    int const at[3] = {i, j, k};
    return {poisson::bits_of_magnitude(double{row_of(level, at).diagonal}), 0};
  }
};

/// f of the finest level = right, times `scale`; both points of a pair along x.
template <class T, class S>
struct TakeRight {
  poisson::Operator<T> a;
  Level<S> level;
  double const* right;
  double scale;
  GRIDSTRIDE_HOST_DEVICE Extent extent() const { return colour_of(level); }
  GRIDSTRIDE_HOST_DEVICE void operator()(int x, int j, int k) const {
    for (int i = 2 * x; i < 2 * x + 2 && i < level.count[0]; ++i) {
      std::int64_t const at[3] = {a.first[0] + i, a.first[1] + j, a.first[2] + k};
      double const volume = level.is_stored() ? poisson::share_of(a, at) : 1.0;
      double const value = right[at[0] + at[1] * a.stride[1] + at[2] * a.stride[2]];
      level.f[level.place(i, j, k)] = static_cast<S>(value * volume * scale);
    }
  }
};

/// u = what the finest level has found, in the same way.
template <class S>
struct GiveSolution {
  Level<S> level;
  Places places;
  double* u;
  GRIDSTRIDE_HOST_DEVICE Extent extent() const { return colour_of(level); }
  GRIDSTRIDE_HOST_DEVICE void operator()(int x, int j, int k) const {
    for (int i = 2 * x; i < 2 * x + 2 && i < level.count[0]; ++i)
      u[places(i, j, k)] = level.u[level.place(i, j, k)];
  }
};

/// What has been kept in float64, in the type of the grid's arrays.
template <class T>
struct Round {
  Extent points;
  Places places;
  double const* u;
  T* rounded;
  GRIDSTRIDE_HOST_DEVICE Extent extent() const { return points; }
  GRIDSTRIDE_HOST_DEVICE void operator()(int i, int j, int k) const {
    std::int64_t const place = places(i, j, k);
    rounded[place] = static_cast<T>(u[place]);
  }
};

}  // namespace gridstride::multigrid

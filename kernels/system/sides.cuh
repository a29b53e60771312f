#pragma once

#include "core/host_device.hpp"

/// How a component goes on beyond the sides of the grid. Free of other headers, so that kernels
/// that are compiled at run time use it too.
namespace gridstride::system {

/// One end of an axis with n points. Point −j lies j points beyond the side:
///
///   u(−j) = sign·u(n − j)                                     where it wraps around
///   u(−j) = sign·u(j) + own·u(0) + j·slope·(g − a·u(0))       else
///
/// At a corner the axes follow each other, x first: a point beyond the sides of y and z is made of
/// points beyond x. There g goes on along its face as u along the axis where that wraps, else as a
/// straight line through its value at the edge, and so does a, which keeps its sign.
template <class T>
struct Side {
  bool wraps = true;
  bool given = false;  ///< the side's own points hold g; else they are as those inside
  T sign = 1;
  T own = 0;
  T slope = 0;
  T const* g = nullptr;  ///< at the points of the face, the remaining axes in order; null: 0
  T const* a = nullptr;  ///< the same
};

template <class T>
using Sides = Side<T>[3][2];

/// An array of one component with its sides.
template <class T>
struct Input {
  T const* values = nullptr;
  Sides<T> sides = {};
  /// What is known of points up to `margin` beyond axes that do not wrap, in the order of
  /// `margin_place`; sides then say which axes do. Null: rules make it.
  T const* beyond = nullptr;
  int margin[3] = {};  ///< 0 for axes that wrap
};

/// Place of point (i, j, k) on the face normal to `axis`.
GRIDSTRIDE_HOST_DEVICE inline long long face_place(int axis, long long const (&points)[3],
                                                   long long i, long long j, long long k) {
  return axis == 0 ? j + k * points[1] : i + (axis == 1 ? k : j) * points[0];
}

/// Which side of an axis a point lies beyond, 0 or 1, and by how much; −1 where it lies inside.
struct Beyond {
  int side;
  long long by;
};
GRIDSTRIDE_HOST_DEVICE inline Beyond beyond(long long points, long long i) {
  if (i < 0) return {0, -i};
  if (i >= points) return {1, i - points + 1};
  return {-1, 0};
}

/// The index of the point that lies `steps` inside the side, or that wraps around to it.
GRIDSTRIDE_HOST_DEVICE inline long long inside(int side, long long points, long long steps) {
  return side == 0 ? steps : points - 1 - steps;
}
GRIDSTRIDE_HOST_DEVICE inline long long around(int side, long long points, long long by) {
  return side == 0 ? points - by : by - 1;
}

/// The points beyond a side, as far as a margin goes: with the margins of axes before it, and inside
/// those after it. In memory those of the last axis come first, the lower before the upper.
struct MarginSlab {
  long long first[3], points[3];
  GRIDSTRIDE_HOST_DEVICE long long size() const { return points[0] * points[1] * points[2]; }
  GRIDSTRIDE_HOST_DEVICE long long place(long long const (&at)[3]) const {
    return at[0] - first[0] + points[0] * (at[1] - first[1] + points[1] * (at[2] - first[2]));
  }
};
GRIDSTRIDE_HOST_DEVICE inline MarginSlab margin_slab(long long const (&points)[3],
                                                     int const (&margin)[3], int axis, int side) {
  MarginSlab slab = {};
  for (int a = 0; a < 3; ++a) {
    slab.first[a] = a < axis ? -margin[a] : 0;
    slab.points[a] = a < axis ? points[a] + 2 * margin[a] : points[a];
  }
  slab.first[axis] = side == 0 ? -margin[axis] : points[axis];
  slab.points[axis] = margin[axis];
  return slab;
}

/// Where the value at a point that lies beyond a side lies in memory; −1 for points inside.
GRIDSTRIDE_HOST_DEVICE inline long long margin_place(long long const (&points)[3],
                                                     int const (&margin)[3],
                                                     long long const (&at)[3]) {
  long long before = 0;
  for (int axis = 2; axis >= 0; --axis)
    for (int side = 0; side < 2; ++side) {
      MarginSlab const slab = margin_slab(points, margin, axis, side);
      if (beyond(points[axis], at[axis]).side == side) return before + slab.place(at);
      before += slab.size();
    }
  return -1;
}

/// The value at a point of an array that is known beyond its sides.
template <class T>
GRIDSTRIDE_HOST_DEVICE inline T known_value(Input<T> const& input, long long const (&points)[3],
                                            long long i, long long j, long long k) {
  long long at[3] = {i, j, k};
  for (int axis = 0; axis < 3; ++axis) {
    Beyond const out = beyond(points[axis], at[axis]);
    if (out.side >= 0 && input.sides[axis][out.side].wraps)
      at[axis] = around(out.side, points[axis], out.by);
  }
  long long const place = margin_place(points, input.margin, at);
  return place >= 0 ? input.beyond[place]
                    : input.values[at[0] + points[0] * (at[1] + points[1] * at[2])];
}

/// g of a face at a point that may lie beyond the other axes, from axis `along` − 1 down. `turns`:
/// whether it takes the sign of axes that wrap.
template <int along, class T>
GRIDSTRIDE_HOST_DEVICE inline T face_value(Sides<T> const& sides, long long const (&points)[3],
                                           int axis, T const* g, long long i, long long j,
                                           long long k, bool turns = true) {
  if constexpr (along == 0) {
    return g[face_place(axis, points, i, j, k)];
  } else {
    constexpr int a = along - 1;
    if (a == axis) return face_value<a>(sides, points, axis, g, i, j, k, turns);
    auto const [side, by] = beyond(points[a], a == 0 ? i : a == 1 ? j : k);
    auto const value = [&](long long m) {
      return face_value<a>(sides, points, axis, g, a == 0 ? m : i, a == 1 ? m : j, a == 2 ? m : k,
                           turns);
    };
    if (side < 0) return face_value<a>(sides, points, axis, g, i, j, k, turns);
    if (sides[a][side].wraps) {
      T const around_axis = value(around(side, points[a], by));
      return turns ? sides[a][side].sign * around_axis : around_axis;
    }
    return T(2) * value(inside(side, points[a], 0)) - value(inside(side, points[a], by));
  }
}

/// u(−by) beyond a side that does not wrap, where `value(steps)` is u so far inside, and
/// `face(g, turns)` is g there, as `face_value` gives it.
template <class T, class Value, class Face>
GRIDSTRIDE_HOST_DEVICE inline T value_beyond_side(Side<T> const& rule, long long by,
                                                  Value const& value, Face const& face) {
  T result = rule.sign * value(by);
  if (rule.own != 0) result = result + rule.own * value(0);
  if (rule.slope != 0 && rule.g) result = result + T(by) * rule.slope * face(rule.g, true);
  if (rule.a) result = result - T(by) * rule.slope * (face(rule.a, false) * value(0));
  return result;
}

/// u at a point that may lie beyond axes up to `axes` − 1, where `source(i, j, k)` is u inside.
template <int axes, class T, class Source>
GRIDSTRIDE_HOST_DEVICE inline T value_at(Source const& source, Sides<T> const& sides,
                                         long long const (&points)[3], long long i, long long j,
                                         long long k) {
  if constexpr (axes == 0) {
    return source(i, j, k);
  } else {
    constexpr int a = axes - 1;
    auto const [side, by] = beyond(points[a], a == 0 ? i : a == 1 ? j : k);
    if (side < 0) return value_at<a, T>(source, sides, points, i, j, k);
    Side<T> const& rule = sides[a][side];
    auto const value = [&](long long m) {
      return value_at<a, T>(source, sides, points, a == 0 ? m : i, a == 1 ? m : j, a == 2 ? m : k);
    };
    if (rule.wraps) return rule.sign * value(around(side, points[a], by));
    return value_beyond_side(
        rule, by, [&](long long steps) { return value(inside(side, points[a], steps)); },
        [&](T const* of_face, bool turns) {
          return face_value<a>(sides, points, a, of_face, i, j, k, turns);
        });
  }
}

/// The same of an array.
template <int axes, class T>
GRIDSTRIDE_HOST_DEVICE inline T value_at(Input<T> const& input, long long const (&points)[3],
                                         long long i, long long j, long long k) {
  if (input.beyond) return known_value(input, points, i, j, k);
  auto const source = [&](long long x, long long y, long long z) {
    return input.values[x + points[0] * (y + points[1] * z)];
  };
  return value_at<axes, T>(source, input.sides, points, i, j, k);
}

/// What a point on a side holds where it is given: the side's axis and end, the first of several;
/// axis 3 where there is none.
struct Held {
  int axis;
  int side;
};
template <class T>
GRIDSTRIDE_HOST_DEVICE inline Held held_by(Sides<T> const& sides, int dims,
                                           long long const (&points)[3], long long i, long long j,
                                           long long k) {
  long long const place[3] = {i, j, k};
  for (int axis = 0; axis < dims; ++axis)
    for (int side = 0; side < 2; ++side)
      if (sides[axis][side].given && place[axis] == inside(side, points[axis], 0))
        return {axis, side};
  return {3, 0};
}
template <class T>
GRIDSTRIDE_HOST_DEVICE inline T held_value(Sides<T> const& sides, long long const (&points)[3],
                                           Held held, long long i, long long j, long long k) {
  T const* g = sides[held.axis][held.side].g;
  return g ? g[face_place(held.axis, points, i, j, k)] : T(0);
}

}  // namespace gridstride::system

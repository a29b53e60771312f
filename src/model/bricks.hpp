#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/buffer.hpp"
#include "core/stream.hpp"
#include "grid/grid.hpp"
#include "kernels/support/rank_transposition.hpp"
#include "model/sweep_plan.hpp"

namespace gridstride {

/// The points of a brick along each axis of the grid that it is a part of.
inline std::array<Planes, 3> extents_of(Grid const& grid, Brick const& brick) {
  std::array<Planes, 3> extents;
  for (std::size_t axis = 0; axis < 3; ++axis) extents[axis] = {0, grid.points[axis]};
  extents[static_cast<std::size_t>(grid.dims - 1)] = brick.planes;
  for (std::size_t which = 0; which < strip_axes; ++which)
    if (brick.strips[which].count() > 0)
      extents[static_cast<std::size_t>(axis_of_strips(grid.dims, which))] = brick.strips[which];
  return extents;
}

/// How many there are along each axis: an array of the brick alone has so many.
inline std::array<std::int64_t, 3> points_of(Grid const& grid, Brick const& brick) {
  auto const extents = extents_of(grid, brick);
  return {extents[0].count(), extents[1].count(), extents[2].count()};
}

/// Of each plane of a brick.
inline std::int64_t plane_values(Grid grid, OfStripAxes<Planes> const& strips) {
  auto const points = points_of(grid, {{0, 1}, strips});
  return points[0] * points[1] * points[2];
}

/// A part of a brick whose points follow one another in the grid along each axis: where it begins there
/// and in the brick, and its points.
struct Block {
  std::array<std::int64_t, 3> at, place, points;
};

/// Calls `use(block)` for each of those that a brick, which may go around, consists of.
template <class Use>
void for_each_block(Grid const& grid, Brick const& brick, Use const& use) {
  auto const extents = extents_of(grid, brick);
  auto const along = [&](std::size_t axis, auto const& then) {
    for_each_stretch(extents[axis], grid.points[axis],
                     [&](std::int64_t at, Planes const& some) { then(at, some); });
  };
  along(2, [&](std::int64_t z, Planes const& planes) {
    along(1, [&](std::int64_t y, Planes const& lines) {
      along(0, [&](std::int64_t x, Planes const& line) {
        use(Block{{x, y, z},
                  {line.lower - extents[0].lower, lines.lower - extents[1].lower,
                   planes.lower - extents[2].lower},
                  {line.count(), lines.count(), planes.count()}});
      });
    });
  });
}

/// How values of some points lie in two arrays: `width` of them together, and such rows apart.
struct BlockRows {
  std::int64_t width = 1, rows = 1, planes = 1;
  std::array<std::int64_t, 2> row = {}, plane = {};  ///< values from one to the next, in each array
};

/// Of so many points, in arrays of so many: rows as long as they can be.
inline BlockRows block_rows(std::array<std::int64_t, 3> const& points,
                            std::array<std::int64_t, 3> const& first,
                            std::array<std::int64_t, 3> const& second) {
  BlockRows rows;
  std::array<std::int64_t, 2> stride = {1, 1};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    std::int64_t const count = points[axis];
    bool const follows = rows.rows == 1 && stride[0] == rows.width && stride[1] == rows.width;
    if (count != 1 && follows) {
      rows.width *= count;
    } else if (count != 1 && rows.rows == 1) {
      rows.rows = count;
      rows.row = stride;
    } else if (count != 1) {
      rows.planes = count;
      rows.plane = stride;
    }
    stride[0] *= first[axis];
    stride[1] *= second[axis];
  }
  return rows;
}

inline std::int64_t place_in(std::array<std::int64_t, 3> const& points,
                             std::array<std::int64_t, 3> const& at) {
  return at[0] + points[0] * (at[1] + points[1] * at[2]);
}

/// That of which a plan's arrays are parts.
inline Grid whole_grid(SweepPlan const& plan) {
  Grid grid = plan.shape.grid;
  for (std::size_t which = 0; which < strip_axes; ++which)
    if (plan.strips[which].are_there())
      grid.points[static_cast<std::size_t>(axis_of_strips(grid.dims, which))] =
          plan.strips[which].points;
  return grid;
}

/// Where a rank's brick begins in an array of its planes.
inline std::int64_t place_of_brick(SweepPlan const& plan) {
  std::array<std::int64_t, 3> at = {};
  for (std::size_t which = 0; which < strip_axes; ++which)
    if (auto const& strips = plan.strips[which]; strips.are_there())
      at[static_cast<std::size_t>(axis_of_strips(plan.shape.grid.dims, which))] =
          strips.own.lower - strips.held.lower;
  return place_in(plan.shape.grid.points, at);
}

/// Rows of `from` to where they belong in `to`, the first and the second array of `rows`, or `back`.
template <class T>
CopiedRows copied_rows(BlockRows const& rows, T* first, T* second, bool back) {
  std::size_t const one = back ? 1 : 0, other = 1 - one;
  auto const bytes = [](std::int64_t values) {
    return static_cast<std::size_t>(values) * sizeof(T);
  };
  auto const pitch = [&](std::size_t array) {
    return bytes(rows.rows > 1 ? rows.row[array] : rows.width);
  };
  return {.from = reinterpret_cast<std::byte const*>(back ? second : first),
          .from_pitch = pitch(one),
          .to = reinterpret_cast<std::byte*>(back ? first : second),
          .to_pitch = pitch(other),
          .width = bytes(rows.width),
          .rows = static_cast<std::size_t>(rows.rows),
          .planes = static_cast<std::size_t>(rows.planes),
          .from_plane = bytes(rows.plane[one]),
          .to_plane = bytes(rows.plane[other])};
}

/// Queues the copy of a brick, `out` of an array of the whole grid or back into it; `here` it lies in an
/// array that has so many points along each axis. Between any memory that the stream's device and the
/// host have.
template <class T>
void copy_brick(Stream& stream, Grid const& grid, T* whole, Brick const& brick, T* here,
                std::array<std::int64_t, 3> const& points, bool out) {
  for_each_block(grid, brick, [&](Block const& block) {
    T* const there = whole + place_in(grid.points, block.at);
    T* const own = here + place_in(points, block.place);
    auto const rows = block_rows(block.points, grid.points, points);
    if (rows.rows > 1) return copy_rows(stream, copied_rows(rows, there, own, !out));
    auto const size = static_cast<std::size_t>(rows.width);  // all of it lies together
    std::span<T> const from(out ? there : own, size), to(out ? own : there, size);
    copy_async(to, std::span<T const>(from), stream);
  });
}

}  // namespace gridstride

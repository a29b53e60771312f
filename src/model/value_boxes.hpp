#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "grid/grid.hpp"
#include "model/bricks.hpp"
#include "model/sweep_plan.hpp"

namespace gridstride {

/// Points of a grid, along each axis.
using PointBox = std::array<Planes, 3>;

inline std::array<std::int64_t, 3> points_of(PointBox const& box) {
  return {box[0].count(), box[1].count(), box[2].count()};
}
inline std::array<std::int64_t, 3> begin_of(PointBox const& box) {
  return {box[0].lower, box[1].lower, box[2].lower};
}
inline std::int64_t size_of(PointBox const& box) {
  return box[0].count() * box[1].count() * box[2].count();
}

/// The points whose values follow one another in memory, from `lower` up to `upper`, in their order: what
/// is left of a line, of a plane, whole planes, and so on down again.
inline std::vector<PointBox> boxes_of(Grid const& grid, std::int64_t lower, std::int64_t upper) {
  auto const [nx, ny, nz] = grid.points;
  std::vector<PointBox> boxes;
  auto const points = [&, nx = nx, ny = ny](std::int64_t first, std::int64_t last) {
    if (first >= last) return;
    std::int64_t const line = first / nx, x = first % nx;
    boxes.push_back(
        {Planes{x, x + last - first}, {line % ny, line % ny + 1}, {line / ny, line / ny + 1}});
  };
  auto const lines = [&, nx = nx, ny = ny](std::int64_t first, std::int64_t last) {
    std::int64_t const begin = (first + nx - 1) / nx, end = last / nx;
    if (begin > end) return points(first, last);
    points(first, begin * nx);
    if (std::int64_t const z = begin / ny; begin < end)
      boxes.push_back({Planes{0, nx}, {begin - z * ny, end - z * ny}, {z, z + 1}});
    points(end * nx, last);
  };
  std::int64_t const plane = nx * ny;
  std::int64_t const begin = (lower + plane - 1) / plane, end = upper / plane;
  if (begin > end) {
    lines(lower, upper);
    return boxes;
  }
  lines(lower, begin * plane);
  if (begin < end) boxes.push_back({Planes{0, nx}, {0, ny}, {begin, end}});
  lines(end * plane, upper);
  return boxes;
}

/// Such points as a grid whose coordinates are their numbers in the whole one.
inline Grid index_grid(Grid grid, PointBox const& box) {
  for (std::size_t axis = 0; axis < static_cast<std::size_t>(grid.dims); ++axis) {
    grid.points[axis] = box[axis].count();
    grid.origin[axis] = static_cast<double>(box[axis].lower);
    grid.spacing[axis] = 1;
  }
  return grid;
}

/// Where the first of some points of a rank's own lies in an array of its planes.
inline std::int64_t place_of_box(SweepPlan const& plan, int rank, PointBox const& box) {
  auto const begin = begin_of(extents_of(whole_grid(plan), plan.brick_of(rank)));
  auto at = begin_of(box);
  for (std::size_t axis = 0; axis < 3; ++axis) at[axis] -= begin[axis];
  return place_of_brick(plan) + place_in(plan.shape.grid.points, at);
}

/// What of these points is a brick's, in the same order.
inline std::vector<PointBox> boxes_within(std::vector<PointBox> boxes, Grid const& grid,
                                          Brick const& brick) {
  auto const extents = extents_of(grid, brick);
  for (PointBox& box : boxes)
    for (std::size_t axis = 0; axis < 3; ++axis) box[axis] = box[axis].within(extents[axis]);
  std::erase_if(boxes, [](PointBox const& box) { return size_of(box) == 0; });
  return boxes;
}

}  // namespace gridstride

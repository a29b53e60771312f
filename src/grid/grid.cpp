#include "grid/grid.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <span>

namespace gridstride {

std::string format_points(Grid const& grid) {
  return fmt::format("{}", fmt::join(std::span(grid.points).first(grid.dims), " x "));
}

std::string format_place(Grid const& grid, std::int64_t offset) {
  auto const at = grid.indices(offset);
  std::string place;
  for (int axis = 0; axis < grid.dims; ++axis)
    place += fmt::format("{}{} = {}", axis == 0 ? "" : ", ", axis_names[axis],
                         grid.coordinate(axis, at[axis]));
  return place;
}

Grid face_of(Grid const& grid, int axis, int side) {
  Grid face = grid;
  face.origin[axis] = grid.coordinate(axis, side == 0 ? 0 : grid.points[axis] - 1);
  face.points[axis] = 1;
  return face;
}

}  // namespace gridstride

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/precision.hpp"

namespace gridstride {

inline constexpr std::array<std::string_view, 3> axis_names = {"x", "y", "z"};

/// A uniform rectangular grid of points in 1 to 3 dimensions; x is the fastest axis in memory.
/// Axes beyond `dims` have one point. Point i of axis a lies at origin[a] + i·spacing[a].
struct Grid {
  int dims = 1;
  std::array<std::int64_t, 3> points = {1, 1, 1};
  std::array<double, 3> origin = {0, 0, 0};
  std::array<double, 3> spacing = {1, 1, 1};

  std::int64_t size() const { return points[0] * points[1] * points[2]; }
  double coordinate(int axis, std::int64_t i) const {
    return origin[axis] + static_cast<double>(i) * spacing[axis];
  }
  std::array<std::int64_t, 3> indices(std::int64_t offset) const {
    return {offset % points[0], offset / points[0] % points[1], offset / (points[0] * points[1])};
  }
  /// The points of the face that is normal to `axis`, in the order of the remaining axes.
  std::int64_t face_size(int axis) const { return size() / points[axis]; }

  bool operator==(Grid const&) const = default;
};

/// `512 x 512`
std::string format_points(Grid const& grid);

/// The place of a point in words: `x = 0.5, y = 1`.
std::string format_place(Grid const& grid, std::int64_t offset);

/// The points of a grid's side: 0 the lower one of the axis, 1 the upper.
Grid face_of(Grid const& grid, int axis, int side);

/// A named quantity on a grid: a view of `grid.size()` values, or of as many vectors with their
/// components side by side, in the memory of the simulation's device. Whoever made it owns the
/// memory.
struct Field {
  std::string name;
  std::string unit;
  Grid grid;
  Precision precision = Precision::float64;
  void const* data = nullptr;
  int components = 1;  ///< of a vector 2 or 3

  std::int64_t values() const { return grid.size() * components; }
  std::size_t bytes() const { return static_cast<std::size_t>(values()) * size_of(precision); }
};

/// What holds on one side of the grid; a simulation takes some of them.
enum class SideKind {
  periodic,      ///< what leaves it enters the other side
  antiperiodic,  ///< the same with the other sign
  dirichlet,     ///< a value that is given
  neumann,       ///< a derivative along the outward normal that is given
  robin,         ///< ∂u/∂n + a·u = g, with a and g that are given
  flux,          ///< what flows through it, along the outward normal, that is given
  fixed,         ///< held at zero
  free,          ///< no derivative along the normal
  wall,          ///< of a vector nothing along the normal, all else without a derivative along it
  absorbing,     ///< waves leave
  outflow,       ///< what flows out leaves, and nothing flows in
};

/// Whether an axis with such sides has no ends: its last point lies beside the first one.
inline bool wraps(SideKind kind) {
  return kind == SideKind::periodic || kind == SideKind::antiperiodic;
}

}  // namespace gridstride

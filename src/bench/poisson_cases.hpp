#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <variant>

#include "bench/workload.hpp"
#include "core/stream.hpp"
#include "grid/grid.hpp"
#include "kernels/poisson/layers.hpp"
#include "kernels/poisson/poisson.hpp"
#include "kernels/poisson/transform.hpp"

/// Poisson's equations that are measured, for `bench poisson` alone.
namespace gridstride::bench::of_poisson {

/// What is solved: on a cube, or a square, with the same sides everywhere.
struct Case {
  std::string_view operation;
  int dims;
  SideKind sides;

  /// Sides that are not periodic have a point more than intervals.
  int more() const { return sides == SideKind::periodic ? 0 : 1; }
  /// On the host the reference, which sums all points of a line for each coefficient, is done too.
  std::int64_t points(Backend backend) const {
    bool const on_host = backend == Backend::cpu;
    std::int64_t const side = (dims == 3 ? on_host ? 64 : 512 : on_host ? 256 : 8192) + more();
    return side * side * (dims == 3 ? side : 1);
  }
};

/// Intervals along an axis are multiples of 8.
inline Grid grid_of(Case const& of, std::int64_t size) {
  auto const intervals = std::max<std::int64_t>((side_of(size, 1, of.dims) - of.more()) / 8 * 8, 8);
  Grid grid;
  grid.dims = of.dims;
  for (int axis = 0; axis < of.dims; ++axis) {
    grid.points[axis] = intervals + of.more();
    grid.spacing[axis] = 1 / static_cast<double>(intervals);
  }
  return grid;
}

/// The way that `method: fft` takes.
template <class T>
using Solver = std::variant<poisson::TransformSolver<T>, poisson::LayerSolver<T>>;
template <class T>
Solver<T> solver_of(Stream& stream, poisson::Equation<T> const& equation) {
  bool const singular = equation.sides[0][0] != SideKind::dirichlet;
  if (auto const axis = poisson::faster_eliminated(equation.grid, equation.sides))
    return poisson::LayerSolver<T>(stream, equation, *axis, singular);
  return poisson::TransformSolver<T>(stream, equation);
}

inline constexpr Case volume{"3D, periodic", 3, SideKind::periodic};
inline constexpr Case held_volume{"3D, Dirichlet", 3, SideKind::dirichlet};
inline constexpr Case free_volume{"3D, Neumann", 3, SideKind::neumann};
inline constexpr Case plane{"2D, periodic", 2, SideKind::periodic};
inline constexpr Case held_plane{"2D, Dirichlet", 2, SideKind::dirichlet};

}  // namespace gridstride::bench::of_poisson

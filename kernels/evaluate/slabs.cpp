#include "kernels/evaluate/slabs.hpp"

#include <algorithm>

#include "core/buffer.hpp"
#include "expression/transform.hpp"
#include "kernels/evaluate/evaluate.hpp"

namespace gridstride::evaluate {

namespace {

/// Of the slowest axis in a slab.
std::int64_t lines_of(Grid const& grid) {
  constexpr std::int64_t most_values = std::int64_t{1} << 20;
  int const axis = grid.dims - 1;
  return std::clamp<std::int64_t>(most_values / grid.face_size(axis), 1, grid.points[axis]);
}

}  // namespace

std::size_t slab_size(Grid const& grid) {
  return static_cast<std::size_t>(lines_of(grid) * grid.face_size(grid.dims - 1));
}

void for_each_slab(expression::Expression const& formula, Grid const& grid, double time,
                   std::function<void(Slab const&)> const& use) {
  Stream host(Device::open(Backend::cpu));
  Program const program(host, formula);
  DeviceClock const clock{time, 0, 0};
  int const axis = grid.dims - 1;
  std::int64_t const line = grid.face_size(axis);
  std::int64_t const lines = lines_of(grid);
  Buffer<double> values(host, MemorySpace::host, slab_size(grid));
  for (std::int64_t first = 0; first < grid.points[axis]; first += lines) {
    Grid slab = grid;
    slab.points[axis] = std::min(lines, grid.points[axis] - first);
    slab.origin[axis] = grid.coordinate(axis, first);
    auto const span = values.span().first(static_cast<std::size_t>(slab.size()));
    evaluate(host, program, slab, &clock, 0, span);
    use({slab, first * line, span});
  }
}

expression::Expression by_index(expression::Expression const& formula, Grid const& grid, int axis) {
  using expression::Expression;
  if (!formula.depends_on(axis)) return formula;
  return substitute(
      formula, axis,
      Expression(grid.origin[axis]) + Expression::variable(axis) * Expression(grid.spacing[axis]));
}

expression::Expression by_indices(expression::Expression const& formula, Grid const& grid) {
  auto by_all = formula;
  for (int axis = 0; axis < grid.dims; ++axis) by_all = by_index(by_all, grid, axis);
  return by_all;
}

}  // namespace gridstride::evaluate

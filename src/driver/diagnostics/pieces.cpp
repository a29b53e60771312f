#include "driver/diagnostics/pieces.hpp"

#include <algorithm>

namespace gridstride {

namespace {

std::int64_t lines_of_piece(Grid const& grid) {
  constexpr std::int64_t most_values = std::int64_t{1} << 20;
  int const axis = grid.dims - 1;
  return std::clamp<std::int64_t>(most_values / grid.face_size(axis), 1, grid.points[axis]);
}

}  // namespace

bool is_periodic(config::RunOptions const& run, int axis) {
  return std::ranges::any_of(run.boundary, [axis](config::Sides const& sides) {
    return wraps(sides[static_cast<std::size_t>(axis)][0].kind);
  });
}

std::size_t values_of_piece(Grid const& grid) {
  return static_cast<std::size_t>(lines_of_piece(grid) * grid.face_size(grid.dims - 1));
}

std::vector<Piece> pieces_of(config::RunOptions const& run, Grid const& grid) {
  int const axis = grid.dims - 1;
  bool const periodic = is_periodic(run, axis);
  std::int64_t const all = grid.points[axis], line = grid.face_size(axis);
  std::vector<Piece> pieces;
  for (std::int64_t first = 0, next = 0; first < all; first = next) {
    bool const end = !periodic && (first == 0 || first == all - 1);
    std::int64_t const rest = periodic ? all : all - 1;
    next = end ? first + 1 : std::min(first + lines_of_piece(grid), rest);
    Piece piece{grid, first * line, end ? 0.5 : 1};
    piece.grid.points[axis] = next - first;
    piece.grid.origin[axis] = static_cast<double>(first);
    piece.grid.spacing[axis] = 1;
    pieces.push_back(piece);
  }
  return pieces;
}

std::vector<double> weights_of(config::RunOptions const& run, Grid const& grid) {
  std::vector<double> weights(values_of_piece(grid), 1);
  for (std::size_t k = 0; k < weights.size(); ++k) {
    auto const at = grid.indices(static_cast<std::int64_t>(k));
    for (int axis = 0; axis < grid.dims - 1; ++axis)
      if (!is_periodic(run, axis) && (at[axis] == 0 || at[axis] == grid.points[axis] - 1))
        weights[k] /= 2;
  }
  return weights;
}

}  // namespace gridstride

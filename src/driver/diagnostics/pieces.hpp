#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "config/run_config.hpp"
#include "grid/grid.hpp"

/// A grid in pieces of about a million values, so that what formulas give needs little memory.
namespace gridstride {

/// Some lines along the slowest axis.
struct Piece {
  /// Along the slowest axis its coordinates are the indices in the whole grid.
  Grid grid;
  std::int64_t first;  ///< place of the first value in the whole grid
  double weight = 1;   ///< of each line in the trapezoidal rule
};

/// The whole grid. The ends of the slowest axis, which count half unless it is periodic, are pieces
/// of their own.
std::vector<Piece> pieces_of(config::RunOptions const& run, Grid const& grid);

/// Whether an axis goes around. It does for all fields that have sides, or for none.
bool is_periodic(config::RunOptions const& run, int axis);

/// The most values that a piece has.
std::size_t values_of_piece(Grid const& grid);

/// The weights of the trapezoidal rule at the points of such a piece, along all axes but the
/// slowest: half at the ends of one that is not periodic.
std::vector<double> weights_of(config::RunOptions const& run, Grid const& grid);

}  // namespace gridstride

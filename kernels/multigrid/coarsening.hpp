#pragma once

#include <array>
#include <vector>

#include "kernels/poisson/poisson.hpp"

/// How the axes of a grid become coarser. For the family's own files only.
namespace gridstride::multigrid {

/// An axis of a level: nodes at any distances. Those on Dirichlet sides are nodes, and no unknowns.
struct Axis {
  bool periodic = false;
  std::array<bool, 2> given = {};  ///< whether u is known at the ends
  std::vector<double> intervals =
      {};  ///< from node to node; of a periodic axis also from last to first
  std::vector<double> widths = {};  ///< of the cells of the nodes

  int nodes() const { return static_cast<int>(widths.size()); }
  int first() const { return given[0] ? 1 : 0; }
  int unknowns() const { return nodes() - (given[0] ? 1 : 0) - (given[1] ? 1 : 0); }
  /// Whether there is a coarser one: an axis without a given end shrinks to a point.
  bool has_coarser() const;
  /// About 1/h²; 0 of a point.
  double coupling() const;
  /// 1/(interval·width) on both sides of an unknown, 0 where there is nobody.
  std::array<double, 2> couplings(int unknown) const;
};

Axis axis_of(Grid const& grid, poisson::Sides const& sides, int axis);

/// From an axis to a coarser one, by unknowns. A node that is kept has itself at `left` with the
/// weight 1; one that is not stands between two that are.
struct Transfer {
  std::vector<int> left, right;           ///< kept neighbours by their new numbers, -1: none
  std::vector<double> to_left, to_right;  ///< how much they count
  std::vector<int> kept;                  ///< of each coarse unknown: where it is in the fine axis
  /// Of each coarse unknown: how much residuals before, at and behind it count, shares of its cell.
  std::vector<std::array<double, 3>> gather;
};

struct Coarser {
  Axis axis;
  Transfer transfer = {};
};

/// Every other node, and where their number is odd one more, so that the distances stay as equal as
/// they can: any number of nodes will do. Periodic axes keep an even number of nodes. An axis that
/// stays as it is has a transfer too.
Coarser coarser(Axis const& fine);
Coarser unchanged(Axis const& fine);

/// The levels of a grid, the finest first: an axis becomes coarser where it is coupled about as
/// strongly as any that can (semicoarsening), until few unknowns are left, for a direct solve.
struct Levels {
  std::vector<std::array<Axis, 3>> axes;
  std::vector<std::array<Transfer, 3>> transfers;  ///< from a level to the next
  std::vector<std::array<bool, 3>> changes;        ///< which axes become coarser
  int most_inverted = 0;                           ///< unknowns of the coarsest level
};
Levels levels_of(Grid const& grid, poisson::Sides const& sides, int most_inverted);
/// The grid alone.
Levels finest_of(Grid const& grid, poisson::Sides const& sides);

}  // namespace gridstride::multigrid

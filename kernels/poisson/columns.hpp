#pragma once

#include <cstdint>

#include "kernels/poisson/point.hpp"

/// Steps of conjugate gradients by columns of points (cuda_columns.cu). For the family's own files.
namespace gridstride::poisson {

/// S·(V·A) of a volume with the same a and κ everywhere as columns take it, V the shares of cells.
/// A point's row is made of its faces: ca·(u − u₋) where there is one, and κ.
template <class S>
struct ColumnOperator {
  int points[3];
  Rule side[3][2];
  S weight[3];    ///< S·a/h²
  S reaction;     ///< S·κ
  int planes[2];  ///< of this rank
  bool beyond;    ///< what is beside the first plane lies before it, though planes go around

  template <class T>
  static ColumnOperator of(Operator<T> const& a, double scale) {
    ColumnOperator columns{};
    for (int axis = 0; axis < 3; ++axis) {
      columns.points[axis] = static_cast<int>(a.points[axis]);
      for (int side = 0; side < 2; ++side) columns.side[axis][side] = a.side[axis][side];
      columns.weight[axis] = static_cast<S>(scale * a.weight[axis]);
    }
    columns.reaction = static_cast<S>(scale * a.reaction);
    for (int end = 0; end < 2; ++end) columns.planes[end] = static_cast<int>(a.planes[end]);
    columns.beyond = a.around[2] < 0;
    return columns;
  }
  GRIDSTRIDE_HOST_DEVICE bool wraps(int axis) const { return side[axis][0] == Rule::periodic; }
  /// What there is of a point's row, by where it is along an axis.
  struct Along {
    S share;            ///< of a cell
    bool lower, upper;  ///< whether there is a face
    bool unknown;
  };
  GRIDSTRIDE_HOST_DEVICE Along along(int axis, int at) const {
    bool const at_lower = at == 0 && !wraps(axis);
    bool const at_upper = at == points[axis] - 1 && !wraps(axis);
    bool const known = (at_lower && side[axis][0] == Rule::dirichlet) ||
                       (at_upper && side[axis][1] == Rule::dirichlet);
    return {at_lower || at_upper ? S{0.5} : S{1}, !at_lower, !at_upper, !known};
  }
  /// A place on the grid that has what is beside one at `at`, or, where nothing is, any.
  GRIDSTRIDE_HOST_DEVICE int place(int axis, int at) const {
    int const n = points[axis];
    if (beyond && wraps(axis) && axis == 2) return at;
    if (at < 0) return wraps(axis) ? at + n : 0;
    if (at < n) return at;
    return wraps(axis) && at < 2 * n ? at - n : n - 1;
  }
};

}  // namespace gridstride::poisson

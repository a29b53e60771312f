#pragma once

// Between the passes of joined.hpp: rows of waves along x, by the points along y. Before this stand
// in namespace gridstride::modes
//
//   kept_x, points_y   the waves along x that are kept, the points along y
//   group              waves along x that lie together
namespace gridstride::modes {

/// The waves of a group lie beside each other, point after point: the columns of a block are one piece
/// of memory.
/// Where a wave's points begin, and where one of them is from there.
__device__ __forceinline__ long long column_of(int wave) {
  return static_cast<long long>(wave / group) * points_y * group + wave % group;
}
__device__ __forceinline__ int in_column(int point) { return point * group; }

}  // namespace gridstride::modes

#pragma once

namespace gridstride {

/// Lines along x: the first one, and how many.
struct Lines {
  long long first, count;
};

/// Those of planes [made[0], made[1]) of the slowest axis, of a grid of `dims` dimensions; in 1D, where
/// a plane is a point, the one line that there is.
inline Lines wanted_lines(int dims, long long const (&points)[3], long long const (&made)[2]) {
  if (dims == 1) return {0, 1};
  long long const of_plane = dims == 3 ? points[1] : 1;
  return {made[0] * of_plane, (made[1] - made[0]) * of_plane};
}

}  // namespace gridstride

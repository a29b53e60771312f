#pragma once

#include <array>
#include <cstdint>

#include "core/host_device.hpp"

namespace gridstride {

/// The order in which the elements of an array of three axes are stored: tile after tile, the
/// tiles in C order, all of the same extents; those at the array's upper ends reach beyond it.
struct StoredOrder {
  std::array<std::int64_t, 3> shape = {1, 1, 1};  ///< of the array, the slowest axis first
  std::array<std::int64_t, 3> tile = {1, 1, 1};   ///< extents
  bool reversed = false;  ///< the first axis of a tile is its fastest, as in Fortran

  GRIDSTRIDE_HOST_DEVICE std::int64_t tile_size() const { return tile[0] * tile[1] * tile[2]; }
  /// Tiles along an axis.
  GRIDSTRIDE_HOST_DEVICE std::int64_t tiles(int axis) const {
    return (shape[axis] + tile[axis] - 1) / tile[axis];
  }
  GRIDSTRIDE_HOST_DEVICE std::int64_t tiles() const { return tiles(0) * tiles(1) * tiles(2); }

  /// Where in the array, in C order, the tile's element `within` lies; -1 beyond the array.
  GRIDSTRIDE_HOST_DEVICE std::int64_t place(std::int64_t number, std::int64_t within) const {
    std::int64_t const across = tiles(2), layer = tiles(1) * across;
    std::int64_t const fast = reversed ? tile[0] : tile[2];
    std::int64_t const a = within % fast, rest = within / fast;
    std::int64_t const b = rest % tile[1], c = rest / tile[1];
    std::int64_t const z = number / layer * tile[0] + (reversed ? a : c);
    std::int64_t const y = number % layer / across * tile[1] + b;
    std::int64_t const x = number % across * tile[2] + (reversed ? c : a);
    if (z >= shape[0] || y >= shape[1] || x >= shape[2]) return -1;
    return (z * shape[1] + y) * shape[2] + x;
  }
  /// The same for the stored element of that number.
  GRIDSTRIDE_HOST_DEVICE std::int64_t place(std::int64_t stored) const {
    std::int64_t const size = tile_size();
    return place(stored / size, stored % size);
  }
};

}  // namespace gridstride

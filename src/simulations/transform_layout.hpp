#pragma once

#include <cstddef>
#include <vector>

#include "simulations/transform_chain.hpp"

/// Where the rows that a chunk needs lie in memory.
namespace gridstride::transform {

/// Rows of one array. Offsets count values; those of `FromFile` are into what is read, all others
/// into the memory of the lane.
struct Placed {
  Rows rows;
  std::size_t offset = 0;  ///< of the first of the rows
  bool resident = false;   ///< they are in device memory for all passes, and not read
  /// Of a filter along the slowest axis: what it works on; all of it has a result, of which `rows`
  /// are right.
  Window window = {};
  std::size_t made = 0;    ///< where the result of the window begins
  std::size_t joined = 0;  ///< where rows of both ends are put together
};

struct Layout {
  Rows chunk;
  std::vector<std::int64_t> scanned;        ///< the row from which on each scan goes on
  std::vector<std::vector<Placed>> arrays;  ///< of each link
  std::size_t values = 0;                   ///< in the memory of the lane
  std::size_t read_values = 0;
  std::size_t pieces = 0;  ///< that are read

  /// The piece of an array that holds some rows of it. Throws `std::out_of_range` for others.
  Placed const& piece(int place, Rows const& rows) const;
};

/// What a chunk of the data's rows needs for the arrays at `places`, after the chunk `before`, which
/// is empty for the first one. Of arrays that come from files, the rows `resident[place]` are in device
/// memory; empty: of none.
Layout layout_of(Chain const& chain, std::vector<int> const& places, Rows const& before,
                 Rows const& chunk, std::vector<Rows> const& resident = {});

/// The data's rows in chunks of `rows`.
std::vector<Rows> chunks_of(Chain const& chain, std::int64_t rows);

}  // namespace gridstride::transform

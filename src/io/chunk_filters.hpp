#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/precision.hpp"
#include "io/hdf5.hpp"

namespace gridstride::io {

/// The bytes of whole values as HDF5's filter shuffle orders them: the first bytes of all values,
/// then the second ones, and so on, which deflate packs better.
std::vector<std::byte> shuffled(std::span<std::byte const> bytes, Precision precision);

/// What was done to the chunks of an HDF5 dataset before they were written, undone without HDF5, so
/// that many threads can do it at once.
class ChunkFilters {
 public:
  /// Those of a dataset's creation list; empty when there is one among them that is not known here:
  /// known are deflate, shuffle and fletcher32.
  static std::optional<ChunkFilters> of(hdf5::Object const& dataset, hid_t creation);

  bool none() const { return steps_.empty(); }

  /// The bytes of a chunk as they were, of which there have to be `bytes`. A set bit of `left_out`
  /// tells a step that this chunk did not take. Throws `Damage`.
  std::vector<std::byte> unpack(std::vector<std::byte> packed, std::uint32_t left_out,
                                std::size_t bytes) const;

  /// A chunk cannot be what was written.
  struct Damage {
    std::string_view why;
  };

 private:
  struct Step {
    H5Z_filter_t filter;
    std::size_t width;  ///< bytes of an element, for shuffle
  };
  std::vector<Step> steps_;  ///< in the order of writing
};

}  // namespace gridstride::io

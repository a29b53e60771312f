#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/number_source.hpp"
#include "io/chunk_filters.hpp"
#include "io/input_file.hpp"

namespace gridstride::io {

/// Where a chunk lies in its file.
struct StoredChunk {
  std::int64_t address = 0;
  std::int64_t bytes = 0;      ///< there
  std::uint32_t left_out = 0;  ///< filters that it did not take
};

/// A dataset in chunks, which are the tiles of `order`; `chunks` has each of them.
struct ChunkedLayout {
  std::string name;  ///< for messages
  NumberType type;
  std::vector<std::int64_t> shape;
  StoredOrder order;
  ChunkFilters filters;
  std::vector<StoredChunk> chunks;
};

std::unique_ptr<NumberSource> chunked_numbers(InputFile file, ChunkedLayout layout);

}  // namespace gridstride::io

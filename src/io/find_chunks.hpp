#pragma once

#include <optional>
#include <string>
#include <vector>

#include "io/chunked_numbers.hpp"
#include "io/hdf5.hpp"

namespace gridstride::io {

/// Where the chunks of the dataset `name` lie, in C order, with `layer` those at that index of its
/// slowest axis, along which chunks are of one element. The file has no user block. Throws `IoError`
/// where one is missing.
std::vector<StoredChunk> find_chunks(hdf5::Object const& dataset, std::string const& name,
                                     hdf5::Shape const& chunk, std::optional<hsize_t> layer);

}  // namespace gridstride::io

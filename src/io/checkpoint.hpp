#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "grid/checkpoint.hpp"

namespace gridstride::io {

/// Writes what `save` puts, and the fingerprint of the problem it belongs to. The file is complete
/// or absent; an older one of that name goes when the new one is safe. Throws `IoError`.
void write_checkpoint(std::filesystem::path const& path, std::string_view fingerprint,
                      std::function<void(CheckpointSink&)> const& save);

/// Lets `load` get the values of a checkpoint. Every value is checked against its checksum when it
/// is got. Throws `IoError` when the file is missing, damaged or no checkpoint, and when it belongs
/// to a problem with another fingerprint.
void read_checkpoint(std::filesystem::path const& path, std::string_view fingerprint,
                     std::function<void(CheckpointSource const&)> const& load);

}  // namespace gridstride::io

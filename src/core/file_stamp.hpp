#pragma once

#include <cstdint>
#include <filesystem>

namespace gridstride {

/// What tells whether a file is the one, and as it was, when it was looked at before.
struct FileStamp {
  std::uint64_t device = 0, inode = 0;
  std::int64_t bytes = 0;
  std::int64_t seconds = 0, nanoseconds = 0;  ///< when it was last written to
  bool operator==(FileStamp const&) const = default;
};

/// Throws `IoError` where there is no such file.
FileStamp stamp_of(std::filesystem::path const& path);
/// Of an open file, called `path` in messages.
FileStamp stamp_of(int descriptor, std::filesystem::path const& path);

/// Throws `IoError` unless both are the same: the file changed while a run was about to read it.
void require_same(std::filesystem::path const& path, FileStamp const& before, FileStamp const& now);

}  // namespace gridstride

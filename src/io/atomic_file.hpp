#pragma once

#include <filesystem>
#include <string_view>

namespace gridstride::io {

/// A file that is complete or absent. Write to `temporary()`, which lies in the target's folder,
/// then `commit()`. Without a commit the destructor removes what was written. A link stays, and
/// leads to the new file. Throws `IoError` where the target is no regular file, as a device is
/// none.
class AtomicFile {
 public:
  explicit AtomicFile(std::filesystem::path target);
  AtomicFile(AtomicFile const&) = delete;
  AtomicFile& operator=(AtomicFile const&) = delete;
  ~AtomicFile();

  std::filesystem::path const& temporary() const { return temporary_; }
  /// Brings the file onto the disk, gives it its name in place of an older one, and brings the
  /// folder onto the disk. Throws `IoError` that names the target.
  void commit();

 private:
  std::filesystem::path target_;
  std::filesystem::path temporary_;
  bool committed_ = false;
};

/// Whether text for `path` cannot replace a file: `-` and whatever else leads to standard output,
/// devices, pipes.
bool is_stream(std::filesystem::path const& path);

/// Writes `text` to `path`, all of it or nothing; what is a stream is written to as it is.
void write_text_file(std::filesystem::path const& path, std::string_view text);

}  // namespace gridstride::io

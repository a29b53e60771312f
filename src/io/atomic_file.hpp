#pragma once

#include <filesystem>
#include <string_view>

namespace gridstride::io {

/// A file that is complete or absent. Write to `temporary()`, which lies in the target's folder,
/// then `commit()`. Without a commit the destructor removes what was written.
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

/// Writes `text` to `path`, all of it or nothing.
void write_text_file(std::filesystem::path const& path, std::string_view text);

}  // namespace gridstride::io

#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

#include "core/file_stamp.hpp"

namespace gridstride::io {

/// A file open for reading at any place, by any number of threads at once.
class InputFile {
 public:
  /// Throws `IoError` when it cannot be opened.
  explicit InputFile(std::filesystem::path path);
  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&&) = delete;
  ~InputFile();

  std::filesystem::path const& path() const { return path_; }
  /// When it was opened.
  std::int64_t bytes() const { return stamp_.bytes; }

  /// Fills `target` with the bytes from `offset` on. Throws `IoError` when the file ends before.
  void read(std::int64_t offset, std::span<std::byte> target) const;
  /// Throws `IoError` when it is not as it was when it was opened.
  void check_unchanged() const;

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
  FileStamp stamp_;
};

}  // namespace gridstride::io

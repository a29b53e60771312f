#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace gridstride::io {

/// That no other process writes the files of a run of this name in a folder. The kernel holds the
/// lock, on a file `.NAME.lock`, and gives it free when the process ends in whatever way; also
/// between machines that share the folder, as far as their file system does.
class RunLock {
 public:
  /// Makes the folder where it is missing. Throws `IoError` that names the process which has the
  /// lock.
  RunLock(std::filesystem::path const& folder, std::string const& name);
  RunLock(RunLock const&) = delete;
  RunLock& operator=(RunLock const&) = delete;
  /// Removes the file, and the folders that it made when they are still empty.
  ~RunLock();

  /// This process, as it is named to others: `process 12 on host, since 2026-01-02T03:04:05Z`.
  std::string const& holder() const { return holder_; }
  /// Why there is no lock, where the file system knows none; else empty.
  std::string const& missing() const { return missing_; }

 private:
  bool take(std::filesystem::path const& folder, std::string const& name);

  std::filesystem::path path_;
  std::vector<std::filesystem::path> made_;  ///< the innermost folder first
  int descriptor_ = -1;
  std::string holder_;
  std::string missing_;
};

/// The process that has the lock, as it is named to others; empty when none has.
std::optional<std::string> lock_holder(std::filesystem::path const& folder,
                                       std::string const& name);

}  // namespace gridstride::io

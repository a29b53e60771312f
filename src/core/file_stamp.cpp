#include "core/file_stamp.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "core/error.hpp"

namespace gridstride {

namespace {

FileStamp stamp_from(int status, struct stat const& found, std::filesystem::path const& path) {
  if (status != 0)
    throw IoError(path, fmt::format("cannot be looked at ({})", std::strerror(errno)));
  return {found.st_dev, found.st_ino, found.st_size, found.st_mtim.tv_sec, found.st_mtim.tv_nsec};
}

}  // namespace

FileStamp stamp_of(std::filesystem::path const& path) {
  struct stat found = {};
  return stamp_from(stat(path.c_str(), &found), found, path);
}

FileStamp stamp_of(int descriptor, std::filesystem::path const& path) {
  struct stat found = {};
  return stamp_from(fstat(descriptor, &found), found, path);
}

void require_same(std::filesystem::path const& path, FileStamp const& before,
                  FileStamp const& now) {
  if (before == now) return;
  if (before.bytes != now.bytes)
    throw IoError(path, fmt::format("changed while it was in use: it had {} bytes, now {}",
                                    before.bytes, now.bytes));
  throw IoError(path, "changed while it was in use (it was written to, or replaced)");
}

}  // namespace gridstride

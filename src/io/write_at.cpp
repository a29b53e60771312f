#include "io/write_at.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace gridstride::io {

namespace {

/// What is written by way of a mapping at a time: so little that pages are soon there for a copy,
/// and so much that making the mapping does not count.
constexpr std::size_t window = std::size_t{2} << 20;

bool is_in_memory(int descriptor) {
  struct statfs disk = {};
  return fstatfs(descriptor, &disk) == 0 && disk.f_type == TMPFS_MAGIC;
}

int reserve(int descriptor, std::uint64_t place, std::size_t size) {
  while (fallocate(descriptor, 0, static_cast<off_t>(place), static_cast<off_t>(size)) != 0)
    if (errno != EINTR) return errno;
  return 0;
}

/// Whether the bytes could be written to a mapping of their place, which has its pages.
bool copy_to_mapping(int descriptor, std::uint64_t place, std::span<std::byte const> bytes) {
  static auto const page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  std::uint64_t const begin = place / page * page;
  std::size_t const skipped = place - begin, size = skipped + bytes.size();
  void* const map = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor,
                         static_cast<off_t>(begin));
  if (map == MAP_FAILED) return false;
  std::memcpy(static_cast<std::byte*>(map) + skipped, bytes.data(), bytes.size());
  munmap(map, size);
  return true;
}

int write_all(int descriptor, std::uint64_t place, std::span<std::byte const> bytes) {
  while (!bytes.empty()) {
    ssize_t const put = pwrite(descriptor, bytes.data(), bytes.size(), static_cast<off_t>(place));
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return put < 0 ? errno : ENOSPC;
    bytes = bytes.subspan(static_cast<std::size_t>(put));
    place += static_cast<std::uint64_t>(put);
  }
  return 0;
}

}  // namespace

/// A file on a disk in memory takes one `pwrite` at a time, which finds pages and copies. Through
/// mappings threads copy at the same time; pages are taken before, since a full disk would end the
/// process in the middle of a copy.
int write_at(int descriptor, std::uint64_t place, std::span<std::byte const> bytes) {
  if (bytes.size() < window || !is_in_memory(descriptor))
    return write_all(descriptor, place, bytes);
  while (!bytes.empty()) {
    auto const part = bytes.first(std::min(window, bytes.size()));
    if (int const failure = reserve(descriptor, place, part.size())) return failure;
    // Without a mapping, as of a file that is open for writing alone, the place is there all the same.
    if (!copy_to_mapping(descriptor, place, part))
      if (int const failure = write_all(descriptor, place, part)) return failure;
    bytes = bytes.subspan(part.size());
    place += part.size();
  }
  return 0;
}

}  // namespace gridstride::io

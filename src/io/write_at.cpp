#include "io/write_at.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

namespace gridstride::io {

namespace {

/// MADV_COLLAPSE, which the C library may not know yet.
constexpr int collapse = 25;
/// What the system may have as one page.
constexpr std::uint64_t large_page = std::uint64_t{2} << 20;
/// What is written by way of a mapping at least, and at a time: so little that pages are soon there
/// for a copy, and so much that making the mapping does not count.
constexpr std::size_t least = large_page, window = 4 * large_page;

std::uint64_t rounded_down(std::uint64_t place, std::uint64_t unit) { return place / unit * unit; }
std::uint64_t rounded_up(std::uint64_t place, std::uint64_t unit) {
  return rounded_down(place + unit - 1, unit);
}

bool is_in_memory(int descriptor) {
  struct statfs disk = {};
  return fstatfs(descriptor, &disk) == 0 && disk.f_type == TMPFS_MAGIC;
}

int reserve(int descriptor, std::uint64_t place, std::size_t size) {
  while (fallocate(descriptor, 0, static_cast<off_t>(place), static_cast<off_t>(size)) != 0)
    if (errno != EINTR) return errno;
  return 0;
}

/// Makes the file at least so long; `end` becomes where it ends.
int lengthen(int descriptor, std::uint64_t& end) {
  struct stat status = {};
  if (fstat(descriptor, &status) != 0) return errno;
  auto const found = static_cast<std::uint64_t>(status.st_size);
  if (found < end) return reserve(descriptor, end - 1, 1);
  end = found;
  return 0;
}

/// A mapping of a stretch of a file, in which large pages of the file are ones of memory.
class Mapping {
 public:
  Mapping(int descriptor, std::uint64_t place, std::size_t size)
      : place_(place),
        size_(size),
        begin_(rounded_down(place, large_page)),
        length_(rounded_up(place + size, large_page) - begin_),
        reserved_(mmap(nullptr, length_ + large_page, PROT_NONE, private_flags, -1, 0)) {
    if (reserved_ == MAP_FAILED) return;
    auto const address = reinterpret_cast<std::uintptr_t>(reserved_);
    void* const aligned =
        static_cast<std::byte*>(reserved_) + (rounded_up(address, large_page) - address);
    void* const map = mmap(aligned, length_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                           descriptor, static_cast<off_t>(begin_));
    if (map != MAP_FAILED) bytes_ = static_cast<std::byte*>(map);
  }
  Mapping(Mapping const&) = delete;
  Mapping& operator=(Mapping const&) = delete;
  ~Mapping() {
    if (reserved_ != MAP_FAILED) munmap(reserved_, length_ + large_page);
  }

  explicit operator bool() const { return bytes_ != nullptr; }
  std::byte* target() const { return bytes_ + (place_ - begin_); }

  /// Whether the file has memory for all of the stretch. Of a file that ends at `file_end`.
  bool populate(std::uint64_t file_end) const {
    auto const page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    std::uint64_t const first = rounded_down(place_, page), end = place_ + size_;
    make_large(first, rounded_down(file_end, large_page));
    return advise(first, end, MADV_POPULATE_WRITE);
  }

 private:
  static constexpr int private_flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

  bool advise(std::uint64_t from, std::uint64_t to, int what) const {
    return madvise(bytes_ + (from - begin_), to - from, what) == 0;
  }

  /// Large pages in the place of all that touch the stretch, from which they need one small page each.
  void make_large(std::uint64_t first, std::uint64_t last_end) const {
    static std::atomic<bool> has_none = false;
    std::uint64_t const end = std::min(begin_ + length_, last_end);
    if (has_none || end <= begin_) return;
    for (std::uint64_t from = first; from < end; from = rounded_down(from, large_page) + large_page)
      if (!advise(from, from + 1, MADV_POPULATE_WRITE)) return;
    if (!advise(begin_, end, collapse) && (errno == EINVAL || errno == ENOMEM)) has_none = true;
  }

  std::uint64_t place_, size_, begin_, length_;
  void* reserved_;
  std::byte* bytes_ = nullptr;
};

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

/// A file on a disk in memory takes one `pwrite` at a time, and one `fallocate`. Through mappings
/// threads and processes take pages and copy at the same time. Pages are taken before, since a full
/// disk would end the process in the middle of a copy; large ones where there are some.
int write_at(int descriptor, std::uint64_t place, std::span<std::byte const> bytes) {
  if (bytes.size() < least || !is_in_memory(descriptor)) return write_all(descriptor, place, bytes);
  std::uint64_t file_end = place + bytes.size();
  if (int const failure = lengthen(descriptor, file_end)) return failure;
  while (!bytes.empty()) {
    auto const part = bytes.first(std::min(window, bytes.size()));
    Mapping const map(descriptor, place, part.size());
    // Without a mapping, as of a file that is open for writing alone, bytes get there all the same.
    if (!map) return write_all(descriptor, place, bytes);
    if (!map.populate(file_end))
      if (int const failure = reserve(descriptor, place, part.size())) return failure;
    std::memcpy(map.target(), part.data(), part.size());
    bytes = bytes.subspan(part.size());
    place += part.size();
  }
  return 0;
}

}  // namespace gridstride::io

#include "io/placed_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/file_stamp.hpp"
#include "io/write_at.hpp"

namespace gridstride::io {

namespace {

int flags_of(PlacedFile::How how) {
  if (how == PlacedFile::How::read) return O_RDONLY;
  return how == PlacedFile::How::created ? O_RDWR | O_CREAT | O_TRUNC : O_RDWR;
}

}  // namespace

PlacedFile::PlacedFile(std::filesystem::path const& path, std::filesystem::path shown, How how)
    : path_(path),
      shown_(std::move(shown)),
      descriptor_(::open(path.c_str(), flags_of(how) | O_CLOEXEC, 0666)) {
  if (descriptor_ < 0) fail("opening");
}

PlacedFile::~PlacedFile() { ::close(descriptor_); }

std::uint64_t PlacedFile::size() const {
  struct stat status = {};
  if (::fstat(descriptor_, &status) != 0) fail("asking for the size");
  return static_cast<std::uint64_t>(status.st_size);
}

FilePlaces PlacedFile::places(std::vector<Stretch> stretches) const {
  auto const stamp = stamp_of(descriptor_, shown_);
  return {path_, shown_, stamp.device, stamp.inode, std::move(stretches)};
}

void PlacedFile::write(std::uint64_t place, std::span<std::byte const> bytes) const {
  errno = write_at(descriptor_, place, bytes);
  if (errno != 0) fail("writing");
}

void PlacedFile::read(std::uint64_t place, std::span<std::byte> bytes) const {
  while (!bytes.empty()) {
    ssize_t const got = ::pread(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(place));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail("reading");
    if (got == 0) throw IoError(shown_, "is cut off");
    bytes = bytes.subspan(static_cast<std::size_t>(got));
    place += static_cast<std::uint64_t>(got);
  }
}

void PlacedFile::move_down(std::uint64_t from, std::uint64_t to, std::uint64_t size) const {
  constexpr std::uint64_t most = std::uint64_t{8} << 20;
  if (from == to) return;
  std::vector<std::byte> part(std::min(most, size));
  for (std::uint64_t done = 0; done < size; done += part.size()) {
    part.resize(std::min(most, size - done));
    read(from + done, part);
    write(to + done, part);
  }
}

void PlacedFile::resize(std::uint64_t size) const {
  if (::ftruncate(descriptor_, static_cast<off_t>(size)) != 0) fail("writing");
}

void PlacedFile::synchronize() const {
  if (::fsync(descriptor_) != 0 && errno != EINVAL) fail("writing");
}

void PlacedFile::fail(std::string_view what) const {
  throw IoError(shown_, fmt::format("{} failed ({})", what, std::strerror(errno)));
}

}  // namespace gridstride::io

#include "io/input_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "core/error.hpp"

namespace gridstride::io {

InputFile::InputFile(std::filesystem::path path) : path_(std::move(path)) {
  descriptor_ = open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor_ < 0)
    throw IoError(path_, fmt::format("cannot be opened ({})", std::strerror(errno)));
  stamp_ = stamp_of(descriptor_, path_);
}

InputFile::InputFile(InputFile&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      stamp_(other.stamp_) {}

InputFile::~InputFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

void InputFile::read(std::int64_t offset, std::span<std::byte> target) const {
  while (!target.empty()) {
    ssize_t const got = pread(descriptor_, target.data(), target.size(), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw IoError(path_, fmt::format("cannot be read ({})", std::strerror(errno)));
    if (got == 0)
      throw IoError(path_, fmt::format("ends at byte {}; it had {} when it was opened, and {} more "
                                       "are needed there",
                                       offset, bytes(), target.size()));
    target = target.subspan(static_cast<std::size_t>(got));
    offset += got;
  }
}

void InputFile::check_unchanged() const {
  require_same(path_, stamp_, stamp_of(descriptor_, path_));
}

}  // namespace gridstride::io

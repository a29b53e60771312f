#include "io/atomic_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>

#include "core/error.hpp"

namespace gridstride::io {

namespace {

[[noreturn]] void fail(std::filesystem::path const& path, std::string_view what) {
  throw IoError(path, fmt::format("{} failed ({})", what, std::strerror(errno)));
}

class Descriptor {
 public:
  Descriptor(std::filesystem::path const& path, int flags)
      : value_(::open(path.c_str(), flags | O_CLOEXEC, 0666)) {}
  Descriptor(Descriptor const&) = delete;
  Descriptor& operator=(Descriptor const&) = delete;
  ~Descriptor() {
    if (value_ >= 0) ::close(value_);
  }
  int value() const { return value_; }

 private:
  int value_;
};

/// Some file systems cannot sync a folder and say EINVAL.
bool synchronize(Descriptor const& file) {
  return file.value() >= 0 && (::fsync(file.value()) == 0 || errno == EINVAL);
}

}  // namespace

AtomicFile::AtomicFile(std::filesystem::path target) : target_(std::move(target)) {
  std::error_code ignored;
  if (std::filesystem::is_directory(target_, ignored))
    throw IoError(target_, "cannot be written (it is a folder)");
  temporary_ = target_;
  temporary_ += fmt::format(".{}.part", ::getpid());
}

AtomicFile::~AtomicFile() {
  std::error_code ignored;
  if (!committed_) std::filesystem::remove(temporary_, ignored);
}

void AtomicFile::commit() {
  if (!synchronize(Descriptor(temporary_, O_RDONLY))) fail(target_, "writing");
  if (std::rename(temporary_.c_str(), target_.c_str()) != 0) fail(target_, "renaming");
  committed_ = true;
  auto const folder = target_.parent_path();
  if (!synchronize(Descriptor(folder.empty() ? "." : folder, O_RDONLY | O_DIRECTORY)))
    fail(target_, "writing the folder");
}

void write_text_file(std::filesystem::path const& path, std::string_view text) {
  AtomicFile file(path);
  {
    Descriptor const target(file.temporary(), O_WRONLY | O_CREAT | O_TRUNC);
    if (target.value() < 0) fail(path, "creating");
    while (!text.empty()) {
      ssize_t const put = ::write(target.value(), text.data(), text.size());
      if (put < 0 && errno == EINTR) continue;
      if (put <= 0) fail(path, "writing");
      text.remove_prefix(static_cast<std::size_t>(put));
    }
  }
  file.commit();
}

}  // namespace gridstride::io

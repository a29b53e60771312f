#include "io/atomic_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>

#include "core/error.hpp"

namespace gridstride::io {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void fail(fs::path const& path, std::string_view what) {
  throw IoError(path, fmt::format("{} failed ({})", what, std::strerror(errno)));
}

class Descriptor {
 public:
  Descriptor(fs::path const& path, int flags)
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

/// Whether the path leads to the file that is open under this number.
bool is_open_as(fs::path const& path, int descriptor) {
  struct stat named = {};
  struct stat open = {};
  return ::stat(path.c_str(), &named) == 0 && ::fstat(descriptor, &open) == 0 &&
         named.st_ino == open.st_ino && named.st_dev == open.st_dev;
}

void write_all(fs::path const& path, int descriptor, std::string_view text) {
  while (!text.empty()) {
    ssize_t const put = ::write(descriptor, text.data(), text.size());
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) fail(path, "writing");
    text.remove_prefix(static_cast<std::size_t>(put));
  }
}

}  // namespace

AtomicFile::AtomicFile(fs::path target) : target_(std::move(target)) {
  std::error_code failed;
  auto const status = fs::status(target_, failed);
  if (fs::is_directory(status)) throw IoError(target_, "cannot be written (it is a folder)");
  if (fs::exists(status) && !fs::is_regular_file(status))
    throw IoError(target_, "cannot be written (it is no regular file)");
  if (fs::is_symlink(fs::symlink_status(target_, failed))) {
    if (!fs::exists(status)) throw IoError(target_, "cannot be written (it is a link to nothing)");
    target_ = fs::canonical(target_);
  }
  temporary_ = target_;
  temporary_ += fmt::format(".{}.part", ::getpid());
}

AtomicFile::~AtomicFile() {
  std::error_code ignored;
  if (!committed_) fs::remove(temporary_, ignored);
}

void AtomicFile::commit() {
  if (!synchronize(Descriptor(temporary_, O_RDONLY))) fail(target_, "writing");
  if (std::rename(temporary_.c_str(), target_.c_str()) != 0) fail(target_, "renaming");
  committed_ = true;
  auto const folder = target_.parent_path();
  if (!synchronize(Descriptor(folder.empty() ? "." : folder, O_RDONLY | O_DIRECTORY)))
    fail(target_, "writing the folder");
}

bool is_stream(fs::path const& path) {
  if (path == "-" || is_open_as(path, STDOUT_FILENO)) return true;
  std::error_code ignored;
  auto const status = fs::status(path, ignored);
  return fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status);
}

void write_text_file(fs::path const& path, std::string_view text) {
  if (path == "-" || is_open_as(path, STDOUT_FILENO)) {
    std::fflush(stdout);
    write_all("standard output", STDOUT_FILENO, text);
  } else if (is_stream(path)) {
    Descriptor const target(path, O_WRONLY | O_NOCTTY);
    if (target.value() < 0) fail(path, "opening");
    write_all(path, target.value(), text);
  } else {
    AtomicFile file(path);
    {
      Descriptor const target(file.temporary(), O_WRONLY | O_CREAT | O_TRUNC);
      if (target.value() < 0) fail(path, "creating");
      write_all(path, target.value(), text);
    }
    file.commit();
  }
}

}  // namespace gridstride::io

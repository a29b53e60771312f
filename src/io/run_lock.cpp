#include "io/run_lock.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "core/error.hpp"
#include "core/text.hpp"

namespace gridstride::io {

namespace fs = std::filesystem;

namespace {

fs::path lock_path(fs::path const& folder, std::string const& name) {
  return folder / fmt::format(".{}.lock", name);
}

// Locks of an open file, not of the process: closing another descriptor of the file keeps them.
struct flock whole_file(short type) {
  struct flock lock = {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  return lock;
}

std::string host_name() {
  std::array<char, 256> name = {};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "an unknown host";
}

/// What the holder wrote into the file.
std::string read_holder(int descriptor) {
  std::array<char, 512> text = {};
  ssize_t const got = ::pread(descriptor, text.data(), text.size(), 0);
  if (got <= 0) return "a process that has just begun";
  return {text.data(), static_cast<std::size_t>(got)};
}

/// Whether the open file still has this name: the one who had the lock may have removed it.
bool is_at(fs::path const& path, int descriptor) {
  struct stat open = {};
  struct stat named = {};
  return ::fstat(descriptor, &open) == 0 && ::stat(path.c_str(), &named) == 0 &&
         open.st_ino == named.st_ino && open.st_dev == named.st_dev;
}

/// Makes the folder; the folders that were missing, the innermost first.
std::vector<fs::path> make_folders(fs::path const& folder) {
  std::vector<fs::path> missing;
  std::error_code failed;
  for (fs::path at = folder; !at.empty() && !fs::exists(at, failed); at = at.parent_path()) {
    if (at.has_filename()) missing.push_back(at);
    if (at == at.parent_path()) break;
  }
  fs::create_directories(folder, failed);
  if (failed) throw IoError(folder, "cannot be created (" + failed.message() + ")");
  return missing;
}

}  // namespace

RunLock::RunLock(fs::path const& folder, std::string const& name)
    : path_(lock_path(folder, name)),
      made_(make_folders(folder)),
      holder_(fmt::format("process {} on {}, since {}", ::getpid(), host_name(), format_now())) {
  while (!take(folder, name)) {
  }
}

/// Whether there was something to decide: false when the file went in the meantime.
bool RunLock::take(fs::path const& folder, std::string const& name) {
  descriptor_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor_ < 0)
    throw IoError(folder, fmt::format("cannot be written ({})", std::strerror(errno)));
  auto lock = whole_file(F_WRLCK);
  if (::fcntl(descriptor_, F_OFD_SETLK, &lock) != 0) {
    int const why = errno;
    std::string const holder = read_holder(descriptor_);
    if (why != EAGAIN && why != EACCES) {
      missing_ = std::strerror(why);
      return true;
    }
    ::close(descriptor_);
    throw IoError(folder, fmt::format("another run of '{}' writes there ({}); wait for it, end it, "
                                      "or give another folder with --output",
                                      name, holder));
  }
  if (!is_at(path_, descriptor_)) {
    ::close(descriptor_);
    return false;
  }
  if (::ftruncate(descriptor_, 0) != 0 || ::pwrite(descriptor_, holder_.data(), holder_.size(),
                                                   0) != static_cast<ssize_t>(holder_.size())) {
    std::string const reason = std::strerror(errno);
    ::unlink(path_.c_str());
    ::close(descriptor_);
    throw IoError(path_, fmt::format("cannot be written ({})", reason));
  }
  return true;
}

RunLock::~RunLock() {
  // Before the lock goes: whoever waits with the old file open looks again.
  ::unlink(path_.c_str());
  ::close(descriptor_);
  std::error_code ignored;
  for (auto const& folder : made_) fs::remove(folder, ignored);
}

std::optional<std::string> lock_holder(fs::path const& folder, std::string const& name) {
  int const descriptor = ::open(lock_path(folder, name).c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return {};
  auto lock = whole_file(F_RDLCK);
  bool const held = ::fcntl(descriptor, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
  std::optional<std::string> holder;
  if (held) holder = read_holder(descriptor);
  ::close(descriptor);
  return holder;
}

}  // namespace gridstride::io

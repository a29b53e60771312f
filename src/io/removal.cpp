#include "io/removal.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/error.hpp"

namespace gridstride::io {

Removal::~Removal() { wait(); }

void Removal::wait() {
  if (thread_.joinable()) thread_.join();
}

/// The last one who has it open gives the space back.
void Removal::remove(std::filesystem::path const& path) {
  wait();
  int const descriptor = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) {
    int const reason = errno;
    if (descriptor >= 0) ::close(descriptor);
    throw IoError(path, fmt::format("cannot be removed ({})", std::strerror(reason)));
  }
  if (descriptor >= 0) thread_ = std::thread([descriptor] { ::close(descriptor); });
}

}  // namespace gridstride::io

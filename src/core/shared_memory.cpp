#include "core/shared_memory.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/error.hpp"
#include "core/text.hpp"

namespace gridstride {

namespace {

/// The token is behind the memory.
std::size_t whole_bytes(std::size_t bytes) {
  constexpr std::size_t line = 64;
  return (bytes + line - 1) / line * line + sizeof(Token);
}

std::byte* token_place(void* memory, std::size_t bytes) {
  return static_cast<std::byte*>(memory) + whole_bytes(bytes) - sizeof(Token);
}

std::shared_ptr<void> owner_of(int file) {
  return {nullptr, [file](void*) { ::close(file); }};
}

std::shared_ptr<void> map(int file, std::size_t bytes) {
  std::size_t const whole = whole_bytes(bytes);
  void* const memory = mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) return nullptr;
  return {memory, [whole](void* m) { munmap(m, whole); }};
}

}  // namespace

SharedMemory::SharedMemory(std::size_t bytes) {
  auto const fail = [bytes](int code) {
    throw Error(fmt::format("{} of memory for several processes are needed ({})",
                            format_bytes(static_cast<double>(bytes)), std::strerror(code)));
  };
  int const file = memfd_create("gridstride", MFD_CLOEXEC);
  if (file < 0) fail(errno);
  file_ = owner_of(file);
  // Room that is only promised would be missed when it is first written to.
  if (int const code = posix_fallocate(file, 0, static_cast<off_t>(whole_bytes(bytes))); code != 0)
    fail(code);
  memory_ = map(file, bytes);
  if (memory_ == nullptr) fail(errno);
  name_ = {getpid(), file, bytes, draw_token()};
  std::memcpy(token_place(memory_.get(), bytes), name_.token.data(), sizeof(Token));
}

std::shared_ptr<std::byte> SharedMemory::open(Name const& name) {
  if (name.file < 0) return nullptr;
  auto const path = fmt::format("/proc/{}/fd/{}", name.process, name.file);
  int const file = ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return nullptr;
  auto const owner = owner_of(file);
  struct stat found {};
  bool const fits = fstat(file, &found) == 0 && S_ISREG(found.st_mode) &&
                    found.st_size == static_cast<off_t>(whole_bytes(name.bytes));
  auto const memory = fits ? map(file, name.bytes) : nullptr;
  if (memory == nullptr) return nullptr;
  // On another machine the same number may be some other process.
  Token const& token = name.token;
  if (std::memcmp(token_place(memory.get(), name.bytes), token.data(), sizeof(token)) != 0)
    return nullptr;
  return {memory, static_cast<std::byte*>(memory.get())};
}

}  // namespace gridstride

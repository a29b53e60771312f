#include "core/process_memory.hpp"

#include <fmt/format.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include "core/error.hpp"
#include "core/processors.hpp"
#include "core/thread_pool.hpp"

namespace gridstride {

namespace {

using Call = decltype(process_vm_readv);

/// Moves all of it, or returns what the system refuses it for.
int move(Call* call, ProcessName const& name, std::uint64_t there, std::byte* here,
         std::size_t bytes) {
  while (bytes > 0) {
    iovec const own{here, bytes}, other{std::bit_cast<void*>(there), bytes};
    ssize_t const moved = call(static_cast<pid_t>(name.process), &own, 1, &other, 1, 0);
    if (moved <= 0) return moved < 0 ? errno : EIO;
    there += static_cast<std::uint64_t>(moved);
    here += moved;
    bytes -= static_cast<std::size_t>(moved);
  }
  return 0;
}

void move_shared(Call* call, ProcessName const& name, std::uint64_t there, std::byte* here,
                 std::size_t bytes) {
  constexpr std::size_t part = std::size_t{256} << 10;
  auto const parts = static_cast<std::int64_t>((bytes + part - 1) / part);
  auto const some = [&](std::int64_t first, std::int64_t last) {
    std::size_t const begin = static_cast<std::size_t>(first) * part,
                      end = std::min(static_cast<std::size_t>(last) * part, bytes);
    if (int const code = move(call, name, there + begin, here + begin, end - begin); code != 0)
      throw Error(fmt::format("the memory of process {} cannot be reached ({})", name.process,
                              std::strerror(code)));
  };
  share_out(parts, host_threads(), {&some, [](void const* body, auto first, auto last) {
                                      (*static_cast<decltype(some) const*>(body))(first, last);
                                    }});
}

}  // namespace

ProcessName own_process() {
  static Token const token = draw_token();
  return {getpid(), std::bit_cast<std::uint64_t>(token.data()), token};
}

bool reaches(ProcessName const& name) {
  Token found{};
  int const code =
      move(process_vm_readv, name, name.place, reinterpret_cast<std::byte*>(&found), sizeof(found));
  return code == 0 && found == name.token;
}

void read_memory(ProcessName const& name, std::uint64_t there, std::span<std::byte> here) {
  move_shared(process_vm_readv, name, there, here.data(), here.size());
}

void write_memory(ProcessName const& name, std::uint64_t there, std::span<std::byte const> here) {
  move_shared(process_vm_writev, name, there, const_cast<std::byte*>(here.data()), here.size());
}

}  // namespace gridstride

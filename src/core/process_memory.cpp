#include "core/process_memory.hpp"

#include <fmt/format.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
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

/// The same of rows [first, last), as many in a call as the system takes; what it leaves goes row by row.
int move(Call* call, ProcessName const& name, MemoryRows const& rows, std::size_t first,
         std::size_t last) {
  constexpr std::size_t most = 1024;
  std::array<iovec, most> own, other;
  for (std::size_t row = first; row < last;) {
    std::size_t const some = std::min(most, last - row);
    for (std::size_t i = 0; i < some; ++i) {
      own[i] = {rows.here + (row + i) * rows.here_pitch, rows.width};
      other[i] = {std::bit_cast<void*>(rows.there + (row + i) * rows.there_pitch), rows.width};
    }
    ssize_t const moved =
        call(static_cast<pid_t>(name.process), own.data(), some, other.data(), some, 0);
    if (moved < 0) return errno;
    std::size_t const whole = static_cast<std::size_t>(moved) / rows.width;
    row += whole;
    if (whole == some) continue;
    if (int const code = move(call, name, rows.there + row * rows.there_pitch,
                              rows.here + row * rows.here_pitch, rows.width);
        code != 0)
      return code;
    ++row;
  }
  return 0;
}

/// Calls `work(first, last)` for parts of what is to be moved, which threads share, and throws for what
/// that returns.
template <class Work>
void share_moves(ProcessName const& name, std::int64_t parts, Work const& work) {
  auto const some = [&](std::int64_t first, std::int64_t last) {
    if (int const code = work(first, last); code != 0)
      throw Error(fmt::format("the memory of process {} cannot be reached ({})", name.process,
                              std::strerror(code)));
  };
  share_out(parts, host_threads(), {&some, [](void const* body, auto first, auto last) {
                                      (*static_cast<decltype(some) const*>(body))(first, last);
                                    }});
}

constexpr std::size_t moved_at_once = std::size_t{256} << 10;  // bytes

void move_shared(Call* call, ProcessName const& name, std::uint64_t there, std::byte* here,
                 std::size_t bytes) {
  auto const parts = static_cast<std::int64_t>((bytes + moved_at_once - 1) / moved_at_once);
  share_moves(name, parts, [&](std::int64_t first, std::int64_t last) {
    std::size_t const begin = static_cast<std::size_t>(first) * moved_at_once,
                      end = std::min(static_cast<std::size_t>(last) * moved_at_once, bytes);
    return move(call, name, there + begin, here + begin, end - begin);
  });
}

void move_shared(Call* call, ProcessName const& name, MemoryRows const& rows) {
  if (rows.width == 0) return;
  std::size_t const of_part = std::max<std::size_t>(moved_at_once / rows.width, 1);
  auto const parts = static_cast<std::int64_t>((rows.rows + of_part - 1) / of_part);
  share_moves(name, parts, [&](std::int64_t first, std::int64_t last) {
    return move(call, name, rows, static_cast<std::size_t>(first) * of_part,
                std::min(static_cast<std::size_t>(last) * of_part, rows.rows));
  });
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

void read_rows(ProcessName const& name, MemoryRows const& rows) {
  move_shared(process_vm_readv, name, rows);
}

void write_rows(ProcessName const& name, MemoryRows const& rows) {
  move_shared(process_vm_writev, name, rows);
}

}  // namespace gridstride

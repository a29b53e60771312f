#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/token.hpp"

/// Memory of other processes of this machine, as far as the system lets this one read and write it
/// (process_vm_readv(2)): what no other transport between processes does, all threads take part.
namespace gridstride {

struct ProcessName {
  std::int64_t process = 0;
  std::uint64_t place = 0;  ///< of the token, in its memory
  Token token = {};
};
/// That of this process.
ProcessName own_process();
/// Whether its memory can be read and written.
bool reaches(ProcessName const& name);

/// Rows that lie apart, in both processes.
struct MemoryRows {
  std::uint64_t there;
  std::size_t there_pitch;
  std::byte* here;
  std::size_t here_pitch, width, rows;  ///< bytes of a row, and how many
};

/// `there` is an address in that process. Throws `Error` where the system refuses.
void read_memory(ProcessName const& name, std::uint64_t there, std::span<std::byte> here);
void write_memory(ProcessName const& name, std::uint64_t there, std::span<std::byte const> here);
void read_rows(ProcessName const& name, MemoryRows const& rows);
void write_rows(ProcessName const& name, MemoryRows const& rows);

}  // namespace gridstride

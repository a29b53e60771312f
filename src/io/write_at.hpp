#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace gridstride::io {

/// Puts bytes at a place of a file, which becomes longer where they go beyond its end. Several
/// threads may do so at a time, but none may shorten the file meanwhile. Returns 0 when all are
/// there, else what `errno` says.
int write_at(int descriptor, std::uint64_t place, std::span<std::byte const> bytes);

}  // namespace gridstride::io

#pragma once

#include <cstddef>

#include "core/buffer.hpp"

namespace gridstride {

/// Bytes that all buffers of one memory space hold now, and the most that they have held at a time
/// since `restart_peak`.
struct MemoryUse {
  std::size_t now = 0;
  std::size_t peak = 0;
};
MemoryUse memory_use(MemorySpace space);
void restart_peak(MemorySpace space);

}  // namespace gridstride

#pragma once

#include <cstddef>

#include "core/device.hpp"

namespace gridstride {

/// Bytes that all buffers in the memory of the host, or of all GPUs, hold now, and the most that
/// they have held at a time since `restart_peak`.
struct MemoryUse {
  std::size_t now = 0;
  std::size_t peak = 0;
};
MemoryUse memory_use(Backend owner);
void restart_peak(Backend owner);

}  // namespace gridstride

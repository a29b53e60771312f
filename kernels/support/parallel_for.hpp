#pragma once

#include <omp.h>

#include <cstdint>

namespace gridstride {

/// Calls `body(i)` for i in [0, count), shared among the host's threads in contiguous pieces.
/// Work below `serial_below` items stays on the calling thread.
template <class Body>
void parallel_for(std::int64_t count, Body const& body, std::int64_t serial_below = 2) {
#pragma omp parallel for schedule(static) if (count >= serial_below)
  for (std::int64_t i = 0; i < count; ++i) body(i);
}

}  // namespace gridstride

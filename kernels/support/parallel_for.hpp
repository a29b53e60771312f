#pragma once

#include <algorithm>
#include <cstdint>

#include "core/processors.hpp"
#include "core/thread_pool.hpp"

namespace gridstride {

/// The work that is worth a thread, in simple operations on a number: some ten microseconds, a few
/// times what it costs to have another thread begin and to learn that it has ended.
inline constexpr std::int64_t worth_a_thread = 32768;

/// How many threads share `count` items of so much `work` each.
inline int threads_for(std::int64_t count, std::int64_t work) {
  double const worth = static_cast<double>(count) * static_cast<double>(work) / worth_a_thread;
  auto const most = static_cast<double>(std::min<std::int64_t>(count, host_threads()));
  return static_cast<int>(std::clamp(worth, 1.0, std::max(1.0, most)));
}

/// Calls `body(i)` for i in [0, count), shared among as many of the host's threads as the work is
/// worth. `work` is about how many simple operations an item takes; with 0 all stays on this
/// thread. What a body does must not depend on which thread has it: then neither do the bits.
template <class Body>
void parallel_for(std::int64_t count, std::int64_t work, Body const& body) {
  auto const call = [](void const* given, std::int64_t first, std::int64_t last) {
    auto const& each = *static_cast<Body const*>(given);
    for (std::int64_t i = first; i < last; ++i) each(i);
  };
  share_out(count, threads_for(count, work), {&body, call});
}

/// The same for items that are each worth a thread.
template <class Body>
void parallel_for(std::int64_t count, Body const& body) {
  parallel_for(count, worth_a_thread, body);
}

}  // namespace gridstride

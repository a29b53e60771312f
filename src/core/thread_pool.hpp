#pragma once

#include <cstdint>

namespace gridstride {

/// A loop's body for the indices [first, last).
struct LoopBody {
  void const* body;
  void (*call)(void const* body, std::int64_t first, std::int64_t last);

  void operator()(std::int64_t first, std::int64_t last) const { call(body, first, last); }
};

/// Calls `body` for all of [0, count), in pieces, on this thread and up to `threads` - 1 others,
/// and returns when all is done. Each thread has a part of its own, the same one for the same
/// `count` and `threads`, and then takes from the others' parts what they have not come to: a
/// thread that gets no processor delays nobody. Threads that wait do so asleep after some
/// microseconds. Several threads may call at the same time; within a body it works serially.
/// Throws what a body throws, and `Error` where a thread cannot be started.
void share_out(std::int64_t count, int threads, LoopBody body);

}  // namespace gridstride

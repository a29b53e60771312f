#pragma once

#include <cuda/atomic>

namespace gridstride {

/// A lock in global memory for the threads of a grid; zeroed memory is a free one.
///
/// It is taken with a compare-and-swap that acquires and given back with a store that releases, at
/// the scope of the device: what one holder wrote, in plain memory, the next one reads.
struct SpinLock {
  unsigned taken = 0;
};

/// Calls `body()` while the lock is held. Any threads may call it, also all of a warp with the same
/// lock:
///
///   with(list.lock, [&] { node.next = list.head; list.head = &node; });
///
/// A thread gives the lock back within the turn of the loop in which it took it. So it never waits
/// for the other threads of its warp, which cannot leave the loop before; the pattern "wait for the
/// lock; work; give it back" would, wherever the compiler lets a warp meet again after the first
/// part. For the same reason `body` must not contain a barrier of its warp or block, nor take the
/// same lock again.
template <class Body>
__device__ void with(SpinLock& lock, Body const& body) {
  cuda::atomic_ref<unsigned, cuda::thread_scope_device> const taken(lock.taken);
  unsigned pause = 8;  // nanoseconds
  for (bool done = false; !done;) {
    unsigned expected = 0;
    if (taken.compare_exchange_strong(expected, 1, cuda::std::memory_order_acquire,
                                      cuda::std::memory_order_relaxed)) {
      body();
      taken.store(0, cuda::std::memory_order_release);
      done = true;
    } else {
      __nanosleep(pause);
      pause = pause < 1024 ? 2 * pause : pause;
    }
  }
}

}  // namespace gridstride

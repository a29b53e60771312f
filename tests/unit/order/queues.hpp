#pragma once

#include <functional>

/// Stands in for the CUDA runtime behind core/gpu.hpp: a GPU whose streams are threads. Each takes what
/// was queued one after the other and pauses at random, so that work which does not wait for what it
/// needs meets something else in some run; nothing there knows of kernels. Memory is the host's, filled
/// with NaN, and given back when the streams that may have it have ended.
namespace gridstride::test {

/// How pauses are drawn, and how many microseconds they have at most; for streams made from now on. All
/// others have ended.
void set_pauses(unsigned seed, unsigned microseconds);

/// Whether each who asks for the identity of its GPU has one of its own.
void set_apart(bool apart);

/// Whether there is NCCL: one that takes messages by such queues.
void set_nccl(bool is_there);

/// In place of a kernel: queues `work` on a stream by its native handle.
void queue_work(void* stream, std::function<void()> work);

}  // namespace gridstride::test

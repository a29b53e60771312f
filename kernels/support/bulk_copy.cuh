#pragma once

#include <cstdint>

#include "kernels/support/barrier.cuh"

/// Copies of many bytes between global and shared memory that one thread asks for (TMA), of compute
/// capability 9.0. Both ends are aligned to 16 bytes, and `bytes` is a multiple of 16.
namespace gridstride {

/// Begins to copy to shared memory; the barrier counts the bytes.
__device__ inline void begin_bulk_copy([[maybe_unused]] void* target,
                                       [[maybe_unused]] void const* source,
                                       [[maybe_unused]] int bytes,
                                       [[maybe_unused]] unsigned barrier) {
#if __CUDA_ARCH__ >= 900
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
          "r"(shared_address(target)),
      "l"(source), "r"(bytes), "r"(barrier)
      : "memory");
#endif
}

/// Shows what the thread has written to shared memory to bulk copies, which threads may begin that
/// have synchronised with it since.
__device__ inline void publish_to_copies() {
#if __CUDA_ARCH__ >= 900
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}

/// Begins to copy from shared memory.
__device__ inline void begin_bulk_write([[maybe_unused]] void* target,
                                        [[maybe_unused]] void const* source,
                                        [[maybe_unused]] int bytes) {
#if __CUDA_ARCH__ >= 900
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(target),
               "r"(shared_address(source)), "r"(bytes)
               : "memory");
#endif
}

/// Waits until what the thread's copies take from shared memory has been read.
__device__ inline void await_bulk_reads() {
#if __CUDA_ARCH__ >= 900
  asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0;" ::: "memory");
#endif
}

}  // namespace gridstride

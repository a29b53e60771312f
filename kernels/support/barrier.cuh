#pragma once

#include <cuda_runtime.h>

#include <cstdint>

/// Barriers in shared memory that count arrivals and the bytes of asynchronous copies (mbarrier),
/// of compute capability 9.0. Addresses in shared memory are numbers.
#if __CUDA_ARCH__ >= 900

namespace gridstride {

__device__ inline unsigned shared_address(void const* pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

/// The address in the shared memory of block `rank` of the cluster that `address` has in the own.
__device__ inline unsigned address_in(unsigned address, unsigned rank) {
  unsigned remote;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote) : "r"(address), "r"(rank));
  return remote;
}

/// A phase of the barrier at `address` ends after `arrivals`, and the bytes that they announced.
__device__ inline void barrier_init(unsigned address, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address), "r"(arrivals) : "memory");
}

/// Shows new barriers to asynchronous copies and to other blocks of the cluster; the threads then
/// synchronise.
__device__ inline void publish_barriers() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

__device__ inline void barrier_arrive(unsigned address) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(address) : "memory");
}

__device__ inline void barrier_arrive_expecting(unsigned address, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address), "r"(bytes)
               : "memory");
}

/// Waits for the end of the phase of this parity: the first phase has 0, and before it 1 is over.
__device__ inline void barrier_wait(unsigned address, unsigned parity) {
  unsigned over = 0;
  while (over == 0)
    asm volatile(
        "{ .reg .pred over; mbarrier.try_wait.parity.shared::cta.b64 over, [%1], %2; "
        "selp.u32 %0, 1, 0, over; }"
        : "=r"(over)
        : "r"(address), "r"(parity)
        : "memory");
}

/// The same for what other blocks of the cluster have sent.
__device__ inline void barrier_wait_for_cluster(unsigned address, unsigned parity) {
  unsigned over = 0;
  while (over == 0)
    asm volatile(
        "{ .reg .pred over; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 over, [%1], "
        "%2; selp.u32 %0, 1, 0, over; }"
        : "=r"(over)
        : "r"(address), "r"(parity)
        : "memory");
}

}  // namespace gridstride

#endif

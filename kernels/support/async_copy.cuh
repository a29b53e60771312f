#pragma once

#include <cuda_runtime.h>

/// Copies from global to shared memory that need no registers and go on by themselves (cp.async),
/// from compute capability 8.0 on; nothing before. Addresses in shared memory are numbers.
namespace gridstride {

/// Begins to copy `bytes` to shared memory, or to write zeros where there is nothing to copy.
template <int bytes>
__device__ void begin_copy(unsigned target, void const* source, bool exists = true) {
#if __CUDA_ARCH__ >= 800
  int const size = exists ? bytes : 0;
  if constexpr (bytes == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(target), "l"(source),
                 "r"(size)
                 : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(target), "l"(source),
                 "n"(bytes), "r"(size)
                 : "memory");
#endif
}

/// The thread's copies since the last call become one group.
__device__ inline void close_group() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

/// Waits for all but the thread's `pending` last groups.
template <int pending>
__device__ void await_groups() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
#endif
}

}  // namespace gridstride

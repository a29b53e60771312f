#pragma once

#include <cstdint>

/// Numbers by which GPUs tell each other that what was written before is there.
namespace gridstride {

__device__ inline void store_release(std::uint64_t* place, std::uint64_t value) {
  asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(place), "l"(value) : "memory");
}

__device__ inline std::uint64_t load_acquire(std::uint64_t const* place) {
  std::uint64_t value;
  asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(place) : "memory");
  return value;
}

__device__ inline std::uint64_t nanoseconds() {
  std::uint64_t now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  return now;
}

}  // namespace gridstride

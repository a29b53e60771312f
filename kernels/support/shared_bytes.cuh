#pragma once

#include <cstddef>

namespace gridstride {

/// Lets launches of a kernel take so many bytes of dynamic shared memory; false where the device refuses
/// them. CUDA keeps one limit for each kernel and device, which is never lowered here: another thread
/// may be between asking for more and its launch.
bool takes_shared_bytes(void const* kernel, std::size_t bytes);

template <class Kernel>
bool takes_shared_bytes(Kernel* kernel, std::size_t bytes) {
  return takes_shared_bytes(reinterpret_cast<void const*>(kernel), bytes);
}

/// The same, and throws `CudaError` where the device refuses them.
void allow_shared_bytes(void const* kernel, std::size_t bytes);

template <class Kernel>
void allow_shared_bytes(Kernel* kernel, std::size_t bytes) {
  allow_shared_bytes(reinterpret_cast<void const*>(kernel), bytes);
}

}  // namespace gridstride

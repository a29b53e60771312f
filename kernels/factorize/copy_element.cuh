#pragma once

#include "kernels/support/async_copy.cuh"

namespace gridstride::factorize {

/// Begins to copy one element to shared memory, or a zero.
template <class T>
__device__ void copy_element(T* target, T const* source, bool inside) {
#if __CUDA_ARCH__ >= 800
  begin_copy<sizeof(T)>(static_cast<unsigned>(__cvta_generic_to_shared(target)), source, inside);
#else
  *target = inside ? *source : T(0);
#endif
}

}  // namespace gridstride::factorize

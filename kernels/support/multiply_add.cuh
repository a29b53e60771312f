#pragma once

#include "core/host_device.hpp"

namespace gridstride {

/// a·b + c: rounded once on a GPU, where the compiler would else choose, and twice on the host.
template <class T>
GRIDSTRIDE_HOST_DEVICE inline T multiply_add(T a, T b, T c) {
#ifdef __CUDA_ARCH__
  if constexpr (sizeof(T) == 4)
    return __fmaf_rn(a, b, c);
  else
    return __fma_rn(a, b, c);
#else
  return a * b + c;
#endif
}

}  // namespace gridstride

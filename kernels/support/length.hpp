#pragma once

#include <cmath>
#include <cstdint>

#include "core/host_device.hpp"

namespace gridstride {

/// sqrt(Σ x_k²) of the components x_k = at(k), of which the largest is taken out of the squares; Σ |x_k|
/// where that one is 0 or not finite. Each operation is rounded by itself, on hosts and GPUs alike.
template <class T, class At>
GRIDSTRIDE_HOST_DEVICE T length_of(At const& at, std::int64_t components) {
  auto const size_of = [](T x) { return x < 0 ? -x : x; };
  T largest = 0, total = 0;
  for (std::int64_t k = 0; k < components; ++k)
    if (T const size = size_of(at(k)); largest < size) largest = size;
  bool const scales = largest > 0 && largest - largest == 0;
  for (std::int64_t k = 0; k < components; ++k) {
    T const scaled = scales ? at(k) / largest : size_of(at(k));
#ifdef __CUDA_ARCH__
    if constexpr (sizeof(T) == 4)
      total = __fadd_rn(total, scales ? __fmul_rn(scaled, scaled) : scaled);
    else
      total = __dadd_rn(total, scales ? __dmul_rn(scaled, scaled) : scaled);
#else
    total += scales ? scaled * scaled : scaled;
#endif
  }
  return scales ? largest * std::sqrt(total) : total;
}

}  // namespace gridstride

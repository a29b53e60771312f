#pragma once

#include "core/host_device.hpp"
#include "kernels/sampling/sample.hpp"

/// Scrambled Sobol points, once for host and device. The direction numbers of a sequence lie in
/// memory as 32 rows, one for each bit of an index, and a row of digital shifts; a row has a number
/// for each axis, and is filled up to whole 16 bytes.
namespace gridstride::quadrature {

inline constexpr int sobol_bits = 32;
inline constexpr int sobol_shift_row = sobol_bits;
inline constexpr int sobol_rows = sobol_bits + 1;

/// Numbers of a row.
GRIDSTRIDE_HOST_DEVICE constexpr int sobol_stride(int dimensions) {
  return (dimensions + 3) / 4 * 4;
}

/// What a kernel sums: points first to first + count − 1 of each replica, `run` of them a thread.
struct SobolRange {
  long long first, count, tile_size;
  int run;
};

/// The middle of the part of (0, 1) that the digits name, (x + 1/2)·2^-32, rounded in float32, to a
/// number below 1. With their upper 23 bits alone, long sequences would come to the same points
/// again and again, and all replicas would miss the same part of a singularity at 0.
template <class Real>
GRIDSTRIDE_HOST_DEVICE inline Real sobol_uniform(unsigned digits) {
  if constexpr (sizeof(Real) == 4) {
    float const upper = with_fraction(digits >> 9) - 1;
    float const rest = with_fraction((digits << 14 | 1u << 13) & 0x7fffffu) - 1;
    float const u = multiply_add(rest, 0x1p-23f, upper);
    return u < 1 ? u : 1 - 0x1p-24f;
  } else {
    return with_fraction(static_cast<unsigned long long>(digits) << 20 | 1ull << 19) - 1;
  }
}

}  // namespace gridstride::quadrature

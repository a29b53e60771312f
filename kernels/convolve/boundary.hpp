#pragma once

#include "core/host_device.hpp"
#include "kernels/convolve/convolve.hpp"

/// How a signal goes on beyond its ends; on the host and in kernels.
namespace gridstride::convolve {

/// The element of a signal of n ≥ 1 elements that stands at place i, whatever i is; −1 where it is
/// the value of `Boundary::constant`. A signal shorter than what is asked of it goes on again and
/// again.
GRIDSTRIDE_HOST_DEVICE inline long long source_of(Boundary boundary, long long i, long long n) {
  if (i >= 0 && i < n) return i;
  if (boundary == Boundary::constant) return -1;
  if (boundary == Boundary::nearest) return i < 0 ? 0 : n - 1;
  if (i <= -n || i >= 2 * n - 1) {  // perhaps more than one signal away
    long long const period = boundary == Boundary::wrap      ? n
                             : boundary == Boundary::reflect ? 2 * n
                             : n > 1                         ? 2 * n - 2
                                                             : 1;
    i %= period;
    if (i < 0) i += period;
    if (i < n) return i;
  }
  if (boundary == Boundary::wrap) return i < 0 ? i + n : i - n;
  int const repeated = boundary == Boundary::reflect ? 1 : 0;  // ends
  return i < 0 ? -i - repeated : 2 * n - 2 + repeated - i;
}

}  // namespace gridstride::convolve

#pragma once

#include "core/host_device.hpp"

/// Keys of float64 numbers that rise as these do, so that integer maxima find extremes. Free of
/// other headers.
namespace gridstride::system {

/// Of finite numbers above 0. `bits` are those of the number.
GRIDSTRIDE_HOST_DEVICE constexpr unsigned long long key_of_bits(unsigned long long bits) {
  constexpr unsigned long long sign = 1ULL << 63;
  return (bits & sign) != 0 ? ~bits : bits | sign;
}
/// The bits of a key's number.
GRIDSTRIDE_HOST_DEVICE constexpr unsigned long long bits_of_key(unsigned long long key) {
  constexpr unsigned long long sign = 1ULL << 63;
  return (key & sign) != 0 ? key & ~sign : ~key;
}

/// What is kept of a term: keys of −least and greatest, and how many points come from the first
/// that is not finite on; 0 of each: none.
inline constexpr int keys_of_term = 3;

/// Points that are looked at, along each axis from `begin` on and before `end`.
struct CountedPoints {
  long long begin[3], end[3];
};

/// Where keys are, of each term as many: those of this look and those joined with it, those of the next
/// one, and those that the host has; and how many blocks are done.
struct ExtremeKeys {
  unsigned long long *joined, *next, *told;
  unsigned* done;
};

}  // namespace gridstride::system

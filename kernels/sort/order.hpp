#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "core/host_device.hpp"

/// The one place that says which key comes first.
namespace gridstride::sort {

/// The unsigned integer that stands for a key.
template <class T>
using Ordered = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

/// An unsigned integer that rises with the key: a < b where a comes first. The sign of an integer
/// is turned over. A floating-point number orders like its bits read as sign and magnitude, IEEE
/// 754 totalOrder: all bits of a negative one are turned over, and the sign of the others.
template <class T>
GRIDSTRIDE_HOST_DEVICE Ordered<T> to_ordered(T key) {
  constexpr Ordered<T> sign = Ordered<T>{1} << (8 * sizeof(T) - 1);
  Ordered<T> bits = 0;
  memcpy(&bits, &key, sizeof key);
  if constexpr (std::is_floating_point_v<T>)
    return (bits & sign) != 0 ? ~bits : bits | sign;
  else
    return bits ^ sign;
}

template <class T>
GRIDSTRIDE_HOST_DEVICE T from_ordered(Ordered<T> ordered) {
  constexpr Ordered<T> sign = Ordered<T>{1} << (8 * sizeof(T) - 1);
  Ordered<T> bits = ordered ^ sign;
  if constexpr (std::is_floating_point_v<T>)
    if ((ordered & sign) == 0) bits = ~ordered;
  T key = 0;
  memcpy(&key, &bits, sizeof key);
  return key;
}

/// Whether key a has to come before key b.
template <class T>
GRIDSTRIDE_HOST_DEVICE bool precedes(T a, T b) {
  return to_ordered(a) < to_ordered(b);
}

}  // namespace gridstride::sort

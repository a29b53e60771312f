#pragma once

#include <cstdint>
#include <type_traits>

#include "core/host_device.hpp"
#include "core/number_type.hpp"

/// What stored bits mean, for host and GPU.
namespace gridstride::convert {

/// The bits of a number of 1, 2, 4 or 8 bytes.
template <int bytes>
struct BitsOf;
template <>
struct BitsOf<1> {
  using Type = std::uint8_t;
};
template <>
struct BitsOf<2> {
  using Type = std::uint16_t;
};
template <>
struct BitsOf<4> {
  using Type = std::uint32_t;
};
template <>
struct BitsOf<8> {
  using Type = std::uint64_t;
};
template <int bytes>
using Bits = typename BitsOf<bytes>::Type;

/// The same bytes in the other order.
GRIDSTRIDE_HOST_DEVICE inline std::uint8_t swapped(std::uint8_t b) { return b; }
GRIDSTRIDE_HOST_DEVICE inline std::uint16_t swapped(std::uint16_t b) {
  return static_cast<std::uint16_t>(b << 8 | b >> 8);
}
GRIDSTRIDE_HOST_DEVICE inline std::uint32_t swapped(std::uint32_t b) {
  return b << 24 | (b & 0xff00U) << 8 | (b >> 8 & 0xff00U) | b >> 24;
}
GRIDSTRIDE_HOST_DEVICE inline std::uint64_t swapped(std::uint64_t b) {
  auto const lower = static_cast<std::uint32_t>(b), upper = static_cast<std::uint32_t>(b >> 32);
  return static_cast<std::uint64_t>(swapped(lower)) << 32 | swapped(upper);
}

/// float16: a sign, 5 bits of exponent biased by 15, 10 of the fraction.
GRIDSTRIDE_HOST_DEVICE inline double half_of(std::uint16_t bits) {
  std::uint64_t const sign = static_cast<std::uint64_t>(bits >> 15) << 63;
  std::uint64_t const exponent = bits >> 10 & 0x1fU, fraction = bits & 0x3ffU;
  if (exponent == 0) {
    double const tiny = static_cast<double>(fraction) * 0x1p-24;
    return sign == 0 ? tiny : -tiny;
  }
  std::uint64_t const wide = exponent == 31 ? 2047 : exponent + 1023 - 15;
  return __builtin_bit_cast(double, sign | wide << 52 | fraction << 42);
}

/// Exact, but for integers of more than 53 bits, which are rounded to nearest.
template <int bytes>
GRIDSTRIDE_HOST_DEVICE double decode(Bits<bytes> bits, NumberKind kind, bool swaps) {
  if (swaps) bits = swapped(bits);
  if (kind == NumberKind::unsigned_integer) return static_cast<double>(bits);
  if (kind == NumberKind::signed_integer)
    return static_cast<double>(static_cast<std::make_signed_t<Bits<bytes>>>(bits));
  if constexpr (bytes == 2)
    return half_of(bits);
  else if constexpr (bytes == 4)
    return static_cast<double>(__builtin_bit_cast(float, bits));
  else if constexpr (bytes == 8)
    return __builtin_bit_cast(double, bits);
  else
    return 0;  // there is no real number of one byte
}

/// Neither infinite nor NaN.
GRIDSTRIDE_HOST_DEVICE inline bool is_finite(double value) {
  return (__builtin_bit_cast(std::uint64_t, value) >> 52 & 2047U) != 2047U;
}

}  // namespace gridstride::convert

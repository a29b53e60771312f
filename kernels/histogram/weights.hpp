#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "core/host_device.hpp"

/// Sums of weights that are the same in any order: every weight becomes an integer of 128 bits.
///
/// Of n weights w the finite ones have |w| < 2^E, where E is the least such number, or −1022 if
/// that is larger. The integer is w·2^k with k = 126 − ⌈log2 n⌉ − E, rounded to nearest even; no
/// sum of them exceeds 2^126. Rounding changes a sum by at most n·2^(−k−1), and a weight that is a
/// multiple of 2^−k not at all.
namespace gridstride::histogram {

/// An integer in two's complement.
struct Fixed {
  unsigned long long low = 0, high = 0;
};

/// The sum, modulo 2^128.
GRIDSTRIDE_HOST_DEVICE inline Fixed operator+(Fixed a, Fixed b) {
  unsigned long long const low = a.low + b.low;
  return {low, a.high + b.high + (low < a.low ? 1 : 0)};
}

GRIDSTRIDE_HOST_DEVICE inline Fixed operator-(Fixed a) {
  return {~a.low + 1, ~a.high + (a.low == 0 ? 1 : 0)};
}

/// The exponent field of a float64: |w| < 2^(field − 1022), and `not_finite` when w is.
constexpr int not_finite = 2047;
GRIDSTRIDE_HOST_DEVICE inline int exponent_field(double w) {
  unsigned long long bits = 0;
  memcpy(&bits, &w, sizeof bits);
  return static_cast<int>(bits >> 52) & 2047;
}

/// Turns weights into integers, and sums of those into numbers.
class WeightScale {
 public:
  /// For `count` weights, of which the finite ones have no larger `exponent_field` than this one.
  GRIDSTRIDE_HOST_DEVICE WeightScale(int largest_field, std::int64_t count) {
    int count_bits = 0;
    while (count_bits < 62 && (std::int64_t{1} << count_bits) < count) ++count_bits;
    shift_ = 126 - count_bits - (largest_field - 1022);
  }

  /// w·2^k, rounded to nearest even. w is finite.
  GRIDSTRIDE_HOST_DEVICE Fixed split(double w) const {
    double const magnitude = rint(scaled(fabs(w), shift_));
    double const high = floor(magnitude * power_of_two(-64));
    Fixed const result = {static_cast<unsigned long long>(magnitude - high * power_of_two(64)),
                          static_cast<unsigned long long>(high)};
    return w < 0 ? -result : result;
  }

  /// sum·2^(−k), rounded once.
  GRIDSTRIDE_HOST_DEVICE double join(Fixed sum) const {
    bool const negative = sum.high >> 63 != 0;
    if (negative) sum = -sum;
    int exponent = 0;
    if (sum.high != 0) {
      // The leading 64 bits; the last one also stands for all that are cut off.
      while (sum.high >> 63 == 0) {
        sum.high = sum.high << 1 | sum.low >> 63;
        sum.low <<= 1;
        --exponent;
      }
      exponent += 64;
      sum.low = sum.high | (sum.low != 0 ? 1 : 0);
    }
    double const value = scaled(static_cast<double>(sum.low), exponent - shift_);
    return negative ? -value : value;
  }

 private:
  GRIDSTRIDE_HOST_DEVICE static double power_of_two(int exponent) {
    unsigned long long const bits = static_cast<unsigned long long>(exponent + 1023) << 52;
    double power = 0;
    memcpy(&power, &bits, sizeof power);
    return power;
  }

  /// value·2^exponent in two steps, for a power of two alone reaches neither 2^1200 nor 2^−1100.
  GRIDSTRIDE_HOST_DEVICE static double scaled(double value, int exponent) {
    int const half = exponent / 2;
    return value * power_of_two(half) * power_of_two(exponent - half);
  }

  int shift_ = 0;
};

}  // namespace gridstride::histogram

#pragma once

#include <limits>
#include <type_traits>

#include "core/host_device.hpp"
#include "kernels/scan/scan.hpp"

/// What the rungs of the ladder have in common: the operations, each an identity and a way to
/// combine two neighbouring partial results. For the family's own files only.
namespace gridstride::scan {

template <class T>
struct SumOperation {
  GRIDSTRIDE_HOST_DEVICE static constexpr T identity() { return 0; }
  /// Signed overflow is undefined in C++; unsigned arithmetic is modulo 2^32 or 2^64.
  GRIDSTRIDE_HOST_DEVICE static constexpr T combine(T a, T b) {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) +
                            static_cast<std::make_unsigned_t<T>>(b));
    else
      return a + b;
  }
};

template <class T>
struct MaximumOperation {
  GRIDSTRIDE_HOST_DEVICE static constexpr T identity() {
    if constexpr (std::is_integral_v<T>)
      return std::numeric_limits<T>::lowest();
    else
      return -std::numeric_limits<T>::infinity();
  }
  /// No comparison with a NaN holds: one in `a` stays, one in `b` is taken.
  GRIDSTRIDE_HOST_DEVICE static constexpr T combine(T a, T b) { return b > a || b != b ? b : a; }
};

/// Calls `body` with the operation, and with whether the scan is inclusive as a
/// `std::bool_constant`.
template <class T, class Body>
void with_operation(Arguments<T> const& arguments, Body const& body) {
  auto const with_kind = [&](auto operation) {
    if (arguments.kind == Kind::inclusive)
      body(operation, std::true_type{});
    else
      body(operation, std::false_type{});
  };
  if (arguments.operation == Operation::sum)
    with_kind(SumOperation<T>{});
  else
    with_kind(MaximumOperation<T>{});
}

}  // namespace gridstride::scan

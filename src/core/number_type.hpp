#pragma once

#include <concepts>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace gridstride {

enum class NumberKind : unsigned char { signed_integer, unsigned_integer, real };

/// How a number is stored: integers of two's complement and the formats of IEEE 754, of 1, 2, 4 or
/// 8 bytes (real ones of 2 at least).
struct NumberType {
  NumberKind kind = NumberKind::real;
  int bytes = 8;
  bool swapped = false;  ///< its bytes lie in the other order than this machine's
  bool operator==(NumberType const&) const = default;
};

/// `int8`, `uint8`, …, `uint64`, `float16`, `float32` and `float64`.
std::span<std::string_view const> number_type_names();
/// In this machine's order of bytes; empty for other names.
std::optional<NumberType> number_type_called(std::string_view name);
std::string_view name_of(NumberType const& type);

/// That of a C++ type, which float16 has none of.
template <class S>
requires std::is_arithmetic_v<S>
constexpr NumberType number_type_of() {
  NumberKind const kind = std::floating_point<S> ? NumberKind::real
                          : std::is_signed_v<S>  ? NumberKind::signed_integer
                                                 : NumberKind::unsigned_integer;
  return {kind, static_cast<int>(sizeof(S)), false};
}

}  // namespace gridstride

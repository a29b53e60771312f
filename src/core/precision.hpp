#pragma once

#include <string_view>
#include <type_traits>

namespace gridstride {

/// The element type of a run's fields, chosen at run time.
enum class Precision { float32, float64 };

constexpr std::size_t size_of(Precision precision) {
  return precision == Precision::float32 ? sizeof(float) : sizeof(double);
}

constexpr std::string_view name_of(Precision precision) {
  return precision == Precision::float32 ? "float32" : "float64";
}

template <class T>
constexpr Precision precision_of() {
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>);
  return std::is_same_v<T, float> ? Precision::float32 : Precision::float64;
}

/// What `use` makes of a zero of the type that a precision stands for.
template <class Use>
decltype(auto) with_zero_of(Precision precision, Use const& use) {
  return precision == Precision::float32 ? use(float{0}) : use(double{0});
}

}  // namespace gridstride

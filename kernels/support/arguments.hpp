#pragma once

#include <fmt/format.h>

#include <functional>
#include <span>
#include <stdexcept>
#include <string_view>

namespace gridstride {

/// An array argument of a kernel family, as a message names it.
struct NamedBytes {
  std::string_view name;
  std::size_t size;  ///< elements
  void const* begin;
  void const* end;
};

template <class T>
NamedBytes named(std::string_view name, std::span<T> values) {
  return {name, values.size(), values.data(), values.data() + values.size()};
}

/// Throws `std::invalid_argument` unless both arrays have the same number of elements.
inline void require_same_size(std::string_view function, NamedBytes const& a, NamedBytes const& b) {
  if (a.size != b.size)
    throw std::invalid_argument(
        fmt::format("{}: {} has {} elements and {} has {} (they must agree)", function, a.name,
                    a.size, b.name, b.size));
}

/// Throws `std::invalid_argument` unless the array has `size` elements.
inline void require_size(std::string_view function, NamedBytes const& a, std::size_t size) {
  if (a.size != size)
    throw std::invalid_argument(
        fmt::format("{}: {} has {} elements, it needs {}", function, a.name, a.size, size));
}

/// Throws `std::invalid_argument` when the arrays share memory.
inline void require_disjoint(std::string_view function, NamedBytes const& a, NamedBytes const& b) {
  std::less<> const before;
  if (a.begin != a.end && b.begin != b.end && before(a.begin, b.end) && before(b.begin, a.end))
    throw std::invalid_argument(fmt::format("{}: {} ({} elements) and {} ({} elements) overlap",
                                            function, a.name, a.size, b.name, b.size));
}

/// The same, but the very same array may be given as both.
inline void require_disjoint_or_same(std::string_view function, NamedBytes const& a,
                                     NamedBytes const& b) {
  if (a.begin != b.begin || a.end != b.end) require_disjoint(function, a, b);
}

}  // namespace gridstride

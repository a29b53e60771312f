#pragma once

#include <cstdint>
#include <type_traits>

namespace gridstride {

/// Calls `work(count, first)` for all of so many vectors, 8, 4, 2 or 1 at a time; `count` is a
/// `std::integral_constant`.
template <class Work>
void for_groups(std::int64_t vectors, Work const& work) {
  std::int64_t first = 0;
  auto const take = [&](auto count) {
    for (; vectors - first >= count; first += count) work(count, first);
  };
  take(std::integral_constant<int, 8>{});
  take(std::integral_constant<int, 4>{});
  take(std::integral_constant<int, 2>{});
  take(std::integral_constant<int, 1>{});
}

}  // namespace gridstride

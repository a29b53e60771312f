#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "core/buffer.hpp"
#include "kernels/sort/sort.hpp"

/// Keys to sort, and calls of the family on any device.
namespace gridstride::test {

inline constexpr std::int64_t sort_sizes[] = {0, 1, 2, 31, 32, 33, 255, 1023, 1025};
inline constexpr std::int64_t large_sort_size = 999983;  // a prime

enum class SortData {
  random,
  few,       ///< few distinct keys
  constant,  ///< one key
  sorted,
  reversed,
  organ_pipe,  ///< up, then down
  saw,         ///< many sorted runs
  killer,      ///< defeats quicksort that takes the median of the first, middle and last key
  special,     ///< with NaN, infinities, zeros, the largest and least
};
inline constexpr SortData sort_data[] = {SortData::random, SortData::few,      SortData::constant,
                                         SortData::sorted, SortData::reversed, SortData::organ_pipe,
                                         SortData::saw,    SortData::killer,   SortData::special};

inline std::string name_of(SortData data) {
  static constexpr char const* names[] = {"random",     "few", "constant", "sorted", "reversed",
                                          "organ_pipe", "saw", "killer",   "special"};
  return names[static_cast<int>(data)];
}

/// Bits of every kind: negative ones, subnormals and NaN among floating-point keys.
template <class T>
T random_key(std::mt19937_64& generator) {
  if constexpr (sizeof(T) == 4)
    return std::bit_cast<T>(static_cast<std::uint32_t>(generator()));
  else
    return std::bit_cast<T>(static_cast<std::uint64_t>(generator()));
}

template <class T>
std::vector<T> special_keys() {
  using Limits = std::numeric_limits<T>;
  if constexpr (std::is_floating_point_v<T>)
    return {Limits::quiet_NaN(),
            -Limits::quiet_NaN(),
            Limits::infinity(),
            -Limits::infinity(),
            T{0},
            -T{0},
            Limits::denorm_min(),
            -Limits::denorm_min(),
            Limits::max(),
            Limits::lowest(),
            1,
            -1};
  else
    return {Limits::max(), Limits::min(), 0, -1, 1, Limits::max() - 1, Limits::min() + 1};
}

template <class T>
std::vector<T> sort_keys(SortData data, std::int64_t size) {
  std::mt19937_64 generator(9);
  auto const special = special_keys<T>();
  std::vector<T> keys(static_cast<std::size_t>(size));
  for (std::int64_t i = 0; i < size; ++i) {
    auto& key = keys[static_cast<std::size_t>(i)];
    std::int64_t const half = size / 2;
    switch (data) {
      case SortData::random:
        key = random_key<T>(generator);
        break;
      case SortData::few:
        key = static_cast<T>(static_cast<int>(generator() % 5) - 2);
        break;
      case SortData::constant:
        key = T{42};
        break;
      case SortData::sorted:
        key = static_cast<T>(i - half);
        break;
      case SortData::reversed:
        key = static_cast<T>(half - i);
        break;
      case SortData::organ_pipe:
        key = static_cast<T>(std::min(i, size - i));
        break;
      case SortData::saw:
        key = static_cast<T>(i % 1000);
        break;
      case SortData::killer:
        // 1, k+1, 3, k+3, ..., then the even ones: Musser 1997.
        key = static_cast<T>(i >= half ? 2 * (i - half + 1) : i % 2 == 0 ? i + 1 : half + i);
        break;
      case SortData::special:
        key = special[generator() % special.size()];
        break;
    }
  }
  return keys;
}

/// The bits of keys; `zeros_are_equal` makes −0 the same as 0.
template <class T>
std::vector<std::uint64_t> key_bits(std::vector<T> const& keys, bool zeros_are_equal = false) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  std::vector<std::uint64_t> bits;
  for (T const key : keys)
    bits.push_back(zeros_are_equal && key == 0 ? 0 : std::bit_cast<Bits>(key));
  return bits;
}

/// Whether the row keeps the order of the values of equal keys, and whether it takes −0 for 0.
template <class Row>
bool is_stable(Row const& row) {
  return row.idea.find("stable") != std::string_view::npos;
}
template <class Row>
bool takes_zeros_for_equal(Row const& row) {
  return row.idea.find("-0 and 0") != std::string_view::npos;
}

template <class T>
struct Sorted {
  std::vector<T> keys;
  std::vector<std::uint32_t> values;
};

/// Sorts a copy of the keys in device memory, `offset` elements behind the start of an allocation;
/// with values, those are 0, 1, 2, ...
template <class T>
Sorted<T> sorted(Stream& stream, std::vector<T> const& keys, bool with_values,
                 std::string_view variant, std::size_t offset = 0) {
  Sorted<T> host{keys, std::vector<std::uint32_t>(with_values ? keys.size() : 0)};
  std::iota(host.values.begin(), host.values.end(), 0u);
  Buffer<T> key_memory(stream, MemorySpace::device, keys.size() + offset);
  Buffer<std::uint32_t> value_memory(stream, MemorySpace::device, host.values.size() + offset);
  auto const device_keys = key_memory.span().subspan(offset);
  auto const device_values = value_memory.span().subspan(offset);
  copy_async(device_keys, std::span(host.keys), stream);
  copy_async(device_values, std::span(host.values), stream);
  if (with_values)
    sort::pairs(stream, device_keys, device_values, variant);
  else
    sort::keys(stream, device_keys, variant);
  copy_async(std::span(host.keys), device_keys, stream);
  copy_async(std::span(host.values), device_values, stream);
  stream.synchronize();
  return host;
}

/// What is wrong with the row's result for these keys; empty when nothing is. `expected` is the
/// reference's, with values.
template <class T, class Row>
std::string fault_of(Row const& row, std::vector<T> const& keys, Sorted<T> const& expected,
                     Sorted<T> const& found) {
  bool const zeros = takes_zeros_for_equal(row);
  auto const bits = key_bits(found.keys, zeros);
  if (bits != key_bits(expected.keys, zeros)) return "keys out of order";
  if (found.values.empty()) return "";
  auto const exact = key_bits(found.keys), original = key_bits(keys);
  std::vector<bool> seen(keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    std::uint32_t const value = found.values[i];
    if (value >= keys.size() || seen[value]) return "values are not a permutation";
    seen[value] = true;
    if (original[value] != exact[i]) return "values left their keys";
    if (is_stable(row) && i > 0 && bits[i - 1] == bits[i] && found.values[i - 1] > value)
      return "not stable";
  }
  return "";
}

}  // namespace gridstride::test

#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>

#include "core/number_type.hpp"
#include "core/stored_order.hpp"
#include "core/stream.hpp"
#include "core/variant.hpp"

/// Kernel family `convert`: numbers as files hold them become values of T, float or double.
namespace gridstride::convert {

/// A part of an array as it is stored.
struct Stored {
  std::span<std::byte const> bytes;  ///< in the stream's memory, aligned to 16 bytes
  NumberType type;
  std::int64_t first = 0;                 ///< which of the stored elements is the first of these
  std::optional<StoredOrder> order = {};  ///< empty for C order
  bool squares = false;                   ///< the squares of the numbers are wanted

  std::int64_t count() const { return static_cast<std::int64_t>(bytes.size()) / type.bytes; }
};

/// Larger than any place: what `first_non_finite` begins with.
inline constexpr std::int64_t all_finite = std::numeric_limits<std::int64_t>::max();

/// target[place of s] = T(stored number s), for the elements that `stored` has; elements beyond
/// the array are left out. Through float64: integers of more than 53 bits are rounded to it, then
/// squared if wanted, and then rounded to T, each time to nearest. `target` is the whole array, in
/// C order. Where a stored number is infinite or NaN, its place, if it is less, is left in
/// `first_non_finite`, an array of one.
///
/// Arrays lie in the stream's device memory. Nothing synchronises. Every variant gives the same
/// bits. Stored elements in C order may lie where their values go, if they are as long. Throws
/// `std::invalid_argument` for bytes that are no whole number of elements, elements that `target`
/// does not have, arrays that overlap otherwise, and unknown variants.
template <class T>
void convert(Stream& stream, Stored const& stored, std::span<T> target,
             std::span<std::int64_t> first_non_finite, std::string_view variant = "auto");

/// One piece of work for a rung, of at least one element.
template <class T>
struct Arguments {
  void const* stored = nullptr;
  std::int64_t count = 0;
  NumberType type;
  bool squares = false;
  bool linear = true;      ///< element i of `stored` goes to target[i]
  std::int64_t first = 0;  ///< else the first one's number in `order`
  StoredOrder order = {};
  T* target = nullptr;
  std::int64_t origin = 0;  ///< place of target[0] in the array
  std::int64_t* first_non_finite = nullptr;
};

template <class T>
using Function = void(Stream&, Arguments<T> const&);

/// Every variant, from the textbook's to the fastest of each backend.
template <class T>
std::span<Variant<Function<T>> const> variants();

/// What `auto` means.
std::string_view default_variant(Backend backend);

}  // namespace gridstride::convert

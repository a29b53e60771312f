#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "core/stream.hpp"
#include "core/variant.hpp"

/// Kernel family `sort`: ascending order, in place. T is int32, int64, float or double.
///
/// Arrays lie in the stream's device memory. Nothing synchronises. Floating point is in the order
/// −NaN, −infinity, …, −0, 0, …, infinity, NaN (IEEE 754 totalOrder; −0 and 0 are equal in rows
/// that say so). Values travel with their keys; where keys are equal, only rows that say `stable`
/// keep the order of the values. Throws `std::invalid_argument` for values of another size than the
/// keys, arrays that overlap, and a variant that this backend does not have.
namespace gridstride::sort {

template <class T>
void keys(Stream& stream, std::span<T> keys, std::string_view variant = "auto");

template <class T>
void pairs(Stream& stream, std::span<T> keys, std::span<std::uint32_t> values,
           std::string_view variant = "auto");

/// One piece of work for a rung.
template <class T>
struct Arguments {
  T* keys = nullptr;
  std::uint32_t* values = nullptr;  ///< null: keys alone
  std::int64_t size = 0;
};

template <class T>
using Function = void(Stream&, Arguments<T> const&);

/// Every variant, from the textbook's to the fastest of each backend.
template <class T>
std::span<Variant<Function<T>> const> variants();

/// What `auto` means: the fastest that gives the same bits every time.
std::string_view default_variant(Backend backend);

}  // namespace gridstride::sort

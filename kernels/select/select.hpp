#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "core/stream.hpp"
#include "core/variant.hpp"

/// Kernel family `select`: the values whose flag is set, in their order, and their indices. T is
/// float or double. Also known as stream compaction.
///
///   count = #{i : flag_i ≠ 0}        selected_k = x_(i_k)        indices_k = first + i_k
///
/// with i_0 < i_1 < … the places of the flags that are not 0; a NaN is not 0. Arrays lie in the
/// stream's device memory, `count` too, an array of one. Nothing synchronises. Every variant gives
/// the same bits: what is added up are counts.
namespace gridstride::select {

/// `flags` and `selected` have the size of `values`, for all may be selected; so has `indices`, or
/// it is empty where nobody asks for them. What lies behind the first `count` elements of the
/// outputs stays as it is. `first` is the index of the first value: a piece of an array gives its
/// part of the whole's result. `flags` may be the very array `values`. Throws
/// `std::invalid_argument` for other sizes, an output that overlaps another array, and a variant
/// that this backend does not have.
template <class T>
void flagged(Stream& stream, std::span<T const> values, std::span<T const> flags,
             std::span<T> selected, std::span<std::int64_t> indices, std::span<std::int64_t> count,
             std::int64_t first = 0, std::string_view variant = "auto");

/// One piece of work for a rung, of at least one value.
template <class T>
struct Arguments {
  T const* values = nullptr;
  T const* flags = nullptr;
  std::int64_t size = 0;
  std::int64_t first = 0;
  T* selected = nullptr;
  std::int64_t* indices = nullptr;  ///< null: not asked for
  std::int64_t* count = nullptr;
};

template <class T>
using Function = void(Stream&, Arguments<T> const&);

/// Every variant, from the textbook's to the fastest of each backend.
template <class T>
std::span<Variant<Function<T>> const> variants();

/// What `auto` means: the fastest that gives the same bits every time.
std::string_view default_variant(Backend backend);

}  // namespace gridstride::select

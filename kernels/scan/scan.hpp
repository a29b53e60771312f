#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "core/stream.hpp"
#include "core/variant.hpp"

/// Kernel family `scan`: all prefixes of a sequence. T is int32, int64, float or double.
///
///   inclusive: output_i = x_0 ∘ … ∘ x_i        exclusive: output_i = x_0 ∘ … ∘ x_(i−1)
///
/// with ∘ the sum or the maximum; the first exclusive value is the identity: 0, or the least value
/// of T (−infinity). Arrays lie in the stream's device memory; `output` may be the very array
/// `input`. Nothing synchronises. Integer sums are modulo 2^32 or 2^64. Float sums are in T; each
/// output's error is at most that of a serial sum, n·ε·Σ|x|. A NaN is in every later output, also
/// of the maximum. Throws `std::invalid_argument` for sizes that differ, arrays that overlap
/// without being the same, and a variant that this backend does not have.
namespace gridstride::scan {

enum class Operation { sum, maximum };
enum class Kind { inclusive, exclusive };

template <class T>
void inclusive_sum(Stream& stream, std::span<T const> input, std::span<T> output,
                   std::string_view variant = "auto");
template <class T>
void exclusive_sum(Stream& stream, std::span<T const> input, std::span<T> output,
                   std::string_view variant = "auto");
template <class T>
void inclusive_maximum(Stream& stream, std::span<T const> input, std::span<T> output,
                       std::string_view variant = "auto");
template <class T>
void exclusive_maximum(Stream& stream, std::span<T const> input, std::span<T> output,
                       std::string_view variant = "auto");

/// What is before a piece of a longer sequence, and with it, in device memory; null for nothing.
template <class T>
struct Carry {
  T const* before = nullptr;  ///< the combination of all that is before the piece
  T* with = nullptr;          ///< becomes that and the piece's
};

/// One piece of work for a rung. Only `threads` and `decoupled_lookback` take a carry, and with it
/// only pieces of `carried_multiple` elements give the bits of the whole sequence.
template <class T>
struct Arguments {
  Operation operation = Operation::sum;
  Kind kind = Kind::inclusive;
  T const* input = nullptr;
  T* output = nullptr;
  std::int64_t size = 0;
  Carry<T> carry = {};
};

template <class T>
using Function = void(Stream&, Arguments<T> const&);

/// Every variant, from the textbook's to the fastest of each backend.
template <class T>
std::span<Variant<Function<T>> const> variants();

/// What `auto` means: the fastest that gives the same bits every time.
std::string_view default_variant(Backend backend);

}  // namespace gridstride::scan

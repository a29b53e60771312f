#pragma once

#include <array>
#include <bit>
#include <cstring>
#include <optional>
#include <random>
#include <span>
#include <string_view>
#include <vector>

#include "core/buffer.hpp"
#include "kernels/convert/convert.hpp"
#include "support/same_bits.hpp"

/// Conversions of stored numbers on any device, compared with the reference on the host.
namespace gridstride::test {

/// What one call leaves.
template <class T>
struct Converted {
  std::vector<T> values;  ///< those that it does not set stay −77
  std::int64_t first_non_finite = 0;

  bool operator==(Converted const& other) const {
    return first_non_finite == other.first_non_finite && same_bits(values, other.values);
  }
};

/// Converts `bytes` into an array of `size`.
template <class T>
Converted<T> converted(Stream& stream, convert::Stored stored, std::size_t size,
                       std::string_view variant) {
  Converted<T> result{std::vector<T>(size, T(-77)), convert::all_finite};
  Buffer<std::byte> bytes(stream, MemorySpace::device, stored.bytes.size());
  Buffer<T> target(stream, MemorySpace::device, size);
  Buffer<std::int64_t> found(stream, MemorySpace::device, 1);
  copy_async(bytes.span(), stored.bytes, stream);
  copy_async(target.span(), std::span<T const>(result.values), stream);
  copy_async(found.span(), std::span(&result.first_non_finite, 1), stream);
  stored.bytes = bytes.span();
  convert::convert<T>(stream, stored, target.span(), found.span(), variant);
  copy_async(std::span(result.values), std::as_const(target).span(), stream);
  copy_async(std::span(&result.first_non_finite, 1), std::as_const(found).span(), stream);
  stream.synchronize();
  return result;
}

/// The same, of stored numbers as long as T that lie where their values go.
template <class T>
Converted<T> converted_in_place(Stream& stream, convert::Stored stored, std::size_t size,
                                std::string_view variant) {
  Converted<T> result{std::vector<T>(size, T(-77)), convert::all_finite};
  if (!stored.bytes.empty())
    std::memcpy(result.values.data() + stored.first, stored.bytes.data(), stored.bytes.size());
  Buffer<T> target(stream, MemorySpace::device, size);
  Buffer<std::int64_t> found(stream, MemorySpace::device, 1);
  copy_async(target.span(), std::span<T const>(result.values), stream);
  copy_async(found.span(), std::span(&result.first_non_finite, 1), stream);
  auto const places = target.span().subspan(static_cast<std::size_t>(stored.first));
  stored.bytes = std::as_bytes(places).first(stored.bytes.size());
  convert::convert<T>(stream, stored, target.span(), found.span(), variant);
  copy_async(std::span(result.values), std::as_const(target).span(), stream);
  copy_async(std::span(&result.first_non_finite, 1), std::as_const(found).span(), stream);
  stream.synchronize();
  return result;
}

/// Random bytes: of reals also infinities and NaNs, whose payload no conversion keeps, are made
/// numbers, but for infinities at a few places.
inline std::vector<std::byte> random_numbers(NumberType const& type, std::size_t count) {
  std::mt19937_64 generator(count);
  auto const width = static_cast<std::size_t>(type.bytes);
  std::vector<std::byte> bytes(count * width);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(generator());
  if (type.kind != NumberKind::real) return bytes;
  std::size_t const upper = type.swapped ? 0 : width - 1;
  for (std::size_t i = 0; i < count; ++i) {
    std::byte& first = bytes[i * width + upper];
    first &= std::byte{0xbb};  // one bit of the exponent is 0
  }
  for (std::size_t i = count / 3; i < count; i += count / 2 + 1) {
    auto const number = std::span(bytes).subspan(i * width, width);
    std::ranges::fill(number, std::byte{0});
    std::size_t const next = type.swapped ? 1 : width - 2;
    number[upper] = type.bytes == 2 ? std::byte{0x7c} : std::byte{0x7f};
    number[next] = type.bytes == 2   ? std::byte{0}
                   : type.bytes == 4 ? std::byte{0x80}
                                     : std::byte{0xf0};
  }
  return bytes;
}

inline std::vector<NumberType> all_number_types() {
  std::vector<NumberType> types;
  for (auto const name : number_type_names()) {
    auto type = number_type_called(name).value();
    types.push_back(type);
    type.swapped = true;
    if (type.bytes > 1) types.push_back(type);
  }
  return types;
}

}  // namespace gridstride::test

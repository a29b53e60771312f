#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <string_view>
#include <vector>

#include "core/buffer.hpp"
#include "kernels/select/select.hpp"

/// Selections of all kinds, run on any device and compared on the host.
namespace gridstride::test {

/// Which flags are set. `special`: NaN and infinities and the least number are set, −0 is not.
enum class Flags { none, all, random, sparse, runs, last, special };
inline constexpr std::array<Flags, 7> flag_kinds = {Flags::none,   Flags::all,  Flags::random,
                                                    Flags::sparse, Flags::runs, Flags::last,
                                                    Flags::special};

template <class T>
std::vector<T> flags_of(Flags kind, std::size_t size) {
  using Limits = std::numeric_limits<T>;
  constexpr T special[] = {Limits::quiet_NaN(),  T(-0.0),
                           Limits::infinity(),   0,
                           Limits::denorm_min(), -Limits::infinity()};
  std::mt19937 generator(static_cast<unsigned>(size + 1));
  std::vector<T> flags(size);
  for (std::size_t i = 0; i < size; ++i) {
    auto const number = generator();
    switch (kind) {
      case Flags::none:
        flags[i] = 0;
        break;
      case Flags::all:
        flags[i] = 1;
        break;
      case Flags::random:
        flags[i] = number % 2 == 0 ? T(-3) : T(0);
        break;
      case Flags::sparse:
        flags[i] = number % 997 == 0;
        break;
      case Flags::runs:
        flags[i] = i / 1500 % 2 == 0;
        break;
      case Flags::last:
        flags[i] = i + 1 == size;
        break;
      case Flags::special:
        flags[i] = special[number % std::size(special)];
        break;
    }
  }
  return flags;
}

/// What a selection leaves in its outputs, which hold −7 before it.
template <class T>
struct Selected {
  std::vector<T> values;
  std::vector<std::int64_t> indices;
  std::int64_t count = -7;

  bool operator==(Selected const&) const = default;
};

/// Of the values 0.5, 1.5, …: each tells its place. `offset`: the arrays begin so many elements
/// after an address of the best alignment.
template <class T>
Selected<T> selected(Stream& stream, std::vector<T> const& flags, std::string_view variant,
                     std::size_t offset = 0, std::int64_t first = 0, bool with_indices = true) {
  std::size_t const size = flags.size();
  std::vector<T> host(offset + size);
  for (std::size_t i = 0; i < size; ++i) host[offset + i] = static_cast<T>(i) + T(0.5);
  Buffer<T> values(stream, MemorySpace::device, host.size()),
      mask(stream, MemorySpace::device, host.size()), out(stream, MemorySpace::device, size + 1);
  Buffer<std::int64_t> places(stream, MemorySpace::device, size + 1),
      count(stream, MemorySpace::device, 1);
  copy_async(values.span(), std::span(host), stream);
  stream.synchronize();
  std::ranges::copy(flags, host.begin() + static_cast<std::ptrdiff_t>(offset));
  copy_async(mask.span(), std::span(host), stream);
  Selected<T> result{std::vector<T>(size + 1, -7), std::vector<std::int64_t>(size + 1, -7)};
  copy_async(out.span(), std::span(result.values), stream);
  copy_async(places.span(), std::span(result.indices), stream);
  select::flagged<T>(stream, values.span().subspan(offset), mask.span().subspan(offset),
                     out.span().first(size), places.span().first(with_indices ? size : 0),
                     count.span(), first, variant);
  copy_async(std::span(result.values), out.span(), stream);
  copy_async(std::span(result.indices), places.span(), stream);
  copy_async(std::span(&result.count, 1), count.span(), stream);
  stream.synchronize();
  return result;
}

/// Runs every variant of the stream's backend on all kinds of flags, with changing alignment, with
/// and without indices, and compares it with the reference. Adds to `compared`.
template <class T>
void compare_selections(Stream& stream, std::size_t size, int& compared) {
  Stream host(Device::open(Backend::cpu));
  std::size_t turn = size;
  for (Flags const kind : flag_kinds) {
    auto const flags = flags_of<T>(kind, size);
    for (auto const& row : select::variants<T>()) {
      if (row.backend != stream.backend()) continue;
      std::size_t const offset = ++turn % 3;
      std::int64_t const first = turn % 2 == 0 ? 0 : std::int64_t{1} << 40;
      bool const with_indices = turn % 5 != 0;
      auto const expected = selected(host, flags, "reference", 0, first, with_indices);
      EXPECT_EQ(selected(stream, flags, row.name, offset, first, with_indices), expected)
          << row.name << " of " << size << ", flags " << static_cast<int>(kind) << ", arrays at "
          << offset << ", " << (with_indices ? "with" : "without") << " indices";
      ++compared;
    }
  }
}

}  // namespace gridstride::test

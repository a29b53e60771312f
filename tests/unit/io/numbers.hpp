#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <span>
#include <thread>
#include <vector>

#include "core/number_source.hpp"
#include "kernels/convert/decode.hpp"

namespace gridstride::io::test {

/// One stored number.
inline double decoded(std::byte const* bytes, NumberType const& type) {
  auto const with = [&]<int width>(std::integral_constant<int, width>) {
    convert::Bits<width> bits;
    std::memcpy(&bits, bytes, width);
    return convert::decode<width>(bits, type.kind, type.swapped);
  };
  switch (type.bytes) {
    case 1:
      return with(std::integral_constant<int, 1>());
    case 2:
      return with(std::integral_constant<int, 2>());
    case 4:
      return with(std::integral_constant<int, 4>());
    default:
      return with(std::integral_constant<int, 8>());
  }
}

/// Elements in C order, read `at_once` by several threads.
inline std::vector<std::byte> bytes_of(NumberSource const& numbers, std::int64_t at_once) {
  std::int64_t const size = numbers.size(), width = numbers.type().bytes;
  std::vector<std::byte> bytes(static_cast<std::size_t>(size * width));
  std::vector<std::thread> threads;
  constexpr std::int64_t count = 3;
  for (std::int64_t thread = 0; thread < count; ++thread)
    threads.emplace_back([&, thread] {
      for (std::int64_t first = thread * at_once; first < size; first += count * at_once)
        numbers.read(first, std::min(at_once, size - first), bytes.data() + first * width);
    });
  for (auto& thread : threads) thread.join();
  return bytes;
}

/// The same in the stored order, each brought to its place.
inline std::vector<std::byte> bytes_in_stored_order(NumberSource const& numbers,
                                                    std::int64_t at_once) {
  auto const width = static_cast<std::size_t>(numbers.type().bytes);
  std::vector<std::byte> bytes(static_cast<std::size_t>(numbers.size()) * width);
  std::vector<std::byte> part(static_cast<std::size_t>(at_once) * width);
  auto const order = numbers.order();
  for (std::int64_t first = 0; first < numbers.stored_size(); first += at_once) {
    std::int64_t const count = std::min(at_once, numbers.stored_size() - first);
    numbers.read_stored(first, count, part.data());
    for (std::int64_t i = 0; i < count; ++i) {
      std::int64_t const place = order ? order->place(first + i) : first + i;
      if (place >= 0)
        std::memcpy(bytes.data() + static_cast<std::size_t>(place) * width,
                    part.data() + static_cast<std::size_t>(i) * width, width);
    }
  }
  return bytes;
}

/// All numbers, the same whichever way they are read.
inline std::vector<double> values_of(NumberSource const& numbers) {
  std::int64_t const size = numbers.size(), width = numbers.type().bytes;
  std::vector<std::byte> bytes(static_cast<std::size_t>(size * width));
  numbers.read(0, size, bytes.data());
  for (std::int64_t const at_once : {std::int64_t{7}, std::max<std::int64_t>(1, size / 2 + 1)}) {
    EXPECT_EQ(bytes_of(numbers, at_once), bytes) << at_once << " at once";
    EXPECT_EQ(bytes_in_stored_order(numbers, at_once), bytes) << at_once << " at once";
  }
  EXPECT_EQ(bytes_in_stored_order(numbers, numbers.granule()), bytes);
  numbers.check_unchanged();
  std::vector<double> values;
  for (std::int64_t i = 0; i < size; ++i)
    values.push_back(decoded(bytes.data() + i * width, numbers.type()));
  return values;
}

}  // namespace gridstride::io::test

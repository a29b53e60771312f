#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <limits>
#include <random>
#include <string_view>
#include <vector>

#include "core/buffer.hpp"
#include "kernels/difference/difference.hpp"
#include "support/scan_cases.hpp"

/// Differences along every axis, run on any device and compared on the host.
namespace gridstride::test {

/// Random numbers of many magnitudes, so that differences round.
template <class T>
std::vector<T> rough_values(std::size_t size) {
  std::mt19937 generator(static_cast<unsigned>(size + 3));
  std::vector<T> values(size);
  for (auto& value : values) {
    T const magnitude = static_cast<T>(std::ldexp(1.0, static_cast<int>(generator() % 20)));
    value = std::uniform_real_distribution<T>(-1, 1)(generator) * magnitude;
  }
  return values;
}

/// The result, with two elements behind it that hold −7. `offset`: the arrays begin so many
/// elements after an address of the best alignment.
template <class T>
std::vector<T> differences(Stream& stream, difference::Shape const& shape, int order,
                           std::vector<T> const& values, std::string_view variant,
                           std::size_t offset = 0) {
  auto const size = static_cast<std::size_t>(shape.size_of_result(order));
  Buffer<T> input(stream, MemorySpace::device, offset + values.size()),
      output(stream, MemorySpace::device, offset + size + 2);
  copy_async(input.span().subspan(offset), std::span(values), stream);
  std::vector<T> result(offset + size + 2, -7);
  copy_async(output.span(), std::span(result), stream);
  difference::difference<T>(stream, shape, order, input.span().subspan(offset),
                            output.span().subspan(offset, size), variant);
  copy_async(std::span(result), output.span(), stream);
  stream.synchronize();
  return {result.begin() + static_cast<std::ptrdiff_t>(offset), result.end()};
}

/// Every variant of the stream's backend along every axis of a shape, against the reference.
template <class T>
void compare_differences(Stream& stream, std::array<std::int64_t, 3> const& points, int order,
                         int& compared) {
  Stream host(Device::open(Backend::cpu));
  std::size_t turn = static_cast<std::size_t>(points[0] + order);
  for (int axis = 0; axis < 3; ++axis) {
    difference::Shape const shape{points, axis};
    auto const values = rough_values<T>(static_cast<std::size_t>(shape.size()));
    auto const expected = differences(host, shape, order, values, "reference");
    for (auto const& row : difference::variants<T>()) {
      if (row.backend != stream.backend()) continue;
      std::size_t const offset = ++turn % 2;
      EXPECT_TRUE(same_bits(differences(stream, shape, order, values, row.name, offset), expected))
          << row.name << ", order " << order << " along axis " << axis << " of " << points[0]
          << " x " << points[1] << " x " << points[2] << ", arrays at " << offset;
      ++compared;
    }
  }
}

/// Lines, planes and volumes that are multiples of nothing and of everything.
inline constexpr std::array<std::array<std::int64_t, 3>, 12> difference_shapes = {{
    {0, 1, 1},
    {1, 1, 1},
    {2, 1, 1},
    {33, 1, 1},
    {1031, 1, 1},
    {4104, 1, 1},
    {1, 37, 1},
    {5, 300, 1},
    {1100, 9, 1},
    {64, 32, 16},
    {3, 4, 50},
    {17, 13, 11},
}};

}  // namespace gridstride::test

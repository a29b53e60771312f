#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "core/buffer.hpp"
#include "kernels/support/rank_transposition.hpp"

/// Rows that lie apart, in device memory.
namespace gridstride::test {

struct RowsCase {
  std::size_t width, rows, planes;  // bytes, numbers
  std::size_t from_more, to_more;   // bytes between rows
  std::size_t first = 0;            // byte of both arrays
};

inline std::vector<RowsCase> rows_cases() {
  std::vector<RowsCase> cases;
  for (std::size_t const width : {4, 8, 12, 16, 80, 4100, 16384})
    for (auto const& [rows, planes] :
         {std::pair<std::size_t, std::size_t>{1, 1}, {70, 1}, {3, 5}, {33, 7}})
      for (auto const& [from, to] :
           {std::pair<std::size_t, std::size_t>{0, 0}, {16, 0}, {4, 12}, {0, 48}})
        for (std::size_t const first : {0, 4})
          cases.push_back({width, rows, planes, from, to, first});
  return cases;
}

/// What is copied comes to its place, and nothing else changes. Planes have a row more than is copied.
inline void expect_copied_rows(Stream& stream, void copy(Stream& stream, CopiedRows const& copy)) {
  for (RowsCase const& one : rows_cases()) {
    std::size_t const from_pitch = one.width + one.from_more, to_pitch = one.width + one.to_more;
    auto const size = [&](std::size_t pitch) {
      return one.first + pitch * (one.rows + 1) * one.planes;
    };
    std::vector<std::byte> from(size(from_pitch)), to(size(to_pitch));
    for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::byte>(i * 7 % 251);
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = static_cast<std::byte>(i * 3 % 241);
    Buffer<std::byte> source(stream, MemorySpace::device, from.size()),
        target(stream, MemorySpace::device, to.size());
    copy_async(source.span(), std::span<std::byte const>(from), stream);
    copy_async(target.span(), std::span<std::byte const>(to), stream);
    copy(stream, {.from = source.data() + one.first,
                  .from_pitch = from_pitch,
                  .to = target.data() + one.first,
                  .to_pitch = to_pitch,
                  .width = one.width,
                  .rows = one.rows,
                  .planes = one.planes,
                  .from_plane = from_pitch * (one.rows + 1),
                  .to_plane = to_pitch * (one.rows + 1)});
    std::vector<std::byte> found(to.size());
    copy_async(std::span(found), std::as_const(target).span(), stream);
    stream.synchronize();
    for (std::size_t plane = 0; plane < one.planes; ++plane)
      for (std::size_t row = 0; row < one.rows; ++row) {
        std::size_t const number = plane * (one.rows + 1) + row;
        std::memcpy(to.data() + one.first + number * to_pitch,
                    from.data() + one.first + number * from_pitch, one.width);
      }
    EXPECT_EQ(found, to) << one.width << " bytes, " << one.rows << " rows, " << one.planes
                         << " planes, " << one.from_more << " and " << one.to_more << " between, "
                         << one.first;
  }
}

}  // namespace gridstride::test

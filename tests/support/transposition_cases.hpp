#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/support/rank_transposition.hpp"
#include "support/thread_ranks.hpp"

/// Planes that become columns, and columns that become planes, on ranks of one process.
namespace gridstride::test {

template <class T>
T transposed_value(int round, std::int64_t plane, std::int64_t column) {
  return static_cast<T>(10000 * round + 100 * plane + column);
}

/// A round's values go there from the planes, and back with one more from the columns.
template <class T>
void transpose(Stream& stream, RankTransposition& ways, RankPlanes const& planes, int round,
               std::int64_t pieces) {
  std::int64_t const own_planes = ways.own_planes(), own_columns = ways.own_columns(),
                     all_columns = ways.column_cuts().back();
  auto const cut = [&](std::int64_t count, std::int64_t piece) { return count * piece / pieces; };
  std::vector<T> values;
  for (std::int64_t plane = planes.lower(); plane < planes.upper(); ++plane)
    for (std::int64_t column = 0; column < all_columns; ++column)
      values.push_back(transposed_value<T>(round, plane, column));
  copy_async(ways.planes<T>(), std::span<T const>(values), stream);
  for (std::int64_t piece = 0; piece < pieces; ++piece)
    ways.send_planes(stream, cut(own_planes, piece), cut(own_planes, piece + 1));
  ways.await_columns(stream);
  std::vector<T> columns(ways.columns<T>().size());
  copy_async(std::span(columns), std::span<T const>(ways.columns<T>()), stream);
  stream.synchronize();
  ASSERT_EQ(std::ssize(columns), planes.all() * own_columns);
  for (std::int64_t i = 0; i < std::ssize(columns); ++i) {
    T& value = columns[static_cast<std::size_t>(i)];
    ASSERT_EQ(value,
              transposed_value<T>(round, i / own_columns, ways.first_column() + i % own_columns));
    value += 1;
  }
  copy_async(ways.columns<T>(), std::span<T const>(columns), stream);
  std::uint64_t const before = ways.last_piece();
  for (std::int64_t piece = 0; piece < pieces; ++piece)
    ways.send_columns(stream, cut(own_columns, piece), cut(own_columns, piece + 1));
  EXPECT_EQ(ways.last_piece(), before + static_cast<std::uint64_t>(pieces));
  for (std::uint64_t piece = before + 1; piece <= ways.last_piece(); ++piece)
    ways.await_planes(stream, piece);
  std::vector<T> found(values.size());
  copy_async(std::span(found), std::span<T const>(ways.planes<T>()), stream);
  stream.synchronize();
  for (std::size_t i = 0; i < found.size(); ++i) ASSERT_EQ(found[i], values[i] + 1) << i;
}

template <class T>
void expect_transposed(Backend backend, RankCuts const& cuts, RankCuts const& columns) {
  EXPECT_TRUE(on_ranks(static_cast<int>(cuts.size()) - 1, [&](Ranks& ranks) {
    Stream stream(Device::open(backend));
    RankPlanes const planes(ranks, stream, cuts, false, 256, 8);
    RankTransposition ways(planes, stream, columns, sizeof(T));
    for (int round = 0; round < 3; ++round) transpose<T>(stream, ways, planes, round, 1 + round);
  }));
}

/// Ranks of different sizes, and some that have no columns.
inline void expect_transpositions(Backend backend) {
  struct Case {
    RankCuts planes, columns;
  };
  Case const cases[] = {{{0, 1}, {0, 3}},
                        {{0, 5, 9}, {0, 6, 14}},
                        {{0, 2, 3, 7}, {0, 4, 4, 9}},
                        {{0, 1, 2, 3, 4, 7}, {0, 0, 2, 4, 4, 5}}};
  for (auto const& [planes, columns] : cases) {
    expect_transposed<double>(backend, planes, columns);
    expect_transposed<float>(backend, planes, columns);
  }
}

}  // namespace gridstride::test

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <thread>
#include <vector>

#include "core/buffer.hpp"
#include "kernels/support/rank_transposition.hpp"
#include "support/thread_ranks.hpp"
#include "unit/order/queues.hpp"

/// Whether pieces of a transposition come after what makes them, before what looks at them, and not
/// before what was there is taken.
namespace gridstride {

void cuda_copy_rows(Stream& stream, CopiedRows const& copy) {
  test::queue_work(stream.native(), [copy] {
    for (std::size_t plane = 0; plane < copy.planes; ++plane)
      for (std::size_t row = 0; row < copy.rows; ++row) {
        std::memcpy(copy.to_row(plane, row), copy.from_row(plane, row), copy.width);
        std::this_thread::yield();
      }
  });
}

void cuda_copy_own_rows(Stream& stream, CopiedRows const& copy) { cuda_copy_rows(stream, copy); }

void cuda_set_flag(Stream& stream, std::uint64_t* flag, std::uint64_t number) {
  test::queue_work(stream.native(), [=] { std::atomic_ref(*flag).store(number); });
}

void cuda_await_flags(Stream& stream, std::uint64_t const* flags, int count, int own,
                      std::uint64_t number) {
  auto* const numbers = const_cast<std::uint64_t*>(flags);
  test::queue_work(stream.native(), [=] {
    for (int rank = 0; rank < count; ++rank)
      while (rank != own && std::atomic_ref(numbers[rank]).load() < number)
        std::this_thread::yield();
  });
}

namespace {

constexpr std::int64_t all_columns = 11;

double made(int round, std::int64_t plane, std::int64_t column) {
  return 10000.0 * round + 100.0 * static_cast<double>(plane) + static_cast<double>(column);
}

/// Several rounds, which nothing waits for in between: a piece is made, sent, and the next one made.
void expect_rounds(Ranks& ranks, RankCuts const& cuts, RankCuts const& columns, bool directly,
                   int pieces) {
  Stream stream(Device::open(Backend::cuda));
  RankPlanes const planes(ranks, stream, cuts, false, 64, 8);
  RankTransposition ways(planes, stream, columns, sizeof(double), directly);
  EXPECT_EQ(ways.goes_in_pieces(), directly);
  auto const of_planes = ways.planes<double>(), of_columns = ways.columns<double>();
  std::int64_t const own = ways.own_columns(), first = ways.first_column();
  auto const wrong = std::make_shared<int>(0);
  auto const queue = [&](auto const& work) { test::queue_work(stream.native(), work); };
  auto const cut = [&](std::int64_t count, int piece) { return count * piece / pieces; };
  for (int round = 1; round <= 12; ++round) {
    for (int piece = 0; piece < pieces; ++piece) {
      std::int64_t const begin = cut(ways.own_planes(), piece),
                         end = cut(ways.own_planes(), piece + 1);
      queue([=, lower = planes.lower()] {
        for (std::int64_t i = begin * all_columns; i < end * all_columns; ++i)
          of_planes[static_cast<std::size_t>(i)] =
              made(round, lower + i / all_columns, i % all_columns);
      });
      ways.send_planes(stream, begin, end);
    }
    ways.await_columns(stream);
    for (int piece = 0; piece < pieces; ++piece) {
      std::int64_t const begin = cut(own, piece), end = cut(own, piece + 1);
      queue([=, all = planes.all()] {
        for (std::int64_t plane = 0; plane < all; ++plane)
          for (std::int64_t column = begin; column < end; ++column) {
            double& value = of_columns[static_cast<std::size_t>(plane * own + column)];
            *wrong += value != made(round, plane, first + column);
            value = -made(round, plane, first + column);
          }
      });
      ways.send_columns(stream, begin, end);
    }
    std::uint64_t const before = ways.last_piece() - static_cast<std::uint64_t>(pieces);
    for (int piece = 0; piece < pieces; ++piece) {
      ways.await_planes(stream, before + static_cast<std::uint64_t>(piece) + 1);
      for (int rank = 0; rank < ranks.count(); ++rank) {
        auto const at = static_cast<std::size_t>(rank);
        std::int64_t const theirs = columns[at + 1] - columns[at],
                           begin = columns[at] + cut(theirs, piece),
                           end = columns[at] + cut(theirs, piece + 1);
        queue([=, lower = planes.lower(), count = ways.own_planes()] {
          for (std::int64_t plane = 0; plane < count; ++plane)
            for (std::int64_t column = begin; column < end; ++column)
              *wrong += of_planes[static_cast<std::size_t>(plane * all_columns + column)] !=
                        -made(round, lower + plane, column);
        });
      }
    }
  }
  stream.synchronize();
  EXPECT_EQ(*wrong, 0);
}

TEST(RankOrder, OfTranspositions) {
  unsigned seed = 0;
  test::set_apart(true);
  for (bool const directly : {true, false})
    for (unsigned const pause : {30, 300})
      for (int const pieces : {1, 3}) {
        setenv("GRIDSTRIDE_TRANSPORT", directly ? "p2p" : "staged", 1);
        test::set_pauses(++seed, pause);
        EXPECT_TRUE(test::on_ranks(2, [&](Ranks& ranks) {
          expect_rounds(ranks, {0, 4, 9}, {0, 6, all_columns}, directly, pieces);
        }));
        EXPECT_TRUE(test::on_ranks(3, [&](Ranks& ranks) {
          expect_rounds(ranks, {0, 5, 6, 9}, {0, 4, 4, all_columns}, directly, pieces);
        }));
      }
  unsetenv("GRIDSTRIDE_TRANSPORT");
  test::set_apart(false);
}

}  // namespace
}  // namespace gridstride

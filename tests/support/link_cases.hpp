#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <random>
#include <string>
#include <vector>

#include "core/buffer.hpp"
#include "kernels/support/gpu_links.hpp"
#include "support/thread_ranks.hpp"

/// Messages over the links of ranks that are threads.
namespace gridstride::test {

inline std::vector<std::byte> message_of(int rank, int way, int number, std::size_t size) {
  std::minstd_rand random(static_cast<unsigned>(1 + 100 * rank + 50 * way + number));
  std::vector<std::byte> bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() >> 8);
  return bytes;
}

/// Messages in two pieces. What goes to a rank goes behind what came from it, so that up to two are on
/// each way at a time: each has to come, and in order. `check` is shown the links once they are open.
/// Ranks take so many devices in turns.
template <class Check>
void expect_messages(int count, Backend backend, bool around, Check const& check, int devices = 1) {
  EXPECT_TRUE(on_ranks(count, [&](Ranks& ranks) {
    constexpr std::size_t sizes[] = {1000, 777}, size = sizes[0] + sizes[1];
    constexpr int ways = 2, messages = 7;
    int const rank = ranks.rank(), last = count - 1;
    RanksBeside const beside = {rank > 0 ? rank - 1
                                : around ? last
                                         : -1,
                                rank < last ? rank + 1
                                : around    ? 0
                                            : -1};
    Stream stream(Device::open(backend, rank % devices));
    auto const opened = open_gpu_links(ranks, stream, beside, size, Meanwhile::nothing);
    check(opened);
    Buffer<std::byte> memory(stream, MemorySpace::device, 4 * ways * size);
    auto const pieces_at = [&](std::size_t place) {
      auto const here = memory.span().subspan(place * size, size);
      return RankLinks::Pieces{here.first(sizes[0]), here.last(sizes[1])};
    };
    auto const start = [&](int way, int number) {
      if (beside[static_cast<std::size_t>(way)] < 0) return;
      auto const place = static_cast<std::size_t>(2 * way + number % 2);
      auto const text = message_of(rank, way, number, size);
      copy_async(memory.span().subspan(place * size, size), std::span(text), stream);
      stream.synchronize();
      opened.links->start(way, pieces_at(place), stream);
    };
    auto const finish = [&](int way, int number) {
      int const from = beside[static_cast<std::size_t>(1 - way)];
      auto const place = static_cast<std::size_t>(2 * ways + way);
      auto const pieces = from >= 0 ? pieces_at(place) : RankLinks::Pieces();
      opened.links->finish(std::array{RankLinks::Arrival{way, pieces, &stream}});
      if (from < 0) return;
      std::vector<std::byte> come(size);
      copy_async(std::span(come), memory.span().subspan(place * size, size), stream);
      stream.synchronize();
      EXPECT_EQ(come, message_of(from, way, number, size)) << rank << " " << way << " " << number;
    };
    for (int way = 0; way < ways; ++way) start(way, 0);
    for (int number = 0; number < messages; ++number)
      for (int const turn : {0, 1}) {  // two ranks finish what goes between them at a time
        int const way = rank % 2 == 0 ? turn : 1 - turn;
        finish(1 - way, number);
        if (number + 1 < messages) start(way, number + 1);
      }
    opened.links->let_go(stream);
    stream.synchronize();
  }));
}

}  // namespace gridstride::test

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

struct LinkCase {
  std::vector<int> machines;  // of each rank
  bool around = false;        // in a ring
  Backend backend = Backend::cpu;
  int devices = 1;  // that ranks take in turns
};

inline LinkCase link_case(int count, bool around, Backend backend, int devices = 1) {
  return {machines_of(count, count), around, backend, devices};
}

inline OpenedLinks open_soonest(Ranks& ranks, Stream const& stream, RanksBeside const& beside,
                                std::size_t bytes) {
  return open_gpu_links(ranks, stream, beside, bytes, Meanwhile::nothing);
}

/// What a rank sends to those beside it, in two pieces, and what comes.
class Exchanges {
 public:
  static constexpr int ways = 2;
  static constexpr std::size_t sizes[] = {1000, 777}, size = sizes[0] + sizes[1];

  template <class Open>
  Exchanges(Ranks& ranks, LinkCase const& one, Open const& open)
      : rank_(ranks.rank()),
        beside_(beside_in(ranks, one.around)),
        stream_(Device::open(one.backend, rank_ % one.devices)),
        opened_(open(ranks, stream_, beside_, size)),
        memory_(stream_, MemorySpace::device, 4 * ways * size) {}

  OpenedLinks const& opened() const { return opened_; }

  void start(int way) {
    int const number = started_[index(way)]++;
    if (beside_[index(way)] < 0) return;
    auto const place = static_cast<std::size_t>(2 * way + number % 2);
    auto const text = message_of(rank_, way, number, size);
    copy_async(at(place), std::span(text), stream_);
    stream_.synchronize();
    opened_.links->start(way, pieces_at(place), stream_);
  }
  void finish(std::vector<int> const& together) {
    std::vector<RankLinks::Arrival> arrivals;
    for (int const way : together) {
      bool const comes = beside_[index(1 - way)] >= 0;
      arrivals.push_back({way, comes ? pieces_at(place_of(way)) : RankLinks::Pieces(), &stream_});
    }
    opened_.links->finish(arrivals);
    for (int const way : together) expect_come(way, finished_[index(way)]++);
  }
  void end() {
    opened_.links->let_go(stream_);
    stream_.synchronize();
  }

 private:
  static std::size_t index(int way) { return static_cast<std::size_t>(way); }
  static std::size_t place_of(int way) { return static_cast<std::size_t>(2 * ways + way); }
  static RanksBeside beside_in(Ranks const& ranks, bool around) {
    int const rank = ranks.rank(), last = ranks.count() - 1;
    return {rank > 0 ? rank - 1 : around ? last : -1, rank < last ? rank + 1 : around ? 0 : -1};
  }
  std::span<std::byte> at(std::size_t place) { return memory_.span().subspan(place * size, size); }
  RankLinks::Pieces pieces_at(std::size_t place) {
    return {at(place).first(sizes[0]), at(place).last(sizes[1])};
  }
  void expect_come(int way, int number) {
    int const from = beside_[index(1 - way)];
    if (from < 0) return;
    std::vector<std::byte> come(size);
    copy_async(std::span(come), std::span<std::byte const>(at(place_of(way))), stream_);
    stream_.synchronize();
    EXPECT_EQ(come, message_of(from, way, number, size)) << rank_ << " " << way << " " << number;
  }

  int rank_;
  RanksBeside beside_;
  Stream stream_;
  OpenedLinks opened_;
  Buffer<std::byte> memory_;
  std::array<int, ways> started_ = {}, finished_ = {};
};

/// What goes to a rank goes behind what came from it, so that up to two are on each way at a time: each
/// has to come, and in order. First from one side after the other, as two ranks finish what goes between
/// them at a time, then from both at once. `check` is shown the links once they are open.
template <class Check, class Open>
void expect_messages(LinkCase const& one, Check const& check, Open const& open) {
  EXPECT_TRUE(on_machines(one.machines, [&](Ranks& ranks) {
    constexpr int rounds = 7;
    Exchanges exchanges(ranks, one, open);
    check(exchanges.opened());
    auto const begin = [&] {
      for (int way = 0; way < Exchanges::ways; ++way) exchanges.start(way);
    };
    begin();
    for (int round = 0; round < rounds; ++round)
      for (int const turn : {0, 1}) {
        int const way = ranks.rank() % 2 == 0 ? turn : 1 - turn;
        exchanges.finish({1 - way});
        if (round + 1 < rounds) exchanges.start(way);
      }
    for (int round = 0; round < rounds; ++round) {
      begin();
      exchanges.finish({0, 1});
    }
    exchanges.end();
  }));
}

template <class Check>
void expect_messages(LinkCase const& one, Check const& check) {
  expect_messages(one, check, open_soonest);
}

}  // namespace gridstride::test

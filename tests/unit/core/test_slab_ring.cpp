#include "core/slab_ring.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace gridstride {
namespace {

Stream host() { return Stream(Device::open(Backend::cpu)); }

/// Work that takes long enough for other threads to come between.
void dawdle(std::int64_t piece) {
  for (std::int64_t i = 0; i < piece * 7 % 5; ++i) std::this_thread::yield();
}

/// Every piece is read once, to its place in a slab that is empty, and taken once from there.
TEST(SlabRing, PiecesGoThroughSlabsOnce) {
  for (std::int64_t const pieces : {0, 1, 2, 7, 64, 131})
    for (int const threads : {1, 2, 5})
      for (std::int64_t const each : {1, 3, 16})
        for (std::int64_t const slabs : {1, 2, 4}) {
          SlabRing ring(host(), {pieces, each, slabs, threads});
          constexpr std::int64_t empty = -1;
          std::vector<std::atomic<std::int64_t>> memory(static_cast<std::size_t>(slabs * each));
          for (auto& place : memory) place = empty;
          auto const place_of = [&](std::int64_t piece, std::size_t slab) -> auto& {
            return memory[slab * static_cast<std::size_t>(each) +
                          static_cast<std::size_t>(piece % each)];
          };
          std::vector<std::atomic<int>> taken(static_cast<std::size_t>(pieces));
          std::atomic<std::int64_t> copied = 0;
          SlabRing::Work work;
          work.fill = [&](std::int64_t piece, std::size_t slab) {
            ASSERT_LT(slab, static_cast<std::size_t>(slabs));
            EXPECT_EQ(place_of(piece, slab).exchange(piece), empty);
            dawdle(piece);
          };
          work.copy = [&](SlabRing::Filling const& filling, Stream&) {
            EXPECT_EQ(filling.first % each, 0);
            EXPECT_EQ(filling.last, std::min(filling.first + each, pieces));
            copied += filling.last - filling.first;
          };
          work.take = [&](SlabRing::Filling const& filling, Stream&) {
            for (auto piece = filling.first; piece < filling.last; ++piece) {
              EXPECT_EQ(place_of(piece, filling.slab).exchange(empty), piece);
              ++taken[static_cast<std::size_t>(piece)];
            }
          };
          EXPECT_GE(ring.run(work), 0);
          EXPECT_EQ(copied, pieces);
          for (auto const& times : taken) EXPECT_EQ(times, 1);
        }
}

TEST(SlabRing, ThreadsFillASlabTogether) {
  SlabRing ring(host(), {3, 3, 1, 3});
  std::atomic<int> there = 0;
  ring.run({[&](std::int64_t, std::size_t) {
              ++there;
              while (there < 3) std::this_thread::yield();
            },
            [](SlabRing::Filling const&, Stream&) {}, [](SlabRing::Filling const&, Stream&) {}});
  EXPECT_EQ(there, 3);
}

/// What the first faulty piece threw is thrown, however many threads there are and wherever others
/// wait; pieces before it are taken as far as their slabs are full.
TEST(SlabRing, TheFirstFailureIsTold) {
  for (int const threads : {1, 2, 6})
    for (std::int64_t const slabs : {1, 3})
      for (int repeat = 0; repeat < 20; ++repeat) {
        SlabRing ring(host(), {100, 4, slabs, threads});
        std::atomic<std::int64_t> taken = 0;
        SlabRing::Work work;
        work.fill = [](std::int64_t piece, std::size_t) {
          dawdle(piece);
          if (piece >= 41 && piece % 3 == 2) throw std::runtime_error(std::to_string(piece));
        };
        work.copy = [](SlabRing::Filling const&, Stream&) {};
        work.take = [&](SlabRing::Filling const& filling, Stream&) { taken = filling.last; };
        try {
          ring.run(work);
          ADD_FAILURE() << "nothing is thrown";
        } catch (std::runtime_error const& error) {
          EXPECT_STREQ(error.what(), "41");
        }
        EXPECT_LE(taken, 40);
      }
}

TEST(SlabRing, WhatTakingThrowsIsTold) {
  SlabRing ring(host(), {100, 4, 2, 3});
  SlabRing::Work work;
  work.fill = [](std::int64_t, std::size_t) {};
  work.copy = [](SlabRing::Filling const&, Stream&) {};
  work.take = [](SlabRing::Filling const& filling, Stream&) {
    if (filling.first >= 20) throw std::runtime_error("full");
  };
  EXPECT_THROW(ring.run(work), std::runtime_error);
}

/// Little memory however much there is to read, and none for what is not there.
TEST(SlabRing, ShapesAreSmall) {
  for (Backend const backend : {Backend::cpu, Backend::cuda}) {
    std::size_t const piece = SlabRing::piece_bytes(backend);
    for (std::int64_t const pieces : {0, 1, 3, 100, 100000}) {
      auto const shape = SlabRing::shape_for(backend, pieces, piece);
      auto const places = shape.slabs * shape.slab_pieces;
      EXPECT_GE(shape.slabs, 1);
      EXPECT_LE(places, std::max<std::int64_t>(pieces, 1) + shape.slab_pieces - 1);
      EXPECT_LE(static_cast<std::size_t>(places) * piece, std::size_t{48} << 20);
      EXPECT_LE(shape.threads, std::max<std::int64_t>(pieces, 1));
    }
  }
  // Packed pieces that are larger than a slab.
  auto const shape = SlabRing::shape_for(Backend::cuda, 1000, std::size_t{64} << 20);
  EXPECT_EQ(shape.slab_pieces, 1);
  EXPECT_EQ(shape.slabs, 2 * shape.threads);
}

}  // namespace
}  // namespace gridstride

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <stdexcept>

#include "support/copy_cases.hpp"
#include "support/transposition_cases.hpp"

namespace gridstride {
namespace {

TEST(RankTransposition, PlanesBecomeColumnsAndComeBack) {
  test::expect_transpositions(Backend::cpu);
}

/// A GPU takes no others.
TEST(CopiedRows, AreNoWiderThanTheyLieApart) {
  Stream stream(Device::open(Backend::cpu));
  std::array<std::byte, 6> from = {}, to = {};
  EXPECT_THROW(copy_rows(stream, {from.data(), 2, to.data(), 3, 3, 2}), std::invalid_argument);
  EXPECT_THROW(copy_rows(stream, {from.data(), 3, to.data(), 2, 3, 2}), std::invalid_argument);
  from[4] = std::byte{7};
  copy_rows(stream, {from.data(), 3, to.data(), 2, 2, 2});
  EXPECT_EQ(to[3], std::byte{7});
}

TEST(CopiedRows, ComeToTheirPlaces) {
  Stream stream(Device::open(Backend::cpu));
  test::expect_copied_rows(stream, copy_rows);
  test::expect_copied_rows(stream, copy_own_rows);
}

TEST(RankTransposition, IsOfAsManyPartsAsRanks) {
  EXPECT_TRUE(test::on_ranks(2, [](Ranks& ranks) {
    Stream stream(Device::open(Backend::cpu));
    RankPlanes const planes(ranks, stream, {0, 2, 4}, false, 8, 1);
    EXPECT_THROW(RankTransposition(planes, stream, {0, 8}, 8), std::invalid_argument);
  }));
}

/// Each has half of both arrays, and on the host room for what goes to the other one and comes from
/// it; on a GPU flags.
TEST(RankTransposition, TakesTwoArraysAndRoomForAMessageEachWay) {
  EXPECT_EQ(RankTransposition::bytes(Backend::cpu, {0, 32, 64}, {0, 16, 32}, 8),
            2 * (32 * 32 * 8) + 2 * (32 * 16 * 8));
  EXPECT_EQ(RankTransposition::bytes(Backend::cuda, {0, 32, 64}, {0, 16, 32}, 8),
            2 * (32 * 32 * 8) + 1024);
}

}  // namespace
}  // namespace gridstride

#include "model/hand_out.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <span>
#include <vector>

#include "support/thread_ranks.hpp"

namespace gridstride {
namespace {

/// Planes that go around the grid, once and more than once, none, and all.
TEST(HandOut, GivesEachRankThePlanesThatItAsksFor) {
  Grid const grid{.dims = 2, .points = {3, 5, 1}};
  std::vector<float> whole(15);
  for (std::size_t i = 0; i < whole.size(); ++i) whole[i] = static_cast<float>(i);
  std::vector<Planes> const asked = {{-2, 3}, {4, 6}, {0, 5}, {2, 2}, {-6, 11}};
  EXPECT_TRUE(test::on_ranks(5, [&](Ranks& ranks) {
    Stream stream(Device::open(Backend::cpu));
    auto const planes = asked[static_cast<std::size_t>(ranks.rank())];
    std::vector<float> here(static_cast<std::size_t>(3 * planes.count())), expected;
    for (std::int64_t plane = planes.lower; plane < planes.upper; ++plane)
      for (std::int64_t i = 0; i < 3; ++i)
        expected.push_back(static_cast<float>(3 * ((plane + 10) % 5) + i));
    hand_out<float>(stream, ranks, grid,
                    ranks.is_first() ? std::span<float const>(whole) : std::span<float const>(),
                    {planes}, here);
    EXPECT_EQ(here, expected) << ranks.rank();
  }));
}

TEST(HandOut, GathersWhatRanksHave) {
  RankCuts const cuts = {0, 3, 4, 9};
  constexpr std::int64_t plane = 5;
  EXPECT_TRUE(test::on_ranks(3, [&](Ranks& ranks) {
    Stream stream(Device::open(Backend::cpu));
    auto const rank = static_cast<std::size_t>(ranks.rank());
    std::vector<double> own(static_cast<std::size_t>((cuts[rank + 1] - cuts[rank]) * plane));
    for (std::size_t i = 0; i < own.size(); ++i)
      own[i] = static_cast<double>(cuts[rank] * plane) + static_cast<double>(i);
    std::vector<double> whole(ranks.is_first() ? 9 * plane : 0);
    gather_planes<double>(stream, ranks, cuts, plane, own, whole);
    for (std::size_t i = 0; i < whole.size(); ++i) EXPECT_EQ(whole[i], static_cast<double>(i));
  }));
}

}  // namespace
}  // namespace gridstride

#include "model/hand_out.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "model/values.hpp"
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

/// One plane, fewer than there are ranks, and more than go at once.
template <class T>
void expect_values_of_one_process(Grid const& grid, int count) {
  std::string const text = grid.dims == 1   ? "sin(9*x)/3"
                           : grid.dims == 2 ? "exp(x)*y"
                                            : "x + cos(3*y)*z";
  auto const source =
      source_of({text, expression::Expression::parse(text, {}, expression::space_and_time), {}});
  Stream stream(Device::open(Backend::cpu));
  std::vector<T> expected(static_cast<std::size_t>(grid.size()));
  fill<T>(stream, source, grid, {}, expected);
  EXPECT_TRUE(test::on_ranks(count, [&](Ranks& ranks) {
    std::vector<T> whole(ranks.is_first() ? expected.size() : 0);
    Stream own(Device::open(Backend::cpu));
    fill_by_ranks<T>(own, ranks, source, grid, {}, whole, "auto");
    EXPECT_TRUE(!ranks.is_first() || whole == expected) << count;
  }));
}

TEST(HandOut, RanksEvaluateFormulasTogether) {
  Grid line{.dims = 1, .points = {4'300'001, 1, 1}}, plane{.dims = 2, .points = {1301, 1700, 1}},
      volume{.dims = 3, .points = {5, 7, 3}};
  for (Grid* const grid : {&line, &plane, &volume}) {
    grid->origin = {0.3, -0.7, 0.11};
    grid->spacing = {1e-3 / 3, 0.7e-3, 0.1};
  }
  for (int const count : {1, 2, 3, 5}) {
    expect_values_of_one_process<double>(plane, count);
    expect_values_of_one_process<float>(volume, count);
  }
  expect_values_of_one_process<float>(line, 2);
  expect_values_of_one_process<float>({.dims = 2, .points = {40, 1, 1}}, 3);
}

}  // namespace
}  // namespace gridstride

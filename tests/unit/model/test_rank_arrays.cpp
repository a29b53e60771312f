// Slabs of arrays that ranks have in parts, each as a whole in one place; ranks are threads.

#include "model/rank_arrays.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>
#include <set>
#include <stdexcept>
#include <vector>

#include "model/bricks.hpp"
#include "support/thread_ranks.hpp"

namespace gridstride {
namespace {

struct Case {
  int dims;
  std::array<std::int64_t, 3> points;
  std::array<int, 3> parts;  // along the axes that are cut, the third one first
};

int count_of(Case const& of) { return of.parts[0] * of.parts[1] * of.parts[2]; }

template <class T>
SweepPlan plan_of(Case const& of) {
  SweepShape shape;
  shape.grid = {.dims = of.dims, .points = of.points, .spacing = {1, 1, 1}};
  shape.value_bytes = sizeof(T);
  return plan_ranks(shape, count_of(of), Backend::cpu, 1, {of.parts[1], of.parts[0]});
}

constexpr std::int64_t different = 8191;  // values of an array

template <class T>
T value_at(std::size_t array, std::int64_t place) {
  return static_cast<T>(place % different) + static_cast<T>(array) / 2;
}

/// A rank's planes of an array, and beside them what is nobody's.
template <class T>
std::vector<T> own_of(SweepPlan const& plan, int rank, std::size_t array) {
  auto const& points = plan.shape.grid.points;
  Grid const whole = whole_grid(plan);
  auto const begin = begin_of(extents_of(whole, plan.brick_of(rank)));
  auto const size = points_of(whole, plan.brick_of(rank));
  std::int64_t const planes = plan.owned_by(rank).count() * plan.shape.plane_values();
  std::vector<T> own(static_cast<std::size_t>(planes), T{-1});
  for (std::int64_t z = 0; z < size[2]; ++z)
    for (std::int64_t y = 0; y < size[1]; ++y)
      for (std::int64_t x = 0; x < size[0]; ++x)
        own[static_cast<std::size_t>(place_of_brick(plan) + place_in(points, {x, y, z}))] =
            value_at<T>(array, place_in(whole.points, {begin[0] + x, begin[1] + y, begin[2] + z}));
  return own;
}

/// How two arrays are looked at.
enum class Kind { one_by_one, together, made };

/// All slabs come once, with the values of the arrays, to as many ranks as may have them.
template <class T>
void expect_slabs(Case const& of, typename RankArrays<T>::Owners owners,
                  Kind kind = Kind::one_by_one) {
  SCOPED_TRACE(testing::Message() << of.points[0] << ' ' << of.points[1] << ' ' << of.points[2]
                                  << " in " << of.parts[0] << ' ' << of.parts[1] << ' '
                                  << of.parts[2] << ", " << sizeof(T));
  std::mutex mutex;
  std::set<std::pair<std::size_t, std::int64_t>> came;
  std::set<int> had;
  std::int64_t values = 0, wrong = 0;
  std::int64_t const points = RankArrays<T>::slab_points(kind == Kind::together ? 2 : 1);
  EXPECT_TRUE(test::on_ranks(count_of(of), [&](Ranks& ranks) {
    auto const plan = plan_of<T>(of).at_rank(ranks.rank());
    RankArrays<T> arrays(Stream(Device::open(Backend::cpu)), plan, ranks);
    std::vector<T> const first = own_of<T>(plan, ranks.rank(), 0),
                         second = own_of<T>(plan, ranks.rank(), 1);
    std::vector<typename RankArrays<T>::Together> own = {{first}, {second}};
    if (kind == Kind::together) own = {{first, second}};
    auto const make = [&](std::size_t array, PointBox const& box, T* made_values) {
      Grid const whole = whole_grid(plan);
      for (std::int64_t z = box[2].lower; z < box[2].upper; ++z)
        for (std::int64_t y = box[1].lower; y < box[1].upper; ++y)
          for (std::int64_t x = box[0].lower; x < box[0].upper; ++x)
            *made_values++ = value_at<T>(array, place_in(whole.points, {x, y, z}));
    };
    auto const use = [&](auto const& slab) {
      std::int64_t bad = 0, here = 0;
      for (std::size_t a = 0; a < slab.values.size(); ++a)
        for (std::int64_t place = slab.first; T const value : slab.values[a]) {
          bad += value != value_at<T>(slab.number + a, place++);
          ++here;
        }
      std::scoped_lock const lock(mutex);
      EXPECT_EQ(slab.first % points, 0);
      EXPECT_LE(here, RankArrays<T>::slab_values);
      EXPECT_TRUE(came.emplace(slab.number, slab.first).second);
      had.insert(ranks.rank());
      values += here;
      wrong += bad;
    };
    if (kind == Kind::made)
      arrays.look_at_made(2, make, owners, use);
    else
      arrays.look(own, owners, use);
  }));
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(values, 2 * of.points[0] * of.points[1] * of.points[2]);
  auto const slabs = static_cast<std::size_t>((values / 2 + points - 1) / points);
  EXPECT_EQ(came.size(), (kind == Kind::together ? 1 : 2) * slabs);
  if (owners == RankArrays<T>::Owners::first)
    EXPECT_EQ(had, std::set{0});
  else
    EXPECT_GE(had.size(), std::min<std::size_t>(came.size(), 2));
}

Case const cases[] = {{1, {1'200'007, 1, 1}, {1, 1, 3}}, {2, {1201, 1103, 1}, {1, 1, 2}},
                      {2, {901, 2411, 1}, {1, 1, 5}},    {2, {2111, 1301, 1}, {1, 3, 2}},
                      {3, {131, 103, 201}, {1, 1, 3}},   {3, {71, 173, 231}, {1, 3, 2}},
                      {3, {233, 71, 173}, {3, 2, 2}},    {2, {9, 31, 1}, {1, 2, 2}},
                      {3, {1501, 1203, 4}, {1, 2, 2}}};

TEST(RankArrays, EachSlabIsSomewhereAsAWhole) {
  int turn = 0;
  for (Case const& of : cases) {
    expect_slabs<double>(of, RankArrays<double>::Owners::all);
    if (++turn % 2 == 0)
      expect_slabs<double>(of, RankArrays<double>::Owners::first);
    else
      expect_slabs<double>(of, RankArrays<double>::Owners::all, Kind::made);
  }
  for (Case const& of : {cases[0], cases[3], cases[6]}) {
    expect_slabs<double>(of, RankArrays<double>::Owners::all, Kind::together);
    expect_slabs<double>(of, RankArrays<double>::Owners::first, Kind::together);
  }
  expect_slabs<float>(cases[3], RankArrays<float>::Owners::all);
  expect_slabs<float>(cases[6], RankArrays<float>::Owners::first);
}

TEST(RankArrays, SlabsMayBeCutElsewhere) {
  for (Case const& of : cases) {
    std::int64_t const size = of.points[0] * of.points[1] * of.points[2];
    std::vector<std::int64_t> const cuts = {size / 7, size / 5, size / 5 + 1, size / 2};
    std::mutex mutex;
    std::set<std::int64_t> came;
    std::int64_t wrong = 0, values = 0;
    EXPECT_TRUE(test::on_ranks(count_of(of), [&](Ranks& ranks) {
      auto const plan = plan_of<double>(of).at_rank(ranks.rank());
      Grid const whole = whole_grid(plan);
      auto const make = [&](std::size_t, PointBox const& box, double* made) {
        for (std::int64_t z = box[2].lower; z < box[2].upper; ++z)
          for (std::int64_t y = box[1].lower; y < box[1].upper; ++y)
            for (std::int64_t x = box[0].lower; x < box[0].upper; ++x)
              *made++ = value_at<double>(0, place_in(whole.points, {x, y, z}));
      };
      RankArrays<double> arrays(Stream(Device::open(Backend::cpu)), plan, ranks);
      auto const use = [&](auto const& slab) {
        std::scoped_lock const lock(mutex);
        came.insert(slab.first);
        for (std::int64_t place = slab.first; double const value : slab.values.front())
          wrong += value != value_at<double>(0, place++);
        values += std::ssize(slab.values.front());
      };
      arrays.look_at_made(1, make, RankArrays<double>::Owners::all, use, cuts);
    }));
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(values, cuts.back() - cuts.front());
    EXPECT_EQ(came, (std::set<std::int64_t>{cuts[0], cuts[1], cuts[2]}));
  }
}

/// What a rank alone has of an array is there in one stretch, and comes to nobody where it is skipped; all else does.
TEST(RankArrays, SlabsOfOneRankMayBeSkipped) {
  for (Case const& of : cases) {
    std::int64_t const size = of.points[0] * of.points[1] * of.points[2];
    std::mutex mutex;
    std::int64_t wrong = 0, values = 0, alone_values = 0;
    EXPECT_TRUE(test::on_ranks(count_of(of), [&](Ranks& ranks) {
      auto const plan = plan_of<double>(of).at_rank(ranks.rank());
      RankArrays<double> arrays(Stream(Device::open(Backend::cpu)), plan, ranks);
      auto const own = own_of<double>(plan, ranks.rank(), 0);
      auto const alone = arrays.alone(1);
      {
        std::scoped_lock const lock(mutex);
        alone_values += alone.last - alone.first;
        if (alone.first < alone.last)
          for (std::int64_t place = alone.first; double const value : arrays.own_values(own, alone))
            wrong += value != value_at<double>(0, place++);
      }
      std::vector<typename RankArrays<double>::Together> const all = {{own}};
      auto const use = [&](auto const& slab) {
        std::scoped_lock const lock(mutex);
        wrong += arrays.is_of_one(slab) ? 1 : 0;
        values += std::ssize(slab.values.front());
      };
      arrays.look(all, RankArrays<double>::Owners::all, use, [](std::size_t) { return true; });
    }));
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(values + alone_values, size);
  }
}

TEST(RankArrays, EachPointIsOneRanksOwn) {
  for (Case const& of : cases) {
    std::int64_t const size = of.points[0] * of.points[1] * of.points[2];
    std::mutex mutex;
    std::vector<std::int64_t> came(different, 0), expected(different, 0);  // how many of each value
    std::int64_t apart = 0;
    EXPECT_TRUE(test::on_ranks(count_of(of), [&](Ranks& ranks) {
      auto const plan = plan_of<double>(of).at_rank(ranks.rank());
      RankArrays<double> arrays(Stream(Device::open(Backend::cpu)), plan, ranks);
      auto const first = own_of<double>(plan, ranks.rank(), 0),
                 second = own_of<double>(plan, ranks.rank(), 1);
      arrays.look_at_own({first, second}, [&](auto const& some) {
        std::scoped_lock const lock(mutex);
        for (std::size_t i = 0; i < some.front().size(); ++i) {
          apart += some.back()[i] != some.front()[i] + 0.5;
          ++came.at(static_cast<std::size_t>(some.front()[i]));
        }
      });
    }));
    for (std::int64_t place = 0; place < size; ++place)
      ++expected[static_cast<std::size_t>(place % different)];
    EXPECT_EQ(apart, 0);
    EXPECT_TRUE(came == expected);
  }
}

/// The others go on with their exchanges, and who has failed throws.
TEST(RankArrays, WhatARankFailsInItsOwnThrows) {
  Case const& of = cases[5];
  EXPECT_TRUE(test::on_ranks(count_of(of), [&](Ranks& ranks) {
    auto const plan = plan_of<double>(of).at_rank(ranks.rank());
    RankArrays<double> arrays(Stream(Device::open(Backend::cpu)), plan, ranks);
    auto const values = own_of<double>(plan, ranks.rank(), 0);
    std::vector<RankArrays<double>::Together> const own = {{values}};
    auto const look = [&] {
      arrays.look(own, RankArrays<double>::Owners::all, [&](auto const&) {
        if (ranks.rank() == 1) throw std::runtime_error("full");
      });
    };
    if (ranks.rank() == 1)
      EXPECT_THROW(look(), std::runtime_error);
    else
      EXPECT_NO_THROW(look());
  }));
}

}  // namespace
}  // namespace gridstride

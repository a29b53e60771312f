#include "model/rank_steps.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>
#include <vector>

#include "support/rank_cases.hpp"

namespace gridstride {
namespace {

using enum SideKind;

constexpr std::array rank_counts = {2, 3, 5, 8};

TEST(RankSteps, DiffusionHasTheBitsOfOneProcess) {
  std::vector<std::array<SideKind, 2>> const kinds = {
      {periodic, periodic}, {dirichlet, neumann}, {neumann, dirichlet}};
  for (int const count : rank_counts)
    for (auto one : test::shared_sizes(kinds, count, 1))
      for (int const fused : {1, 3}) {
        one.fused_steps = fused;
        one.dims = 1 + (count + fused) % 3;
        test::expect_shared_diffusion_bits<double>(one, count, Backend::cpu);
        one.dims = 1 + one.dims % 3;
        test::expect_shared_diffusion_bits<float>(one, count, Backend::cpu);
      }
}

TEST(RankSteps, WavesHaveTheBitsOfOneProcess) {
  std::vector<std::array<SideKind, 2>> const kinds = {
      {periodic, periodic}, {fixed, free}, {free, fixed}};
  for (int const count : rank_counts)
    for (int const order : {2, 4, 8})
      for (auto one : test::shared_sizes(kinds, count, order / 2)) {
        one.order = order;
        one.dims = order == 8 ? 1 : 1 + count % 3;  // the other axes are short
        test::expect_shared_wave_bits<double>(one, count, Backend::cpu);
      }
}

TEST(RankSteps, AdvectionHasTheBitsOfOneProcess) {
  for (int const count : rank_counts) {
    test::expect_all_shared_advection_bits<float>(count, Backend::cpu);
    test::expect_all_shared_advection_bits<double>(count, Backend::cpu);
  }
}

SweepShape line(std::int64_t points) {
  return {.grid = {.dims = 1, .points = {points, 1, 1}}, .periodic = true};
}

/// Each step adds 1, and something else the times that others have changed the arrays.
TEST(RankSteps, GoOnAfterTheyHaveSettled) {
  constexpr std::int64_t points = 11;
  auto const pass = [](Stream&, Window<double> const& window) {
    for (std::int64_t i = 0; i < window.grid.size(); ++i) window.out[0][i] = window.in[0][i] + 1;
  };
  auto const work = [&](Ranks& ranks) {
    Stream const stream(Device::open(Backend::cpu));
    RankSteps<double> steps(
        stream, plan_ranks(line(points), 3, Backend::cpu, 2), [](std::int64_t) { return 1; },
        ranks);
    std::vector<double> values(ranks.is_first() ? points : 0, 1);
    double* const arrays[] = {values.data()};
    steps.run(arrays, 5, pass);
    steps.settle();
    steps.run(arrays, 4, pass);
    steps.run(arrays, 0, pass);
    steps.settle();
    steps.settle();
    EXPECT_EQ(std::ranges::count(values, 10.0), std::ssize(values));
    for (double& value : values) value = 100;
    steps.renew();
    steps.run(arrays, 3, pass);
    steps.settle();
    EXPECT_EQ(std::ranges::count(values, 103.0), std::ssize(values));
  };
  for (std::vector<int> const& machines : {std::vector{0, 0, 0}, {0, 1, 2}, {0, 0, 1}, {0, 1, 0}})
    EXPECT_TRUE(test::on_machines(machines, work));
}

/// A look has a rank's planes and those beside them, as they are after all steps, and the next steps go
/// on from the same halos.
TEST(RankSteps, AreLookedAtBetween) {
  constexpr std::int64_t points = 13;
  auto const pass = [](Stream&, Window<double> const& window) {
    for (std::int64_t i = 0; i < window.grid.size(); ++i) window.out[0][i] = 2 * window.in[0][i];
  };
  for (int const count : {2, 3, 5})
    for (std::int64_t const trip : {1, 2})
      EXPECT_TRUE(test::on_ranks(count, [&](Ranks& ranks) {
        Stream const stream(Device::open(Backend::cpu));
        auto const plan = plan_ranks(line(points), ranks.count(), Backend::cpu, trip);
        RankSteps<double> steps(
            stream, plan, [](std::int64_t) { return 1; }, ranks);
        std::vector<double> values;
        for (std::int64_t i = 0; ranks.is_first() && i < points; ++i)
          values.push_back(static_cast<double>(i + 1));
        double* const arrays[] = {values.data()};
        auto const expect = [&](double factor) {
          steps.look(arrays, LooksAt::beside, [&](Stream&, Window<double> const& window) {
            Planes const own = plan.owned_by(ranks.rank());
            EXPECT_EQ(window.first + window.made[0], own.lower);
            EXPECT_EQ(window.first + window.made[1], own.upper);
            EXPECT_EQ(window.grid.points[0], own.count() + 2 * plan.rank_halo());
            for (std::int64_t i = 0; i < window.grid.points[0]; ++i)
              EXPECT_EQ(window.in[0][i],
                        factor * static_cast<double>((window.first + i + points) % points + 1));
          });
        };
        expect(1);
        expect(1);
        steps.run(arrays, 3, pass);
        expect(8);
        steps.run(arrays, 1, pass);
        steps.settle();
        expect(16);
        for (double& value : values) value *= 3;
        steps.renew();
        expect(48);
        steps.run(arrays, 2, pass);
        expect(192);
      }));
}

/// The first step of values that were handed out goes by planes that ranks exchange, all others are made
/// in the place of a rank's own ones.
TEST(RankSteps, LeaveStepsOnTheChipToKernels) {
  auto shape = line(19);
  shape.chip_steps = 4;
  EXPECT_TRUE(test::on_ranks(2, [&](Ranks& ranks) {
    Stream const stream(Device::open(Backend::cpu));
    auto const plan = plan_ranks(shape, 2, Backend::cpu, {});
    Planes const own = plan.owned_by(ranks.rank());
    std::vector<int> on_chip;
    auto const pass = [&](Stream&, Window<double> const& window) {
      if (!window.on_chip) {
        EXPECT_EQ(window.steps, 1);
        for (std::int64_t i = 1; i + 1 < window.grid.size(); ++i)
          window.out[0][i] = window.in[0][i - 1] + window.in[0][i + 1];
        return;
      }
      EXPECT_EQ(window.first, own.lower);
      EXPECT_EQ(window.grid.size(), own.count());
      on_chip.push_back(window.steps);
      for (std::int64_t i = 0; i < window.grid.size(); ++i) window.in[0][i] += 100 * window.steps;
    };
    RankSteps<double> steps(
        stream, plan, [](std::int64_t) { return 1; }, ranks);
    std::vector<double> values(ranks.is_first() ? 19 : 0);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i);
    auto const neighbours = [&](double more) {
      auto expected = values;
      for (std::size_t i = 0; i < values.size(); ++i)
        expected[i] = values[(i + 18) % 19] + values[(i + 1) % 19] + more;
      return expected;
    };
    std::array const arrays = {values.data()};
    auto expected = neighbours(900);
    steps.run(arrays, 1, pass);
    steps.run(arrays, 7, pass);
    steps.run(arrays, 2, pass);
    steps.settle();
    EXPECT_EQ(values, expected);
    EXPECT_EQ(on_chip, (std::vector{7, 2}));
    for (double& value : values) value *= 3;
    steps.renew();
    expected = neighbours(300);
    steps.run(arrays, 4, pass);
    steps.settle();
    EXPECT_EQ(values, expected);
    EXPECT_EQ(on_chip, (std::vector{7, 2, 3}));
  }));
}

/// A step of a line: whole numbers, so that sums are exact. Beyond an end that is no cut there is 1.
double next_of(double lower, double center, double upper) {
  return std::fmod(lower + 2 * center + 5 * upper, 997);
}

std::vector<double> next_line(std::vector<double> const& line, bool periodic) {
  std::vector<double> next(line.size());
  for (std::size_t i = 0; i < line.size(); ++i) {
    bool const lowest = i == 0, highest = i + 1 == line.size();
    next[i] = next_of(lowest ? (periodic ? line.back() : 1) : line[i - 1], line[i],
                      highest ? (periodic ? line.front() : 1) : line[i + 1]);
  }
  return next;
}

/// Passes of two steps that make the planes alone that are wanted, of as many points each.
void make_two_steps(Stream&, Window<double> const& window) {
  ASSERT_EQ(window.steps % 2 == 0 || window.steps == 1, true);
  std::int64_t const planes = window.grid.points[window.grid.dims - 1];
  std::vector<double> now(window.in[0], window.in[0] + planes), next(now.size());
  for (int step = 0; step < window.steps; ++step) {
    for (std::int64_t i = 0; i < planes; ++i) {
      auto const at = static_cast<std::size_t>(i);
      bool const lowest = i == 0, highest = i + 1 == planes;
      double const nowhere = std::numeric_limits<double>::quiet_NaN();
      next[at] = next_of(lowest ? (window.cut[0] ? nowhere : 1) : now[at - 1], now[at],
                         highest ? (window.cut[1] ? nowhere : 1) : now[at + 1]);
    }
    std::swap(now, next);
  }
  for (std::int64_t i = window.made[0]; i < window.made[1]; ++i)
    window.out[0][i] = now[static_cast<std::size_t>(i)];
}

/// In two parts or more, where a rank has as few planes as can be and more; numbers of steps that leave
/// one for a trip by itself; arrays that others change meanwhile.
TEST(RankSteps, MakePassesInParts) {
  for (int const count : {2, 3, 5})
    for (int const dims : {1, 3})
      for (bool const periodic : {false, true})
        for (std::int64_t const planes : {4 * count, 4 * count + 1, 8 * count + 1, 19 * count - 1})
          EXPECT_TRUE(test::on_ranks(count, [&](Ranks& ranks) {
            Stream const stream(Device::open(Backend::cpu));
            SweepShape shape{.grid = {.dims = dims, .points = {1, 1, 1}},
                             .periodic = periodic,
                             .fused_steps = 2,
                             .parts = 6};
            shape.grid.points[static_cast<std::size_t>(dims - 1)] = planes;
            auto const plan = plan_ranks(shape, count, Backend::cpu, 2);
            ASSERT_EQ(plan.parts, std::min<std::int64_t>(planes / count / 2, 6));
            RankSteps<double> steps(
                stream, plan, [](std::int64_t left) { return left > 1 ? 2 : 1; }, ranks);
            std::vector<double> values(static_cast<std::size_t>(ranks.is_first() ? planes : 0));
            auto expected = values;
            double* const arrays[] = {values.data()};
            for (std::int64_t const some : {4, 1, 7, 6}) {
              for (std::size_t i = 0; i < values.size(); ++i)
                values[i] = expected[i] = std::fmod(expected[i] + static_cast<double>(i * i), 101);
              steps.renew();
              steps.run(arrays, some, make_two_steps);
              steps.run(arrays, some, make_two_steps);
              steps.settle();
              for (std::int64_t step = 0; step < 2 * some; ++step)
                expected = next_line(expected, periodic);
              EXPECT_EQ(values, expected) << count << " ranks, " << dims << "D, " << planes;
            }
          }));
}

/// Steps of a line whose first pass is queued within a look, before it is known how many steps there are:
/// the pass counts where they begin with it, and leaves no trace where they do not, or go on from others.
TEST(RankSteps, AreBegunBeforeTheyAreKnown) {
  constexpr std::int64_t points = 37;
  auto const next = [](std::int64_t left) { return left > 1 ? 2 : 1; };
  for (int const count : {2, 3})
    for (bool const periodic : {false, true})
      EXPECT_TRUE(test::on_ranks(count, [&](Ranks& ranks) {
        Stream const stream(Device::open(Backend::cpu));
        auto shape = line(points);
        shape.periodic = periodic;
        shape.fused_steps = 2;
        RankSteps<double> steps(stream, plan_ranks(shape, count, Backend::cpu, 6), next, ranks);
        std::vector<double> values(ranks.is_first() ? points : 0);
        for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i * i % 31);
        auto expected = values;
        double* const arrays[] = {values.data()};
        int passes = 0;
        auto const pass = [&](Stream& on, Window<double> const& window) {
          make_two_steps(on, window);
          ++passes;
        };
        auto const others = [](Stream&, Window<double> const& window) {
          for (std::int64_t i = window.made[0]; i < window.made[1]; ++i) window.out[0][i] = -5;
        };
        auto const begin = [&](typename RankSteps<double>::Pass const& with) {
          steps.look(arrays, LooksAt::own,
                     [&](Stream&, Window<double> const&) { EXPECT_EQ(steps.begin(with), 2); });
        };
        auto const make = [&](std::int64_t some, int more) {
          passes = 0;
          steps.run(arrays, some, pass);
          EXPECT_EQ(passes, more);
          for (std::int64_t step = 0; step < some && ranks.is_first(); ++step)
            expected = next_line(expected, periodic);
        };
        EXPECT_EQ(steps.begin(pass), 0);  // halos have not come
        make(3, 2);
        begin(pass);
        make(6, 2);  // of three
        begin(pass);
        make(2, 0);
        begin(pass);
        make(9, 4);  // in trips of six and three
        begin(others);
        make(1, 1);
        begin(others);
        steps.forget();
        make(4, 2);
        begin(others);
        steps.settle();
        EXPECT_EQ(values, expected);
        for (std::size_t i = 0; i < values.size(); ++i) values[i] = expected[i] = 3;
        steps.renew();
        make(4, 2);
        steps.settle();
        EXPECT_EQ(values, expected);
      }));
}

TEST(RankSteps, RefuseWhatIsNotTheirs) {
  EXPECT_TRUE(test::on_ranks(2, [&](Ranks& ranks) {
    Stream const stream(Device::open(Backend::cpu));
    auto const next = [](std::int64_t) { return 1; };
    EXPECT_THROW(RankSteps<double>(stream, plan_ranks(line(9), 3, Backend::cpu, 1), next, ranks),
                 std::invalid_argument);
    SweepPlan wide = plan_ranks(line(9), 2, Backend::cpu, 1);
    wide.trip_steps = 5;  // of four planes
    EXPECT_THROW(RankSteps<double>(stream, wide, next, ranks), std::invalid_argument);
    RankSteps<double> steps(stream, plan_ranks(line(9), 2, Backend::cpu, 1), next, ranks);
    EXPECT_THROW(steps.run({}, 1, {}), std::invalid_argument);
  }));
}

TEST(RankPlan, CutsNoPlanesThatBelongTogether) {
  for (std::int64_t const planes : {4, 7, 8, 16, 17, 18, 513}) {
    SweepShape shape{.grid = {.dims = 2, .points = {3, planes, 1}}, .together = 4};
    int const most = most_ranks(shape);
    EXPECT_EQ(most, std::max<std::int64_t>((planes + 2) / 4, 1));
    for (int ranks = 1; ranks <= std::min(most, 9); ++ranks) {
      auto const plan = plan_ranks(shape, ranks, Backend::cpu, {});
      std::int64_t next = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        auto const own = plan.owned_by(rank);
        EXPECT_EQ(own.lower, next);
        EXPECT_EQ(own.lower % 4, 0);
        EXPECT_GE(own.count(), 2);
        EXPECT_LE(own.count(), plan.slab_planes);
        next = own.upper;
      }
      EXPECT_EQ(next, planes);
    }
  }
}

TEST(RankPlan, HoldsItsNeighboursHalosToo) {
  auto plan = plan_ranks(line(20), 3, Backend::cpu, 2);
  EXPECT_EQ(plan.held_by(0).lower, -2);  // around
  EXPECT_EQ(plan.held_by(0).upper, plan.owned_by(1).lower + 2);
  EXPECT_EQ(plan.held_by(2).upper, 22);
  plan.shape.periodic = false;
  EXPECT_EQ(plan.held_by(0).lower, 0);
  EXPECT_EQ(plan.held_by(1).lower, plan.owned_by(1).lower - 2);
  EXPECT_EQ(plan.held_by(2).upper, 20);
}

TEST(RankPlan, MakesAnExchangeForEachStepThatIsUnlikeOthers) {
  auto shape = line(1 << 20);
  shape.alike = false;
  EXPECT_EQ(plan_ranks(shape, 2, Backend::cpu, {}).trip_steps, 1);
  EXPECT_EQ(plan_ranks(shape, 2, Backend::cpu, 7).trip_steps, 1);
}

TEST(RankPlan, StaysOnTheChipWhereNothingElseIsWanted) {
  auto shape = line(1 << 10);
  shape.parts = 4;
  auto const bytes = plan_ranks(shape, 2, Backend::cuda, 16).device_bytes();
  shape.chip_steps = 16;
  shape.chip_bytes = 12345;
  auto const plan = plan_ranks(shape, 2, Backend::cuda, {});
  EXPECT_TRUE(plan.on_chip);
  EXPECT_EQ(plan.trip_steps, 16);
  EXPECT_EQ(plan.parts, 1);
  EXPECT_EQ(plan.device_bytes(), bytes + 12345);
  auto const wanted = plan_ranks(shape, 2, Backend::cuda, 16);
  EXPECT_FALSE(wanted.on_chip);
  EXPECT_EQ(wanted.device_bytes(), bytes);
}

TEST(RankPlan, OwnsEveryPlaneOnce) {
  for (int const count : {2, 3, 7, 16})
    for (std::int64_t const points : {32, 33, 47, 1000}) {
      auto const plan = plan_ranks(line(points), count, Backend::cpu, {});
      std::int64_t end = 0;
      for (int rank = 0; rank < count; ++rank) {
        auto const own = plan.owned_by(rank);
        EXPECT_EQ(own.lower, end);
        EXPECT_GE(own.count(), plan.rank_halo());
        EXPECT_LE(own.count(), plan.slab_planes);
        end = own.upper;
      }
      EXPECT_EQ(end, points);
    }
}

TEST(RankPlan, MakesMoreStepsForEachExchangeWherePlanesAreSmall) {
  auto shape = line(1 << 20);
  auto const thin = plan_ranks(shape, 2, Backend::cpu, {});
  shape.grid = {.dims = 3, .points = {512, 512, 512}};
  auto const thick = plan_ranks(shape, 2, Backend::cpu, {});
  EXPECT_GE(thin.trip_steps, 10);
  EXPECT_EQ(thick.trip_steps, 1);
  EXPECT_EQ(plan_ranks(shape, 2, Backend::cpu, 7).trip_steps, 7);
  shape.fused_steps = 4;
  EXPECT_EQ(plan_ranks(shape, 2, Backend::cuda, {}).trip_steps % 4, 0);
}

TEST(RankPlan, MakesPartsWhereAPassTakesLong) {
  SweepShape shape{.grid = {.dims = 2, .points = {16384, 8192, 1}}, .fused_steps = 8};
  shape.values_per_update = 2.0 / shape.fused_steps;
  EXPECT_EQ(plan_ranks(shape, 2, Backend::cuda, {}).parts, 1);
  shape.parts = 4;
  auto const plan = plan_ranks(shape, 2, Backend::cuda, {});
  EXPECT_EQ(plan.parts, 4);
  EXPECT_EQ(plan.trip_steps, 8);
  EXPECT_EQ(plan.link_planes, 4 * 8);
  EXPECT_EQ(plan_ranks(shape, 2, Backend::cuda, 16).parts, 1);
  shape.grid.points[0] = 512;
  EXPECT_EQ(plan_ranks(shape, 2, Backend::cuda, {}).parts, 1);
  EXPECT_EQ(plan_ranks(shape, 2, Backend::cuda, 8).parts, 4);
  for (auto const& [planes, parts] : {std::pair(64, 4), {63, 3}, {32, 2}, {31, 1}}) {
    shape.grid.points[1] = planes;
    EXPECT_EQ(plan_ranks(shape, 2, Backend::cuda, 8).parts, parts);
  }
  // As many bytes in a pass: 0.18 ms.
  SweepShape volume{
      .grid = {.dims = 3, .points = {512, 512, 512}}, .fused_steps = 2, .value_bytes = 4};
  volume.values_per_update = 2.0 / volume.fused_steps;
  volume.parts = 4;
  EXPECT_EQ(plan_ranks(volume, 2, Backend::cuda, {}).parts, 4);
  volume.grid = {.dims = 2, .points = {16384, 8192, 1}};
  EXPECT_EQ(plan_ranks(volume, 2, Backend::cuda, {}).parts, 1);
}

TEST(RankPlan, KnowsHowManyRanksCanShareAGrid) {
  EXPECT_EQ(most_ranks(line(9)), 4);
  auto shape = line(9);
  shape.reach = 4;
  EXPECT_EQ(most_ranks(shape), 2);
  EXPECT_EQ(most_ranks(line(1)), 1);
  // Planes that are not cut, of steps that look far: 22 planes are 4, 4, 4, 4 and 6.
  SweepShape far{.grid = {.dims = 2, .points = {3, 22, 1}}, .together = 4};
  for (auto const& [reach, most] : {std::pair(4, 5), {5, 3}, {10, 2}, {11, 1}}) {
    far.reach = reach;
    EXPECT_EQ(most_ranks(far), most) << reach;
  }
  auto const plan = plan_ranks(far, 1, Backend::cpu, {});
  EXPECT_EQ(plan.least_planes(), 22);
}

}  // namespace
}  // namespace gridstride

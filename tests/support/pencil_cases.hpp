#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <vector>

#include "model/rank_steps.hpp"
#include "support/thread_ranks.hpp"

/// Steps of ranks that cut the two slowest axes, beside the same steps of a whole grid.
namespace gridstride::test {

inline SweepShape pencil_shape(int dims, bool around, bool around_across, std::int64_t reach) {
  SweepShape shape{.grid = {.dims = dims, .points = {3, 13, 17}},
                   .periodic = around,
                   .reach = reach,
                   .fused_steps = 2,
                   .periodic_across = around_across};
  if (dims == 2) shape.grid.points = {13, 17, 1};
  return shape;
}

/// Whole numbers, so that sums are exact: of all points of a square across the two slowest axes, corners
/// too, each with another weight. Beyond an end that is none of a ring there are ones.
inline std::vector<double> next_of_square(std::vector<double> const& now, Grid const& grid,
                                          bool around, bool around_across, std::int64_t reach) {
  auto const slowest = static_cast<std::size_t>(grid.dims - 1);
  std::int64_t const planes = grid.points[slowest], across = grid.points[slowest - 1],
                     line = grid.size() / planes / across;
  auto const inside = [](std::int64_t& at, std::int64_t points, bool wraps) {
    if (wraps) at = (at % points + points) % points;
    return at >= 0 && at < points;
  };
  std::vector<double> next(now.size());
  for (std::int64_t k = 0; k < planes; ++k)
    for (std::int64_t j = 0; j < across; ++j)
      for (std::int64_t i = 0; i < line; ++i) {
        double sum = 0, weight = 1;
        for (std::int64_t dk = -reach; dk <= reach; ++dk)
          for (std::int64_t dj = -reach; dj <= reach; ++dj, ++weight) {
            std::int64_t z = k + dk, y = j + dj;
            bool const there = inside(z, planes, around) && inside(y, across, around_across);
            sum +=
                weight * (there ? now[static_cast<std::size_t>(i + line * (y + across * z))] : 1);
          }
        next[static_cast<std::size_t>(i + line * (j + across * k))] = std::fmod(sum, 997);
      }
  return next;
}

/// Makes the steps of a window, a grid of its own with the sides of the whole but where planes go on.
inline void make_squares(SweepShape const& shape, Window<double> const& window) {
  std::vector<double> now(window.in[0], window.in[0] + window.grid.size());
  bool const around = shape.periodic && !window.cut[0];
  for (int step = 0; step < window.steps; ++step)
    now = next_of_square(now, window.grid, around, shape.periodic_across, shape.reach);
  std::ranges::copy(now, window.out[0]);
}

inline std::vector<double> pencil_values(std::int64_t size) {
  std::vector<double> values(static_cast<std::size_t>(size));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = std::fmod(static_cast<double>(i * i), 101);
  return values;
}

/// Of so many parts along the second slowest axis, and along the slowest one, by ranks that are on these
/// machines. `queue` queues work on a stream of the backend.
inline void expect_pencil_bits(
    SweepShape const& shape, std::array<int, 2> const& parts, std::int64_t trip,
    std::vector<int> const& machines, Backend backend = Backend::cpu,
    std::function<void(Stream&, std::function<void()>)> const& queue =
        [](Stream&, std::function<void()> const& work) { work(); }) {
  EXPECT_TRUE(on_machines(machines,
                          [&](Ranks& ranks) {
                            Stream const stream(Device::open(backend));
                            auto const plan =
                                plan_ranks(shape, ranks.count(), backend, trip, parts[0]);
                            RankSteps<double> steps(
                                stream, plan.at_rank(ranks.rank()),
                                [](std::int64_t left) { return left > 1 ? 2 : 1; }, ranks);
                            auto expected = pencil_values(shape.grid.size());
                            auto values = ranks.is_first() ? expected : std::vector<double>();
                            double* const arrays[] = {values.data()};
                            auto const pass = [&](Stream& on, Window<double> const& window) {
                              queue(on, [shape, window] { make_squares(shape, window); });
                            };
                            for (std::int64_t const some : {5, 1, 2}) {
                              steps.run(arrays, some, pass);
                              steps.settle();
                              for (std::int64_t step = 0; step < some; ++step)
                                expected = next_of_square(expected, shape.grid, shape.periodic,
                                                          shape.periodic_across, shape.reach);
                              if (ranks.is_first()) {
                                EXPECT_EQ(values, expected);
                              }
                              for (double& value : expected) value = std::fmod(value + 3, 211);
                              if (ranks.is_first()) values = expected;
                              steps.renew();
                            }
                          }))
      << parts[0] << " x " << parts[1] << ", " << trip << " steps a trip";
}

}  // namespace gridstride::test

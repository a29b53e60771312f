#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <vector>

#include "model/rank_steps.hpp"
#include "support/thread_ranks.hpp"

/// Steps of ranks that cut several axes, beside the same steps of a whole grid.
namespace gridstride::test {

/// `around` along the slowest axis, and along the others.
inline SweepShape pencil_shape(int dims, bool around, bool around_across, std::int64_t reach,
                               bool around_third = false) {
  SweepShape shape{.grid = {.dims = dims, .points = {3, 13, 17}},
                   .periodic = around,
                   .reach = reach,
                   .fused_steps = 2,
                   .periodic_across = {around_across, around_third}};
  if (dims == 2) shape.grid.points = {13, 17, 1};
  return shape;
}

/// Of a grid whose lines are long enough to be cut.
inline SweepShape brick_shape(bool around, bool around_across, bool around_third,
                              std::int64_t reach) {
  auto shape = pencil_shape(3, around, around_across, reach, around_third);
  shape.grid.points = {11, 7 * reach, 5 * reach + 3};
  return shape;
}

/// Whole numbers, so that sums are exact: of all points of a box, corners too, each with another weight.
/// Beyond an end that is none of a ring there are ones.
inline std::vector<double> next_of_box(std::vector<double> const& now, Grid const& grid,
                                       std::array<bool, 3> const& around, std::int64_t reach) {
  auto const inside = [&](std::size_t axis, std::int64_t& at) {
    std::int64_t const points = grid.points[axis];
    if (around[axis]) at = (at % points + points) % points;
    return at >= 0 && at < points;
  };
  std::array<std::int64_t, 3> far = {};
  for (std::size_t axis = 0; axis < static_cast<std::size_t>(grid.dims); ++axis) far[axis] = reach;
  auto const next_of = [&](std::array<std::int64_t, 3> const& at) {
    double sum = 0, weight = 1;
    for (std::int64_t dz = -far[2]; dz <= far[2]; ++dz)
      for (std::int64_t dy = -far[1]; dy <= far[1]; ++dy)
        for (std::int64_t dx = -far[0]; dx <= far[0]; ++dx, ++weight) {
          std::int64_t x = at[0] + dx, y = at[1] + dy, z = at[2] + dz;
          bool const there = inside(0, x) && inside(1, y) && inside(2, z);
          auto const place =
              static_cast<std::size_t>(there ? x + grid.points[0] * (y + grid.points[1] * z) : 0);
          sum += weight * (there ? now[place] : 1);
        }
    return std::fmod(sum, 997);
  };
  std::vector<double> next(now.size());
  for (std::size_t i = 0; i < next.size(); ++i)
    next[i] = next_of(grid.indices(static_cast<std::int64_t>(i)));
  return next;
}

/// Which axes of a shape's grid are rings.
inline std::array<bool, 3> rings_of(SweepShape const& shape) {
  std::array<bool, 3> rings = {};
  rings[static_cast<std::size_t>(shape.grid.dims - 1)] = shape.periodic;
  for (std::size_t which = 0; which < strip_axes; ++which)
    if (int const axis = axis_of_strips(shape.grid.dims, which); axis >= 0)
      rings[static_cast<std::size_t>(axis)] = shape.periodic_across[which];
  return rings;
}

/// Makes the steps of a window, a grid of its own with the sides of the whole but where planes go on.
inline void make_boxes(SweepShape const& shape, Window<double> const& window) {
  std::vector<double> now(window.in[0], window.in[0] + window.grid.size());
  auto rings = rings_of(shape);
  if (window.cut[0]) rings[static_cast<std::size_t>(shape.grid.dims - 1)] = false;
  for (int step = 0; step < window.steps; ++step)
    now = next_of_box(now, window.grid, rings, shape.reach);
  std::ranges::copy(now, window.out[0]);
}

inline std::vector<double> pencil_values(std::int64_t size) {
  std::vector<double> values(static_cast<std::size_t>(size));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = std::fmod(static_cast<double>(i * i), 101);
  return values;
}

/// Of so many parts along the second slowest axis, along the slowest one, and along the third one, by ranks
/// that are on these machines. `queue` queues work on a stream of the backend.
inline void expect_pencil_bits(
    SweepShape const& shape, std::array<int, 3> const& parts, std::int64_t trip,
    std::vector<int> const& machines, Backend backend = Backend::cpu,
    std::function<void(Stream&, std::function<void()>)> const& queue =
        [](Stream&, std::function<void()> const& work) { work(); }) {
  EXPECT_TRUE(on_machines(
      machines,
      [&](Ranks& ranks) {
        Stream const stream(Device::open(backend));
        auto const plan = plan_ranks(shape, ranks.count(), backend, trip, {parts[0], parts[2]});
        RankSteps<double> steps(
            stream, plan.at_rank(ranks.rank()), [](std::int64_t left) { return left > 1 ? 2 : 1; },
            ranks);
        auto expected = pencil_values(shape.grid.size());
        auto values = ranks.is_first() ? expected : std::vector<double>();
        double* const arrays[] = {values.data()};
        auto const pass = [&](Stream& on, Window<double> const& window) {
          queue(on, [shape, window] { make_boxes(shape, window); });
        };
        for (std::int64_t const some : {5, 1, 2}) {
          steps.run(arrays, some, pass);
          steps.settle();
          if (ranks.is_first()) {
            for (std::int64_t step = 0; step < some; ++step)
              expected = next_of_box(expected, shape.grid, rings_of(shape), shape.reach);
            EXPECT_EQ(values, expected);
            for (double& value : expected) value = std::fmod(value + 3, 211);
            values = expected;
          }
          steps.renew();
        }
      }))
      << parts[2] << " x " << parts[0] << " x " << parts[1] << ", " << trip << " steps a trip";
}

}  // namespace gridstride::test

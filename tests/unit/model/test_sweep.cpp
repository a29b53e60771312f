#include "model/sweep.hpp"

#include <gtest/gtest.h>

#include "support/sweep_cases.hpp"

namespace gridstride {
namespace {

using enum SideKind;

TEST(Sweep, DiffusionHasTheBitsOfStepsInCore) {
  std::vector<std::array<SideKind, 2>> const kinds = {
      {periodic, periodic}, {dirichlet, neumann}, {neumann, dirichlet}};
  for (auto one : test::sweep_sizes(kinds, 1))
    for (int const fused : {1, 3}) {
      one.fused_steps = fused;
      for (int const dims : {1, 3}) {
        one.dims = dims;
        test::expect_diffusion_bits<double>(one, Backend::cpu);
      }
      one.dims = 2;
      test::expect_diffusion_bits<float>(one, Backend::cpu);
    }
}

TEST(Sweep, WavesHaveTheBitsOfStepsInCore) {
  std::vector<std::array<SideKind, 2>> const kinds = {
      {periodic, periodic}, {fixed, free}, {free, fixed}};
  for (int const order : {2, 4, 8})
    for (auto one : test::sweep_sizes(kinds, order / 2)) {
      one.order = order;
      for (int const dims : {1, 2, 3}) {
        one.dims = dims;
        if (dims > 1 && order == 8) continue;  // the other axes are short
        test::expect_wave_bits<double>(one, Backend::cpu);
      }
    }
}

TEST(Sweep, GoesOnAfterItHasSettled) {
  Stream stream(Device::open(Backend::cpu));
  test::SweepCase const one{.planes = 12, .sides = {periodic, periodic}};
  Sweep<double> sweep(stream, test::plan_of(one, 1, 1, 1, 8), [](std::int64_t) { return 1; });
  std::vector<double> values(static_cast<std::size_t>(one.grid().size()), 1);
  double* const arrays[] = {values.data()};
  // Each step adds 1.
  auto const pass = [](Stream&, Window<double> const& window) {
    for (std::int64_t i = 0; i < window.grid.size(); ++i) window.out[0][i] = window.in[0][i] + 1;
  };
  for (int i = 0; i < 4; ++i) {
    sweep.run(arrays, 5, pass);
    if (i % 2 == 0) sweep.settle();
  }
  sweep.settle();
  EXPECT_EQ(std::ranges::count(values, 21.0), std::ssize(values));
  auto const report = sweep.report();
  EXPECT_EQ(report.steps, 20);
  EXPECT_EQ(report.trips, 8);
  EXPECT_EQ(sweep.report().bytes, report.bytes);
  double* const too_many[] = {values.data(), values.data()};
  EXPECT_THROW(sweep.run(too_many, 1, pass), std::invalid_argument);
}

SweepShape cube(bool periodic) {
  return {.grid = {.dims = 3, .points = {2048, 2048, 2048}},
          .periodic = periodic,
          .fused_steps = 2,
          .value_bytes = 4,
          .values_per_update = 1};
}

TEST(SweepPlan, StaysWithinItsLimitsAndUsesThem) {
  for (bool const periodic : {false, true})
    for (double const bytes : {0x1p30, 0x1p33, 0x1p35}) {
      auto const plan = plan_sweep(cube(periodic), {.device_bytes = bytes});
      ASSERT_TRUE(plan);
      EXPECT_LE(static_cast<double>(plan->device_bytes()), bytes);
      EXPECT_EQ(plan->trip_steps % 2, 0);
      if (bytes < 0x1p35) {
        EXPECT_GE(static_cast<double>(plan->device_bytes()), 0.8 * bytes);
      }
    }
}

/// Trips of many steps are what it is for.
TEST(SweepPlan, MakesEnoughStepsForTheBus) {
  auto const plan = plan_sweep(cube(true), {.device_bytes = 0x1p33});
  ASSERT_TRUE(plan);
  EXPECT_GE(plan->trip_steps, 30);
  EXPECT_GE(plan->slab_planes, 32);
}

TEST(SweepPlan, TakesWhatItIsTold) {
  SweepLimits limits{.device_bytes = 0x1p33, .slab_bytes = 10.5 * 0x1p24, .trip_steps = 7};
  auto const plan = plan_sweep(cube(true), limits);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->slab_planes, 10);
  EXPECT_EQ(plan->trip_steps, 7);
  limits.slab_bytes = 1;
  EXPECT_EQ(plan_sweep(cube(true), limits)->slab_planes, 1);
  limits.slab_bytes = 0x1p50;
  EXPECT_LE(static_cast<double>(plan_sweep(cube(true), limits)->device_bytes()), 0x1p33);
  // No more than there is room for.
  limits.device_bytes = 0x1p30;
  limits.trip_steps = 1000;
  auto const smaller = plan_sweep(cube(true), limits);
  ASSERT_TRUE(smaller);
  EXPECT_LT(smaller->trip_steps, 1000);
  EXPECT_EQ(smaller->slab_planes, 1);
}

/// Around a periodic axis a trip goes once at most.
TEST(SweepPlan, SmallGridsHaveShortTrips) {
  auto shape = cube(true);
  shape.grid.points[2] = 9;
  shape.reach = 4;
  EXPECT_EQ(plan_sweep(shape, {.device_bytes = 0x1p40, .trip_steps = 100})->trip_steps, 2);
  shape.grid.points[2] = 3;
  EXPECT_EQ(plan_sweep(shape, {.device_bytes = 0x1p40})->trip_steps, 1);
}

TEST(SweepPlan, SaysWhereNothingFits) {
  EXPECT_FALSE(plan_sweep(cube(true), {.device_bytes = 0x1p24}));
  EXPECT_FALSE(plan_sweep(cube(true), {.device_bytes = -1}));
}

}  // namespace
}  // namespace gridstride

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <functional>
#include <string>

#include "support/advection_cases.hpp"

namespace gridstride {
namespace {

using test::AdvectionRun;

/// Cells along an axis of the coarser grid that a scheme is tried on; 0: it is not.
struct Grids {
  int upwind, lax_wendroff, weno5;
};

/// Tries all schemes. `courant` is below their limits.
void expect_orders(Grids const& grids, double courant, std::string const& what,
                   std::function<AdvectionRun(std::string const& scheme, int cells)> const& make) {
  auto const order = [&](std::string const& scheme, int cells) {
    return test::order_in_space([&](int n) { return make(scheme, n); }, cells, courant,
                                Backend::cpu);
  };
  if (grids.upwind > 0) {
    EXPECT_NEAR(order("upwind", grids.upwind), 1, 0.1) << what;
  }
  if (grids.lax_wendroff > 0) {
    EXPECT_NEAR(order("lax_wendroff", grids.lax_wendroff), 2, 0.1) << what;
  }
  if (grids.weno5 > 0) {
    EXPECT_GE(order("weno5", grids.weno5), 4.8) << what;
  }
}

TEST(AdvectionOrder, ConstantVelocityAndEveryKindOfSide) {
  for (auto const* sides : {"p", "o"})
    for (double const speed : {1.0, -0.8})
      expect_orders({400, 40, 48}, 0.5, fmt::format("{} {}", sides, speed),
                    [&](std::string const& scheme, int n) {
                      return test::carried_waves(scheme, sides, n, {speed, 0, 0}, 0.3);
                    });
}

TEST(AdvectionOrder, SeveralDimensions) {
  struct Case {
    std::string sides;
    std::array<double, 3> speeds;
    Grids grids;
  };
  for (auto const& [sides, speeds, grids] :
       {Case{"pp", {1, -0.6, 0}, {128, 24, 24}}, Case{"oo", {0.7, -1, 0}, {128, 48, 40}},
        Case{"po", {1, 0.5, 0}, {128, 48, 40}}, Case{"ppp", {1, -0.6, 0.4}, {32, 16, 12}},
        Case{"oop", {-0.4, 0.8, 1}, {32, 20, 0}}})
    expect_orders(grids, sides.size() == 2 ? 0.5 : 0.4, sides,
                  [&](std::string const& scheme, int n) {
                    return test::carried_waves(scheme, sides, n, speeds, 0.2);
                  });
}

TEST(AdvectionOrder, VelocityThatChangesInSpace) {
  expect_orders({800, 80, 96}, 0.5, "stretched in 1D", [](std::string const& scheme, int n) {
    return test::stretched_waves(scheme, 1, n, 0.05);
  });
  expect_orders({128, 48, 32}, 0.4, "stretched in 2D", [](std::string const& scheme, int n) {
    return test::stretched_waves(scheme, 2, n, 0.05);
  });
  expect_orders({400, 100, 50}, 0.5, "gathered",
                [](std::string const& scheme, int n) { return test::gathered(scheme, n, 0.2); });
}

/// What flows into half a cell keeps the mass, and is a derivative that is not the wall's.
TEST(AdvectionOrder, BesideWalls) {
  auto const order = [](std::string const& scheme, int cells) {
    return test::order_in_space([&](int n) { return test::between_walls(scheme, n, 0.2); }, cells,
                                0.9, Backend::cpu);
  };
  EXPECT_NEAR(order("upwind", 200), 1, 0.1);
  EXPECT_NEAR(order("lax_wendroff", 100), 1, 0.1);
  EXPECT_NEAR(order("weno5", 80), 4, 0.1);
}

TEST(AdvectionOrder, RotationWithAlternatingSweeps) {
  expect_orders({0, 100, 0}, 0.2, "lax_wendroff", [](std::string const& scheme, int n) {
    return test::rotated_hill(scheme, n, 0.1);
  });
  expect_orders({0, 0, 96}, 0.6, "weno5", [](std::string const& scheme, int n) {
    return test::rotated_hill(scheme, n, 0.05);
  });
}

/// The observed order when the step of a run on a fixed grid is halved.
double order_in_time(AdvectionRun run, double step) {
  run.step = fmt::format("{}", step);
  auto const coarse = test::solution_error(run.yaml(), Backend::cpu);
  run.step = fmt::format("{}", step / 2);
  auto const fine = test::solution_error(run.yaml(), Backend::cpu);
  return test::observed_order(coarse, fine);
}

TEST(AdvectionOrder, RungeKuttaHasOrderThreeInTime) {
  // On these grids the error of order five in space is below a hundredth of that in time.
  for (auto const* sides : {"p", "o"}) {
    EXPECT_GE(order_in_time(test::carried_waves("weno5", sides, 100, {1, 0, 0}, 0.3), 0.0125), 2.9)
        << sides;
    EXPECT_GE(order_in_time(test::carried_waves("weno5", sides, 100, {-1, 0, 0}, 0.3), 0.0125), 2.9)
        << sides;
    EXPECT_GE(order_in_time(test::swinging_wave("weno5", sides, 120, 0.3), 0.005), 2.9) << sides;
  }
}

TEST(AdvectionOrder, VelocityThatChangesWithTime) {
  for (auto const* sides : {"p", "o"})
    expect_orders({400, 50, 0}, 0.5, sides, [&](std::string const& scheme, int n) {
      return test::swinging_wave(scheme, sides, n, 0.3);
    });
}

}  // namespace
}  // namespace gridstride

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <tuple>

#include "support/wave_cases.hpp"

namespace gridstride {
namespace {

/// Dimensions, kinds of sides, cells along an axis of the coarser grid.
using SpaceCase = std::tuple<int, std::string, int>;

class WaveSpaceOrder : public testing::TestWithParam<SpaceCase> {};

TEST_P(WaveSpaceOrder, IsThatOfTheDifferences) {
  auto const& [dims, sides, cells] = GetParam();
  for (int const order : {2, 4, 6, 8}) {
    // Steps so short that dt², too, goes with h to the power of the order.
    int const steps = 2 * cells, finer = steps << (order / 2);
    auto const coarse =
        test::solution_error(test::standing(dims, sides, order, cells, steps), Backend::cpu);
    auto const fine =
        test::solution_error(test::standing(dims, sides, order, 2 * cells, finer), Backend::cpu);
    EXPECT_NEAR(test::observed_order(coarse, fine), order, 0.1)
        << "errors " << coarse.maximum << ", " << fine.maximum;
  }
}

INSTANTIATE_TEST_SUITE_P(Wave, WaveSpaceOrder,
                         testing::Values(SpaceCase{1, "pp", 36}, SpaceCase{1, "00", 18},
                                         SpaceCase{1, "==", 18}, SpaceCase{1, "0=", 18},
                                         SpaceCase{2, "pp00", 18}, SpaceCase{2, "===0", 18},
                                         SpaceCase{3, "pp0===", 12}),
                         [](auto const& one) {
                           std::string name;
                           for (char const c : std::get<1>(one.param)) name += c == '=' ? 'f' : c;
                           return name;
                         });

TEST(WaveTimeOrder, IsTwo) {
  for (auto const* sides : {"pp", "0="}) {
    auto const coarse = test::solution_error(test::standing(1, sides, 8, 48, 60), Backend::cpu);
    auto const fine = test::solution_error(test::standing(1, sides, 8, 48, 120), Backend::cpu);
    EXPECT_NEAR(test::observed_order(coarse, fine), 2, 0.1) << sides;
  }
}

/// Moments that no step divides: each leg has steps of its own length, and some are of one step.
TEST(WaveTimeOrder, IsTwoWhereStepsChange) {
  std::array<double, 2> errors = {};
  for (int const i : {0, 1}) {
    test::WaveRun run(test::standing(1, "00", 8, 48, 60 << i));
    for (double const until : {0.0173, 0.1414, 0.1501, 0.2718, 0.3141, 0.4, 0.4003, 0.6})
      run.go(until);
    errors[static_cast<std::size_t>(i)] = run.error().maximum;
  }
  EXPECT_NEAR(std::log2(errors[0] / errors[1]), 2, 0.1) << errors[0] << ", " << errors[1];
}

}  // namespace
}  // namespace gridstride

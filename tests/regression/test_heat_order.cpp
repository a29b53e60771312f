#include <gtest/gtest.h>

#include <string>
#include <tuple>

#include "support/heat_implicit_cases.hpp"

namespace gridstride {
namespace {

/// Dimensions, kinds of sides, cells along an axis of the coarser grid.
using SpaceCase = std::tuple<int, std::string, int>;

class HeatSpaceOrder : public testing::TestWithParam<SpaceCase> {};

TEST_P(HeatSpaceOrder, IsTwo) {
  auto const& [dims, sides, cells] = GetParam();
  // With the step at the stability limit, h² is also the order of forward Euler's error.
  for (auto const* scheme : {"ftcs", "rk4"}) {
    auto const coarse =
        test::solution_error(test::manufactured(dims, sides, cells, scheme), Backend::cpu);
    auto const fine =
        test::solution_error(test::manufactured(dims, sides, 2 * cells, scheme), Backend::cpu);
    EXPECT_NEAR(test::observed_order(coarse, fine), 2, 0.1)
        << scheme << ": errors " << coarse.maximum << ", " << fine.maximum;
  }
}

INSTANTIATE_TEST_SUITE_P(Heat, HeatSpaceOrder,
                         testing::Values(SpaceCase{1, "pp", 32}, SpaceCase{1, "dd", 32},
                                         SpaceCase{1, "nn", 32}, SpaceCase{1, "dn", 32},
                                         SpaceCase{2, "pppp", 24}, SpaceCase{2, "dddd", 24},
                                         SpaceCase{2, "nnnn", 24}, SpaceCase{2, "ppdn", 24},
                                         SpaceCase{2, "ndpp", 24}, SpaceCase{3, "pppppp", 16},
                                         SpaceCase{3, "dddddd", 16}, SpaceCase{3, "nnnnnn", 16},
                                         SpaceCase{3, "ppdnnd", 16}),
                         [](auto const& one) { return std::get<1>(one.param); });

TEST(HeatTimeOrder, FtcsIsOne) {
  for (char const side : {'d', 'n'}) {
    auto const coarse = test::solution_error(test::quadratic("ftcs", side, 200), Backend::cpu);
    auto const fine = test::solution_error(test::quadratic("ftcs", side, 400), Backend::cpu);
    EXPECT_NEAR(test::observed_order(coarse, fine), 1, 0.1) << side;
  }
}

TEST(HeatTimeOrder, Rk4IsFour) {
  for (char const side : {'d', 'n'}) {
    auto const coarse = test::solution_error(test::quadratic("rk4", side, 40), Backend::cpu);
    auto const fine = test::solution_error(test::quadratic("rk4", side, 80), Backend::cpu);
    EXPECT_NEAR(test::observed_order(coarse, fine), 4, 0.1)
        << side << ": l2 errors " << coarse.l2 << ", " << fine.l2;
  }
}

/// With as many steps as cells, the error of time is of the same order.
TEST(HeatImplicitSpaceOrder, IsTwo) {
  for (auto const* scheme : {"crank_nicolson", "tr_bdf2"})
    for (auto const& [dims, sides, cells] :
         {SpaceCase{1, "dn", 32}, SpaceCase{2, "ppdn", 24}, SpaceCase{2, "nnnn", 24},
          SpaceCase{3, "ppdnnd", 12}}) {
      auto const error = [&, dims = dims, &sides = sides](int n) {
        auto yaml = test::manufactured(dims, sides, n, scheme);
        yaml.replace(yaml.find("end: 0.1"), 8, fmt::format("end: 0.1, step: {}", 0.2 / n));
        return test::solution_error(yaml, Backend::cpu);
      };
      auto const coarse = error(cells), fine = error(2 * cells);
      EXPECT_NEAR(test::observed_order(coarse, fine), 2, 0.12)
          << scheme << ' ' << sides << ": errors " << coarse.maximum << ", " << fine.maximum;
    }
}

/// With sides that change in time, where axes are split and where α varies.
TEST(HeatTimeOrder, ImplicitSchemesHaveTheirs) {
  constexpr std::array<double, 3> orders = {1, 2, 2};
  for (std::size_t i = 0; i < orders.size(); ++i)
    for (std::string const sides :
         {"dd", "dn", "dddd", "nnnn", "dnnd", "ddnn", "dddddd", "dnnddn", "ddnndn"})
      for (bool const variable : {false, true}) {
        // Differences take α' at a Neumann side to first order.
        if (variable && !sides.starts_with("dd")) continue;
        auto const yaml = [&](int steps) {
          return test::split(test::products(test::implicit_schemes[i], sides, variable, steps));
        };
        int const steps = orders[i] == 1 ? 128 : 32;
        auto const coarse = test::solution_error(yaml(steps), Backend::cpu);
        auto const fine = test::solution_error(yaml(2 * steps), Backend::cpu);
        EXPECT_NEAR(test::observed_order(coarse, fine), orders[i], 0.1)
            << test::implicit_schemes[i] << ' ' << sides << ' ' << variable << ": errors "
            << coarse.maximum << ", " << fine.maximum;
      }
}

}  // namespace
}  // namespace gridstride

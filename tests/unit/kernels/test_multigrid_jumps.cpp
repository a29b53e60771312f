// Multigrid where coefficients or spacings differ by orders of magnitude.

#include <gtest/gtest.h>

#include <cmath>
#include <span>
#include <string_view>
#include <vector>

#include "support/multigrid_cases.hpp"

namespace gridstride::multigrid::test {
namespace {

TEST(Multigrid, FactorsWithAnisotropyAndJumps) {
  Stream stream(Device::open(Backend::cpu));
  for (double const stretch : {1000.0, 30.0, 3.0, 1.28, 0.7, 0.001})
    for (auto const& sides : {"dddd", "nnnn", "ppdn"})
      expect_factor(stream, {{129, 100}, sides, stretch}, 0.2);
  for (double const stretch : {1000.0, 1.28, 0.001})
    expect_factor(stream, {{33, 40, 33}, "dddddd", stretch}, 0.2);
  for (double const inside : {1e3, 1e-6}) {
    expect_factor(stream, {{129, 129}, "dddd", 1, inside}, 0.2);
    expect_factor(stream, {{100, 131}, "nnnn", 1, inside}, 0.2);
  }
  for (double const inside : {1e6, 1e-6}) {
    expect_conjugate_factor(stream, {{129, 129}, "dddd", 1, inside}, 0.2);
    expect_conjugate_factor(stream, {{100, 131}, "nnnn", 1, inside}, 0.2);
    expect_conjugate_factor(stream, {{33, 40, 33}, "ppdddd", 1, inside}, 0.2);
  }
}

/// Where large values of a touch at edges and corners, where they are round, and where they are thin beside
/// a given side or each other.
TEST(Multigrid, FewDirectionsWhateverJumps) {
  Stream stream(Device::open(Backend::cpu));
  for (std::string_view const variant : {"reference", "threads"})
    expect_few_directions(stream,
                          {{Jumps::ball, {65, 65, 65}, 1e6, 8},
                           {Jumps::ball, {65, 65, 65}, 1e-6, 7},
                           {Jumps::ball, {72, 40, 51}, 1e6, 9},
                           {Jumps::chessboard, {49, 49}, 1e6, 11},
                           {Jumps::chessboard, {65, 65}, 1e6, 11},
                           {Jumps::chessboard, {129, 129}, 1e6, 11},
                           {Jumps::chessboard, {65, 65}, 1e-6, 12},
                           {Jumps::chessboard, {41, 43, 45}, 1e6, 12},
                           {Jumps::boxes_at_a_corner, {65, 65, 65}, 1e6, 14},
                           {Jumps::plate_at_a_side, {33, 33}, 1e6, 8},
                           {Jumps::plate_at_a_side, {129, 129}, 1e6, 9},
                           {Jumps::plate_at_a_side, {257, 200}, 1e6, 10},
                           {Jumps::plate_at_a_side, {65, 50, 65}, 1e6, 9},
                           {Jumps::plates_with_a_gap, {64, 65}, 1e6, 10},
                           {Jumps::plates_with_a_gap, {129, 129}, 1e6, 11},
                           {Jumps::plates_with_a_gap, {257, 200}, 1e6, 12},
                           {Jumps::plates_with_a_gap, {64, 65, 50}, 1e6, 14}},
                          variant);
}

/// Of directions for fields those that jump have a second sweep on the way up, also around a ring; those
/// that do not, none.
TEST(Multigrid, SweepsAreChosenByJumps) {
  Stream stream(Device::open(Backend::cpu));
  auto equation = equation_of({{32, 33}, "ppdd"});
  auto const size = static_cast<std::size_t>(equation.grid.size());
  std::vector<double> a(size), f(size), kappa(size, 0.5);
  equation.diffusivities = a.data();
  for (std::size_t p = 0; p < size; ++p) f[p] = std::sin(static_cast<double>(p * p % 1000));
  auto const residuals = [&](int after) {
    std::vector<double> u(size, 0);
    return Solver<double>(stream, equation, false, {.conjugates = true, .after = after})
        .solve(stream, f, std::span(u))
        .residuals;
  };
  auto const expect_sweeps = [&](int after, auto const& value) {
    for (std::size_t p = 0; p < size; ++p) {
      auto const at = equation.grid.indices(static_cast<std::int64_t>(p));
      a[p] = value(static_cast<double>(at[0]), static_cast<double>(at[1]));
    }
    EXPECT_NE(residuals(1), residuals(2));
    EXPECT_EQ(residuals(-1), residuals(after));
  };
  expect_sweeps(1,
                [](double i, double j) { return std::exp(1.5 * std::sin(i / 32 * 6.28) + j / 9); });
  expect_sweeps(2, [](double i, double j) { return i > 9 && i < 20 && j > 12 ? 1.6 : 1.0; });
  expect_sweeps(2, [](double, double j) { return j > 12 ? 1.0 : 0.1; });
  expect_sweeps(2, [](double i, double) { return std::exp(i / 8); });
  equation.reactions = kappa.data();
  expect_sweeps(2, [](double, double) { return 1.0; });
}

}  // namespace
}  // namespace gridstride::multigrid::test

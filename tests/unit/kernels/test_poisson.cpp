#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "kernels/poisson/line_spectrum.hpp"
#include "support/aggregation_cases.hpp"
#include "support/conjugate_cases.hpp"
#include "support/poisson_kernel_cases.hpp"
#include "support/refusal.hpp"
#include "support/shared_equation_cases.hpp"
#include "support/shared_transform_cases.hpp"

namespace gridstride::poisson::test {
namespace {

TEST(PoissonKernels, HaveTheEquationsOfMatrices) {
  Stream stream(Device::open(Backend::cpu));
  expect_known_equations(stream);
}

TEST(PoissonKernels, LinesHaveTheirCoefficients) {
  Stream stream(Device::open(Backend::cpu));
  expect_coefficients<double>(stream);
  expect_coefficients<float>(stream);
}

TEST(PoissonKernels, ManyPieces) {
  Stream stream(Device::open(Backend::cpu));
  expect_large(stream);
}

TEST(PoissonKernels, LayersGiveWhatTransformsDo) {
  Stream stream(Device::open(Backend::cpu));
  expect_layers<double>(stream);
  expect_layers<float>(stream);
  expect_singular_layers(stream);
}

TEST(PoissonKernels, ConjugateGradientsHaveTheMatrices) {
  Stream stream(Device::open(Backend::cpu));
  expect_symmetric_operators(stream);
}

TEST(PoissonKernels, EigenvectorsTakeAnIterationEach) {
  Stream stream(Device::open(Backend::cpu));
  expect_few_conjugate_iterations(stream);
}

TEST(PoissonKernels, DirectionsInFloat32) {
  Stream stream(Device::open(Backend::cpu));
  expect_rounded_directions(stream, 24);
}

TEST(PoissonKernels, MatricesHaveTheEquations) {
  Stream stream(Device::open(Backend::cpu));
  expect_rows_of_all_sides(stream);
}

TEST(PoissonKernels, AggregationTakesSquaresAtRandom) {
  Stream stream(Device::open(Backend::cpu));
  expect_squares_at_random(stream, {65, 70}, "dddd", 100);
  expect_squares_at_random(stream, {65, 60}, "nnpp", 100);
  expect_squares_at_random(stream, {17, 20, 24}, "dnppnd", 100);
  expect_orders_of_magnitude(stream, {129, 130}, "dddd", 70);
  expect_orders_of_magnitude(stream, {33, 30, 31}, "dnppnd", 60);
  expect_open_means(stream);
}

TEST(PoissonKernels, RanksShareEquationsBitByBit) { expect_shared_equations(Backend::cpu); }

TEST(PoissonKernels, RanksShareTransformsBitByBit) { expect_shared_transforms(Backend::cpu); }

TEST(PoissonKernels, SharedTransformsGoInPieces) {
  for (int const pieces : {1, 2, 3, 8})
    for (int const ranks : {2, 3}) {
      expect_pieces<double>({9, 11}, "dnpp", ranks, pieces);
      expect_pieces<float>({400, 9}, "nndd", ranks, pieces);
      expect_pieces<double>({5, 13, 8}, "ppddnn", ranks, pieces);
      expect_pieces<float>({4, 6, 9}, "ndppdd", ranks, pieces);
    }
}

TEST(PoissonKernels, RanksShareTransformsOfTwoUnknownsAlongX) {
  EXPECT_TRUE(gridstride::test::on_ranks(2, [](Ranks& ranks) {
    Stream stream(Device::open(Backend::cpu));
    RankPlanes planes(ranks, stream, {0, 4, 9}, false, 24, 64);
    auto const e = shared_equation<double>({3, 9}, "dddd", false, Precision::float64);
    EXPECT_THROW(
        TransformSolver<double>(stream, {.grid = e.grid, .sides = e.sides, .ranks = &planes}),
        std::invalid_argument);
  }));
}

TEST(RankPlanes, HaveWhatIsBesideThemAndTheSumsOfAll) {
  constexpr std::int64_t plane = 3;
  RankCuts const cuts = {0, 2, 3, 7};
  for (bool const around : {false, true})
    EXPECT_TRUE(gridstride::test::on_ranks(3, [&](Ranks& ranks) {
      Stream stream(Device::open(Backend::cpu));
      RankPlanes planes(ranks, stream, cuts, around, plane * sizeof(float), 14);
      auto const value = [&](std::int64_t at) { return static_cast<float>((at + 7) % 7); };
      std::vector<float> held(static_cast<std::size_t>(planes.held() * plane), -1);
      for (int round = 0; round < 3; ++round) {
        for (std::int64_t at = planes.lower(); at < planes.upper(); ++at)
          std::fill_n(held.begin() + (at - planes.lower() + 1) * plane, plane, value(at));
        if (round == 1) planes.start(stream, std::span(held));
        planes.exchange(stream, std::span(held));
        for (std::int64_t at = planes.lower() - 1; at <= planes.upper(); ++at) {
          bool const is_there = around || (at >= 0 && at < planes.all());
          EXPECT_EQ(held[static_cast<std::size_t>((at - planes.lower() + 1) * plane)],
                    is_there ? value(at) : -1);
        }
        std::vector<double> sums(14, -1);
        for (std::int64_t i = planes.lower(); i < planes.upper(); ++i)
          for (std::int64_t set : {0, 1})
            sums[static_cast<std::size_t>(set * 7 + i)] = static_cast<double>(set * 7 + i);
        planes.share(stream, sums.data(), 2, cuts);
        for (std::size_t i = 0; i < sums.size(); ++i) EXPECT_EQ(sums[i], static_cast<double>(i));
        EXPECT_THROW(planes.share(stream, sums.data(), 3, cuts), std::logic_error);
      }
    }));
}

TEST(PoissonKernels, RanksShareNoLine) {
  EXPECT_TRUE(gridstride::test::on_ranks(2, [](Ranks& ranks) {
    Stream stream(Device::open(Backend::cpu));
    RankPlanes planes(ranks, stream, {0, 4, 9}, true, 8, 64);
    Equation<double> equation{.grid = {.dims = 1, .points = {9, 1, 1}}, .ranks = &planes};
    EXPECT_THROW(operator_of(equation), std::invalid_argument);
    equation.grid = {.dims = 2, .points = {9, 8, 1}};
    EXPECT_THROW(operator_of(equation), std::invalid_argument);
  }));
}

TEST(PoissonKernels, ManySystemsAreEliminated) {
  auto const chosen = [](std::array<std::int64_t, 3> const& points, int dims,
                         std::string const& kinds) {
    Sides sides{};
    for (std::size_t axis = 0; axis < 3; ++axis)
      sides[axis] = {kind_of(kinds[2 * axis]), kind_of(kinds[2 * axis + 1])};
    return faster_eliminated({dims, points, {0, 0, 0}, {1, 1, 1}}, sides);
  };
  EXPECT_EQ(chosen({256, 256, 9}, 3, "dddddd"), 2);
  EXPECT_EQ(chosen({255, 256, 9}, 3, "dddddd"), std::nullopt);
  EXPECT_EQ(chosen({256, 9, 256}, 3, "ppnnpp"), 1);
  EXPECT_EQ(chosen({9, 256, 256}, 3, "ddpppp"), std::nullopt);
  EXPECT_EQ(chosen({1 << 16, 9, 1}, 2, "dddndd"), 1);
  EXPECT_EQ(chosen({1 << 20, 1, 1}, 1, "dddddd"), std::nullopt);
}

TEST(PoissonKernels, Refusals) {
  Stream stream(Device::open(Backend::cpu));
  Equation<double> equation;
  equation.grid.points = {2, 1, 1};
  std::vector<double> values(4);
  auto const refused = [&] {
    return gridstride::test::refusal([&] {
      shift(stream, 1, std::span(values));
      integrate(stream, equation, values);
    });
  };
  EXPECT_EQ(refused(), "poisson: values has 4 elements, it needs 2");
  equation.grid.points = {4, 1, 1};
  equation.sides[0] = {SideKind::periodic, SideKind::neumann};
  EXPECT_EQ(refused(), "poisson: an axis is periodic as a whole");
  equation.sides[0] = {SideKind::free, SideKind::neumann};
  EXPECT_EQ(refused(), "poisson: a side is periodic, dirichlet or neumann");
  equation.grid.points = {2, 2, 1};
  equation.grid.dims = 2;
  EXPECT_EQ(refused(), "poisson: an axis has 2 points (three at least are needed)");
}

/// −1, 2, −1, of n unknowns; their eigenvalues are 4·sin²(θ/2).
Line second_differences(std::size_t n, bool periodic) {
  return {std::vector<double>(n, -1), std::vector<double>(n, 2), std::vector<double>(n, -1),
          periodic};
}

std::vector<double> eigenvalues_of(std::size_t n, bool periodic) {
  std::vector<double> all;
  for (std::size_t k = 0; k < n; ++k) {
    auto const number = static_cast<double>(periodic ? k : k + 1);
    double const sine =
        std::sin(std::numbers::pi * number / static_cast<double>(periodic ? n : 2 * (n + 1)));
    all.push_back(4 * sine * sine);
  }
  std::ranges::sort(all);
  return all;
}

TEST(PoissonKernels, EigenvaluesOfLinesAreCounted) {
  for (bool const periodic : {false, true})
    for (std::size_t const n : {3, 4, 10, 57}) {
      SCOPED_TRACE(n);
      auto const line = second_differences(n, periodic);
      auto const all = eigenvalues_of(n, periodic);
      for (double const bound : {-1.0, 0.01, 0.3, 1.99, 2.5, 3.7, 3.99, 5.0})
        EXPECT_EQ(eigenvalues_below(line, bound),
                  std::ranges::count_if(all, [&](double value) { return value < bound; }))
            << bound;
    }
  EXPECT_EQ(eigenvalues_below({{0}, {-3}, {0}, false}, 0), 1);
  EXPECT_EQ(eigenvalues_below({{0}, {-3}, {0}, false}, -4), 0);
  EXPECT_EQ(eigenvalues_below({}, 1), 0);
}

TEST(PoissonKernels, TheNearestEigenvalueIsFound) {
  auto line = second_differences(20, false);
  double const third = eigenvalues_of(20, false)[2];
  for (double const away : {1e-9, -1e-9, 3e-4, 0.0}) {
    for (double& element : line.diagonal) element = 2 - third + away;
    auto const found = eigenvalue_within(line, 1e-3);
    ASSERT_TRUE(found);
    EXPECT_NEAR(*found, away, 2e-9);
    if (std::abs(away) > 1e-4) {
      EXPECT_FALSE(eigenvalue_within(line, std::abs(away) / 2));
    }
  }
}

}  // namespace
}  // namespace gridstride::poisson::test

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "support/multigrid_cases.hpp"
#include "support/refusal.hpp"

namespace gridstride::multigrid::test {
namespace {

Options relaxed(Relaxation method, double factor = 1) {
  return {.tolerance = 1e-8, .most_cycles = 100000, .relaxation = method, .factor = factor};
}

TEST(Relaxation, KnownSolutionsComeBack) {
  Stream stream(Device::open(Backend::cpu));
  expect_relaxed_solutions(stream);
}

/// Of −Δ between given sides the largest eigenvalue of Jacobi's matrix is μ = Σ cos(π·h)/dims.
/// A sweep leaves μ, or μ² of two colours; with the optimal factor ω it leaves ω − 1, for a Jordan
/// block by n + 1 after n of them.
TEST(Relaxation, RatesAreThoseOfTheTheory) {
  Stream stream(Device::open(Backend::cpu));
  for (auto const& points : std::vector<std::vector<std::int64_t>>{{33}, {25, 25}, {13, 13, 13}}) {
    Trial const trial{points, std::string(2 * points.size(), 'd')};
    double const mu = std::cos(std::numbers::pi / static_cast<double>(points[0] - 1));
    EXPECT_NEAR(cycles_for(stream, trial, relaxed(Relaxation::jacobi)).factor(), mu, 1e-6);
    EXPECT_NEAR(cycles_for(stream, trial, relaxed(Relaxation::in_turn)).factor(), mu * mu, 1e-6);
    auto const equation = equation_of(trial);
    double const factor = optimal_factor(equation.grid, equation.sides, 1, 0);
    EXPECT_NEAR(factor, 2 / (1 + std::sqrt(1 - mu * mu)), 1e-12);
    auto const best = cycles_for(stream, trial, relaxed(Relaxation::in_turn, factor));
    EXPECT_TRUE(best.converged);
    double const n = best.cycles, bound = (n + 1) * std::pow(factor - 1, n - 16);
    EXPECT_LE(best.residuals.back() / best.residuals.front(), bound);
    for (double const other : {factor - 0.1, factor + (2 - factor) / 3})
      EXPECT_GE(cycles_for(stream, trial, relaxed(Relaxation::in_turn, other)).cycles, best.cycles);
  }
}

/// Constants do not count where they are open: the factor is that of what else there is.
TEST(Relaxation, OptimalFactorsOfOpenMeans) {
  auto const factor = [](Trial const& trial) {
    auto const equation = equation_of(trial);
    return optimal_factor(equation.grid, equation.sides, 2, trial.reaction);
  };
  double const pi = std::numbers::pi;
  double const mu = (1 + std::cos(pi / 16)) / 2;  // the longest wave along one axis of two
  EXPECT_NEAR(factor({{17, 17}, "nnnn"}), 2 / (1 + std::sqrt(1 - mu * mu)), 1e-12);
  EXPECT_NEAR(factor({{32, 32}, "pppp"}), factor({{17, 17}, "nnnn"}), 1e-12);
  // 4·h² is a part of 1: of the diagonal 2·2/h² + 4 and twice that.
  Trial const reacting{{11}, "nn", 1, 1, 4};
  double const with = 400.0 / 404.0;
  EXPECT_NEAR(factor(reacting), 2 / (1 + std::sqrt(1 - with * with)), 1e-12);
}

/// Sweeps are looked at by 16, and the last of them are as many as are left.
TEST(Relaxation, EndsWhereItIsToldTo) {
  Stream stream(Device::open(Backend::cpu));
  for (int const most : {1, 16, 21}) {
    auto options = relaxed(Relaxation::jacobi);
    options.most_cycles = most;
    auto const outcome = cycles_for(stream, {{65, 65}, "dddd"}, options);
    EXPECT_FALSE(outcome.converged);
    EXPECT_EQ(outcome.cycles, most);
    EXPECT_EQ(outcome.at.back(), most);
    EXPECT_EQ(outcome.at.size(), outcome.residuals.size());
  }
}

/// A chessboard of signs turns with each of Jacobi's steps where nothing is given.
TEST(Relaxation, ChessboardsOfJacobi) {
  Stream stream(Device::open(Backend::cpu));
  auto options = relaxed(Relaxation::jacobi);
  options.most_cycles = 4000;
  EXPECT_FALSE(cycles_for(stream, {{8, 8}, "pppp"}, options).converged);
  options.factor = 0.9;
  EXPECT_TRUE(cycles_for(stream, {{8, 8}, "pppp"}, options).converged);
}

TEST(Relaxation, RefusesFactorsThatGrow) {
  Stream stream(Device::open(Backend::cpu));
  for (double const factor : {0.0, 2.0, -1.0, std::numeric_limits<double>::quiet_NaN()})
    EXPECT_EQ(
        gridstride::test::refusal([&] {
          Solver<double>(stream, equation_of({{9}, "dd"}), false,
                         relaxed(Relaxation::in_turn, factor));
        }),
        "multigrid: relaxation goes more than 0 and less than 2 times as far as equations have "
        "it");
}

}  // namespace
}  // namespace gridstride::multigrid::test

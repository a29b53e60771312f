#include <gtest/gtest.h>

#include "core/error.hpp"
#include "support/eigenvalues_cases.hpp"

namespace gridstride::test {
namespace {

TEST(Eigenvalues, EveryMethodFindsSines) { expect_sines(cpu); }

TEST(Eigenvalues, ConstantsAreModesWhereNothingIsHeld) { expect_constants(cpu); }

TEST(Eigenvalues, WellsMayBeDeep) { expect_oscillator(cpu); }

TEST(Eigenvalues, UnitsDoNotMatter) { expect_units(cpu); }

TEST(Eigenvalues, PairsAndIndefiniteMatrices) { expect_pairs(cpu); }

TEST(Eigenvalues, WhatComesSlowlyIsNotPassedOver) { expect_first_of_a_line(cpu); }

TEST(Eigenvalues, LargestOfACube) { expect_cube(cpu); }

TEST(Eigenvalues, AllModesOfAMatrix) { expect_all_modes(cpu); }

TEST(Eigenvalues, AutoTakesWhatFits) {
  auto const with = [](std::string const& top, std::string const& parameters) {
    return Spectrum(spectrum_yaml(top, parameters), cpu).chosen;
  };
  std::string const grid = "grid: {points: [40, 30]}\n";
  EXPECT_EQ(with(grid, "modes: 3"), "lobpcg multigrid ");
  EXPECT_EQ(with("kernels: {eigen: reference}\n" + grid, "modes: 60"), "dense reference ");
  EXPECT_EQ(with(grid, "modes: 3, which: largest"), "lanczos ");
  EXPECT_EQ(with(grid, "modes: 3, which: largest, method: lobpcg"), "lobpcg none ");
  EXPECT_EQ(with("grid: {points: 40}\nkernels: {eigen: reference}\n", "modes: 3"),
            "dense reference ");
  EXPECT_EQ(with("kernels: {eigen: reference}\n",
                 "modes: 1, matrix: {expression: \"1/(i + j + 1)\", size: 300}"),
            "dense reference threads ");
  EXPECT_EQ(with("", "modes: 2, matrix: {stencil: 5-point, points: [25, 25]}"),
            "lobpcg amg threads ");
  EXPECT_EQ(with("", "modes: 2, matrix: {stencil: 5-point, points: [25, 25]}, which: largest"),
            "lanczos threads ");
}

TEST(Eigenvalues, WhatIsNotFoundFallsShort) {
  Spectrum const found(
      spectrum_yaml("grid: {points: [60, 50]}\n",
                    "modes: 3, method: lobpcg, preconditioner: none, iterations: 7"),
      cpu);
  EXPECT_NE(
      found.done.simulation->shortfall().find("lobpcg has found 0 of 3 modes after 7 iterations"),
      std::string::npos)
      << found.done.simulation->shortfall();
  EXPECT_EQ(found.done.simulation->tables()[1].rows(), 8);
  EXPECT_EQ(found.values.size(), 3u);
  Spectrum const other(
      spectrum_yaml("grid: {points: [60, 50]}\n", "modes: 3, method: lanczos, iterations: 1"), cpu);
  EXPECT_NE(
      other.done.simulation->shortfall().find("lanczos has found 0 of 3 modes after 1 iterations"),
      std::string::npos)
      << other.done.simulation->shortfall();
  EXPECT_NE(other.done.simulation->shortfall().find("method: lobpcg has a preconditioner"),
            std::string::npos);
}

std::string problems_of(std::string const& yaml) {
  auto const config = config_of(yaml);
  std::string all;
  for (auto const& problem : entry_of(config).problems(config, inputs_of(config)))
    all += problem.path + ": " + problem.message + "\n";
  return all;
}

TEST(Eigenvalues, WhatDoesNotFitIsRefused) {
  std::string const line = "grid: {points: 12}\n";
  EXPECT_EQ(problems_of(spectrum_yaml(line, "modes: 11")),
            "parameters.modes: 11 modes are asked for (there are 10, as many as unknowns)\n");
  EXPECT_EQ(problems_of(spectrum_yaml(line, "modes: 10")), "");
  EXPECT_EQ(problems_of(spectrum_yaml("grid: {points: [200, 90]}\n", "modes: 129, method: lobpcg")),
            "parameters.modes: lobpcg finds up to 128 modes (dense finds all)\n");
  EXPECT_EQ(
      problems_of(spectrum_yaml("grid: {points: [200, 90]}\n", "modes: 129, method: lanczos")),
      "parameters.modes: lanczos finds up to 128 modes (dense finds all)\n");
  EXPECT_EQ(
      problems_of(spectrum_yaml("grid: {points: [400, 900]}\n", "modes: 129")),
      "parameters.modes: 129 modes of 357404 unknowns are for all of the matrix, and dense takes "
      "up to 32768 unknowns (lobpcg and lanczos find up to 128 modes)\n");
  EXPECT_EQ(
      problems_of(spectrum_yaml(line + "boundary: {x: {dirichlet: 1}}\n", "modes: 2")),
      "boundary.x.dirichlet: is not 0 (any multiple of a mode is one: it has 0 on sides, or no "
      "derivative there)\n");
  EXPECT_EQ(problems_of(spectrum_yaml(line, "modes: 2, diffusivity: \"x - 0.5\"")),
            "parameters.diffusivity: is -0.5 at x = 0 (a diffusivity is positive everywhere)\n");
  EXPECT_EQ(problems_of(spectrum_yaml(line, "modes: 2, tolerance: 1e-4, method: dense")),
            "parameters.tolerance: is for iterations (dense transforms all of the matrix)\n");
  EXPECT_EQ(problems_of(spectrum_yaml(line, "modes: 2, tolerance: 1e-4")),
            "parameters.tolerance: is for iterations (auto takes dense here, which transforms all "
            "of the matrix; method: lobpcg goes by it)\n");
  EXPECT_EQ(problems_of(spectrum_yaml(line, "modes: 2, tolerance: 1e-4, method: lobpcg")), "");
}

TEST(Eigenvalues, MatricesHaveToBeSymmetric) {
  auto const message = [](std::string const& matrix) -> std::string {
    auto const config = config_of(spectrum_yaml("", "modes: 2, matrix: " + matrix));
    try {
      entry_of(config).make(config, Stream(Device::open(cpu)), inputs_of(config));
    } catch (ConfigError const& error) {
      return error.problems().front().message;
    }
    return "nothing";
  };
  EXPECT_EQ(message("{expression: \"(i == 3)*(j == 5) + (i == j)\", size: 9}"),
            "is not symmetric: A(3, 5) = 1 and A(5, 3) = 0, counted from 0 (eigenvalues of other "
            "matrices may be complex)");
  EXPECT_EQ(message("{expression: \"1/(i - 4)\", size: 9}"),
            "is inf at i = 4, j = 0 (all values have to be finite)");
}

}  // namespace
}  // namespace gridstride::test

#include <gtest/gtest.h>

#include <string>

#include "support/aggregation_cases.hpp"
#include "support/conjugate_cases.hpp"
#include "support/poisson_cases.hpp"
#include "support/poisson_kernel_cases.hpp"
#include "support/poisson_reference.hpp"
#include "support/shared_equation_cases.hpp"
#include "support/shared_transform_cases.hpp"
#include "unit/gpu/gpu.hpp"

namespace gridstride {
namespace {

class PoissonGpu : public testing::Test {
 protected:
  void SetUp() override { GRIDSTRIDE_SKIP_WITHOUT_GPU(); }
};

TEST_F(PoissonGpu, KernelsHaveTheEquationsOfMatrices) {
  Stream stream(Device::open(Backend::cuda));
  poisson::test::expect_known_equations(stream);
  poisson::test::expect_coefficients<double>(stream);
  poisson::test::expect_coefficients<float>(stream);
  poisson::test::expect_large(stream);
}

TEST_F(PoissonGpu, ConjugateGradientsHaveTheMatrices) {
  Stream stream(Device::open(Backend::cuda)), host(Device::open(Backend::cpu));
  poisson::test::expect_symmetric_operators(stream);
  poisson::test::expect_the_same_steps<double>(stream, host);
  poisson::test::expect_the_same_steps<float>(stream, host);
}

TEST_F(PoissonGpu, ConjugateGradients) {
  Stream stream(Device::open(Backend::cuda));
  poisson::test::expect_few_conjugate_iterations(stream);
  poisson::test::expect_rounded_directions(stream, 24);
  test::expect_modes({{16, 9}, "ppdd"}, "cg, tolerance: 1e-15", Backend::cuda);
  test::expect_modes({{9, 11, 8}, "dnnnpp"}, "cg, tolerance: 1e-15", Backend::cuda);
  test::expect_order_two("ddnnpp", 16, 1, 0, "cg, inner: float32", Backend::cuda);
}

TEST_F(PoissonGpu, Aggregation) {
  Stream stream(Device::open(Backend::cuda));
  poisson::test::expect_rows_of_all_sides(stream);
  poisson::test::expect_squares_at_random(stream, {65, 70}, "dddd", 100);
  poisson::test::expect_squares_at_random(stream, {65, 60}, "nnpp", 100);
  poisson::test::expect_squares_at_random(stream, {40, 33, 64}, "dnppnd", 150);
  poisson::test::expect_orders_of_magnitude(stream, {129, 130}, "dddd", 70);
  poisson::test::expect_open_means(stream);
}

TEST_F(PoissonGpu, RanksShareEquationsBitByBit) {
  poisson::test::expect_shared_equations(Backend::cuda);
}

TEST_F(PoissonGpu, RanksShareTransformsBitByBit) {
  poisson::test::expect_shared_transforms(Backend::cuda);
}

TEST_F(PoissonGpu, LayersGiveWhatTransformsDo) {
  Stream stream(Device::open(Backend::cuda));
  poisson::test::expect_layers<double>(stream);
  poisson::test::expect_singular_layers(stream);
}

TEST_F(PoissonGpu, EliminationIsThatOfTheHost) {
  Stream stream(Device::open(Backend::cuda));
  poisson::test::expect_elimination_of_host<double>(stream);
  poisson::test::expect_elimination_of_host<float>(stream);
}

TEST_F(PoissonGpu, ModesComeBackFromEliminationAlongLines) {
  for (std::string const sides : {"pp", "dd", "nn", "dn", "nd"})
    for (int const points : {3, 31, 64})
      test::expect_modes({{points}, sides}, "direct", Backend::cuda);
}

TEST_F(PoissonGpu, EliminationIsOfOrderTwoForEveryKindOfSide) {
  for (std::string const sides : {"pp", "dd", "nn", "dn", "nd"})
    for (double const reaction : {0.0, -2.0})
      test::expect_order_two(sides, 32, 0, reaction, "direct", Backend::cuda);
}

TEST_F(PoissonGpu, ModesComeBackFromTransforms) {
  test::expect_modes({{16, 9}, "ppdd"}, "fft", Backend::cuda);
  test::expect_modes({{9, 11, 8}, "dnnnpp"}, "fft", Backend::cuda);
}

TEST_F(PoissonGpu, TransformsAreOfOrderTwo) {
  test::expect_order_two("ddnnpp", 16, -1, -2, "fft", Backend::cuda);
}

TEST_F(PoissonGpu, LayersOfNothing) {
  test::expect_layers_of_nothing({{9, 11, 8}, "dnnnpp"}, Backend::cuda);
}

TEST_F(PoissonGpu, LayersAreOfOrderTwo) {
  for (int const along : {0, 1, 2})
    test::expect_order_two("ddnnpp", 16, along, 0, "fft", Backend::cuda);
}

/// The host's results but for roundings, and every time the same bits.
TEST_F(PoissonGpu, AgreesWithTheHost) {
  for (std::string const precision : {"float64", "float32"})
    for (std::string const parameters :
         {"source: \"cos(9*x)*y\"", "source: \"cos(9*x)*y\", diffusivity: 1 + y"}) {
      auto const yaml = test::poisson_yaml({{33, 17, 16}, "ddndpp"}, "x + y", {"1", "1", "0"},
                                           parameters, precision);
      auto const once = test::solve_poisson(yaml, Backend::cuda);
      EXPECT_EQ(once.u.memory, test::solve_poisson(yaml, Backend::cuda).u.memory);
      EXPECT_LE(test::relative_difference(once.u, test::solve_poisson(yaml, Backend::cpu).u),
                precision == "float64" ? 1e-13 : 2e-6);
    }
}

TEST_F(PoissonGpu, NonlinearSolutionsAreThoseOfScipy) {
  for (auto const& entry : test::stored_cases("nonlinear")) {
    std::string const yaml = test::reference_yaml(
        entry, fmt::format("diffusivity: \"{}\"", entry.at("a").get<std::string>()),
        fmt::format("{} - ({})", entry.at("f").get<std::string>(),
                    entry.at("reaction").get<std::string>()));
    auto const solved = test::solve_poisson(yaml, Backend::cuda);
    EXPECT_LE(test::largest_difference(solved.u, entry.at("u")), 1e-9) << entry.at("sides");
    EXPECT_EQ(test::solve_poisson(yaml, Backend::cuda).u.memory, solved.u.memory);
  }
}

/// The points of many blocks.
TEST_F(PoissonGpu, NonlinearStepsAreThoseOfTheHost) {
  std::string const yaml =
      test::poisson_yaml({{130, 67, 33}, "dnppnd"}, "x + 1/2", {"1", "0", "0"},
                         "diffusivity: 1 + u^2, source: exp(u)*cos(2*pi*y)", "float64");
  auto const found = test::solve_poisson(yaml, Backend::cuda),
             wanted = test::solve_poisson(yaml, Backend::cpu);
  EXPECT_EQ(found.diagnostic("solves"), wanted.diagnostic("solves"));
  EXPECT_LE(test::relative_difference(found.u, wanted.u), 1e-10);
}

}  // namespace
}  // namespace gridstride

#include <gtest/gtest.h>

#include "support/eigenvalues_cases.hpp"
#include "unit/gpu/gpu.hpp"

namespace gridstride::test {
namespace {

constexpr Backend cuda = Backend::cuda;

class EigenGpu : public testing::Test {
 protected:
  void SetUp() override { GRIDSTRIDE_SKIP_WITHOUT_GPU(); }
};

TEST_F(EigenGpu, ProductsAndCombinationsOfBlocks) {
  Stream stream(Device::open(cuda));
  expect_blocks(stream);
}

TEST_F(EigenGpu, LibraryTransformsDenseMatrices) {
  Stream stream(Device::open(cuda));
  for (int const n : {1, 2, 31, 64, 300}) expect_dense(stream, "cusolver", n);
}

TEST_F(EigenGpu, ModesOfEveryKindOfSide) {
  Stream stream(Device::open(cuda));
  for (std::string const sides : {"pp", "dd", "nn", "dn", "nd"})
    expect_grid_modes(stream, {101}, sides, 7);
  expect_grid_modes(stream, {65, 65}, "dddd", 16);
  expect_grid_modes(stream, {64, 64}, "pppp", 9);
  expect_grid_modes(stream, {50, 70}, "nndn", 6);
  expect_grid_modes(stream, {33, 33, 33}, "dddddd", 16);
  expect_grid_modes(stream, {20, 21}, "ddnn", 4, true);
}

TEST_F(EigenGpu, ModesThatLieCloseTogether) {
  Stream stream(Device::open(cuda));
  expect_close_modes(stream);
}

TEST_F(EigenGpu, LanczosFindsModesOfEveryKindOfSide) {
  Stream stream(Device::open(cuda));
  expect_lanczos_modes(stream);
}

TEST_F(EigenGpu, LanczosMissesNoneOfEqualEigenvalues) {
  Stream stream(Device::open(cuda));
  expect_every_copy(stream);
}

TEST_F(EigenGpu, LargestOfACube) { expect_cube(cuda); }

TEST_F(EigenGpu, LanczosFindsWhatTheHostFinds) {
  auto const yaml = spectrum_yaml("grid: {points: [60, 50]}\n", "modes: 9, which: largest");
  Spectrum const one(yaml, cuda), other(yaml, cpu);
  EXPECT_EQ(one.chosen, other.chosen);
  for (std::size_t k = 0; k < 9; ++k)
    EXPECT_NEAR(one.values[k], other.values[k], 1e-12 * other.values[0]);
}

TEST_F(EigenGpu, EveryMethodFindsSines) { expect_sines(cuda); }

TEST_F(EigenGpu, ConstantsAreModesWhereNothingIsHeld) { expect_constants(cuda); }

TEST_F(EigenGpu, WellsMayBeDeep) { expect_oscillator(cuda); }

TEST_F(EigenGpu, UnitsDoNotMatter) { expect_units(cuda); }

TEST_F(EigenGpu, PairsAndIndefiniteMatrices) { expect_pairs(cuda); }

TEST_F(EigenGpu, WhatComesSlowlyIsNotPassedOver) { expect_first_of_a_line(cuda); }

TEST_F(EigenGpu, AllModesOfAMatrix) { expect_all_modes(cuda); }

TEST_F(EigenGpu, TheSameBitsEveryTime) {
  for (std::string const method : {"lobpcg", "lanczos"}) {
    auto const yaml = spectrum_yaml("grid: {points: [40, 50]}\n", "modes: 6, method: " + method);
    Spectrum one(yaml, cuda), other(yaml, cuda);
    EXPECT_EQ(one.values, other.values);
    for (std::size_t mode : {0u, 5u}) {
      auto const a = one.field(mode), b = other.field(mode);
      auto const* const u = static_cast<double const*>(a.field.data);
      auto const* const v = static_cast<double const*>(b.field.data);
      EXPECT_TRUE(std::equal(u, u + a.field.grid.size(), v));
    }
  }
}

}  // namespace
}  // namespace gridstride::test

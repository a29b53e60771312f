#include <gtest/gtest.h>

#include "driver/formulas.hpp"
#include "driver/prepare.hpp"
#include "support/memory_cases.hpp"
#include "unit/gpu/gpu.hpp"

namespace gridstride {
namespace {

class ForecastOfARunGpu : public testing::TestWithParam<test::MemoryCase> {};

TEST_P(ForecastOfARunGpu, HoldsWhatIsAllocated) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  test::expect_forecast(GetParam(), Backend::cuda);
}

INSTANTIATE_TEST_SUITE_P(Memory, ForecastOfARunGpu, testing::ValuesIn(test::memory_cases()),
                         test::name_of_memory_case);

TEST(FormulasGpu, WhatIsNoNumberIsFoundAtItsKey) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  auto const config = test::config_of(
      "simulation: heat\nprecision: float32\ngrid: {points: [1025, 2049]}\ntime: {end: 1}\n"
      "boundary: {x: {neumann: \"log(y)\"}, y: {neumann: 0}}\ninitial: {u: \"1/((x < 0.9999) + (y "
      "< 0.9999))\"}\n"
      "parameters: {diffusivity: 1, source: \"1e300*(1 + y)/t\"}\n");
  Stream stream(Device::open(Backend::cuda));
  auto const problems = formula_problems(config, stream);
  ASSERT_EQ(problems.size(), 4);
  EXPECT_EQ(problems[0].path, "initial.u");
  EXPECT_EQ(problems[0].message, "is inf at x = 1, y = 1 (all values have to be finite)");
  EXPECT_EQ(problems[1].path, "boundary.x.neumann");
  EXPECT_EQ(problems[1].message, "is -inf at x = 0, y = 0 (all values have to be finite)");
  EXPECT_EQ(problems[3].path, "parameters.source");
  EXPECT_EQ(problems[3].message, "is inf at x = 0, y = 0, t = 0 (all values have to be finite)");
}

TEST(FormulasGpu, AFieldThatBeginsWithNoNumberIsRefused) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  auto const config = test::config_of(
      "simulation: advection\ngrid: {points: 11}\ntime: {end: 1}\nboundary: {x: {dirichlet: 1}}\n"
      "initial: {u: \"log(1 - x)\"}\nparameters: {velocity: {x: 1}}\n");
  Stream stream(Device::open(Backend::cuda));
  auto const simulation = entry_of(config).make(config, stream, inputs_of(config));
  EXPECT_THROW(require_finite_start(config, *simulation, stream), ConfigError);
}

}  // namespace
}  // namespace gridstride

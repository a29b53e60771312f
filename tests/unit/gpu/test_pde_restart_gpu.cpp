#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "support/pde_restart_cases.hpp"
#include "unit/gpu/gpu.hpp"

namespace gridstride {
namespace {

/// Passes of several steps, which a checkpoint cuts anywhere.
TEST(PdeRestartGpu, MarchesHaveTheBitsOfAWholeRun) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  test::expect_bits_after_restarts(
      "simulation: pde\nprecision: float32\ngrid: {points: [70, 41], upper: [70, 41]}\n"
      "boundary: {x: periodic, y: periodic}\nlet: {r: u*v^2}\n"
      "equations: {u: \"0.2*laplace(u) - r + 0.04*(1 - u)\", v: \"0.1*laplace(v) + r - 0.1*v\"}\n"
      "initial: {u: 1 - v, v: \"exp(-((x - 35)^2 + (y - 20)^2)/50)/2 + 0.01*uniform(7)\"}\n"
      "time: {scheme: euler, end: 71}\nkernels: {system: march}\n",
      Backend::cuda);
}

/// The state and the steps after several moments, between which no more steps than `batch` go at once, of
/// which those that limits hold for are cut anywhere, or nowhere.
test::PdeResult run_to_moments(std::string const& text, std::int64_t batch, bool cuts = true) {
  auto const config = test::config_of(text);
  Stream stream(Device::open(Backend::cuda));
  auto const simulation = entry_of(config).make(config, stream, {});
  for (double const moment : {0.37, 0.38, 0.71, 1.0})
    while (simulation->clock().time < moment * config.time.end) {
      if (cuts)
        simulation->advance(batch, moment * config.time.end);
      else
        simulation->advance_whole_batches(batch, moment * config.time.end);
    }
  auto const host = test::to_host(simulation->fields()[0], stream);
  test::PdeResult result{.fields = {{}}, .steps = simulation->clock().step};
  for (std::int64_t i = 0; i < config.grid.size(); ++i)
    result.fields[0].push_back(test::value_at(host, i));
  return result;
}

/// Hundreds of steps, of which most are begun while the host finds how long they may be. Those that turn out
/// shorter or fewer, before moments, by the limit or as no more are asked for, are made anew.
TEST(PdeRestartGpu, StepsThatAreBegunHaveTheBitsOfAnyBatch) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  for (char const* const rate : {"div((0.2 + 0.1*u^2)*grad(u)) + 0.003*u",
                                 "0.3*laplace(u) + 0.02*u - 0.02*u^3 - 0.1*u*d_dx(u)"})
    for (char const* const precision : {"float32", "float64"}) {
      auto const text = fmt::format(
          "simulation: pde\nprecision: {}\ngrid: {{points: [70, 41], upper: [70, 41]}}\n"
          "boundary: {{x: periodic, y: periodic}}\nequations: {{u: \"{}\"}}\n"
          "initial: {{u: \"0.4*sin(2*pi*x/70) + 0.1*uniform(7)\"}}\n"
          "time: {{scheme: euler, end: 900}}\nkernels: {{system: march}}\n",
          precision, rate);
      auto const whole = run_to_moments(text, 100000);
      EXPECT_GT(whole.steps, 700);
      for (std::int64_t const batch : {1, 7, 61}) {
        auto const parts = run_to_moments(text, batch);
        EXPECT_EQ(parts.steps, whole.steps) << rate << ' ' << batch;
        EXPECT_EQ(parts.fields, whole.fields) << rate << ' ' << batch;
        auto const batches = run_to_moments(text, batch, false);
        EXPECT_EQ(batches.steps, whole.steps) << rate << ' ' << batch;
        EXPECT_EQ(batches.fields, whole.fields) << rate << ' ' << batch;
      }
    }
}

/// Noise follows from the number of the step.
TEST(PdeRestartGpu, NoiseHasTheBitsOfAWholeRun) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  test::expect_bits_after_restarts(
      "simulation: pde\ngrid: {points: [19, 13]}\nboundary: {x: periodic, y: {neumann: 0}}\n"
      "equations: {u: \"0.001*laplace(u + normal(3)) + u*noise(4) + mean(noise(9))\"}\n"
      "initial: {u: x}\ntime: {scheme: euler, step: 0.01, end: 0.8}\n",
      Backend::cuda);
}

}  // namespace
}  // namespace gridstride

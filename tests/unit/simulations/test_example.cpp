#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <numbers>
#include <string>

#include "model/entry.hpp"
#include "support/heat_cases.hpp"

namespace gridstride {

SimulationEntry diffusion_entry();  // docs/examples/diffusion.cpp

namespace {

/// The largest error of exp(-π²t)·sin(πx) at time 0.1, on a line of so many cells.
double error_of(int cells, std::string const& precision) {
  auto const entry = diffusion_entry();
  std::array const infos = {entry.info};
  auto const config = test::config_of(fmt::format(R"yaml(
simulation: diffusion
precision: {}
grid: {{points: {}, lower: 0, upper: 1}}
boundary: {{x: {{lower: {{dirichlet: 0}}, upper: {{neumann: "-pi*exp(-pi^2*t)"}}}}}}
initial: {{u: "sin(pi*x)"}}
parameters: {{diffusivity: 1}}
time: {{end: 0.1, step: {}}}
)yaml",
                                                  precision, cells + 1, 0.4 / (cells * cells)),
                                      infos);
  Stream stream(Device::open(Backend::cpu));
  auto const simulation = entry.make(config, stream, {});
  while (!simulation->finished()) simulation->advance(1 << 20, config.time.end);
  auto const u = test::to_host(simulation->fields()[0], stream);
  double largest = 0;
  for (int i = 0; i <= cells; ++i) {
    double const x = static_cast<double>(i) / cells;
    double const exact =
        std::exp(-0.1 * std::numbers::pi * std::numbers::pi) * std::sin(std::numbers::pi * x);
    largest = std::max(largest, std::abs(test::value_at(u, static_cast<std::size_t>(i)) - exact));
  }
  return largest;
}

TEST(Example, IsOfSecondOrder) {
  double const coarse = error_of(20, "float64"), fine = error_of(40, "float64");
  EXPECT_NEAR(std::log2(coarse / fine), 2, 0.1);
}

TEST(Example, RunsInFloat32) {
  EXPECT_NEAR(error_of(20, "float32"), error_of(20, "float64"), 1e-5);
}

TEST(Example, RefusesAStepOverTheLimit) {
  auto const entry = diffusion_entry();
  std::array const infos = {entry.info};
  auto const config = test::config_of(
      "simulation: diffusion\ngrid: {points: 11, lower: 0, upper: 1}\ninitial: {u: 0}\n"
      "parameters: {diffusivity: 1}\ntime: {end: 1, step: 0.006}\n",
      infos);
  EXPECT_THROW(entry.time_step(config, {}, Device::open(Backend::cpu)), ConfigError);
}

}  // namespace
}  // namespace gridstride

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/pde_cases.hpp"

// What `gridstride check` tells of a system.
namespace gridstride {
namespace {

std::vector<std::string> report_of(std::string const& yaml) {
  auto const config = test::config_of(yaml);
  return entry_of(config).report(config, {}, Device::open(Backend::cpu));
}

/// With h = 1/10 and D = 1/2, λ = −4D/h² = −200 for waves of two points.
TEST(PdeReport, OfDiffusion) {
  std::vector<std::string> const expected = {
      "equations as understood:", "  dt(u) = 0.5*d2_dx2(u)", "scheme: euler",
      "step: 0.01 s is the longest that is stable, set by λ = -200 1/s of u for waves of θ = π; "
      "auto takes 0.9 of it",
      "reach: 1 point along x",
      // ((u₁ − u₀) − (u₀ − u₋₁))·(1/h²)·D
      "update of a point: 1 stage, 16 bytes (1 load and 1 store of float64), 5 flops for the "
      "rates",
      "linear with constant coefficients:", "  of dt(u): 0.5*d2_dx2(u), beside 0"};
  EXPECT_EQ(report_of("simulation: pde\ngrid: {points: 10}\nboundary: {x: periodic}\n"
                      "equations: {u: 0.5*laplace(u)}\ninitial: {u: x}\n"
                      "time: {scheme: euler, end: 1}\n"),
            expected);
}

/// |λ| = 4/(2h²) = 8192 of a wave that turns, where rk4 takes 2√2. Its stages load the state, the
/// base in all but the first, and two stages more in the last.
TEST(PdeReport, OfWaves) {
  auto const lines = report_of(
      "simulation: pde\nprecision: float32\ngrid: {points: 64}\nboundary: {x: periodic}\n"
      "equations: {a: -laplace(b)/2, b: laplace(a)/2}\ninitial: {a: 1, b: 0}\n"
      "time: {scheme: rk4, end: 1, step: 1e-4}\n");
  ASSERT_EQ(lines.size(), 10);
  EXPECT_EQ(lines[4],
            "step: 0.000345267 s is the longest that is stable, set by λ = ±8192i 1/s of a, b for "
            "waves of θ = π; the file gives a shorter one");
  EXPECT_NE(lines[6].find("4 stages, 104 bytes (18 loads and 8 stores of float32)"),
            std::string::npos)
      << lines[6];
}

TEST(PdeReport, OfReachAndStatesThatChange) {
  auto const lines = report_of(
      "simulation: pde\ngrid: {points: [16, 16]}\nboundary: {x: periodic, y: periodic}\n"
      "equations: {u: \"-d2_dx2(d2_dx2(u)) + u*laplace(u)\"}\ninitial: {u: 1 + x}\n"
      "time: {end: 1}\n");
  EXPECT_NE(lines[3].find("longest that is stable for the first values, set by"), std::string::npos)
      << lines[3];
  EXPECT_EQ(lines[4], "reach: 2 points along x, 1 point along y");
}

TEST(PdeReport, OfEquationsWithoutLimit) {
  EXPECT_EQ(report_of("simulation: pde\ngrid: {points: 10}\nequations: {u: x*t}\n"
                      "initial: {u: 0}\ntime: {end: 1}\n")[3],
            "step: nothing in the equations limits it");
}

}  // namespace
}  // namespace gridstride

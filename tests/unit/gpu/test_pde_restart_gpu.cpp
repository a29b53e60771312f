#include <gtest/gtest.h>

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

#include <gtest/gtest.h>

#include <string>

#include "support/pde_implicit_cases.hpp"
#include "support/pde_modes_cases.hpp"
#include "support/pde_restart_cases.hpp"
#include "unit/gpu/gpu.hpp"

namespace gridstride {
namespace {

/// Vortices by each kind of scheme, and two coupled fields between sides: as on the host.
TEST(PdeModesGpu, AgreesWithTheHost) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  auto const expect = [](std::string const& text, double tolerance) {
    auto const host = test::run_pde(text, Backend::cpu), gpu = test::run_pde(text, Backend::cuda);
    EXPECT_EQ(host.steps, gpu.steps);
    for (std::size_t f = 0; f < host.fields.size(); ++f)
      EXPECT_LT(test::largest_difference(gpu.fields[f], host.fields[f]), tolerance) << text;
  };
  // Rounding of a few hundred transforms of values about 5.
  for (char const* scheme : {"rk4", "ark3", "etdrk4", "imex_bdf2"}) {
    auto const text =
        test::vorticity_pde(40, 0.01, "2*cos(x)*cos(y) + 3*cos(3*x) - cos(2*y)", scheme, 0.8, 80);
    expect(text, 1e-10);
    expect("precision: float32\n" + text, 5e-3);
  }
  // Derivatives multiply rounding by wave numbers, 40 for two of these, squares by values up to 20.
  expect(test::vorticity_pde(40, 0.01, "2*cos(x)*cos(y) + 3*cos(3*x)", "etdrk4", 0.8, 80) +
             "output: {derived: {steepness: norm2(grad(w)), v: d_dx(psi)}}\n"
             "events: [{at: 0.4, set: {w: w + laplace(w)/10}}]\nstop: {steady: 1e-12}\n",
         1e-10 * 40 * 20);
  expect(
      "simulation: pde\ngrid: {points: [33, 20]}\nboundary: {x: {dirichlet: 0}, y: {neumann: 0}}\n"
      "equations: {a: -laplace(b)/200 + a*b^2, b: laplace(a)/200 - a^3}\n"
      "initial: {a: \"sin(pi*x)*cos(pi*y)\", b: a}\n"
      "time: {scheme: etdrk4, end: 0.8, step: 0.01}\n",
      1e-10);
}

TEST(PdeModesGpu, GoesOnWithTheSameBits) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  test::expect_bits_after_restarts(
      test::vorticity_pde(24, 0.01, "2*cos(x)*cos(y) + 3*cos(3*x) - cos(2*y)", "imex_bdf2", 0.8,
                          80),
      Backend::cuda);
}

/// Steps by multigrid, which end at a tolerance of 1e-12, in float32 1e-7.
TEST(PdeImplicitGpu, AgreesWithTheHost) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  for (char const* scheme : {"imex_euler", "imex_bdf2", "ark3"})
    for (bool const is_float : {false, true})
      for (std::string const& text :
           {test::implicit_products(scheme, false, 40), test::implicit_products(scheme, true, 40),
            test::implicit_products(scheme, false, 40, "(1 + 0.5*sin(2*t))"),
            test::implicit_nerve(scheme, "{robin: [1, t]}", 1, 0.02)}) {
        auto const yaml = (is_float ? "precision: float32\n" : "") + text;
        auto const host = test::run_pde(yaml, Backend::cpu),
                   gpu = test::run_pde(yaml, Backend::cuda);
        EXPECT_EQ(host.steps, gpu.steps);
        for (std::size_t f = 0; f < host.fields.size(); ++f)
          EXPECT_LT(test::largest_difference(gpu.fields[f], host.fields[f]), is_float ? 1e-4 : 1e-9)
              << yaml;
      }
}

/// The last digits of errors decide on steps, so that these are alike.
TEST(PdeImplicitGpu, AdaptiveStepsFollowTheirTolerance) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  auto const text = test::implicit_products("ark3", true, "adaptive, tolerance: 1e-5");
  EXPECT_LT(test::solution_error(text, Backend::cuda).maximum, 6e-4);
  EXPECT_NEAR(static_cast<double>(test::run_pde(text, Backend::cuda).steps),
              static_cast<double>(test::run_pde(text, Backend::cpu).steps), 2);
}

TEST(PdeImplicitGpu, GoesOnWithTheSameBits) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  for (std::string const step : {"0.013", "adaptive"})
    test::expect_bits_after_restarts(
        test::implicit_products("ark3", true, step, "", "(1 + 0.5*sin(2*t))"), Backend::cuda);
  test::expect_bits_after_restarts(test::implicit_nerve("imex_bdf2", "{robin: [1, t]}", 1, 0.013),
                                   Backend::cuda);
}

}  // namespace
}  // namespace gridstride

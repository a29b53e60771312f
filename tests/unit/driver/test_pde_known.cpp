#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <string>

#include "support/pde_cases.hpp"

// Solutions that the literature knows, at the tolerances that the differences allow.
namespace gridstride {
namespace {

using test::run_pde;

/// Where the values of a front that falls along x cross a level, by linear interpolation.
double crossing(std::vector<double> const& u, double lower, double h, double level) {
  for (std::size_t i = 0; i + 1 < u.size(); ++i)
    if (u[i] >= level && u[i + 1] < level)
      return lower + h * (static_cast<double>(i) + (u[i] - level) / (u[i] - u[i + 1]));
  return std::nan("");
}

/// Nagumo's front u = 1/(1 + exp((x − ct)/√(2D))) of u_t = D·u_xx + u(1 − u)(u − a) goes at
/// c = √(D/2)(1 − 2a). With ξ the width √(2D), central differences add D·h²/12·u_xxxx, which
/// changes c by a share of about h²/(12·2D)·O(1), and by a quarter of that with half the spacing.
TEST(PdeKnownSolutions, NagumoFrontHasItsSpeed) {
  constexpr double diffusivity = 2, a = 0.1, lower = -20, upper = 40, from = 5, end = 25;
  double const exact = std::sqrt(diffusivity / 2) * (1 - 2 * a);
  auto const speed_error = [&](int cells) {
    auto const at = [&](double time) {
      auto const found = run_pde(
          fmt::format("simulation: pde\ngrid: {{points: {}, lower: {}, upper: {}}}\n"
                      "boundary: {{x: {{lower: {{dirichlet: 1}}, upper: {{dirichlet: 0}}}}}}\n"
                      "constants: {{D: {}, a: {}}}\n"
                      "equations: {{u: \"D*laplace(u) + u*(1 - u)*(u - a)\"}}\n"
                      "initial: {{u: \"1/(1 + exp(x/sqrt(2*D)))\"}}\ntime: {{end: {}}}\n",
                      cells + 1, lower, upper, diffusivity, a, time));
      return crossing(found.fields[0], lower, (upper - lower) / cells, 0.5);
    };
    return std::abs((at(end) - at(from)) / (end - from) - exact);
  };
  double const coarse = speed_error(120), fine = speed_error(240);
  double const h = (upper - lower) / 240;
  EXPECT_LT(fine, h * h / (24 * diffusivity) * exact * 2);
  EXPECT_NEAR(std::log2(coarse / fine), 2, 0.25);
}

/// The Brusselator with a = 2, b = 3 and D_u = 1. About u = 2, v = 3/2 a mode of wave number k grows
/// by σ with σ² − (2 − k² − 4 − D·k²)σ + (2 − k²)(−4 − D·k²) + 12 = 0. At D = (1 + √3)² = 7.4641 the
/// largest σ is 0, for k² = 2/√D; at D = 8 it is 0.0577260. σ is flat about its largest value, and
/// differences of sixth order with 32 points a wave are off by k²·(2π/32)⁶/560, so that what remains
/// is what is of second order in the mode.
TEST(PdeKnownSolutions, BrusselatorIsCriticalWhereItShould) {
  auto const growth = [](double diffusivity, double k) {
    double const d = -4 - diffusivity * k * k, a = 2 - k * k;
    double const root = std::sqrt((a - d) * (a - d) / 4 - 12), sigma = (a + d) / 2 + root;
    auto const amplitude = [&](double end) {
      auto const found = run_pde(fmt::format(
          "simulation: pde\ngrid: {{points: 32, upper: {}}}\nboundary: {{x: periodic}}\n"
          "space: {{order: 6}}\nequations:\n"
          "  u: 2 - 4*u + u^2*v + laplace(u)\n"
          "  v: 3*u - u^2*v + {}*laplace(v)\n"
          // The mode itself: v follows from the first row of its matrix.
          "initial: {{u: \"2 + 1e-7*cos({}*x)\", v: \"1.5 + {}*cos({}*x)\"}}\n"
          "time: {{scheme: rk4, end: {}}}\noutput: {{every: {{count: 1}}}}\n",
          2 * std::numbers::pi / k, diffusivity, k, 1e-7 * (sigma - a) / 4, k, end));
      double sum = 0;
      for (std::size_t i = 0; i < 32; ++i)
        sum +=
            (found.fields[0][i] - 2) * std::cos(2 * std::numbers::pi * static_cast<double>(i) / 32);
      return sum;
    };
    return std::log(amplitude(20) / amplitude(4)) / 16;
  };
  double const critical = std::pow(1 + std::sqrt(3), 2);
  EXPECT_NEAR(critical, 7.4641, 5e-6);
  // Rounding of values of 2 leaves 1e-16·√steps of 1e-7, over a time of 16.
  EXPECT_NEAR(growth(critical, std::sqrt(2 / std::sqrt(critical))), 0, 1e-6);
  // dσ/d(k²) = 0 for D = 8, by bisection.
  double least = 0.5, most = 1;
  auto const exact = [](double square) {
    double const a = 2 - square, d = -4 - 8 * square;
    return (a + d) / 2 + std::sqrt((a - d) * (a - d) / 4 - 12);
  };
  for (int i = 0; i < 60; ++i) {
    double const middle = (least + most) / 2;
    (exact(middle + 1e-5) > exact(middle - 1e-5) ? least : most) = middle;
  }
  EXPECT_NEAR(exact(least), 0.0577260, 5e-8);
  EXPECT_NEAR(growth(8, std::sqrt(least)), 0.0577260, 1e-6);
}

/// u = ½ sech²((x − t)/2) solves u_t + 6u·u_x + u_xxx = 0.
TEST(PdeKnownSolutions, SolitonOfKorteweg) {
  auto const error = [](int points, char const* transport) {
    return test::solution_error(
        fmt::format("simulation: pde\ngrid: {{points: {}, lower: -20, upper: 20}}\n"
                    "boundary: {{x: periodic}}\n"
                    "equations: {{u: \"-{} - d_dx(d2_dx2(u))\"}}\n"
                    "initial: {{u: \"0.5/cosh(x/2)^2\"}}\n"
                    "time: {{scheme: rk4, end: 2}}\n"
                    "verify: {{exact: {{u: \"0.5/cosh((x - t)/2)^2\"}}, tolerance: {{l2: 1}}}}\n",
                    points, transport),
        Backend::cpu);
  };
  for (char const* transport : {"6*u*d_dx(u)", "div([3*u^2])"}) {
    auto const coarse = error(200, transport), fine = error(400, transport);
    EXPECT_NEAR(test::observed_order(coarse, fine), 2, 0.1) << transport;
    // What is left out of u_xxx is h²/4·u_xxxxx, at most 0.3 h² here, over a time of 2, and of
    // 6u·u_x less than that.
    EXPECT_LT(fine.maximum, 2 * 0.6 * 0.1 * 0.1) << transport;
  }
}

/// `advection` has no central differences with Runge-Kutta stages, but two of its schemes are forward
/// Euler with central differences and a diffusivity: v·h/2 makes `upwind` of it, v²·dt/2
/// `lax_wendroff`.
TEST(PdeKnownSolutions, TransportIsThatOfAdvection) {
  std::string const problem =
      "grid: {points: 64}\nboundary: {x: periodic}\ninitial: {u: \"exp(sin(2*pi*x))\"}\n";
  auto const time = [](char const* scheme) {
    return fmt::format("time: {{scheme: {}, end: 0.5, step: 0.0078125}}\n", scheme);
  };
  for (auto const& [scheme, diffusivity] :
       {std::pair{"upwind", "0.5/64"}, {"lax_wendroff", "0.0078125/2"}}) {
    auto const pde =
        run_pde(fmt::format("simulation: pde\nequations: {{u: \"-d_dx(u) + {}*laplace(u)\"}}\n{}{}",
                            diffusivity, problem, time("euler")));
    auto const advection =
        run_pde("simulation: advection\nparameters: {velocity: {x: 1}}\n" + problem + time(scheme));
    ASSERT_EQ(pde.steps, 64);
    ASSERT_EQ(advection.steps, 64);
    // 64 steps round values of up to e a few times.
    for (std::size_t i = 0; i < 64; ++i)
      ASSERT_NEAR(pde.fields[0][i], advection.fields[0][i], 64 * 10 * 3 * 2.2e-16) << scheme;
  }
}

/// A wave at a constant speed.
TEST(PdeKnownSolutions, TransportConvergesToTheWave) {
  auto const error = [](int points, char const* equation) {
    return test::solution_error(
        fmt::format("simulation: pde\ngrid: {{points: {}}}\nboundary: {{x: periodic}}\n"
                    "equations: {{u: \"{}\"}}\ninitial: {{u: \"sin(2*pi*x)\"}}\n"
                    "time: {{scheme: rk4, end: 1}}\n"
                    "verify: {{exact: {{u: \"sin(2*pi*(x - t))\"}}, tolerance: {{l2: 1}}}}\n",
                    points, equation),
        Backend::cpu);
  };
  for (char const* equation : {"-advect([1], u)", "-div([u])", "-d_dx(u)"}) {
    auto const fine = error(128, equation);
    EXPECT_NEAR(test::observed_order(error(64, equation), fine), 2, 0.05) << equation;
    // A wave of k = 2π is late by k(1 − sin(kh)/(kh)) = k(kh)²/6 after a time of 1.
    double const k = 2 * std::numbers::pi, late = k * std::pow(k / 128, 2) / 6;
    EXPECT_NEAR(fine.maximum, late, 0.02 * late) << equation;
  }
}

/// Water that a slope sets in motion, with the drag |q|·q: q = tanh(t), from rest, where the slope of
/// |q| is 0/0 by the rules of calculus. A front that all goes towards is as flat in the beginning.
TEST(PdeKnownSolutions, DragSetsInAtRest) {
  for (std::string const size : {"norm(q)", "sqrt(norm2(q))"}) {
    auto const found = run_pde(
        "simulation: pde\ngrid: {points: [6, 5]}\nboundary: {x: periodic, y: periodic}\n"
        "fields: {q: vector}\nequations: {q: \"[0.6, 0.8] - q*" +
        size + "\"}\ninitial: {q: [0, 0]}\ntime: {scheme: rk4, end: 1}\n");
    EXPECT_NEAR(found.fields[0][0], 0.6 * std::tanh(1), 1e-6) << size;
  }
  auto const flat = run_pde(
      "simulation: pde\ngrid: {points: 16}\nboundary: {x: periodic}\n"
      "equations: {u: 1 - norm(grad(u))}\ninitial: {u: 2}\ntime: {end: 1}\n");
  for (double const value : flat.fields[0]) EXPECT_NEAR(value, 3, 1e-12);
}

/// Where fluxes are split, the speed at u = 0 is 0/0 by the rules of calculus.
TEST(PdeKnownSolutions, FluxesWithRootsAreCarriedPastZeros) {
  auto const carried = [](std::string const& size, std::string const& convection) {
    return run_pde(
               "simulation: pde\ngrid: {points: 32}\nboundary: {x: periodic}\n"
               "space: {convection: " +
               convection + "}\nequations: {u: \"-div([u*" + size +
               "])\"}\ninitial: {u: \"max(0, sin(2*pi*x))\"}\n"
               "time: {scheme: ssprk3, end: 0.05}\n")
        .fields[0];
  };
  for (std::string const convection : {"upwind", "weno5"}) {
    auto const found = carried("sqrt(u^2)", convection), expected = carried("abs(u)", convection);
    for (std::size_t i = 0; i < expected.size(); ++i)
      EXPECT_NEAR(found[i], expected[i], 1e-13) << convection << ' ' << i;
  }
}

}  // namespace
}  // namespace gridstride

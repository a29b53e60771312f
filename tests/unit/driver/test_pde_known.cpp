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

}  // namespace
}  // namespace gridstride

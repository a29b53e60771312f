#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "model/entry.hpp"
#include "simulations/registry.hpp"
#include "support/pde_cases.hpp"

namespace gridstride {
namespace {

using test::run_pde;
constexpr double pi = std::numbers::pi;

/// A line of 32 points around [0, 2π) with derivatives of modes, where nothing moves.
std::string line(std::string const& derived, std::string const& more = "") {
  return fmt::format(
      "simulation: pde\ngrid: {{points: 32, upper: 2*pi}}\nboundary: {{x: periodic}}\n"
      "space: {{derivatives: spectral}}\nequations: {{u: 0*u}}\n"
      "initial: {{u: \"exp(sin(x))\"}}\ntime: {{scheme: rk4, end: 1, step: 0.5}}\n"
      "output: {{derived: {}}}\n{}",
      derived, more);
}

/// What differences of order 6 miss by 1e-4 and more. exp(sin x) has modes of e/2^16/16! = 1e-18 at
/// the Nyquist frequency, and ten roundings of values up to 24·e are less than 1e-12.
TEST(PdeModalValues, DerivativesAreThoseOfModes) {
  auto const found =
      run_pde(line("{slope: d_dx(u), third: d_dx(d2_dx2(u)), square: \"laplace(u^2 + x*0)\", "
                   "quotient: \"d_dx(sin(x)/(1 + u))\", carried: \"advect([u], u)\", flux: "
                   "\"div(u*grad(u))\", over: \"mean(d_dx(u)^2)*u\"}"));
  ASSERT_EQ(found.fields.size(), 8U);
  double norm = 0;
  for (int i = 0; i < 32; ++i) {
    double const x = pi * i / 16;
    norm += std::pow(std::cos(x) * std::exp(std::sin(x)), 2) / 32;
  }
  for (std::size_t i = 0; i < 32; ++i) {
    double const x = pi * static_cast<double>(i) / 16, s = std::sin(x), c = std::cos(x),
                 u = std::exp(s), u1 = c * u, u2 = (c * c - s) * u,
                 u3 = (c * c * c - 3 * s * c - c) * u;
    std::vector<double> const wanted = {u1,
                                        u3,
                                        2 * u * u2 + 2 * u1 * u1,
                                        c / (1 + u) - s * u1 / ((1 + u) * (1 + u)),
                                        u * u1,
                                        u * u2 + u1 * u1,
                                        norm * u};
    for (std::size_t k = 0; k < wanted.size(); ++k)
      EXPECT_NEAR(found.fields[k + 1][i], wanted[k], 1e-12) << k << " at " << x;
  }
}

/// Odd derivatives make cosines of sines; those of a field that a constraint holds are its own.
TEST(PdeModalValues, BetweenSidesAndOfFieldsThatConstraintsHold) {
  auto const sines = run_pde(
      "simulation: pde\ngrid: {points: [33, 16], upper: [1, 2*pi]}\n"
      "boundary: {x: {dirichlet: 0}, y: periodic}\nspace: {derivatives: spectral}\n"
      "equations: {u: 0*u}\ninitial: {u: sin(3*pi*x)*cos(2*y)}\n"
      "time: {scheme: rk4, end: 1, step: 0.5}\n"
      "output: {derived: {a: d_dx(u), b: d2_dxdy(u), c: norm2(grad(u))}}\n");
  for (std::size_t j = 0; j < 16; ++j)
    for (std::size_t i = 0; i < 33; ++i) {
      double const x = static_cast<double>(i) / 32, y = pi * static_cast<double>(j) / 8,
                   a = 3 * pi * std::cos(3 * pi * x) * std::cos(2 * y),
                   b = -6 * pi * std::cos(3 * pi * x) * std::sin(2 * y),
                   d = -2 * std::sin(3 * pi * x) * std::sin(2 * y);
      EXPECT_NEAR(sines.fields[1][33 * j + i], a, 1e-12);
      EXPECT_NEAR(sines.fields[2][33 * j + i], b, 1e-11);
      EXPECT_NEAR(sines.fields[3][33 * j + i], a * a + d * d, 1e-10);
    }
  auto const flow = run_pde(
      "simulation: pde\ngrid: {points: [16, 16], upper: [2*pi, 2*pi]}\n"
      "boundary: {x: periodic, y: periodic}\nspace: {derivatives: spectral}\n"
      "equations: {w: 0*w, 0: laplace(psi) + w}\ninitial: {w: 10*sin(3*x)*cos(y)}\n"
      "time: {scheme: rk4, end: 1, step: 0.5}\noutput: {derived: {v: -d_dx(psi)}}\n");
  for (std::size_t j = 0; j < 16; ++j)
    for (std::size_t i = 0; i < 16; ++i)
      EXPECT_NEAR(flow.fields[2][16 * j + i],
                  -3 * std::cos(3 * pi * static_cast<double>(i) / 8) *
                      std::cos(pi * static_cast<double>(j) / 8),
                  1e-13);
}

/// u ← −u″ and u ← the integral of u'²: events and conditions see the derivatives of modes, too.
TEST(PdeModalValues, EventsAndConditions) {
  std::string const text =
      "simulation: pde\ngrid: {points: 8, upper: 2*pi}\nboundary: {x: periodic}\n"
      "space: {derivatives: spectral}\nequations: {u: 0*u}\ninitial: {u: sin(3*x)}\n"
      "time: {scheme: rk4, end: 4, step: 1}\n"
      "events: [{at: 1, set: {u: -d2_dx2(u)}}, {at: 2, set: {u: u + integral(d_dx(u)^2)}}]\n";
  auto const found = run_pde(text);
  for (std::size_t i = 0; i < 8; ++i)
    EXPECT_NEAR(found.fields[0][i],
                9 * std::sin(3 * pi * static_cast<double>(i) / 4) + 27 * 27 * pi, 1e-9);
  // 9 sin(3x) has a slope of 27 at its points, which differences do not reach.
  EXPECT_EQ(
      run_pde(text + "output: {every: {time: 1}}\nstop: {when: \"max(d_dx(u)) > 26.99\"}\n").steps,
      1);
}

/// The steady state of the modes has rates of rounding, of differences it would have 1e-3.
TEST(PdeModalValues, RestIsThatOfModes) {
  auto const found = run_pde(
      "simulation: pde\ngrid: {points: 24, upper: 2*pi}\nboundary: {x: periodic}\n"
      "space: {derivatives: spectral}\nequations: {u: \"0.5*laplace(u) - u^3 + cos(4*x)\"}\n"
      "initial: {u: 0}\ntime: {scheme: etdrk4, end: 1000, step: 0.05}\nstop: {steady: 1e-11}\n");
  EXPECT_GT(found.steps, 32);
  EXPECT_LT(found.steps, 1000);
}

TEST(PdeModalValues, FaultsAreToldInTheirPlaces) {
  auto const problems = [](std::string const& yaml) {
    auto const config = test::config_of(yaml);
    std::string all;
    for (Problem const& problem : entry_of(config).problems(config, {}))
      all += problem.path + ": " + problem.message + "\n";
    return all;
  };
  EXPECT_EQ(
      problems(line("{fine: d_dx(u), a: \"d_dx(u*uniform(1))\"}")),
      "output.derived.a: a derivative of random numbers stands in it, which have none by modes "
      "(fields that begin as such have)\n");
  // 24 derivatives beside a field, one more than there may be.
  std::string many = "{";
  for (int n = 1; n <= 24; ++n) {
    std::string text = "u";
    for (int k = 0; k < n % 6; ++k) text = "d_dx(" + text + ")";
    for (int k = 0; k < n / 6; ++k) text = "d_dy(" + text + ")";
    many += fmt::format("{}q{}: {}", n > 1 ? ", " : "", n, text);
  }
  EXPECT_EQ(
      problems("simulation: pde\ngrid: {points: [8, 8]}\nboundary: {x: periodic, y: periodic}\n"
               "space: {derivatives: spectral}\nequations: {u: 0*u}\ninitial: {u: 0}\n"
               "time: {scheme: rk4, end: 1, step: 0.5}\noutput: {derived: " +
               many + "}}\n"),
      "output.derived.q24: what is found at the points has more than 23 derivatives of fields in "
      "all (fields, rates that 'steady' looks at and these are 24 arrays at most)\n");
}

}  // namespace
}  // namespace gridstride

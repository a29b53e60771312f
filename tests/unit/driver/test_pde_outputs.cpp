#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "support/pde_outputs.hpp"

// What follows from the fields of a system: derived fields, and formulas of diagnostics.
namespace gridstride {
namespace {

using test::config_of;
using test::Ended;
using test::run_pde;

/// A state that does not change: x² + 2y on a plane with sides of its own.
std::string still(std::string const& rest, char const* precision = "float64") {
  return std::string("simulation: pde\nprecision: ") + precision +
         "\ngrid: {points: [5, 4], upper: [4, 3]}\n"
         "boundary: {x: {dirichlet: \"x^2 + 2*y\"}, y: {dirichlet: \"x^2 + 2*y\"}}\n"
         "constants: {c: 3}\nlet: {twice: 2*u}\nequations: {u: 0}\n"
         "initial: {u: \"x^2 + 2*y\"}\ntime: {end: 0.5}\n" +
         rest;
}

TEST(PdeDerived, ByHand) {
  for (char const* precision : {"float32", "float64"}) {
    Ended run(
        still("output: {derived: {a: c*twice + t, slope: grad(u), bend: d2_dx2(u), p: \"[x, "
              "u]\", pure: x + y}}\n",
              precision));
    auto const u = run.values("u"), a = run.values("a"), slope = run.values("slope");
    auto const bend = run.values("bend"), pair = run.values("p"), pure = run.values("pure");
    ASSERT_EQ(a.size(), 20);
    ASSERT_EQ(slope.size(), 40);
    for (std::size_t j = 0; j < 4; ++j)
      for (std::size_t i = 0; i < 5; ++i) {
        std::size_t const at = i + 5 * j;
        EXPECT_EQ(a[at], 6 * u[at] + 0.5);
        EXPECT_EQ(pair[2 * at], static_cast<double>(i));
        EXPECT_EQ(pair[2 * at + 1], u[at]);
        EXPECT_EQ(pure[at], static_cast<double>(i + j));
        EXPECT_EQ(slope[2 * at + 1], 2);
        if (i == 0 || i == 4) continue;  // there the rules of the sides count
        EXPECT_EQ(slope[2 * at], 2 * static_cast<double>(i));
        EXPECT_EQ(bend[at], 2);
      }
  }
}

/// The time, and values on sides, are those of the moment, also where the equations know of none.
TEST(PdeDerived, AreOfTheMoment) {
  Ended run(
      "simulation: pde\ngrid: {points: 5, upper: 4}\n"
      "boundary: {x: {lower: {neumann: t}, upper: {neumann: 0}}}\n"
      "equations: {u: 0}\ninitial: {u: 0}\ntime: {scheme: rk4, end: 0.75, step: 0.25}\n"
      "output: {every: {count: 1}, derived: {now: t, slope: d_dx(u)}}\n");
  EXPECT_EQ(run.values("now"), std::vector<double>(5, 0.75));
  EXPECT_EQ(run.values("slope"), (std::vector<double>{-0.75, 0, 0, 0, 0}));
}

TEST(PdeDerived, ChangesNothing) {
  std::string const problem =
      "simulation: pde\ngrid: {points: 40}\nboundary: {x: {dirichlet: \"sin(9*t)\"}}\n"
      "equations: {u: laplace(u) - u^3}\ninitial: {u: x}\ntime: {end: 0.01}\n";
  auto const without = run_pde(problem);
  auto const with =
      run_pde(problem + "output: {derived: {rate: dt(u)}}\ndiagnostics: [{integral: dt(u)}]\n");
  EXPECT_EQ(with.steps, without.steps);
  ASSERT_EQ(with.fields.size(), 2);
  EXPECT_EQ(with.fields[0], without.fields[0]);
}

/// dt(u) is the right-hand side: two derived fields say the same.
TEST(PdeDerived, KnowRates) {
  Ended run(
      "simulation: pde\ngrid: {points: 16}\nboundary: {x: periodic}\n"
      "equations: {u: laplace(u) - u^3}\ninitial: {u: sin(2*pi*x)}\ntime: {end: 0.001}\n"
      "output: {derived: {rate: dt(u), same: laplace(u) - u^3}}\n");
  EXPECT_EQ(run.values("rate"), run.values("same"));
}

/// With a solution that is made up, dt(u) has the source in it.
TEST(PdeDerived, KnowRatesOfMadeSolutions) {
  Ended run(
      "simulation: pde\ngrid: {points: 5}\nboundary: {x: dirichlet}\nequations: {u: laplace(u)}\n"
      "time: {end: 0.5}\noutput: {derived: {rate: dt(u)}}\n"
      "verify: {manufactured: {u: x^2 + 3*t}}\n");
  for (std::size_t i = 1; i < 4; ++i) EXPECT_NEAR(run.values("rate")[i], 3, 1e-12);
}

/// The fields of a run are chosen from all; the resolved document reads back to the same.
TEST(PdeDerived, AreFieldsOfTheRun) {
  auto const config = config_of(
      still("output: {derived: {a: u^2, b: grad(u)}, fields: [b]}\ndiagnostics: [norms, {maximum: "
            "a}, {probe: {at: [1, 1], field: b.x}}]\n"));
  EXPECT_EQ(config.output.fields, std::vector<std::string>{"b"});
  ASSERT_EQ(config.fields.size(), 3);
  EXPECT_EQ(config.fields[2].components.size(), 2);
  EXPECT_FALSE(config.initial.contains("a"));
  EXPECT_THROW(config.sides_of("a"), std::invalid_argument);
  auto const resolved = config::resolved_yaml(config);
  EXPECT_EQ(config::resolved_yaml(config_of(resolved)), resolved);
  // A checkpoint does not depend on them.
  EXPECT_EQ(config::problem_yaml(config), config::problem_yaml(config_of(still(""))));
}

/// The free energy of Cahn and Hilliard, on a state that is known.
TEST(PdeDiagnostics, EnergyOfAFormula) {
  Ended run(
      "simulation: pde\ngrid: {points: 64}\nboundary: {x: periodic}\n"
      "let: {f: c^2*(1 - c)^2}\nequations: {c: 0}\ninitial: {c: \"1/2 + sin(2*pi*x)/4\"}\n"
      "time: {end: 1}\n"
      "diagnostics: [{integral: c}, {integral: {of: \"f + norm2(grad(c))\", name: energy}},\n"
      "  {maximum: {of: norm(grad(c)), where: true, name: steepest}}, {minimum: f}]\n");
  double const h = 1.0 / 64, slope = std::sin(2 * std::numbers::pi * h) / (4 * h);
  // f = (1/4 − s²)² with s = sin/4, and differences of a sine are one of its derivative.
  double const f = 1.0 / 16 - 0.5 / 32 + 3.0 / 8 / 256;
  EXPECT_NEAR(run.measured("integral(c)"), 0.5, 1e-15);
  EXPECT_NEAR(run.measured("energy"), f + slope * slope / 2, 1e-13);
  EXPECT_NEAR(run.measured("steepest"), slope, 1e-13);
  EXPECT_EQ(std::fmod(run.measured("steepest.x"), 0.5), 0);
  EXPECT_NEAR(run.measured("minimum(f)"), std::pow(1.0 / 4 - 1.0 / 16, 2), 1e-15);
}

/// What formulas could say before is found as before, in float64.
TEST(PdeDiagnostics, PlainFormulasStay) {
  Ended run(still("diagnostics: [{maximum: u + 1e-9}, {integral: twice}, {integral: \"2*u\"}]\n",
                  "float32"));
  EXPECT_EQ(run.simulation->quantities().size(), 1);
  EXPECT_EQ(run.measured("maximum(u + 1e-9)"), 22 + 1e-9);
  EXPECT_EQ(run.measured("integral(twice)"), run.measured("integral(2*u)"));
}

/// Components of vectors are q.x as in equations, or q_x as in other formulas.
TEST(PdeDiagnostics, KnowComponents) {
  Ended run(
      "simulation: pde\nfields: {q: vector}\ngrid: {points: [4, 4]}\nequations: {q: \"[0, 0]\"}\n"
      "initial: {q: {x: x, y: 2*y}}\ntime: {end: 1}\n"
      "diagnostics: [{maximum: q_y}, {maximum: q.y}, {maximum: \"dot(q, q)\"}]\n");
  EXPECT_EQ(run.measured("maximum(q_y)"), run.measured("maximum(q.y)"));
  EXPECT_EQ(run.measured("maximum(dot(q, q))"), 0.75 * 0.75 * 5);
}

/// What is not a number is told by its name.
TEST(PdeDiagnostics, NotFinite) {
  Ended run(still("diagnostics: [{integral: {of: log(-norm2(grad(u)) - 1), name: none}}]\n"));
  try {
    run.measured();
    ADD_FAILURE();
  } catch (NumericalError const& error) {
    EXPECT_NE(std::string(error.what()).find("none is not finite at"), std::string::npos)
        << error.what();
  }
}

std::string problem_of(std::string const& yaml) {
  auto const config = config_of(yaml);
  auto const problems = entry_of(config).problems(config, {});
  return problems.empty() ? "" : problems.front().path + ": " + problems.front().message;
}

/// What follows from the fields may reach further than the equations.
TEST(PdeDerived, ReachIsChecked) {
  EXPECT_EQ(problem_of("simulation: pde\ngrid: {points: 3}\nboundary: {x: periodic}\n"
                       "equations: {u: laplace(u)}\ninitial: {u: 0}\ntime: {end: 1}\n"
                       "output: {derived: {a: laplace(laplace(laplace(laplace(u))))}}\n"),
            "grid.points: 3 points along x are too few (output.derived.a reaches 4 points to each "
            "side; 4 are the least)");
}

}  // namespace
}  // namespace gridstride

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <numbers>
#include <numeric>
#include <string>
#include <tuple>

#include "core/error.hpp"
#include "support/pde_cases.hpp"
#include "support/replaced.hpp"

namespace gridstride {
namespace {

using test::OrderCase;
using test::replaced;
using test::run_pde;
using test::step_of;

class PdeSpaceOrder : public testing::TestWithParam<OrderCase> {};

TEST_P(PdeSpaceOrder, IsTwo) { test::expect_order_two(GetParam()); }

constexpr char const* diffusion = "div((0.02 + 0.01*#^2)*grad(#))";
constexpr char const* fourth = "-1e-4*laplace(laplace(#)) + 0.1*laplace(#)";
INSTANTIATE_TEST_SUITE_P(
    Pde, PdeSpaceOrder,
    testing::Values(OrderCase{"diffusion_pp", diffusion, 1, "pp", 32},
                    OrderCase{"diffusion_dn", diffusion, 1, "dn", 32},
                    OrderCase{"diffusion_nn", diffusion, 1, "nn", 32},
                    OrderCase{"diffusion_2D", diffusion, 2, "ppdn", 20},
                    OrderCase{"diffusion_corners", diffusion, 2, "nnnd", 20},
                    OrderCase{"diffusion_3D", diffusion, 3, "ppdnnn", 12},
                    OrderCase{"diffusion_in_space", "div((0.05 + 0.02*x)*grad(#))", 1, "nd", 32},
                    OrderCase{"mixed_periodic", "0.05*(laplace(#) + d2_dxdy(#))", 2, "pppp", 20},
                    OrderCase{"mixed_corners", "0.05*(laplace(#) + d2_dxdy(#))", 2, "nnnn", 20},
                    OrderCase{"mixed_sides", "0.05*(laplace(#) + d2_dxdy(#))", 2, "dnpp", 20},
                    OrderCase{"fourth", fourth, 1, "pp", 32},
                    OrderCase{"transport", "0.05*laplace(#) - advect([#, 0.5], #)", 2, "pppp", 20},
                    OrderCase{"flux", "0.05*laplace(#) - div([#^2/2])", 1, "dd", 32},
                    OrderCase{"dispersion", "-1e-3*d_dx(d2_dx2(#)) - #*d_dx(#)", 1, "pp", 32},
                    OrderCase{"formula_of_the_field", "0.02*laplace(#^3) - #", 2, "ppnn", 20},
                    OrderCase{"gradient", "0.05*laplace(#) + 0.1*norm2(grad(#))", 2, "dddd", 20}),
    [](auto const& one) { return std::string(std::get<0>(one.param)); });

TEST(PdeTimeOrder, IsThatOfTheScheme) {
  struct Order {
    char const* scheme;
    double order;
    int steps;
  };
  for (auto const& [scheme, order, steps] : {Order{"euler", 1, 200}, Order{"ssprk2", 2, 100},
                                             Order{"ssprk3", 3, 50}, Order{"rk4", 4, 40}})
    for (char const side : {'d', 'n', 'r', 'f'}) {
      auto const error = [&](int n) {
        return test::solution_error(test::quadratic_pde(scheme, side, n), Backend::cpu);
      };
      auto const coarse = error(steps), fine = error(2 * steps);
      EXPECT_NEAR(test::observed_order(coarse, fine), order, 0.12)
          << scheme << ' ' << side << ": l2 errors " << coarse.l2 << ", " << fine.l2;
    }
}

/// The same problem as `heat` has it: the same step, and values that differ by rounding.
TEST(Pde, HeatIsHeat) {
  for (char const* precision : {"float64", "float32"}) {
    std::string const problem = fmt::format(
        "precision: {}\ngrid: {{points: [40, 33]}}\n"
        "boundary: {{x: periodic, y: {{lower: {{dirichlet: \"sin(9*t)\"}}, upper: {{neumann: "
        "x}}}}}}\n"
        "initial: {{u: \"sin(2*pi*x)*cos(3*y)\"}}\n",
        precision);
    auto const time = [](char const* scheme) {
      return fmt::format("time: {{scheme: {}, end: 0.02}}\noutput: {{every: {{count: 1}}}}\n",
                         scheme);
    };
    for (auto const& [own, other] : {std::pair{"euler", "ftcs"}, {"rk4", "rk4"}}) {
      auto const pde =
          "simulation: pde\nequations: {u: \"0.7*laplace(u) + x\"}\n" + problem + time(own);
      auto const heat =
          "simulation: heat\nparameters: {diffusivity: 0.7, source: x}\n" + problem + time(other);
      EXPECT_NEAR(step_of(pde), step_of(heat), 1e-12 * step_of(heat));
      auto const a = run_pde(pde), b = run_pde(heat);
      EXPECT_EQ(a.steps, b.steps);
      double difference = 0;
      for (std::size_t i = 0; i < a.fields[0].size(); ++i)
        difference = std::max(difference, std::abs(a.fields[0][i] - b.fields[0][i]));
      // Each of some hundred steps rounds values of about 1 a few times.
      EXPECT_LT(difference, std::string(precision) == "float32" ? 2e-5 : 1e-12) << own;
    }
  }
}

/// u = (1 + e^z)⁻², z = (x − ct)/√6 with c = 5/√6 solves u_t = u_xx + u(1 − u).
///
/// Differences add h²/12·u_xxxx to the equation, so the error obeys e_t = e_xx + (1 − 2u)e +
/// h²/12·u_xxxx, but for e². So does −u_x without that source, since the front may be anywhere, and
/// t·C·(−u_x) is a bound for |e| where C·|u_x| ≥ h²/12·|u_xxxx| everywhere. Of (1 + e^z)⁻² the fourth
/// derivative is at most 8 times the first, the sixth at most 32 times, and the first at most 8/27.
/// The sixth is in what comes next, h⁴/360·u_xxxxxx; dt ~ h², so rk4 adds h⁸.
TEST(PdeKnownAnswers, FisherFront) {
  auto const error = [](int points) {
    return test::solution_error(
        fmt::format(
            "simulation: pde\ngrid: {{points: {}, lower: -20, upper: 40}}\n"
            "boundary: {{x: {{dirichlet: \"(1 + exp((x - 5/sqrt(6)*t)/sqrt(6)))^(-2)\"}}}}\n"
            "equations: {{u: \"laplace(u) + u*(1 - u)\"}}\n"
            "initial: {{u: \"(1 + exp(x/sqrt(6)))^(-2)\"}}\n"
            "time: {{end: 5}}\n"
            "verify: {{exact: {{u: \"(1 + exp((x - 5/sqrt(6)*t)/sqrt(6)))^(-2)\"}}, "
            "tolerance: {{l2: 1}}}}\n",
            points),
        Backend::cpu);
  };
  auto const coarse = error(121), fine = error(241);
  auto const bound = [](double h) {
    double const first = 8.0 / 27 / std::sqrt(6), time = 5;
    return time * first *
           (h * h / 12 * 8 / std::pow(6, 1.5) + std::pow(h, 4) / 360 * 32 / std::pow(6, 2.5));
  };
  EXPECT_LT(coarse.maximum, bound(0.5));
  EXPECT_LT(fine.maximum, bound(0.25));
  // What comes next is at most a part 4/6·h²/30 of that, 0.6 and 0.14 %; of what is left where bounds
  // are not reached it may be ten times as much.
  EXPECT_NEAR(test::observed_order(coarse, fine), 2, std::log2(1 + 10 * 4.0 / 6 * 0.25 / 30));
}

/// A step that travels: u = 1 − tanh((x − t)/(4ν)·…) solves Burgers' equation, here with ν = 0.1:
/// u = 1 − tanh((x − t)/(2ν)).
TEST(PdeKnownAnswers, BurgersWave) {
  auto const error = [](int points, char const* equation) {
    return test::solution_error(
        fmt::format("simulation: pde\ngrid: {{points: {}, lower: -3, upper: 5}}\n"
                    "boundary: {{x: {{lower: {{dirichlet: 2}}, upper: {{dirichlet: 0}}}}}}\n"
                    "equations: {{u: \"0.1*laplace(u) - {}\"}}\n"
                    "initial: {{u: \"1 - tanh(x/0.2)\"}}\n"
                    "time: {{scheme: ssprk3, end: 1}}\n"
                    "verify: {{exact: {{u: \"1 - tanh((x - t)/0.2)\"}}, tolerance: {{l2: 1}}}}\n",
                    points, equation),
        Backend::cpu);
  };
  for (char const* equation : {"div([u^2/2])", "u*d_dx(u)"}) {
    auto const coarse = error(321, equation), fine = error(641, equation);
    EXPECT_NEAR(test::observed_order(coarse, fine), 2, 0.2) << equation;
  }
}

/// iψ_t = −ψ_xx/2 − |ψ|²ψ has the soliton e^{i(x·v + …)}/cosh: with v = 0, ψ = e^{it/2}/cosh x.
TEST(PdeKnownAnswers, SolitonKeepsItsNorm) {
  auto const found = run_pde(
      "simulation: pde\ngrid: {points: 400, lower: -20, upper: 20}\nboundary: {x: periodic}\n"
      "let: {density: a^2 + b^2}\n"
      "equations: {a: -laplace(b)/2 - density*b, b: laplace(a)/2 + density*a}\n"
      "initial: {a: 1/cosh(x), b: 0}\ntime: {scheme: rk4, end: 4}\n");
  double norm = 0, energy = 0, error = 0;
  for (std::size_t i = 0; i < 400; ++i) {
    double const x = -20 + 0.1 * static_cast<double>(i), amplitude = 1 / std::cosh(x);
    double density = 0, slope = 0;
    for (auto const& part : found.fields) {
      density += part[i] * part[i];
      slope += std::pow((part[(i + 1) % 400] - part[i]) / 0.1, 2);
    }
    norm += 0.1 * density;
    energy += 0.1 * (slope - density * density) / 2;
    error = std::max(error, std::abs(found.fields[0][i] - amplitude * std::cos(2)));
    error = std::max(error, std::abs(found.fields[1][i] - amplitude * std::sin(2)));
  }
  EXPECT_NEAR(norm, 2, 1e-4);  // rk4 damps by (dt·λ)⁶/72 a step, where the soliton's λ are small
  // What flux differences make of ∫|ψ_x|²/2 − |ψ|⁴/2 is kept, and is off by h²/24·∫ψ_xx² = h²·7/180.
  EXPECT_NEAR(energy, -1.0 / 3 - 0.1 * 0.1 * 7 / 180, 2e-6);
  EXPECT_LT(error, 0.1 * 0.1);  // h² times derivatives of about 1
}

/// The Brusselator with a = 2, b = 3, D_u = 1, D_v = 8: about u = 2, v = 3/2 the mode of wave number
/// k grows by exp(σt), σ the larger root for k² of the differences.
TEST(PdeKnownAnswers, BrusselatorGrowsAsItShould) {
  double const points = 64, length = 2 * std::numbers::pi / 0.8, h = length / points;
  auto const found = run_pde(
      fmt::format("simulation: pde\ngrid: {{points: 64, upper: {}}}\nboundary: {{x: periodic}}\n"
                  "equations:\n"
                  "  u: 2 - 4*u + u^2*v + laplace(u)\n"
                  "  v: 3*u - u^2*v + 8*laplace(v)\n"
                  "initial: {{u: \"2 + 1e-6*cos(0.8*x)\", v: 1.5}}\n"
                  "time: {{scheme: rk4, end: 60}}\n",
                  length));
  double const k2 = std::pow(2 / h * std::sin(0.4 * h), 2);
  double const a = 2 - k2, b = 4, c = -3, d = -4 - 8 * k2;
  double const root = std::sqrt((a - d) * (a - d) / 4 + b * c);
  double const growth = (a + d) / 2 + root;
  // The initial values' share in that mode.
  double const share = (growth - d) / (2 * root);
  double amplitude = 0;
  for (std::size_t i = 0; i < 64; ++i)
    amplitude += 2 / points * (found.fields[0][i] - 2) * std::cos(0.8 * h * static_cast<double>(i));
  EXPECT_NEAR(std::log(amplitude / (1e-6 * share)) / 60, growth, 1e-4 * std::abs(growth));
  EXPECT_NEAR(growth, 0.05, 0.02);  // near the largest, +0.0577
}

/// Cahn–Hilliard keeps ∫c, and the energy never rises; by forward Euler as well, which is not refused
/// for the waves that grow by themselves.
class CahnHilliard : public testing::TestWithParam<char const*> {};
TEST_P(CahnHilliard, KeepsItsMass) {
  auto const text = [](double end) {
    return fmt::format(
        "simulation: pde\ngrid: {{points: [40, 36], upper: [40, 36]}}\n"
        "boundary: {{x: periodic, y: periodic}}\n"
        "let: {{f: 5*(c-0.3)^2*(0.7-c)^2, mu: \"diff(f, c) - 2*laplace(c)\"}}\n"
        "equations: {{c: 5*laplace(mu)}}\n"
        "initial: {{c: \"0.5 + 0.05*cos(0.31*x)*cos(0.35*y) + 0.02*sin(x)\"}}\n"
        "time: {{scheme: {}, end: {}}}\n",
        GetParam(), end);
  };
  auto const mass = [](std::vector<double> const& c) {
    return std::accumulate(c.begin(), c.end(), 0.0);
  };
  auto const energy = [](std::vector<double> const& c) {
    double sum = 0;
    for (std::size_t j = 0; j < 36; ++j)
      for (std::size_t i = 0; i < 40; ++i) {
        double const here = c[i + 40 * j];
        double const x = c[(i + 1) % 40 + 40 * j] - here, y = c[i + 40 * ((j + 1) % 36)] - here;
        sum += 5 * std::pow(here - 0.3, 2) * std::pow(0.7 - here, 2) + x * x + y * y;
      }
    return sum;
  };
  double before = std::numeric_limits<double>::infinity(), first = 0;
  for (double const end : {0.001, 1., 4., 40.}) {
    auto const c = run_pde(text(end)).fields[0];
    if (first == 0) first = mass(c);
    EXPECT_NEAR(mass(c), first, 1e-12 * first);
    EXPECT_LE(energy(c), before);
    before = energy(c);
  }
}
INSTANTIATE_TEST_SUITE_P(PdeKnownAnswers, CahnHilliard, testing::Values("rk4", "euler"));

std::string refusal_of(std::string const& yaml) {
  try {
    step_of(yaml);
  } catch (ConfigError const& error) {
    return error.problems().front().message;
  }
  return "";
}

TEST(PdeStep, EulerIsRefusedForWaves) {
  std::string const wave =
      "simulation: pde\ngrid: {points: 64}\nboundary: {x: periodic}\n"
      "equations: {a: -laplace(b)/2, b: laplace(a)/2}\ninitial: {a: 1, b: 0}\n";
  EXPECT_EQ(refusal_of(wave + "time: {scheme: euler, end: 1}\n"),
            "euler is not stable for what these equations do, whatever the step (they have waves "
            "that are hardly damped); ssprk3 and rk4 take them");
  // |λ| = 4/(2h²), h = 1/64, to 2√2
  EXPECT_NEAR(step_of(wave + "time: {scheme: rk4, end: 1, safety: 1}\n"),
              2 * std::sqrt(2) / (2 * 64 * 64), 1e-9);
}

TEST(PdeStep, OverTheLimitIsRefused) {
  EXPECT_EQ(refusal_of("simulation: pde\ngrid: {points: 10}\nboundary: {x: periodic}\n"
                       "equations: {u: 0.5*laplace(u)}\ninitial: {u: x}\n"
                       "time: {scheme: euler, end: 1, step: 0.011}\n"),
            "0.011 s is over the stability limit of 0.01 s (euler, with rates of up to 200 1/s); "
            "'auto' takes at most 0.9 of the limit");
}

/// u_t = u_xx·u with u = x²·f(t) grows as 1/(1 − 2t), and so does its diffusion: the steps get
/// smaller, and the values stay right.
TEST(PdeStep, FollowsTheFields) {
  std::string const text =
      "simulation: pde\ngrid: {points: 33}\n"
      "boundary: {x: {lower: {dirichlet: 0}, upper: {dirichlet: \"1/(1 - 2*t)\"}}}\n"
      "equations: {u: u*laplace(u)}\ninitial: {u: x^2}\n"
      "time: {scheme: euler, end: 0.45}\n";
  auto const found = run_pde(text);
  double const first = step_of(text);
  EXPECT_GT(static_cast<double>(found.steps), 1.5 * 0.45 / first);
  for (std::size_t i = 0; i < 33; ++i)
    EXPECT_NEAR(found.fields[0][i], std::pow(static_cast<double>(i) / 32, 2) * 10, 0.1);
  // Slices do not change the bits.
  EXPECT_EQ(run_pde(text, Backend::cpu, 1).fields, found.fields);
  EXPECT_EQ(run_pde(text, Backend::cpu, 7).fields, found.fields);
}

TEST(PdeStep, AStepThatBecomesTooLongStopsTheRun) {
  std::string const text =
      "simulation: pde\ngrid: {points: 33}\n"
      "boundary: {x: {lower: {dirichlet: 0}, upper: {dirichlet: \"1/(1 - 2*t)\"}}}\n"
      "equations: {u: u*laplace(u)}\ninitial: {u: x^2}\n"
      "time: {scheme: euler, end: 0.45, step: 4e-4}\n";
  EXPECT_THROW(run_pde(text), NumericalError);
}

/// Where the limit says nothing of the first fields a run begins with a millionth of the step that it comes
/// to in some eighty; what is foretold goes by the latter.
TEST(PdeStep, WhatIsForetoldGoesByTheStepThatARunComesTo) {
  std::string const text =
      "simulation: pde\ngrid: {points: 33}\nequations: {u: div(u^2*grad(u)) + 1}\n"
      "initial: {u: 0}\ntime: {scheme: rk4, end: 0.1}\noutput: {every: {steps: 1}}\n";
  double const step = step_of(text);
  auto const steps = run_pde(text).steps;
  EXPECT_GT(step, 1e-3);
  EXPECT_NEAR(static_cast<double>(steps), 0.1 / step, 200);
}

/// The examples can be read, have a step, and stay finite for a while.
TEST(Pde, TheExamplesRun) {
  int count = 0;
  for (auto const& file :
       std::filesystem::directory_iterator(GRIDSTRIDE_SOURCE_DIR "/inputs/pde")) {
    SCOPED_TRACE(file.path().filename().string());
    auto const config = config::read_run_config(file.path(), {}, simulation_infos());
    Stream stream(Device::open(Backend::cpu));
    auto const simulation = entry_of(config).make(config, stream, {});
    EXPECT_GT(simulation->first_step(), 0);
    simulation->advance(20, config.time.end);
    EXPECT_EQ(simulation->clock().step, 20);
    for (Field const& field : simulation->fields()) {
      auto const host = test::to_host(field, stream);
      for (std::int64_t i = 0; i < field.values(); ++i)
        ASSERT_TRUE(std::isfinite(test::value_at(host, i))) << field.name << ' ' << i;
    }
    ++count;
  }
  EXPECT_EQ(count, 15);
}

/// Constants with units are numbers in SI units.
TEST(Pde, ConstantsHaveUnits) {
  auto const of = [](char const* constants) {
    return run_pde(std::string("simulation: pde\ngrid: {points: 16}\nboundary: {x: periodic}\n"
                               "equations: {u: D*laplace(u) - u/tau}\ninitial: {u: sin(2*pi*x)}\n"
                               "time: {scheme: rk4, end: \"20 ms\"}\nconstants: ") +
                   constants)
        .fields;
  };
  EXPECT_EQ(of("{D: \"25 cm^2/s\", tau: \"4 ms\"}\n"), of("{D: 25e-4, tau: 4e-3}\n"));
}

/// Files as users write them, with all that they may have beside each other: they have steps, and
/// the integral of what the first field is made of stays but for rounding and what is fed.
TEST(Pde, WholeTextsRun) {
  for (char const* name : {"gray_scott", "cahn_hilliard", "shallow_water"}) {
    SCOPED_TRACE(name);
    auto const config = config::read_run_config(
        fmt::format("{}/tests/data/systems/{}.yaml", GRIDSTRIDE_SOURCE_DIR, name), {},
        simulation_infos());
    Stream stream(Device::open(Backend::cpu));
    auto const simulation = entry_of(config).make(config, stream, {});
    auto const total = [&] {
      auto const host = test::to_host(simulation->fields()[0], stream);
      double sum = 0;
      for (std::int64_t i = 0; i < host.field.values(); ++i) sum += test::value_at(host, i);
      return sum / static_cast<double>(host.field.values());
    };
    double const before = total();
    simulation->advance(3, config.time.end);
    EXPECT_EQ(simulation->clock().step, 3);
    EXPECT_GT(simulation->clock().time, 0);
    // Nothing reaches a side, and Gray and Scott's u is fed 0.04·(1 − u) and eaten by little of v.
    EXPECT_NEAR(total(), before, 0.04 * simulation->clock().time * before);
  }
}

/// Vectors: a flow of its own, by components and as a whole, with sides of each component.
TEST(Pde, VectorsHaveTheirComponentsSideBySide) {
  std::string const problem =
      "grid: {points: [24, 17]}\n"
      "time: {scheme: ssprk3, end: 0.05}\n"
      "boundary: {x: periodic, y: {lower: {neumann: VALUE}, upper: {dirichlet: VALUE}}}\n";
  auto const with = [&](char const* value) { return replaced(problem, "VALUE", value); };
  auto const both = run_pde(
      "simulation: pde\nfields: {q: vector}\n"
      "equations: {q: \"0.05*laplace(q) - advect(q, q)\"}\n"
      "initial: {q: {x: \"sin(2*pi*x)\", y: \"cos(2*pi*x)*y\"}}\n" +
      with("{x: 0.2, y: t}"));
  auto apart = [&](char const* a, char const* b) {
    return std::string("boundary: {x: periodic, a: {y: {lower: {neumann: ") + a +
           "}, upper: {dirichlet: " + a + "}}}, b: {y: {lower: {neumann: " + b +
           "}, upper: {dirichlet: " + b + "}}}}\n";
  };
  auto const components = run_pde(
      "simulation: pde\ngrid: {points: [24, 17]}\ntime: {scheme: ssprk3, end: 0.05}\n"
      "equations: {a: \"0.05*laplace(a) - advect([a, b], a)\", "
      "b: \"0.05*laplace(b) - advect([a, b], b)\"}\n"
      "initial: {a: \"sin(2*pi*x)\", b: \"cos(2*pi*x)*y\"}\n" +
      apart("0.2", "t"));
  ASSERT_EQ(both.fields.size(), 1);
  ASSERT_EQ(both.fields[0].size(), 2 * 24 * 17);
  for (std::size_t i = 0; i < 24 * 17; ++i) {
    ASSERT_EQ(both.fields[0][2 * i], components.fields[0][i]);
    ASSERT_EQ(both.fields[0][2 * i + 1], components.fields[1][i]);
  }
}

}  // namespace
}  // namespace gridstride

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "core/error.hpp"
#include "support/pde_step_cases.hpp"

namespace gridstride {
namespace {

using test::run_pde;

/// The largest difference of two fields' values.
double difference(std::vector<double> const& a, std::vector<double> const& b) {
  EXPECT_EQ(a.size(), b.size());
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

/// The same problem as `wave` has it: the same step, and values that differ by rounding.
TEST(PdeOrderTwo, WaveIsWave) {
  for (char const* precision : {"float64", "float32"}) {
    std::string const head = fmt::format("precision: {}\ngrid: {{points: [41, 32]}}\n", precision);
    std::string const initial = "sin(1.5*pi*x)*(1 + cos(2*pi*y)/2)", velocity = "3*x*sin(2*pi*y)";
    std::string const time = "time: {end: 0.8, scheme: leapfrog}\noutput: {every: {count: 3}}\n";
    auto const constant = "simulation: pde\n" + head +
                          "boundary: {x: {lower: {dirichlet: 0}, upper: {neumann: 0}}, y: "
                          "periodic}\nfields: {u: {order: 2}}\n"
                          "equations: {u: \"2.25*laplace(u) + x\"}\n"
                          "initial: {u: \"" +
                          initial + "\", u_t: \"" + velocity + "\"}\n" + time;
    auto const wave = "simulation: wave\n" + head +
                      "boundary: {x: {lower: fixed, upper: free}, y: periodic}\n"
                      "initial: {u: \"" +
                      initial +
                      "\"}\nparameters: {speed: 1.5, order: 2, source: x, "
                      "initial_velocity: \"" +
                      velocity + "\"}\ntime: {end: 0.8}\noutput: {every: {count: 3}}\n";
    EXPECT_NEAR(test::step_of(constant), test::step_of(wave), 1e-12 * test::step_of(wave));
    auto const a = run_pde(constant), b = run_pde(wave);
    EXPECT_EQ(a.steps, b.steps);
    // Some eighty steps round values of about 1, and what they are off grows with the time.
    EXPECT_LT(difference(a.fields[0], b.fields[0]),
              std::string(precision) == "float32" ? 2e-4 : 4e-13);
  }
}

/// u = (1 + x²) cos(3t), which central differences take exactly, and its rate.
TEST(PdeOrderTwo, HasTheOrderOfTheScheme) {
  struct Order {
    char const* scheme;
    double order;
    int steps;
  };
  for (auto const& [scheme, order, steps] :
       {Order{"leapfrog", 2, 60}, Order{"rk4", 4, 40}, Order{"rk45", 5, 16}})
    for (bool const given : {true, false}) {
      auto const errors = [&](int n) {
        auto const found = run_pde(fmt::format(
            "simulation: pde\ngrid: {{points: 9}}\nboundary: {{x: {}}}\n"
            "fields: {{u: {{order: 2}}}}\n"
            "equations: {{u: \"0.02*laplace(u) - 9*(1 + x^2)*cos(3*t) - 0.04*cos(3*t)\"}}\n"
            "initial: {{u: \"1 + x^2\", u_t: 0}}\n"
            "time: {{scheme: {}, end: 1, step: {}}}\noutput: {{every: {{count: 1}}}}\n",
            given ? "{dirichlet: \"(1 + x^2)*cos(3*t)\"}"
                  : "{lower: {neumann: 0}, upper: {neumann: \"2*cos(3*t)\"}}",
            scheme, 1.0 / n));
        std::vector<double> u, rate;
        for (int i = 0; i <= 8; ++i) {
          u.push_back((1 + i * i / 64.0) * std::cos(3.0));
          rate.push_back(-3 * (1 + i * i / 64.0) * std::sin(3.0));
        }
        return std::pair(difference(found.fields[0], u), difference(found.fields[1], rate));
      };
      auto const coarse = errors(steps), fine = errors(2 * steps);
      EXPECT_NEAR(std::log2(coarse.first / fine.first), order, 0.3) << scheme << given;
      EXPECT_NEAR(std::log2(coarse.second / fine.second), order, 0.3) << scheme << given;
    }
}

/// u_tt = −2u_t − 5u has e^{−t} cos(2t): rates are fields like others, by either name.
TEST(PdeOrderTwo, KnowsItsRate) {
  for (char const* rate : {"u_t", "dt(u)"}) {
    auto const found =
        run_pde(fmt::format("simulation: pde\ngrid: {{points: 5}}\nboundary: {{x: periodic}}\n"
                            "fields: {{u: {{kind: scalar, order: 2}}}}\n"
                            "equations: {{u: -2*{} - 5*u}}\ninitial: {{u: 1, u_t: -1}}\n"
                            "time: {{scheme: rk45, step: adaptive, tolerance: 1e-9, end: 2}}\n",
                            rate));
    EXPECT_NEAR(found.fields[0][2], std::exp(-2) * std::cos(4), 1e-7) << rate;
  }
}

/// Vectors, and fields of both orders beside each other.
TEST(PdeOrderTwo, TakesVectors) {
  auto const text = [](char const* scheme) {
    return fmt::format(
        "simulation: pde\ngrid: {{points: [24, 20]}}\n"
        "boundary: {{x: periodic, y: {{dirichlet: {{x: 0, y: 0}}}}}}\n"
        "fields: {{q: {{kind: vector, order: 2}}}}\n"
        "equations: {{q: grad(div(q)) + laplace(q)}}\n"
        "initial: {{q: {{x: 0, y: \"sin(2*pi*x)*y*(1 - y)\"}}, q_t: {{x: 0, y: 0}}}}\n"
        "time: {{scheme: {}, end: 0.3, safety: 0.2}}\n",
        scheme);
  };
  auto const a = run_pde(text("leapfrog")), b = run_pde(text("rk4"));
  ASSERT_EQ(a.fields.size(), 2U);
  EXPECT_LT(difference(a.fields[0], b.fields[0]), 2e-3);  // (ω dt)²/24·ω t of waves of some length
  EXPECT_GT(difference(a.fields[0], std::vector<double>(a.fields[0].size(), 0)), 0.05);
  auto const mixed = run_pde(
      "simulation: pde\ngrid: {points: 5}\nboundary: {x: periodic}\nfields: {u: {order: 2}}\n"
      "equations: {v: u, u: -4*u}\ninitial: {u: 0, v: 0, u_t: 2}\n"
      "time: {scheme: rk4, step: 0.01, end: 1}\n");
  EXPECT_NEAR(mixed.fields[0][1], (1 - std::cos(2)) / 2, 1e-7);  // v, the field of order 1
  EXPECT_NEAR(mixed.fields[1][1], std::sin(2), 1e-7);
  EXPECT_NEAR(mixed.fields[2][1], 2 * std::cos(2), 1e-7);
}

TEST(PdeOrderTwo, LeapfrogHasTheBitsOfAnyBatch) {
  auto const yaml =
      "simulation: pde\ngrid: {points: 40}\nboundary: {x: {dirichlet: \"sin(9*t)\"}}\n"
      "fields: {u: {order: 2}}\nequations: {u: \"div((1 + 0.1*u^2)*grad(u)) + sin(40*t)\"}\n"
      "initial: {u: 0, u_t: 0}\ntime: {scheme: leapfrog, end: 0.7}\n";
  auto const whole = run_pde(yaml), parts = run_pde(yaml, Backend::cpu, 1);
  EXPECT_EQ(whole.steps, parts.steps);
  EXPECT_EQ(whole.fields, parts.fields);
}

/// Where nothing is lost, the energy stays what it is within (ω dt)², for as long as it goes.
TEST(PdeOrderTwo, LeapfrogKeepsItsEnergy) {
  test::AdaptiveRun run(
      "simulation: pde\ngrid: {points: 64}\nboundary: {x: periodic}\n"
      "fields: {u: {order: 2}}\nequations: {u: laplace(u) - u^3}\n"
      "initial: {u: sin(2*pi*x), u_t: 0}\ntime: {scheme: leapfrog, end: 20, safety: 0.5}\n",
      Backend::cpu);
  auto const energy = [&] {
    auto const fields = run.simulation->fields();
    auto const u = test::to_host(fields[0], run.stream),
               rate = test::to_host(fields[1], run.stream);
    double sum = 0;
    for (std::int64_t i = 0; i < 64; ++i) {
      double const here = test::value_at(u, i),
                   slope = 64 * (test::value_at(u, (i + 1) % 64) - here);
      sum += (std::pow(test::value_at(rate, i), 2) + slope * slope) / 2 + std::pow(here, 4) / 4;
    }
    return sum / 64;
  };
  double const first = energy();
  for (int i = 1; i <= 20; ++i) {
    run.to(i);
    EXPECT_NEAR(energy(), first, 2e-3 * first) << i;
  }
}

/// What is wrong with a run beside its text.
std::string problem_of(std::string const& equations, std::string const& time) {
  auto const config = test::config_of("simulation: pde\ngrid: {points: 16}\n" + equations +
                                      "time: {end: 1, " + time + "}\n");
  auto const problems = entry_of(config).problems(config, {});
  return problems.empty() ? std::string() : problems.front().message;
}

TEST(PdeOrderTwo, LeapfrogTellsWhatItDoesNotTake) {
  std::string const waves =
      "fields: {u: {order: 2}}\ninitial: {u: 1, u_t: 0}\nequations: {u: laplace(u)}\n";
  EXPECT_EQ(problem_of(waves, "scheme: leapfrog"), "");
  EXPECT_EQ(problem_of(waves, "scheme: leapfrog, step: adaptive"),
            "leapfrog takes steps of one length, without which it keeps no energy (rk45 and the "
            "others follow their error)");
  EXPECT_EQ(
      problem_of("initial: {u: 1}\nequations: {u: laplace(u)}\n", "scheme: leapfrog"),
      "leapfrog takes equations of order 2 in time alone ('fields: {u: {order: 2}}' makes one "
      "u_tt = ...)");
  EXPECT_EQ(problem_of("fields: {u: {order: 2}}\ninitial: {u: 1, u_t: 0}\n"
                       "equations: {u: laplace(u) - dt(u)}\n",
                       "scheme: leapfrog"),
            "leapfrog takes no equations with rates in them, and here is u_t (rk4 takes them)");
  EXPECT_EQ(problem_of("precision: float32\n" + waves, "step: adaptive, tolerance: 1e-7"),
            "1e-07 is too small for float32 (numbers are rounded to 1.2e-07 of themselves; 9.5e-07 "
            "is the least)");
}

/// Waves that are carried along have no real ω².
TEST(PdeOrderTwo, LeapfrogRefusesWhatItWouldMakeGrow) {
  try {
    test::step_of(
        "simulation: pde\ngrid: {points: 32}\nboundary: {x: periodic}\nfields: {u: {order: 2}}\n"
        "equations: {u: d_dx(u)}\ninitial: {u: 0, u_t: 0}\ntime: {scheme: leapfrog, end: 1}\n");
    FAIL();
  } catch (ConfigError const& error) {
    EXPECT_NE(std::string(error.what()).find("leapfrog is not stable"), std::string::npos)
        << error.what();
  }
}

/// Rates in names with sides, and in values over the whole grid, are rates.
TEST(PdeOrderTwo, LeapfrogLooksIntoNames) {
  for (char const* equations :
       {"let: {w: u_t}\nequations: {u: laplace(w)}\nboundary: {x: {neumann: 0}, w: {x: {neumann: "
        "0}}}\n",
        "equations: {u: laplace(u) - mean(u_t^2)}\n"})
    EXPECT_EQ(
        problem_of(std::string("fields: {u: {order: 2}}\ninitial: {u: 1, u_t: 0}\n") + equations,
                   "scheme: leapfrog"),
        "leapfrog takes no equations with rates in them, and here is u_t (rk4 takes them)")
        << equations;
  EXPECT_EQ(problem_of("fields: {u: {order: 2}}\ninitial: {u: 1, u_t: 0}\nlet: {w: u}\n"
                       "equations: {u: laplace(w)}\n"
                       "boundary: {x: {neumann: 0}, w: {x: {dirichlet: 0}}}\n",
                       "scheme: leapfrog"),
            "");
}

/// What ends a run looks at the rates of fields, too.
TEST(PdeOrderTwo, IsSteadyWithoutRates) {
  for (char const* scheme : {"leapfrog", "rk4"})
    for (int const rate : {0, 1}) {
      auto const steps =
          test::run_pde(
              fmt::format("simulation: pde\ngrid: {{points: 9}}\nboundary: {{x: periodic}}\n"
                          "fields: {{u: {{order: 2}}}}\nequations: {{u: laplace(u)}}\n"
                          "initial: {{u: 1, u_t: {}}}\nstop: {{steady: 1e-3}}\n"
                          "time: {{scheme: {}, end: 1, step: 0.01}}\n",
                          rate, scheme))
              .steps;
      EXPECT_EQ(steps, rate == 0 ? 32 : 100) << scheme;
    }
}

/// u_t has ∂u_t/∂n + a·u_t = ∂g/∂t.
TEST(PdeOrderTwo, FollowsRobin) {
  std::string const sides =
      "simulation: pde\ngrid: {points: 9}\nfields: {u: {order: 2}}\nequations: {u: laplace(u)}\n"
      "initial: {u: 0, u_t: 0}\ntime: {end: 1}\nboundary: ";
  auto const config = test::config_of(sides + "{x: {robin: [2 + x, 3*t^2]}}\n");
  for (auto const& side : config.boundary[1][0]) {
    EXPECT_EQ(side.kind, SideKind::robin);
    EXPECT_EQ(side.factors.at(0).expression.evaluate(5), 7);
    EXPECT_EQ(side.value.expression.evaluate(0, 0, 0, 4), 24);
  }
  for (auto const& [key, text] :
       {std::pair{"boundary.x", "{x: {upper: {robin: [t, 1]}, lower: {neumann: 0}}}"},
        std::pair{"boundary.u.x", "{u: {x: {robin: [1 + t, 1]}}}"}}) {
    try {
      test::config_of(sides + text + "\n");
      FAIL() << text;
    } catch (ConfigError const& error) {
      ASSERT_EQ(error.problems().size(), 1);
      EXPECT_EQ(error.problems()[0].path, key);
      EXPECT_EQ(error.problems()[0].message,
                "a of 'robin: [a, g]' depends on t (on sides u_t has the rate of what u has there, "
                "which takes an a that does not change)");
    }
  }
}

}  // namespace
}  // namespace gridstride

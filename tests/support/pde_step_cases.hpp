#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "support/pde_cases.hpp"

/// Steps that follow their error, on any device.
namespace gridstride::test {

/// u = 1/(1 + e^{4 − t}) at all points, which solves u_t = u(1 − u).
inline std::string logistic_pde(std::string const& scheme, double tolerance) {
  return fmt::format(
      "simulation: pde\ngrid: {{points: 7}}\nboundary: {{x: periodic}}\n"
      "equations: {{u: u*(1 - u)}}\ninitial: {{u: 1/(1 + exp(4))}}\n"
      "time: {{scheme: {}, end: 8, step: adaptive, tolerance: {}}}\n"
      "output: {{every: {{count: 1}}}}\n"
      "verify: {{exact: {{u: 1/(1 + exp(4 - t))}}, tolerance: {{l2: 1}}}}\n",
      scheme, tolerance);
}

/// Two fields, sides that change, formulas of time: all that steps have to carry along.
inline std::string busy_pde(std::string const& scheme, std::string const& precision) {
  return fmt::format(
      "simulation: pde\nprecision: {}\nfields: {{q: vector}}\ngrid: {{points: [33, 20]}}\n"
      "boundary:\n"
      "  y: periodic\n"
      "  q: {{x: {{lower: {{dirichlet: {{x: \"2 + sin(40*t)\", y: 0}}}}, upper: {{neumann: {{x: 0, "
      "y: \"cos(30*t)*y\"}}}}}}}}\n"
      "  u: {{x: {{neumann: \"sin(9*t)\"}}}}\n"
      "equations: {{u: \"div((0.1 + u^2)*grad(u)) + norm2(q)\", "
      "q: \"0.05*laplace(q) - advect(q, q) - grad(u) + [0, sin(20*t)]\"}}\n"
      "initial: {{u: x, q: {{x: \"2 + cos(3*x)\", y: \"sin(2*pi*y)\"}}}}\n"
      "time: {{scheme: {}, end: 0.02, step: adaptive, tolerance: 1e-4}}\n"
      "output: {{every: {{count: 1}}}}\n",
      precision, scheme);
}

/// A field on a line with a rate, some of it noise.
inline std::string time_pde(char const* rate, char const* scheme, char const* end) {
  return fmt::format(
      "simulation: pde\ngrid: {{points: 128, upper: 12.8}}\nboundary: {{x: periodic}}\n"
      "equations: {{u: \"{}\"}}\ninitial: {{u: \"sin(2*pi*x/12.8) + 0.01*uniform(1)\"}}\n"
      "time: {{scheme: {}, end: {}}}\noutput: {{every: {{count: 1}}}}\n",
      rate, scheme, end);
}

/// Diffusivities that jump, and pulses that are shorter than the time between limits: whatever they
/// are, diffusion makes nothing larger.
inline void expect_coefficients_of_time_to_be_known(Backend backend) {
  for (char const* rate : {"if(t < 0.51, 0.01, 2)*laplace(u)", "if(t < 0.04*x, 0.01, 2)*laplace(u)",
                           "(0.01 + 4*exp(-((t - 0.33)/0.004)^2))*laplace(u)",
                           "mean(if(t < 0.51, 0.01, 2)*cosh(x - 6))*laplace(u)/800"})
    for (char const* scheme : {"euler", "ssprk3", "rk4", "rk45"}) {
      auto const found = run_pde(time_pde(rate, scheme, "0.6"), backend);
      for (double const value : found.fields[0]) EXPECT_LE(std::abs(value), 1.0101) << rate;
    }
}

/// A simulation, and how it goes on.
struct AdaptiveRun {
  config::RunConfig config;
  Stream stream;
  std::unique_ptr<Simulation> simulation;

  AdaptiveRun(std::string const& yaml, Backend backend)
      : config(config_of(yaml)),
        stream(Device::open(backend)),
        simulation(entry_of(config).make(config, stream, {})) {}
  Clock to(double time, std::int64_t max_steps = std::int64_t{1} << 40) {
    while (simulation->clock().time < time) simulation->advance(max_steps, time);
    return simulation->clock();
  }
};

constexpr char const* adaptive_schemes[] = {"rk45", "rk4", "ssprk3", "ssprk2", "euler"};

/// The bits are the same however many steps are asked for at once.
inline void expect_bits_of_any_batch(Backend backend) {
  for (char const* scheme : adaptive_schemes)
    for (char const* precision : {"float64", "float32"}) {
      auto const yaml = busy_pde(scheme, precision);
      auto const whole = run_pde(yaml, backend);
      EXPECT_GT(whole.steps, 4) << scheme;
      for (std::int64_t const batch : {1, 3, 17}) {
        auto const parts = run_pde(yaml, backend, batch);
        EXPECT_EQ(parts.steps, whole.steps) << scheme << ' ' << precision << ' ' << batch;
        EXPECT_EQ(parts.fields, whole.fields) << scheme << ' ' << precision << ' ' << batch;
      }
    }
}

/// With steps as h ~ tolerance^(1/q), q the order of the error that is estimated, what is left at
/// the end goes with tolerance^(p/q), p the order of the scheme.
inline void expect_error_to_follow_tolerance(Backend backend) {
  struct Slope {
    char const* scheme;
    double slope, loose, tight;
  };
  for (auto const& [scheme, slope, loose, tight] :
       {Slope{"rk45", 1, 1e-4, 1e-9}, Slope{"rk4", 1, 1e-4, 1e-9}, Slope{"ssprk3", 1, 1e-4, 1e-8},
        Slope{"ssprk2", 1, 1e-3, 1e-6}, Slope{"euler", 0.5, 1e-3, 1e-6}}) {
    double const coarse = solution_error(logistic_pde(scheme, loose), backend).maximum;
    double const fine = solution_error(logistic_pde(scheme, tight), backend).maximum;
    EXPECT_NEAR(std::log(coarse / fine) / std::log(loose / tight), slope, 0.15)
        << scheme << ": errors " << coarse << ", " << fine;
  }
}

/// Diffusion that is over long before the end: nothing but stability bounds the steps.
inline void expect_stability_to_be_found(Backend backend) {
  constexpr double fastest = 4 * 40 * 40;
  struct Extent {
    char const* scheme;
    double extent;
  };
  for (auto const& [scheme, extent] :
       {Extent{"rk45", 3.3066}, Extent{"rk4", 2.7853}, Extent{"ssprk3", 2.5127}}) {
    AdaptiveRun run(fmt::format("simulation: pde\ngrid: {{points: 40}}\nboundary: {{x: periodic}}\n"
                                "equations: {{u: laplace(u)}}\n"
                                "initial: {{u: \"sin(2*pi*x) + if(x < 0.5, 1, 0)\"}}\n"
                                "time: {{scheme: {}, end: 2, step: adaptive, tolerance: 1e-4}}\n",
                                scheme),
                    backend);
    auto const before = run.to(1), after = run.to(2);
    double const mean = 1 / static_cast<double>(after.step - before.step);
    EXPECT_LT(mean * fastest, 1.05 * extent) << scheme;
    EXPECT_GT(mean * fastest, 0.7 * extent) << scheme;
    EXPECT_LT(after.rejected - before.rejected, (after.step - before.step) / 10) << scheme;
  }
}

/// u = min(t, s): the moment s lies within a step.
inline void expect_a_jump_to_be_seen(Backend backend) {
  for (char const* scheme : adaptive_schemes) {
    AdaptiveRun run(fmt::format("simulation: pde\ngrid: {{points: 5}}\nboundary: {{x: periodic}}\n"
                                "equations: {{u: \"if(t < 0.3137, 1, 0)\"}}\ninitial: {{u: 0}}\n"
                                "time: {{scheme: {}, end: 1, step: adaptive, tolerance: 1e-5}}\n"
                                "output: {{every: {{count: 1}}}}\n",
                                scheme),
                    backend);
    auto const clock = run.to(1);
    EXPECT_GT(clock.rejected, 0) << scheme;
    auto const field = run.simulation->fields().front();
    auto const host = to_host(field, run.stream);
    // The steps about the jump have an error of the tolerance at most, (1 + |u|) times.
    EXPECT_NEAR(value_at(host, 3), 0.3137, 20 * 1.4e-5) << scheme;
  }
}

/// Each moment that is asked for is met to the bit, and the step before it is taken up again.
inline void expect_moments_to_be_met(Backend backend) {
  AdaptiveRun run(logistic_pde("rk45", 1e-8), backend);
  for (int i = 1; i <= 80; ++i) {
    double const moment = 0.1 * i;
    EXPECT_EQ(run.to(moment).time, moment);
  }
  // A step or two to each moment: steps of this tolerance are longer than 0.1 but at the beginning.
  EXPECT_LT(run.simulation->clock().step, 80 + 40);
  EXPECT_TRUE(run.simulation->finished());
}

/// What a run says that cannot go on.
inline std::string end_of_run(std::string const& equation, std::string const& initial,
                              Backend backend) {
  try {
    AdaptiveRun run(
        "simulation: pde\ngrid: {points: 8}\nboundary: {x: periodic}\nequations: {u: \"" +
            equation + "\"}\ninitial: {u: \"" + initial +
            "\"}\ntime: {scheme: rk45, end: 2, step: adaptive}\n",
        backend);
    run.to(2);
  } catch (NumericalError const& error) {
    return error.what();
  }
  return {};
}

inline void expect_ends_to_be_told(Backend backend) {
  // 1/(1 − t) at the point where u begins with 1, which has no value at t = 1.
  auto const blow_up = end_of_run("u^2", "if(x == 0.5, 1, 0.25)", backend);
  EXPECT_NE(blow_up.find("too short to go on: u changes too fast at x = 0.5"), std::string::npos)
      << blow_up;
  auto const at_once = end_of_run("log(u)", "if(x == 0.5, -1, 1)", backend);
  EXPECT_EQ(at_once, "at t = 0 s the rate of u is not finite at x = 0.5");
}

}  // namespace gridstride::test

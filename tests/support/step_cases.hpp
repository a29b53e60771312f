#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "support/advection_cases.hpp"
#include "support/memory_checkpoint.hpp"
#include "support/wave_cases.hpp"

/// Runs whose steps are far from what stability asks for: much longer than the time between
/// outputs, of hardly any length, or decided by a velocity that changes. On any device.
namespace gridstride::test {

inline double unit_roundoff(std::string const& precision) {
  return precision == "float32" ? std::numeric_limits<float>::epsilon() / 2
                                : std::numeric_limits<double>::epsilon() / 2;
}

/// The largest error at the end of a run that stops at so many moments on the way.
inline double error_after(std::string const& yaml, Backend backend, int moments) {
  WaveRun run(yaml, backend);
  for (int moment = 1; moment <= moments; ++moment)
    run.go(moment == moments ? run.config.time.end : moment * (run.config.time.end / moments));
  EXPECT_TRUE(run.simulation->finished());
  EXPECT_EQ(run.simulation->clock().time, run.config.time.end);
  EXPECT_GE(run.simulation->clock().step, moments);
  return run.error().maximum;
}

/// u_t = 1 by heat, u_tt = 1 by wave, both in steps that are longer than the whole run; and heat
/// between outputs that are much closer than its steps.
inline void expect_no_time_without_steps(Backend backend) {
  for (std::string const precision : {"float32", "float64"})
    for (int const moments : {1, 3, 1000}) {
      double const unit = unit_roundoff(precision);
      std::string const head = "precision: " + precision + "\ninitial: {u: 0}\n";
      std::string const heat = head +
                               "simulation: heat\ngrid: {points: 11}\nboundary: {x: {neumann: 0}}\n"
                               "verify: {exact: {u: t}, tolerance: {max: 1}}\n";
      // Every step rounds u and what it adds.
      EXPECT_LE(error_after(heat + "parameters: {diffusivity: 1e-12, source: 1}\ntime: {end: 1}\n",
                            backend, moments),
                2 * moments * unit);
      EXPECT_LE(error_after(heat + "parameters: {diffusivity: 1, source: 1}\ntime: {end: 1e-6}\n" +
                                fmt::format("output: {{every: {{count: {}}}}}\n", moments),
                            backend, moments),
                2 * moments * unit * 1e-6);
      // A rounding of u goes on as a velocity: Σ 3·(n − j)·u(j/n), with u = t²/2.
      EXPECT_LE(error_after(head +
                                "simulation: wave\ngrid: {points: 101}\nboundary: {x: free}\n"
                                "parameters: {speed: 1e-9, source: 1}\n"
                                "time: {end: 1, step: 2e6}\n" +
                                fmt::format("output: {{every: {{count: {}}}}}\n", moments) +
                                "verify: {exact: {u: \"t^2/2\"}, tolerance: {max: 1}}\n",
                            backend, moments),
                3 * unit * (1 + moments * moments / 24.0));
    }
}

/// What changes with time is integrated to the order of the scheme, whether outputs are fewer than
/// steps or many more.
inline void expect_changes_in_time_to_count(Backend backend) {
  std::string const heat =
      "simulation: heat\ngrid: {points: 11}\nboundary: {x: {neumann: 0}}\ninitial: {u: 0}\n"
      "parameters: {diffusivity: 1e-12, source: \"cos(3*t)\"}\n"
      "verify: {exact: {u: \"sin(3*t)/3\"}, tolerance: {max: 1}}\n";
  std::string const wave =
      "simulation: wave\ngrid: {points: 11}\nboundary: {x: free}\ninitial: {u: 0}\n"
      "parameters: {speed: 1e-9, source: \"cos(3*t)\"}\n"
      "verify: {exact: {u: \"(1 - cos(3*t))/9\"}, tolerance: {max: 1}}\n";
  for (std::string const precision : {"float32", "float64"})
    for (int const moments : {1, 7, 300}) {
      double const unit = unit_roundoff(precision);
      std::string const rest =
          fmt::format("precision: {}\noutput: {{every: {{count: {}}}}}\n", precision, moments);
      double const steps = 10 * moments, third = 3.0 / steps;  // 3·dt
      auto const of_scheme = [&](char const* scheme) {
        return error_after(heat + rest + fmt::format("time: {{end: 1, scheme: {}}}\n", scheme),
                           backend, moments);
      };
      // The rectangle rule's dt/2·∫|s'| and Simpson's dt⁴/2880·∫|s''''|, of s = cos 3t.
      EXPECT_LE(of_scheme("ftcs"), third / 6 * 3 + 3 * steps * unit) << precision << moments;
      EXPECT_LE(of_scheme("rk4"), std::pow(third, 4) / 2880 + 6 * steps * unit)
          << precision << moments;
      // dt²/12·∫∫|s''|, and a rounding of u goes on as a velocity.
      EXPECT_LE(error_after(wave + rest + "time: {end: 1}\n", backend, moments),
                third * third / 12 + 3 * unit * (1 + steps * steps / 24))
          << precision << moments;
    }
}

/// What moves with sin(32πt)² is half of the time further.
inline void expect_the_distance_of_a_velocity_that_swings(Backend backend) {
  for (std::string const precision : {"float32", "float64"})
    for (std::string const scheme : {"upwind", "lax_wendroff", "weno5"}) {
      WaveRun run("precision: " + precision +
                      "\nsimulation: advection\ngrid: {points: 400}\nboundary: {x: periodic}\n"
                      "initial: {u: \"sin(2*pi*x)\"}\n"
                      "parameters: {velocity: {x: \"sin(32*pi*t)^2\"}}\n"
                      "time: {end: 0.5, scheme: " +
                      scheme + "}\noutput: {every: {count: 1}}\n",
                  backend);
      run.go(0.5);
      auto const host = run.field();
      double sine = 0, cosine = 0;
      for (std::int64_t i = 0; i < 400; ++i) {
        double const u = value_at(host, i);
        sine += u * std::sin(2 * 3.141592653589793 * static_cast<double>(i) / 400);
        cosine += u * std::cos(2 * 3.141592653589793 * static_cast<double>(i) / 400);
      }
      EXPECT_NEAR(std::atan2(-cosine, sine) / (2 * 3.141592653589793), 0.25, 2e-3)
          << scheme << ' ' << precision;
      EXPECT_GT(std::hypot(sine, cosine) / 200, 0.9) << scheme << ' ' << precision;
    }
}

/// A flow along y whose speed is `velocity`, carrying stripes between 0 and 1; on more points than
/// a coarse look takes in.
inline std::string jet(std::string const& velocity, std::string const& time) {
  return "simulation: advection\ngrid: {points: [701, 402]}\nboundary: {x: periodic, y: periodic}\n"
         "initial: {u: \"if(sin(40*pi*y) > 0, 1, 0)\"}\n"
         "parameters: {velocity: {y: \"" +
         velocity + "\"}}\ntime: {scheme: upwind, " + time + "}\noutput: {every: {count: 1}}\n";
}

/// A jet of one column that comes up during the run: `auto` follows it, so that u stays between its
/// bounds, and a step that is given ends the run before it is too long.
inline void expect_a_narrow_jet_to_be_met(Backend backend) {
  std::string const speed = "1 + 11*t/0.02*exp(-((x - 301/701)/1e-4)^2)";
  WaveRun followed(jet(speed, "end: 0.02"), backend);
  followed.go(0.02);
  auto const host = followed.field();
  auto const* const u = static_cast<double const*>(host.field.data);
  for (std::int64_t i = 0; i < host.field.grid.size(); ++i) {
    ASSERT_GE(u[i], -1e-12) << i;
    ASSERT_LE(u[i], 1 + 1e-12) << i;
  }
  // |v| is 1 at first and 12 at the end: 0.02·402·(mean of |v|) steps and what `safety` takes.
  EXPECT_GT(followed.simulation->clock().step, 8 * 6.5);
  EXPECT_LT(followed.simulation->clock().step, 3 * 8 * 6.5);

  WaveRun given(jet(speed, "end: 0.02, step: 0.001"), backend);
  try {
    given.go(0.02);
    FAIL() << "the jet is too fast for the step";
  } catch (NumericalError const& error) {
    std::string const said = error.what();
    EXPECT_NE(said.find("parameters.velocity.y is "), std::string::npos) << said;
    EXPECT_NE(said.find(" m/s at t = 0.00"), std::string::npos) << said;
    EXPECT_NE(said.find(", x = 0.4293"), std::string::npos) << said;
    EXPECT_NE(said.find("the step of 0.001 s is over the stability limit of 0.000"),
              std::string::npos)
        << said;
    EXPECT_LT(given.simulation->clock().time, 0.003);
  }
}

/// A velocity that ceases to be a number on the way.
inline void expect_a_velocity_to_stay_finite(Backend backend) {
  WaveRun run(
      "simulation: advection\ngrid: {points: 30}\nboundary: {x: periodic}\ninitial: {u: 1}\n"
      "parameters: {velocity: {x: \"if(t > 0.5096, if(x > 0.49, if(x < 0.51, sqrt(x - 2), 1), 1), "
      "1)\""
      "}}\ntime: {end: 0.52, step: 0.01, scheme: upwind}\n",
      backend);
  try {
    run.go(0.52);
    FAIL() << "the velocity is not a number";
  } catch (NumericalError const& error) {
    std::string const said = error.what();
    EXPECT_NE(said.find("parameters.velocity.x is "), std::string::npos) << said;
    EXPECT_NE(said.find("nan m/s at t = 0.51,"), std::string::npos) << said;
    EXPECT_NE(said.find(", x = 0.5 (a velocity is finite)"), std::string::npos) << said;
  }
}

/// Without a velocity or a speed, `auto` goes from output to output.
inline void expect_nothing_to_move(Backend backend) {
  for (std::string const scheme : {"upwind", "lax_wendroff", "weno5"}) {
    WaveRun run(
        "simulation: advection\ngrid: {points: [9, 8]}\n"
        "boundary: {x: periodic, y: outflow}\ninitial: {u: \"x - y\"}\n"
        "parameters: {}\ntime: {end: 2, scheme: " +
            scheme +
            "}\noutput: {every: {count: 4}}\n"
            "verify: {exact: {u: \"x - y\"}, tolerance: {max: 1}}\n",
        backend);
    run.go(2);
    EXPECT_EQ(run.simulation->clock().step, 4);
    EXPECT_EQ(run.error().maximum, 0) << scheme;
  }
  WaveRun wave(
      "simulation: wave\ngrid: {points: 20}\nboundary: {x: {lower: absorbing, upper: free}}\n"
      "initial: {u: 1}\nparameters: {speed: 0, source: 2, initial_velocity: 3, absorbing: "
      "{thickness: 5}}\ntime: {end: 2}\noutput: {every: {count: 4}}\n"
      "verify: {exact: {u: \"if(x > 0.001, 1 + 3*t + t^2, 0)\"}, tolerance: {max: 1}}\n",
      backend);
  wave.go(2);
  EXPECT_EQ(wave.simulation->clock().step, 4);
  EXPECT_LE(wave.error().maximum, 1e-13);
}

/// Steps that follow a velocity, and steps whose axes alternate and that outputs shorten, have the
/// same bits in slices, and from any checkpoint on.
inline void expect_steps_to_repeat(Backend backend) {
  for (std::string const& yaml :
       {swinging_wave("weno5", "o", 90, 2).yaml(), rotated_hill("lax_wendroff", 40, 2).yaml()}) {
    auto const moments = {0.7, 1.1, 2.0};
    WaveRun whole(yaml, backend);
    for (double const moment : moments) whole.go(moment);
    auto const expected = whole.field().memory;
    std::int64_t const steps = whole.simulation->clock().step;
    EXPECT_GT(steps, 100);
    WaveRun sliced(yaml, backend);
    for (double const moment : moments) sliced.go(moment, 13);
    EXPECT_EQ(sliced.field().memory, expected);
    EXPECT_EQ(sliced.simulation->clock().step, steps);
    for (std::int64_t const before : {std::int64_t{1}, std::int64_t{32}, steps / 2, steps - 1}) {
      WaveRun first(yaml, backend);
      for (double const moment : moments)
        if (auto const left = before - first.simulation->clock().step; left > 0)
          first.simulation->advance(left, moment);
      MemoryCheckpoint checkpoint;
      first.simulation->save(checkpoint);
      WaveRun second(yaml, backend);
      second.simulation->load(checkpoint);
      EXPECT_EQ(second.simulation->clock().step, before);
      for (double const moment : moments) second.go(moment);
      EXPECT_EQ(second.field().memory, expected) << before;
    }
  }
}

}  // namespace gridstride::test

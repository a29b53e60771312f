#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "io/compare.hpp"
#include "support/diagnostics_runs.hpp"
#include "support/wave_cases.hpp"

/// Whole runs that stop and go on, on any device.
namespace gridstride::test {

/// Runs of every simulation with time, to 0.08, with all that changes on the way.
inline std::vector<std::pair<char const*, std::string>> runs_with_time() {
  auto wave = [](std::string const& precision) {
    auto text = everything(precision);
    return text.replace(text.find("end: 0.75"), 9, "end: 0.08");
  };
  std::string const heat =
      "simulation: heat\n"
      "grid: {points: [33, 32]}\n"
      "boundary: {x: {lower: {dirichlet: \"sin(40*t)\"}, upper: {neumann: \"cos(30*t)*y\"}}, "
      "y: periodic}\n"
      "initial: {u: \"cos(3*x)*(2 + sin(2*pi*y))\"}\n";
  std::string const advection =
      "simulation: advection\n"
      "grid: {points: [65, 48]}\n"
      "boundary: {x: {lower: {dirichlet: \"sin(40*t)\"}, upper: outflow}, y: periodic}\n"
      "initial: {u: \"exp(-50*((x - 0.4)^2 + (y - 0.5)^2))\"}\n"
      "parameters: {velocity: {x: \"1 + sin(9*t)/2\", y: \"cos(2*pi*y)\"}}\n";
  return {
      {"heat rk4", heat + "parameters: {diffusivity: \"1 + x\", source: \"sin(50*t)*x\"}\n"
                          "time: {end: 0.08, scheme: rk4}\n"},
      {"heat ftcs float32", heat + "precision: float32\nparameters: {diffusivity: 0.5}\n"
                                   "time: {end: 0.08, scheme: ftcs}\n"},
      {"heat without sides",
       "simulation: heat\ngrid: {points: [65, 64]}\nboundary: {x: periodic, y: periodic}\n"
       "initial: {u: \"sin(2*pi*x)*cos(4*pi*y)\"}\nparameters: {diffusivity: 0.5}\n"
       "time: {end: 0.08, scheme: ftcs}\n"},
      {"wave float64", wave("float64")},
      {"wave float32", wave("float32")},
      {"advection weno5", advection + "time: {end: 0.08, scheme: weno5}\n"},
      {"pde of fields that change the step",
       "simulation: pde\nfields: {q: vector}\n"
       "grid: {points: [33, 20]}\n"
       "boundary:\n"
       "  y: periodic\n"
       "  q: {x: {lower: {dirichlet: {x: \"2 + sin(40*t)\", y: 0}}, upper: {neumann: {x: 0, y: "
       "\"cos(30*t)*y\"}}}}\n"
       "  u: {x: {neumann: \"sin(9*t)\"}}\n"
       "equations: {u: \"div((0.1 + u^2)*grad(u)) + norm2(q)\", "
       "q: \"0.05*laplace(q) - advect(q, q) - grad(u)\"}\n"
       "initial: {u: x, q: {x: \"2 + cos(3*x)\", y: \"sin(2*pi*y)\"}}\n"
       "time: {end: 0.08, scheme: ssprk3}\n"},
      {"pde of steps that follow their error",
       "simulation: pde\ngrid: {points: 60}\n"
       "boundary: {x: {lower: {dirichlet: \"sin(40*t)\"}, upper: {neumann: \"cos(30*t)\"}}}\n"
       "equations: {u: \"0.1*laplace(u) + sin(90*t)*u^2\"}\ninitial: {u: \"sin(7*x)\"}\n"
       "time: {scheme: rk45, step: adaptive, tolerance: 1e-7, end: 0.08}\n"},
      {"pde leapfrog",
       "simulation: pde\ngrid: {points: 60}\nfields: {u: {order: 2}}\n"
       "boundary: {x: {lower: {dirichlet: \"sin(40*t)\"}, upper: {neumann: \"cos(30*t)\"}}}\n"
       "equations: {u: \"laplace(u) + sin(90*t)*u^2\"}\ninitial: {u: \"sin(7*x)\", u_t: 0}\n"
       "time: {scheme: leapfrog, end: 0.08}\n"},
      {"pde euler float32",
       "simulation: pde\nprecision: float32\ngrid: {points: 200}\nboundary: {x: periodic}\n"
       "equations: {u: 0.01*laplace(u) + sin(50*t)*u}\ninitial: {u: \"sin(2*pi*x)\"}\n"
       "time: {end: 0.08, scheme: euler}\n"},
      {"pde with events",
       "simulation: pde\ngrid: {points: [20, 17]}\n"
       "boundary: {x: periodic, y: {lower: {dirichlet: \"sin(40*t)\"}, upper: {neumann: 0}}}\n"
       "equations: {u: \"div((1 + u^2)*grad(u))/9\", v: u - v}\n"
       "initial: {u: \"cos(2*pi*x)\", v: y}\ntime: {end: 0.08}\nstop: {steady: 1e-9}\n"
       "events: [{at: [0.015, 0.02, 0.03, 0.07], set: {u: \"u + v*t\", v: u}}]\n"},
      {"advection lax_wendroff float32",
       advection + "precision: float32\ntime: {end: 0.08, scheme: lax_wendroff}\n"},
  };
}

inline void expect_same_bits(std::filesystem::path const& a, std::filesystem::path const& b) {
  auto const comparison = io::compare(a, b, 0, 0);
  EXPECT_TRUE(comparison.equal()) << comparison.table();
}

/// From each checkpoint, the outputs and the end have the bits of a run that never stopped. Some
/// checkpoints are at the moment of an output, others between two, and some shorten a step.
inline void expect_bits_to_continue(std::string const& device) {
  for (auto const& [name, simulation] : runs_with_time()) {
    SCOPED_TRACE(name);
    RunDirectory const directory;
    auto const yaml = device + simulation +
                      "output: {every: {time: 0.02}, formats: hdf5}\n"
                      "checkpoint: {every: {time: 0.01}, keep: 9}\n";
    auto const whole = directory.run("whole", yaml);
    auto const parts = directory.run("parts", yaml);
    expect_same_bits(parts, whole);
    std::vector<std::filesystem::path> checkpoints;
    for (auto const& entry : std::filesystem::directory_iterator(parts))
      if (entry.path().extension() == ".checkpoint") checkpoints.push_back(entry.path());
    std::sort(checkpoints.begin(), checkpoints.end());
    ASSERT_EQ(checkpoints.size(), 8U);
    for (auto const& checkpoint : checkpoints) {
      SCOPED_TRACE(checkpoint.filename().string());
      RunOptions const go_on{.quiet = true, .restart = true, .checkpoint = checkpoint};
      directory.run("parts", yaml, go_on);
      expect_same_bits(parts, whole);
    }
  }
}

}  // namespace gridstride::test

#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "support/heat_cases.hpp"
#include "support/memory_checkpoint.hpp"

/// Implicit heat problems with known solutions.
namespace gridstride::test {

inline constexpr std::array<char const*, 3> implicit_schemes = {"backward_euler", "crank_nicolson",
                                                                "tr_bdf2"};

/// u = (1 + x²)(2 + y²)(1 + z²) cos 3t with α = 0.02(1 + x) or 0.02, which differences take exactly,
/// so that all error is that of time. `sides` as in `manufactured`, without p; so many steps to t = 1.
inline std::string products(std::string const& scheme, std::string const& sides, bool variable,
                            int steps) {
  static constexpr std::array<char const*, 3> axes = {"x", "y", "z"};
  static constexpr std::array<char const*, 3> constants = {"1", "2", "1"};
  auto const dims = sides.size() / 2;
  auto const product = [&](std::size_t without, std::string const& by) {
    std::string text = by;
    for (std::size_t a = 0; a < dims; ++a)
      if (a != without) text += fmt::format("*({} + {}^2)", constants[a], axes[a]);
    return text;
  };
  std::string const u = product(dims, "1");
  std::string const alpha = variable ? "0.02*(1 + x)" : "0.02";
  std::string flow = variable ? "0.02*" + product(0, "2*x") : "0";
  std::string boundary, points;
  for (std::size_t a = 0; a < dims; ++a) {
    flow += fmt::format(" + {}*{}", alpha, product(a, "2"));
    auto const side = [&](char kind, int sign) {
      return kind == 'd' ? fmt::format("{{dirichlet: \"{}*cos(3*t)\"}}", u)
                         : fmt::format("{{neumann: \"{}*cos(3*t)\"}}",
                                       product(a, fmt::format("{}*{}", 2 * sign, axes[a])));
    };
    boundary += fmt::format("  {}: {{lower: {}, upper: {}}}\n", axes[a], side(sides[2 * a], -1),
                            side(sides[2 * a + 1], 1));
    points += fmt::format("{}{}", a == 0 ? "" : ", ", 8 + a);
  }
  return fmt::format(
      "simulation: heat\n"
      "grid: {{points: [{}]}}\n"
      "boundary:\n{}"
      "initial: {{u: \"{}\"}}\n"
      "parameters: {{diffusivity: \"{}\", source: \"-3*{}*sin(3*t) - ({})*cos(3*t)\"}}\n"
      "time: {{scheme: {}, end: 1, step: {}}}\noutput: {{every: {{count: 1}}}}\n"
      "verify: {{exact: {{u: \"{}*cos(3*t)\"}}, tolerance: {{l2: 1}}}}\n",
      points, boundary, u, alpha, u, flow, scheme, 1.0 / steps, u);
}

/// The same by tr_bdf2 in steps that follow their error.
inline std::string adaptive_products(std::string const& sides, bool variable, double tolerance) {
  auto yaml = products("tr_bdf2", sides, variable, 1);
  yaml.replace(yaml.find("step: 1"), 7, fmt::format("step: adaptive, tolerance: {}", tolerance));
  return yaml;
}

/// The discrete eigenvector of one axis: how often it goes up and down.
struct Mode {
  char side;  ///< p: cos 2πkx, d: sin πkx, n: cos πkx
  int points;
  int waves;

  double spacing() const { return 1.0 / (side == 'p' ? points : points - 1); }
  std::string formula(char axis) const {
    return fmt::format("{}({}*pi*{})", side == 'd' ? "sin" : "cos", side == 'p' ? 2 * waves : waves,
                       axis);
  }
  /// −λ of ∂²/∂x².
  double rate() const {
    double const h = spacing();
    double const s = std::sin(std::numbers::pi * (side == 'p' ? 2 : 1) * waves * h / 2);
    return 4 / (h * h) * s * s;
  }
};

/// What a step makes of it: heat_implicit.cpp's stages, of numbers.
inline double decay(std::string const& scheme, std::vector<Mode> const& modes, double step) {
  auto const factor = [&](double theta, bool backward) {
    double sum = 0, product = 1;
    for (auto const& mode : modes) {
      double const z = theta * step * mode.rate();
      sum += z;
      product *= 1 + z;
    }
    if (!backward) return -2 * sum / product;
    double const split = 1 - (1 + sum) / product;
    return (1 - split * split) / (1 + sum);
  };
  double const gamma = 2 - std::sqrt(2.0);
  if (scheme == "backward_euler") return factor(1, true);
  if (scheme == "crank_nicolson") return 1 + factor(0.5, false);
  return (1 + factor(gamma / 2, false) / (gamma * (2 - gamma))) * factor(gamma / 2, true);
}

/// The same where 1 − θ·dt·L is not split.
inline double whole_decay(std::string const& scheme, std::vector<Mode> const& modes, double step) {
  double rate = 0;
  for (auto const& mode : modes) rate += mode.rate();
  double const gamma = 2 - std::sqrt(2.0);
  double const z = step * rate *
                   (scheme == "backward_euler"   ? 1
                    : scheme == "crank_nicolson" ? 0.5
                                                 : gamma / 2);
  if (scheme == "backward_euler") return 1 / (1 + z);
  if (scheme == "crank_nicolson") return (1 - z) / (1 + z);
  return (1 - 2 * z / (1 + z) / (gamma * (2 - gamma))) / (1 + z);
}

/// One step of the product of these with α = 1, and what it makes of it; `more` are parameters.
inline std::string eigenvector(std::string const& scheme, std::vector<Mode> const& modes,
                               double step, decltype(decay)* expected = decay,
                               std::string const& more = "") {
  std::string points, boundary, initial = "1";
  for (std::size_t a = 0; a < modes.size(); ++a) {
    char const axis = "xyz"[a];
    points += fmt::format("{}{}", a == 0 ? "" : ", ", modes[a].points);
    boundary += fmt::format("{}{}: {}", a == 0 ? "" : ", ", axis,
                            modes[a].side == 'p'   ? "periodic"
                            : modes[a].side == 'd' ? "{dirichlet: 0}"
                                                   : "{neumann: 0}");
    initial += "*" + modes[a].formula(axis);
  }
  return fmt::format(
      "simulation: heat\ngrid: {{points: [{}]}}\nboundary: {{{}}}\ninitial: {{u: \"{}\"}}\n"
      "parameters: {{diffusivity: 1{}}}\ntime: {{scheme: {}, end: {}, step: {}}}\n"
      "output: {{every: {{count: 1}}}}\nverify: {{exact: {{u: \"{:.17g}*{}\"}}, tolerance: {{l2: "
      "1}}}}\n",
      points, boundary, initial, more, scheme, step, step, expected(scheme, modes, step), initial);
}

/// A step of so many times the longest one that is stable for ftcs makes of each product of modes what
/// `expected` says.
inline void expect_decays(std::vector<std::vector<Mode>> const& cases, Backend backend,
                          std::vector<double> const& multiples, double most,
                          decltype(decay)* expected = decay, std::string const& more = "") {
  for (auto const* scheme : implicit_schemes)
    for (auto const& modes : cases)
      for (double const multiple : multiples) {
        double rates = 0;
        for (auto const& mode : modes) rates += 4 / (mode.spacing() * mode.spacing());
        double const step = multiple * 2 / rates;
        EXPECT_LE(solution_error(eigenvector(scheme, modes, step, expected, more), backend).maximum,
                  most)
            << scheme << ' ' << modes.size() << ' ' << modes[0].side << ' ' << multiple;
      }
}

/// A diffusivity that goes up and down by 10^4 from point to point, so that what the axes do cannot be
/// exchanged.
inline std::string jumps(std::string const& scheme, std::string const& points, double step,
                         int steps) {
  return fmt::format(
      "simulation: heat\ngrid: {{points: {}}}\n"
      "boundary: {{x: {{neumann: 0}}, y: {{lower: {{dirichlet: 0}}, upper: {{neumann: 0}}}}}}\n"
      "initial: {{u: \"if(sin(1000*x^2 + 3000*y^2 + 777*x*y) > 0, 1, -1)\"}}\n"
      "parameters: {{diffusivity: \"if(sin(1234*x + 4321*y^2 + 999*x*y) > 0, 1, 1e-4)\"}}\n"
      "time: {{scheme: {}, end: {}, step: {}}}\noutput: {{every: {{count: 1}}}}\n",
      points, scheme, steps * step, step);
}

/// Of a config of implicit steps, by a solver that is named.
inline std::string solved_by(std::string yaml, std::string const& name) {
  std::string const solver = "solver: " + name, flow = "parameters: {", block = "parameters:\n";
  if (auto const at = yaml.find(flow); at != std::string::npos)
    return yaml.insert(at + flow.size(), solver + ", ");
  return yaml.insert(yaml.find(block) + block.size(), "  " + solver + "\n");
}
inline std::string whole(std::string yaml) { return solved_by(std::move(yaml), "multigrid"); }
inline std::string split(std::string yaml) { return solved_by(std::move(yaml), "splitting"); }

/// The largest magnitude at the end.
inline double largest_after(std::string const& yaml) {
  auto const end = solve(config_of(yaml), Backend::cpu);
  double largest = 0;
  for (std::int64_t i = 0; i < end.field.grid.size(); ++i) {
    EXPECT_TRUE(std::isfinite(value_at(end, i)));
    largest = std::max(largest, std::abs(value_at(end, i)));
  }
  return largest;
}

/// The error of a run on the host and the steps that it took.
struct StepsTaken {
  double error;
  std::int64_t steps, rejected;
};

inline StepsTaken steps_taken(std::string const& yaml) {
  auto const config = config_of(yaml);
  Stream stream(Device::open(Backend::cpu));
  auto const simulation = entry_of(config).make(config, stream, {});
  while (!simulation->finished()) simulation->advance(1 << 20, config.time.end);
  auto const field = to_host(simulation->fields()[0], stream);
  auto const& exact = config.verify.exact[0].second.expression;
  auto const clock = simulation->clock();
  return {host_error_norms(field.field, exact, config.time.end).maximum, clock.step,
          clock.rejected};
}

/// `solved` says in a config by what its steps are solved.
inline void expect_tolerance_kept(std::string (*solved)(std::string)) {
  for (auto const* sides : {"dd", "dnnd", "ddnndn"}) {
    auto const coarse = steps_taken(solved(adaptive_products(sides, false, 1e-4)));
    auto const fine = steps_taken(solved(adaptive_products(sides, false, 1e-7)));
    // Errors of steps add up, and are damped; by a thousandth of the tolerance there are ten times
    // as many of them, so that their sum is a hundredth.
    EXPECT_LE(coarse.error, 1e-2) << sides;
    EXPECT_LE(fine.error, 1e-4) << sides;
    EXPECT_NEAR(std::log10(static_cast<double>(fine.steps) / static_cast<double>(coarse.steps)), 1,
                0.25)
        << sides << ' ' << coarse.steps << ' ' << fine.steps;
  }
}

inline void expect_short_steps_where_much_happens(std::string (*solved)(std::string)) {
  auto const found = steps_taken(solved(
      "simulation: heat\ngrid: {points: [33, 17]}\nboundary: {x: {neumann: 0}, y: periodic}\n"
      "initial: {u: \"if(x < 0.5, 1, 0)\"}\n"
      "parameters: {diffusivity: 1, source: \"if(t > 5.05, 1, 0)\"}\n"
      "time: {scheme: tr_bdf2, end: 10, step: adaptive, tolerance: 1e-5}\n"
      "output: {every: {count: 1}}\nverify: {exact: {u: 5.434375}, tolerance: {max: 1}}\n"));
  // Half a cell at each end; what is added from t = 5.05 on.
  EXPECT_LE(found.error, 1e-4);
  EXPECT_GT(found.rejected, 0);
  EXPECT_LT(found.steps, 1000);
}

/// What a run ends with that goes on from a checkpoint after its first steps.
inline std::vector<std::byte> restarted(config::RunConfig const& config) {
  Stream stream(Device::open(Backend::cpu));
  auto const first = entry_of(config).make(config, stream, {});
  first->advance(7, config.time.end);
  MemoryCheckpoint checkpoint;
  first->save(checkpoint);
  auto const second = entry_of(config).make(config, stream, {});
  second->load(checkpoint);
  while (!second->finished()) second->advance(100, config.time.end);
  return to_host(second->fields()[0], stream).memory;
}

inline void expect_adaptive_bits(std::string (*solved)(std::string)) {
  for (bool const variable : {false, true}) {
    auto const config = config_of(solved(adaptive_products("dnnd", variable, 1e-5)));
    auto const once = solve(config, Backend::cpu);
    EXPECT_EQ(once.memory, solve(config, Backend::cpu, 3).memory);
    EXPECT_EQ(once.memory, restarted(config));
  }
}

}  // namespace gridstride::test

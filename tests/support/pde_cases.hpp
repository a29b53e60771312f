#pragma once

#include <fmt/format.h>

#include <array>
#include <string>
#include <tuple>
#include <vector>

#include "support/heat_cases.hpp"
#include "support/replaced.hpp"

/// Systems of equations with known solutions, solved without files.
namespace gridstride::test {

/// u = 2 + exp(−t) Σ_a sin(2π x_a + φ_a) on the unit cube, which solves u_t = `rate` + source, where
/// the source is what the equation lacks, by calculus: `rate` speaks of the field and of the exact
/// solution as `#`. `sides` tells the kind of side of each axis, lower and upper: p, d, n or r, where
/// ∂u/∂n + a·u = g with an a that changes along the side and in time.
inline std::string manufactured_pde(std::string const& rate, int dims, std::string const& sides,
                                    int cells, std::string const& scheme) {
  static constexpr std::array<char const*, 3> axes = {"x", "y", "z"};
  static constexpr std::array<char const*, 3> phases = {"0.3", "0.7", "1.1"};
  auto const of = [&](std::string const& field) { return replaced(rate, "#", field); };
  std::string sum, boundary, points;
  for (int a = 0; a < dims; ++a)
    sum += fmt::format("{}sin(2*pi*{} + {})", a == 0 ? "" : " + ", axes[a], phases[a]);
  std::string const exact = fmt::format("2 + exp(-t)*({})", sum);
  for (int a = 0; a < dims; ++a) {
    auto const side = [&](std::size_t end) {
      char const kind = sides[2 * static_cast<std::size_t>(a) + end];
      if (kind == 'd') return fmt::format("{{dirichlet: \"{}\"}}", exact);
      auto const slope =
          fmt::format("{}exp(-t)*2*pi*cos(2*pi*{} + {})", end == 0 ? "-" : "", axes[a], phases[a]);
      if (kind == 'n') return fmt::format("{{neumann: \"{}\"}}", slope);
      auto const factor = fmt::format("(2 + cos(t + 2*pi*{}))", axes[(a + 1) % dims]);
      return fmt::format("{{robin: [\"{0}\", \"{1} + {0}*({2})\"]}}", factor, slope, exact);
    };
    bool const wraps = sides[2 * static_cast<std::size_t>(a)] == 'p';
    boundary += wraps ? fmt::format("  {}: periodic\n", axes[a])
                      : fmt::format("  {}: {{lower: {}, upper: {}}}\n", axes[a], side(0), side(1));
    points += fmt::format("{}{}", a == 0 ? "" : ", ", wraps ? cells : cells + 1);
  }
  return fmt::format(
      "simulation: pde\n"
      "grid: {{points: [{}]}}\n"
      "boundary:\n{}"
      "let: {{exact: \"{}\"}}\n"
      "equations: {{u: \"{} + diff(exact, t) - ({})\"}}\n"
      "initial: {{u: \"2 + {}\"}}\n"
      "time: {{scheme: {}, end: 0.05}}\n"
      "output: {{every: {{count: 1}}}}\n"
      "verify: {{exact: {{u: \"{}\"}}, tolerance: {{l2: 1}}}}\n",
      points, boundary, exact, of("u"), of("exact"), sum, scheme, exact);
}

/// What the equation is, dimensions, sides, cells of the coarser grid.
using OrderCase = std::tuple<char const*, char const*, int, char const*, int>;

/// The error falls to a quarter where the spacing is halved.
inline void expect_order_two(OrderCase const& one) {
  auto const& [name, rate, dims, sides, cells] = one;
  auto const error = [&](int n) {
    return solution_error(manufactured_pde(rate, dims, sides, n, "rk4"), Backend::cpu);
  };
  auto const coarse = error(cells), fine = error(2 * cells);
  EXPECT_NEAR(observed_order(coarse, fine), 2, 0.2)
      << "errors " << coarse.maximum << ", " << fine.maximum;
}

/// u = (1 + x²) cos(3t), which central differences take exactly: all error is that of time. `side`
/// tells the kind of both sides: d, n, r, with an a that changes in time, or f for fluxes.
inline std::string quadratic_pde(std::string const& scheme, char side, int steps) {
  std::string const condition =
      side == 'd'   ? "{dirichlet: \"(1 + x^2)*cos(3*t)\"}"
      : side == 'n' ? "{lower: {neumann: 0}, upper: {neumann: \"2*cos(3*t)\"}}"
      : side == 'r' ? "{lower: {robin: [2, \"2*cos(3*t)\"]}, "
                      "upper: {robin: [1 + t, \"(4 + 2*t)*cos(3*t)\"]}}"
                    : "{lower: {flux: 0}, upper: {flux: \"0.04*cos(3*t)\"}}";
  return fmt::format(
      "simulation: pde\n"
      "grid: {{points: 9}}\n"
      "boundary: {{x: {}}}\n"
      "equations: {{u: \"div(0.02*grad(u)) - 3*(1 + x^2)*sin(3*t) - 0.04*cos(3*t)\"}}\n"
      "initial: {{u: \"1 + x^2\"}}\n"
      "time: {{scheme: {}, end: 1, step: {}}}\n"
      "verify: {{exact: {{u: \"(1 + x^2)*cos(3*t)\"}}, tolerance: {{l2: 1}}}}\n",
      condition, scheme, 1.0 / steps);
}

/// All values of a run's fields at the end, field after field, and how many steps that took.
struct PdeResult {
  std::vector<std::vector<double>> fields;
  std::int64_t steps;
};
inline PdeResult run_pde(std::string const& yaml, Backend backend = Backend::cpu,
                         std::int64_t max_steps = std::int64_t{1} << 40) {
  auto const config = config_of(yaml);
  Stream stream(Device::open(backend));
  auto const simulation = entry_of(config).make(config, stream, {});
  while (!simulation->finished()) simulation->advance(max_steps, config.time.end);
  PdeResult result;
  for (Field const& field : simulation->fields()) {
    auto const host = to_host(field, stream);
    auto& values = result.fields.emplace_back();
    for (std::int64_t i = 0; i < field.values(); ++i) values.push_back(value_at(host, i));
  }
  result.steps = simulation->clock().step;
  return result;
}

/// The step that a run begins with; throws what `check` does.
inline double step_of(std::string const& yaml) {
  auto const config = config_of(yaml);
  auto const& entry = entry_of(config);
  Device const device = Device::open(Backend::cpu);
  if (entry.time_step) return entry.time_step(config, {}, device);
  return entry.make(config, Stream(device), {})->first_step();
}

}  // namespace gridstride::test

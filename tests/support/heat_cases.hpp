#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "core/buffer.hpp"
#include "driver/error_norms.hpp"
#include "driver/simulation_infos.hpp"
#include "simulations/registry.hpp"
#include "support/replaced.hpp"

/// Heat problems with known solutions, solved without files.
namespace gridstride::test {

/// A field brought to the host.
struct HostField {
  Field field;
  std::vector<std::byte> memory;
};

inline HostField to_host(Field const& field, Stream& stream) {
  HostField host{field, std::vector<std::byte>(field.bytes())};
  copy_async(std::span(host.memory),
             std::span(static_cast<std::byte const*>(field.data), field.bytes()), stream);
  stream.synchronize();
  host.field.data = host.memory.data();
  return host;
}

/// Of a field in host memory.
inline ErrorNorms host_error_norms(Field const& field, expression::Expression const& exact,
                                   double time) {
  Stream host(Device::open(Backend::cpu));
  return error_norms(field, exact, time, host);
}

inline double value_at(HostField const& host, std::int64_t i) {
  return host.field.precision == Precision::float32
             ? static_cast<double>(static_cast<float const*>(host.field.data)[i])
             : static_cast<double const*>(host.field.data)[i];
}

/// The largest difference of two fields, relative to the largest value of the second.
inline double relative_difference(HostField const& a, HostField const& b) {
  double largest = 0, difference = 0;
  for (std::int64_t i = 0; i < a.field.grid.size(); ++i) {
    largest = std::max(largest, std::abs(value_at(b, i)));
    double const one = std::abs(value_at(a, i) - value_at(b, i));
    if (!(one <= difference)) difference = one;
  }
  return difference / largest;
}

/// The only number that a simulation finds on the device.
inline double measured(Simulation& simulation, std::string const& name, Stream& stream) {
  auto const numbers = simulation.measure();
  EXPECT_EQ(numbers.size(), 1U);
  EXPECT_EQ(numbers.front().name, name);
  double value = 0;
  copy_async(std::span(&value, 1), std::span(numbers.front().data, 1), stream);
  stream.synchronize();
  return numbers.front().factor * value;
}

inline config::RunConfig config_of(
    std::string const& yaml,
    std::span<config::SimulationInfo const> simulations = simulation_infos()) {
  auto const path =
      std::filesystem::temp_directory_path() / fmt::format("gridstride_case_{}.yaml", getpid());
  std::ofstream(path) << yaml;
  auto config = config::read_run_config(path, {}, simulations);
  std::filesystem::remove(path);
  return config;
}

/// Runs to the end, in calls of `max_steps`.
inline HostField solve(config::RunConfig const& config, Backend backend,
                       std::int64_t max_steps = std::int64_t{1} << 40) {
  Stream stream(Device::open(backend));
  auto const simulation = entry_of(config).make(config, stream, {});
  while (!simulation->finished()) simulation->advance(max_steps, config.time.end);
  return to_host(simulation->fields()[0], stream);
}

/// u = exp(-t) Σ_a sin(2π x_a + φ_a) with α = 0.05 (1 + Σ_a sin(2π x_a)/5), and the source that
/// makes it a solution. `sides` tells the kind of side of each axis, lower and upper: p, d or n.
inline std::string manufactured(int dims, std::string const& sides, int cells,
                                std::string const& scheme) {
  static constexpr std::array<char const*, 3> axes = {"x", "y", "z"};
  static constexpr std::array<char const*, 3> phases = {"0.3", "0.7", "1.1"};
  std::string exact, alpha = "1", divergence, boundary, points;
  for (int a = 0; a < dims; ++a) alpha += fmt::format(" + sin(2*pi*{})/5", axes[a]);
  for (int a = 0; a < dims; ++a) {
    std::string const wave = fmt::format("2*pi*{} + {}", axes[a], phases[a]);
    std::string const join = a == 0 ? "" : " + ";
    exact += fmt::format("{}sin({})", join, wave);
    // α' u' + α u'' without the factor 0.05·exp(-t)
    divergence += fmt::format("{}4*pi^2*(cos(2*pi*{})/5*cos({}) - ({})*sin({}))", join, axes[a],
                              wave, alpha, wave);
  }
  for (int a = 0; a < dims; ++a) {
    char const lower = sides[2 * static_cast<std::size_t>(a)];
    char const upper = sides[2 * static_cast<std::size_t>(a) + 1];
    std::string const slope = fmt::format("exp(-t)*2*pi*cos(2*pi*{} + {})", axes[a], phases[a]);
    auto const side = [&](char kind, char const* sign) {
      return kind == 'd' ? fmt::format("{{dirichlet: \"exp(-t)*({})\"}}", exact)
                         : fmt::format("{{neumann: \"{}{}\"}}", sign, slope);
    };
    boundary += lower == 'p' ? fmt::format("  {}: periodic\n", axes[a])
                             : fmt::format("  {}: {{lower: {}, upper: {}}}\n", axes[a],
                                           side(lower, "-"), side(upper, ""));
    points += fmt::format("{}{}", a == 0 ? "" : ", ", lower == 'p' ? cells : cells + 1);
  }
  return fmt::format(
      "simulation: heat\n"
      "grid: {{points: [{}]}}\n"
      "boundary:\n{}"
      "initial: {{u: \"{}\"}}\n"
      "parameters:\n"
      "  diffusivity: \"0.05*({})\"\n"
      "  source: \"-exp(-t)*({}) - 0.05*exp(-t)*({})\"\n"
      "time: {{scheme: {}, end: 0.1}}\n"
      "output: {{every: {{count: 1}}}}\n"
      "verify: {{exact: {{u: \"exp(-t)*({})\"}}, tolerance: {{l2: 1}}}}\n",
      points, boundary, exact, alpha, exact, divergence, scheme, exact);
}

/// A problem whose steps are all alike, of `steps` steps and a shortened one. `sides` as above,
/// with values of space alone.
inline std::string steady(int dims, std::string const& sides, int cells, int steps) {
  static constexpr std::array<char const*, 3> axes = {"x", "y", "z"};
  std::string boundary, points, initial = "1";
  double inverse_squares = 0;
  for (int a = 0; a < dims; ++a) {
    auto const side = [&](char kind) {
      return kind == 'd' ? std::string("{dirichlet: \"x + 2*y - z\"}")
                         : std::string("{neumann: \"cos(3*x + y)\"}");
    };
    char const lower = sides[2 * static_cast<std::size_t>(a)];
    char const upper = sides[2 * static_cast<std::size_t>(a) + 1];
    boundary += lower == 'p' ? fmt::format("  {}: periodic\n", axes[a])
                             : fmt::format("  {}: {{lower: {}, upper: {}}}\n", axes[a], side(lower),
                                           side(upper));
    points += fmt::format("{}{}", a == 0 ? "" : ", ", lower == 'p' ? cells : cells + 1);
    initial += fmt::format(" + sin(2*pi*{} + {})", axes[a], a);
    inverse_squares += static_cast<double>(cells) * cells;
  }
  if (dims < 3) boundary = replaced(boundary, " - z", "");
  if (dims < 2) boundary = replaced(boundary, R"( \+ 2\*y| \+ y)", "");
  double const step = 0.4 / inverse_squares;
  return fmt::format(
      "simulation: heat\n"
      "grid: {{points: [{}]}}\n"
      "boundary:\n{}"
      "initial: {{u: \"{}\"}}\n"
      "parameters: {{diffusivity: 1}}\n"
      "time: {{scheme: ftcs, step: {}, end: {}}}\n",
      points, boundary, initial, step, (steps + 0.5) * step);
}

/// u = (1 + x²) cos(3t), which central differences take exactly: all error is that of time.
inline std::string quadratic(std::string const& scheme, char side, int steps) {
  std::string const condition = side == 'd'
                                    ? "{dirichlet: \"(1 + x^2)*cos(3*t)\"}"
                                    : "{lower: {neumann: 0}, upper: {neumann: \"2*cos(3*t)\"}}";
  return fmt::format(
      "simulation: heat\n"
      "grid: {{points: 9}}\n"
      "boundary: {{x: {}}}\n"
      "initial: {{u: \"1 + x^2\"}}\n"
      "parameters: {{diffusivity: 0.02, source: \"-3*(1 + x^2)*sin(3*t) - 0.04*cos(3*t)\"}}\n"
      "time: {{scheme: {}, end: 1, step: {}}}\n"
      "verify: {{exact: {{u: \"(1 + x^2)*cos(3*t)\"}}, tolerance: {{l2: 1}}}}\n",
      condition, scheme, 1.0 / steps);
}

inline ErrorNorms solution_error(std::string const& yaml, Backend backend) {
  auto const config = config_of(yaml);
  return host_error_norms(solve(config, backend).field, config.verify.exact[0].second.expression,
                          config.time.end);
}

/// log2 of the ratio of the largest errors when everything is refined by two. The mean over all
/// points counts those on the sides more on the coarser grid, and so shows too high an order.
inline double observed_order(ErrorNorms const& coarse, ErrorNorms const& fine) {
  return std::log2(coarse.maximum / fine.maximum);
}

}  // namespace gridstride::test

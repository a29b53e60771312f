#pragma once

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "support/heat_cases.hpp"

/// Waves with known solutions, solved without files.
namespace gridstride::test {

/// What a wave that stands has along one axis: its shape, and the second derivative over it.
struct StandingWave {
  std::string_view side_text;
  char const* shape;  // of x
  double curvature;
};

/// For the kinds of both sides: periodic, fixed (0) and free (=), on [0, 1].
inline StandingWave standing_wave(std::string_view sides) {
  constexpr double pi = 3.141592653589793;
  if (sides == "pp") return {"periodic", "sin(2*pi*{0} + 0.3)", 4 * pi * pi};
  if (sides == "00") return {"fixed", "sin(pi*{0})", pi * pi};
  if (sides == "==") return {"free", "cos(pi*{0})", pi * pi};
  if (sides == "0=") return {"{lower: fixed, upper: free}", "sin(pi*{0}/2)", pi * pi / 4};
  return {"{lower: free, upper: fixed}", "cos(pi*{0}/2)", pi * pi / 4};
}

/// u = cos(3t + 0.4) Π_a shape_a(x_a) with c = 1 + Σ_a sin(2π x_a)/5/dims, and the source that
/// makes it a solution, to t = 0.6 in so many steps. `sides` has two letters for each axis.
inline std::string standing(int dims, std::string const& sides, int order, int cells, int steps) {
  static constexpr std::array<char const*, 3> axes = {"x", "y", "z"};
  std::string shape, speed = "1", boundary, points;
  double curvature = 0;
  for (std::size_t a = 0; a < static_cast<std::size_t>(dims); ++a) {
    std::string const kinds = sides.substr(2 * a, 2);
    auto const wave = standing_wave(kinds);
    shape += (a == 0 ? "" : "*") + fmt::format(fmt::runtime(wave.shape), axes[a]);
    speed += fmt::format(" + sin(2*pi*{})/{}", axes[a], 5 * dims);
    curvature += wave.curvature;
    boundary += fmt::format("  {}: {}\n", axes[a], wave.side_text);
    points += fmt::format("{}{}", a == 0 ? "" : ", ", kinds == "pp" ? cells : cells + 1);
  }
  return fmt::format(
      "simulation: wave\n"
      "grid: {{points: [{}]}}\n"
      "boundary:\n{}"
      "initial: {{u: \"cos(0.4)*{}\"}}\n"
      "parameters:\n"
      "  speed: \"{}\"\n"
      "  order: {}\n"
      "  initial_velocity: \"-3*sin(0.4)*{}\"\n"
      "  source: \"({:.17g}*({})^2 - 9)*cos(3*t + 0.4)*{}\"\n"
      "time: {{end: 0.6, step: {:.17g}}}\n"
      "verify: {{exact: {{u: \"cos(3*t + 0.4)*{}\"}}, tolerance: {{l2: 1}}}}\n",
      points, boundary, shape, speed, order, shape, curvature, speed, shape, 0.6 / steps, shape);
}

/// A run, step by step.
struct WaveRun {
  config::RunConfig config;
  Stream stream;
  std::unique_ptr<Simulation> simulation;

  explicit WaveRun(std::string const& yaml, Backend backend = Backend::cpu)
      : config(config_of(yaml)),
        stream(Device::open(backend)),
        simulation(entry_of(config).make(config, stream, {})) {}

  void go(double until, std::int64_t slice = std::int64_t{1} << 40) {
    while (simulation->clock().time < until) simulation->advance(slice, until);
  }
  double energy() { return measured(*simulation, "energy", stream); }
  HostField field() { return to_host(simulation->fields().front(), stream); }
  ErrorNorms error() {
    return host_error_norms(field().field, config.verify.exact[0].second.expression,
                            simulation->clock().time);
  }
};

/// With all that changes in time, damping, and a point source between points: for runs that are
/// compared bit by bit.
inline std::string everything(std::string const& precision, std::string const& more = "") {
  return fmt::format(
      "simulation: wave\n"
      "precision: {}\n"
      "grid: {{points: [70, 45]}}\n"
      "boundary: {{x: absorbing, y: {{lower: free, upper: fixed}}}}\n"
      "initial: {{u: \"exp(-200*((x - 0.4)^2 + (y - 0.5)^2))\"}}\n"
      "parameters:\n"
      "  speed: \"1 + y\"\n"
      "  order: 8\n"
      "  initial_velocity: \"sin(9*x)\"\n"
      "  source: \"sin(20*t)*x\"\n"
      "  ricker: [{{at: [0.513, 0.207], frequency: 4}}, {{at: [0.52, 0], frequency: 3, delay: 0.1, "
      "amplitude: 2}}]\n"
      "  absorbing: {{thickness: 20, strength: 5}}\n"
      "time: {{end: 0.75}}\n{}",
      precision, more);
}

/// With steps that are all alike, on a plane that `temporal` cuts into several strips.
inline std::string undisturbed(std::string const& precision, std::string const& kernels) {
  return fmt::format(
      "simulation: wave\n"
      "precision: {}\n"
      "grid: {{points: [701, 145]}}\n"
      "boundary: {{x: {{lower: fixed, upper: free}}, y: periodic}}\n"
      "initial: {{u: \"exp(-200*((x - 0.4)^2 + (y - 0.5)^2))\"}}\n"
      "parameters: {{speed: \"1 + x\", order: 6, initial_velocity: \"sin(9*x)\"}}\n"
      "time: {{end: 0.16}}\n"
      "kernels: {{{}}}\n",
      precision, kernels);
}

}  // namespace gridstride::test

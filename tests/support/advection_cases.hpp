#pragma once

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "support/heat_cases.hpp"

/// Advections with known solutions, as configs.
namespace gridstride::test {

/// A run from t = 0 of u = `exact` with this velocity, on the unit cube. `sides` tells for each
/// axis whether it is periodic (p) or open (o); what enters is then `exact`.
struct AdvectionRun {
  std::string scheme;
  std::string sides;
  int cells;
  std::vector<std::string> velocity;
  std::string exact;  ///< of x, y, z and t
  double end;
  std::string step = "auto";
  std::string extra = "";  ///< lines of the config

  std::string yaml() const {
    std::string points, boundary, flow;
    for (std::size_t a = 0; a < sides.size(); ++a) {
      points += fmt::format("{}{}", a == 0 ? "" : ", ", sides[a] == 'p' ? cells : cells + 1);
      boundary +=
          fmt::format("  {}: {}\n", axis_names[a],
                      sides[a] == 'p' ? "periodic" : fmt::format("{{dirichlet: \"{}\"}}", exact));
      flow += fmt::format("{}{}: \"{}\"", a == 0 ? "" : ", ", axis_names[a], velocity[a]);
    }
    return fmt::format(
        "simulation: advection\n"
        "grid: {{points: [{}]}}\n"
        "boundary:\n{}"
        "initial: {{u: \"{}\"}}\n"
        "parameters: {{velocity: {{{}}}}}\n"
        "time: {{scheme: {}, end: {}, step: {}}}\n"
        "verify: {{exact: {{u: \"{}\"}}, tolerance: {{l2: 1}}}}\n{}",
        points, boundary, at_start(exact), flow, scheme, end, step, exact, extra);
  }

 private:
  /// The formula with its t replaced by 0: a name of one letter that no other name touches.
  static std::string at_start(std::string const& formula) {
    auto const letter = [&](std::size_t i) {
      return i < formula.size() &&
             (std::isalnum(static_cast<unsigned char>(formula[i])) != 0 || formula[i] == '_');
    };
    std::string result;
    for (std::size_t i = 0; i < formula.size(); ++i) {
      bool const time = formula[i] == 't' && !letter(i + 1) && (i == 0 || !letter(i - 1));
      result += time ? "0" : std::string(1, formula[i]);
    }
    return result;
  }
};

/// Σ_a sin(2π (x_a − v_a t) + φ_a), carried along by a constant velocity.
inline AdvectionRun carried_waves(std::string const& scheme, std::string const& sides, int cells,
                                  std::array<double, 3> const& speeds, double end) {
  static constexpr std::array<double, 3> phases = {0.3, 0.7, 1.1};
  AdvectionRun run{scheme, sides, cells, {}, "", end};
  for (std::size_t a = 0; a < sides.size(); ++a) {
    run.velocity.push_back(fmt::format("{}", speeds[a]));
    run.exact += fmt::format("{}sin(2*pi*({} - ({})*t) + {})", a == 0 ? "" : " + ", axis_names[a],
                             speeds[a], phases[a]);
  }
  return run;
}

/// A velocity that changes along its own axis, v = s/(1 + cos(2πx)/4), on a periodic axis: with
/// θ = x + sin(2πx)/(8π), u = θ'·F(θ − s t) for any F of period 1; in several dimensions the
/// product of such.
inline AdvectionRun stretched_waves(std::string const& scheme, int dims, int cells, double end) {
  static constexpr std::array<double, 3> speeds = {1, -0.7, 0.5};
  AdvectionRun run{scheme, std::string(static_cast<std::size_t>(dims), 'p'), cells, {}, "", end};
  for (int a = 0; a < dims; ++a) {
    std::string const x(axis_names[a]);
    auto const speed = speeds[static_cast<std::size_t>(a)];
    run.velocity.push_back(fmt::format("{}/(1 + cos(2*pi*{})/4)", speed, x));
    run.exact +=
        fmt::format("{}(1 + cos(2*pi*{})/4)*(2 + sin(2*pi*({} + sin(2*pi*{})/(8*pi) - ({})*t)))",
                    a == 0 ? "" : " * ", x, x, x, speed);
  }
  return run;
}

/// v = sin(2πx)/2 carries u = 1 away from x = 0 and towards x = 1/2, where it turns.
inline AdvectionRun gathered(std::string const& scheme, int cells, double end) {
  return {
      scheme, "p", cells, {"sin(2*pi*x)/2"}, "exp(-pi*t)/(cos(pi*x)^2 + exp(-2*pi*t)*sin(pi*x)^2)",
      end};
}

/// v = x(1 − x) carries u = 1 + x from the one wall of a box to the other, where it is gathered.
inline AdvectionRun between_walls(std::string const& scheme, int cells, double end) {
  std::string const left = "(exp(-t)/(1 - x + x*exp(-t)))";  // of a cell, and its beginning x·left
  return {scheme, "o", cells, {"x*(1 - x)"}, "(1 + x*" + left + ")*" + left + "^2*exp(t)", end};
}

/// A hill that a solid rotation about the middle of the square carries around, one turn in a time
/// of 1; at the open sides it is below 1e-14.
inline AdvectionRun rotated_hill(std::string const& scheme, int cells, double end) {
  return {scheme,
          "oo",
          cells,
          {"2*pi*(0.5 - y)", "2*pi*(x - 0.5)"},
          "exp(-150*((x - 0.5 - 0.15*cos(2*pi*t))^2 + (y - 0.5 - 0.15*sin(2*pi*t))^2))",
          end};
}

/// A velocity that is the same everywhere and changes with time, 1 + cos(3t)/2.
inline AdvectionRun swinging_wave(std::string const& scheme, std::string const& sides, int cells,
                                  double end) {
  return {scheme, sides, cells, {"1 + cos(3*t)/2"}, "sin(2*pi*(x - t - sin(3*t)/6))", end};
}

/// The observed order of the largest error when a run's cells are doubled, with steps of `courant`
/// spacings. Those of weno5 shrink like h^(5/3), for its method in time is of order three.
inline double order_in_space(std::function<AdvectionRun(int cells)> const& make, int cells,
                             double courant, Backend backend) {
  auto const error = [&](int n) {
    AdvectionRun run = make(n);
    double const steps = run.scheme == "weno5" ? std::pow(n, 5.0 / 3) : n;
    run.step = fmt::format("{}", courant / steps);
    return solution_error(run.yaml(), backend).maximum;
  };
  return std::log2(error(cells) / error(2 * cells));
}

}  // namespace gridstride::test

#pragma once

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "driver/diagnostics/numbers.hpp"
#include "driver/error_norms.hpp"
#include "support/pde_cases.hpp"
#include "support/replaced.hpp"

/// Systems whose sides have fluxes, or values that follow from fields.
namespace gridstride::test {

/// The largest error of each number of a solution at the end.
inline std::vector<double> errors_of(std::string const& yaml) {
  auto const config = config_of(yaml);
  Stream stream(Device::open(Backend::cpu));
  auto const simulation = entry_of(config).make(config, stream, {});
  while (!simulation->finished()) simulation->advance(1000, config.time.end);
  std::vector<double> errors;
  for (auto const& [name, formula] : config.verify.exact) {
    auto const [field, component] = find_number(config.fields, simulation->fields(), name);
    errors.push_back(
        error_norms(field, formula.expression, config.time.end, stream, component).maximum);
  }
  return errors;
}

/// ∫ of a component over the grid with half weights on sides, of a run's values at the end.
inline double integral_of(std::string const& yaml, std::vector<double> const& values) {
  auto const config = config_of(yaml);
  double sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    auto const at = config.grid.indices(static_cast<std::int64_t>(i));
    double weight = 1;
    for (std::size_t axis = 0; axis < static_cast<std::size_t>(config.grid.dims); ++axis) {
      bool const is_open = !wraps(config.boundary[0][axis][0].kind);
      bool const ends = at[axis] == 0 || at[axis] == config.grid.points[axis] - 1;
      weight *= config.grid.spacing[axis] * (is_open && ends ? 0.5 : 1);
    }
    sum += weight * values[i];
  }
  return sum;
}

/// u = s, where `flux` is the component of what stands in `div` along the axis @, of s. `sides` has a
/// letter for each side as `manufactured_pde`, and f where the flux is given.
inline std::string flux_pde(std::string const& equations, std::string const& flux, int dims,
                            std::string const& sides, int cells, std::string const& more = "") {
  std::string sum, boundary, points;
  for (std::size_t a = 0; a < static_cast<std::size_t>(dims); ++a) {
    std::string const axis(1, "xyz"[a]);
    sum += fmt::format("{}sin(2*pi*{} + {})", a == 0 ? "" : " + ", axis, 0.3 + 0.4 * double(a));
    bool const is_periodic = sides[2 * a] == 'p';
    points += fmt::format("{}{}", a == 0 ? "" : ", ", is_periodic ? cells : cells + 1);
    auto const side = [&](std::size_t end) -> std::string {
      char const kind = sides[2 * a + end];
      if (kind == 'd') return "dirichlet";
      if (kind == 'n') return "neumann";
      auto const through = replaced(flux, "@", axis);
      return fmt::format("{{flux: \"{}({})\"}}", end == 0 ? "-" : "", through);
    };
    boundary += is_periodic
                    ? fmt::format("  {}: periodic\n", axis)
                    : fmt::format("  {}: {{lower: {}, upper: {}}}\n", axis, side(0), side(1));
  }
  return fmt::format(
      "simulation: pde\ngrid: {{points: [{}]}}\nboundary:\n{}let: {{s: \"2 + exp(-t)*({})\"}}\n"
      "equations: {{{}}}\ntime: {{scheme: rk4, end: 0.05}}\noutput: {{every: {{count: 1}}}}\n"
      "verify: {{manufactured: {{u: s}}, tolerance: {{l2: 1}}}}\n{}",
      points, boundary, sum, equations, more);
}

/// What u, or v, has on sides of `field_sides_pde`.
inline constexpr char const* radiation = "{neumann: \"@s - 0.2*(u^4 - s^4) + 0.1*x*(v - r)\"}";
inline constexpr char const* exchange = "{neumann: \"@r + 2*(u - v - s + r)\"}";
inline constexpr char const* factor = "{robin: [\"1 + v^2\", \"@s + s*(1 + r^2) + v - r\"]}";
inline constexpr char const* plain_factor = "{robin: [2, \"@r + 2*r + u^2 - s^2\"]}";
inline constexpr char const* held = "{dirichlet: \"s + (v^2 - r^2)/3\"}";

/// Two fields, each of which says what the other one has on sides: `sides` are those of u and of v,
/// where s and r are what they should be and @ stands for ∂/∂n.
inline std::string field_sides_pde(std::string const& of_u, std::string const& of_v, int dims,
                                   int cells,
                                   std::string const& time = "{scheme: rk4, end: 0.05}") {
  std::string boundary_u, boundary_v, points, sum;
  for (std::size_t a = 0; a < static_cast<std::size_t>(dims); ++a) {
    std::string const axis(1, "xyz"[a]);
    sum += fmt::format("{}cos(2*{} + {})", a == 0 ? "" : " + ", axis, 0.3 + 0.4 * double(a));
    points += fmt::format("{}{}", a == 0 ? "" : ", ", cells + 1);
    auto const both = [&](std::string const& side) {
      auto const at = [&](char const* sign) {
        return replaced(side, "@(\\w)", fmt::format("{}diff($1, {})", sign, axis));
      };
      return fmt::format("{}: {{lower: {}, upper: {}}}", axis, at("-"), at(""));
    };
    boundary_u += (a == 0 ? "" : ", ") + both(of_u);
    boundary_v += (a == 0 ? "" : ", ") + both(of_v);
  }
  return fmt::format(
      "simulation: pde\ngrid: {{points: [{}]}}\n"
      "boundary:\n  u: {{{}}}\n  v: {{{}}}\n"
      "let: {{s: \"1.5 + exp(-t)*({})/4\", r: \"1 + sin(t + x)/4\"}}\n"
      "equations: {{u: \"0.5*laplace(u) - u*v\", v: \"0.3*laplace(v) + u^2/4\"}}\n"
      "time: {}\noutput: {{every: {{count: 1}}}}\n"
      "verify: {{manufactured: {{u: s, v: r}}, tolerance: {{l2: 1}}}}\n",
      points, boundary_u, boundary_v, sum, time);
}

}  // namespace gridstride::test

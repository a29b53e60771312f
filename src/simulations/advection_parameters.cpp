#include "simulations/advection_parameters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "config/visitor.hpp"
#include "core/error.hpp"
#include "kernels/evaluate/slabs.hpp"

namespace gridstride::advection {

using config::Formula;
using expression::Expression;

Parameters::Parameters() {
  velocity.fill({.text = "0", .expression = Expression(0.0), .location = {}});
}

void Parameters::fields(config::Visitor& visitor, config::RunOptions const& run) {
  auto const given = static_cast<int>(run.grid_options.points.size());
  int const axes = given == 0 ? 3 : given;
  visitor.section({.name = "velocity", .documentation = "How fast u is carried along each axis."},
                  [&](config::Visitor& v) {
                    for (int axis = 0; axis < axes; ++axis)
                      v.visit({.name = axis_names[axis],
                               .unit = "m/s",
                               .documentation = "A number, or a formula of space and time.",
                               .variables = "xyzt"},
                              velocity[axis]);
                    for (int axis = axes; axis < 3; ++axis)
                      v.refuse(axis_names[axis],
                               fmt::format("the grid has no axis {}", axis_names[axis]));
                  });
}

// The stages of weno5 are those of Shu and Osher's third-order method. Their values at the sides
// are what the method itself would give for u_t = g', up to dt³: g + dt·g' and g + dt/2·g' +
// dt²/4·g''. With g at the stages' own times in their place, the order would fall to two (Carpenter
// and others, SIAM J. Sci. Comput. 16 (1995)).
std::vector<Scheme> const& schemes() {
  static std::vector<Scheme> const table = {
      {"weno5",
       advect::Scheme::weno5,
       3,
       false,
       {{0, 0, 1, 1, 0, 0, {-2, 4, -1}},
        {1, 0, 2, 0.25, 0.25, 1, {0.5, 0, 0.5}},
        {2, 0, 0, 2.0 / 3, 2.0 / 3, 0.5, {0, 0, 1}}}},
      {"lax_wendroff", advect::Scheme::lax_wendroff, 2, true, {{0, 0, 1, 1, 0, 0.5, {0, 0, 1}}}},
      {"upwind", advect::Scheme::upwind, 2, true, {{0, 0, 1, 1, 0, 0, {0, 0, 1}}}},
  };
  return table;
}

Scheme const& scheme_of(config::RunConfig const& run) {
  return *std::find_if(schemes().begin(), schemes().end(),
                       [&](Scheme const& scheme) { return scheme.name == run.time.scheme; });
}

namespace {

/// The grid with every second point of its longest axis, again and again, to at most 2^18 points.
Grid coarser(Grid grid) {
  while (grid.size() > std::int64_t{1} << 18) {
    auto const axis =
        std::max_element(grid.points.begin(), grid.points.end()) - grid.points.begin();
    grid.points[axis] = (grid.points[axis] + 1) / 2;
    grid.spacing[axis] *= 2;
  }
  return grid;
}

double largest_speed(config::RunConfig const& run, Formula const& velocity) {
  constexpr int instants = 33;
  bool const changes = velocity.expression.depends_on(expression::time_variable);
  Grid const grid = changes ? coarser(run.grid) : run.grid;
  double largest = 0;
  for (int instant = 0; instant < (changes ? instants : 1); ++instant) {
    double const time = run.time.end * instant / (instants - 1);
    evaluate::for_each_slab(velocity.expression, grid, time, [&](evaluate::Slab const& slab) {
      for (std::size_t i = 0; i < slab.values.size(); ++i) {
        double const speed = std::abs(slab.values[i]);
        largest = std::max(largest, speed);
        if (std::isfinite(speed)) continue;
        auto const at = slab.grid.indices(static_cast<std::int64_t>(i));
        std::string place;
        for (int axis = 0; axis < grid.dims; ++axis)
          place += fmt::format("{}{} = {}", axis == 0 ? "" : ", ", axis_names[axis],
                               slab.grid.coordinate(axis, at[axis]));
        throw ConfigError(
            {run.problem(velocity.location, fmt::format("is {} at {} (a velocity is finite)",
                                                        slab.values[i], place))});
      }
    });
  }
  return largest;
}

}  // namespace

std::array<double, 3> largest_speeds(config::RunConfig const& run) {
  std::array<double, 3> speeds{};
  for (int axis = 0; axis < run.grid.dims; ++axis) {
    Formula const& velocity = parameters_of(run).velocity[axis];
    speeds[axis] = velocity.expression.is_constant() ? std::abs(velocity.expression.evaluate(0))
                                                     : largest_speed(run, velocity);
  }
  return speeds;
}

double time_step(config::RunConfig const& run) {
  Scheme const& scheme = scheme_of(run);
  auto const speeds = largest_speeds(run);
  double const limit = advect::step_limit(scheme.flux, run.grid, speeds);
  if (!run.time.step) {
    if (std::isfinite(limit)) return run.time.safety * limit;
    throw ConfigError({run.problem(run.location("parameters.velocity"),
                                   "is zero everywhere, so that 'auto' finds no time step (give "
                                   "time.step or a velocity)")});
  }
  if (*run.time.step <= limit) return *run.time.step;
  std::string numbers;
  for (int axis = 0; axis < run.grid.dims; ++axis)
    numbers += fmt::format("{}{:.6g}", axis == 0 ? "" : ", ", speeds[axis]);
  constexpr std::string_view rules[] = {"up to Σ|v|·dt/h = 1", "up to |v|·dt/h = 1 along each axis",
                                        "up to Σ|v|·dt/h = 1.4349"};
  throw ConfigError({run.problem(
      run.time.step_location,
      fmt::format("{} s is over the stability limit of {:.6g} s ({} is stable {}, here with |v| up "
                  "to ({}) m/s); 'auto' takes {} of the limit",
                  *run.time.step, limit, scheme.name, rules[static_cast<int>(scheme.flux)], numbers,
                  run.time.safety))});
}

}  // namespace gridstride::advection

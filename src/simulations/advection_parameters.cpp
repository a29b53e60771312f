#include "simulations/advection_parameters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "config/visitor.hpp"
#include "core/error.hpp"
#include "kernels/evaluate/slabs.hpp"
#include "simulations/arrays.hpp"
#include "simulations/step_clock.hpp"

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
       "up to Σ|v|·dt/h = 1.4349",
       3,
       false,
       {{0, 0, 1, 1, 0, 0, {-2, 4, -1}},
        {1, 0, 2, 0.25, 0.25, 1, {0.5, 0, 0.5}},
        {2, 0, 0, 2.0 / 3, 2.0 / 3, 0.5, {0, 0, 1}}}},
      {"lax_wendroff",
       advect::Scheme::lax_wendroff,
       "up to |v|·dt/h = 1 along each axis",
       2,
       true,
       {{0, 0, 1, 1, 0, 0.5, {0, 0, 1}}}},
      {"upwind",
       advect::Scheme::upwind,
       "up to Σ|v|·dt/h = 1",
       2,
       true,
       {{0, 0, 1, 1, 0, 0, {0, 0, 1}}}},
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

bool depends_on_time(Formula const& formula) {
  return formula.expression.depends_on(expression::time_variable);
}

/// The largest |v| at the points of a grid at a time, all of them finite in the run's precision.
double largest_speed(config::RunConfig const& run, Formula const& velocity, Grid const& grid,
                     double time) {
  bool const single = run.precision == Precision::float32;
  double largest = 0;
  evaluate::for_each_slab(velocity.expression, grid, time, [&](evaluate::Slab const& slab) {
    for (std::size_t i = 0; i < slab.values.size(); ++i) {
      double const speed = std::abs(slab.values[i]);
      largest = std::max(largest, speed);
      if (std::isfinite(single ? static_cast<float>(speed) : speed)) continue;
      throw ConfigError({run.problem(
          velocity.location, fmt::format("is {} at {}{} (a velocity is finite{})", slab.values[i],
                                         time > 0 ? fmt::format("t = {}, ", time) : "",
                                         format_place(slab.grid, static_cast<std::int64_t>(i)),
                                         std::isfinite(speed) ? " in float32" : ""))});
    }
  });
  return largest;
}

double largest_speed(config::RunConfig const& run, Formula const& velocity) {
  double largest = largest_speed(run, velocity, run.grid, 0);
  if (!depends_on_time(velocity)) return largest;
  constexpr int moments = 32;
  constexpr double golden = 0.6180339887498949;  // so that the moments share no period
  for (int i = 1; i <= moments; ++i)
    largest =
        std::max(largest, largest_speed(run, velocity, coarser(run.grid),
                                        run.time.end * (i * golden - std::floor(i * golden))));
  return largest;
}

}  // namespace

bool velocity_changes(config::RunConfig const& run) {
  return std::ranges::any_of(parameters_of(run).velocity, depends_on_time);
}

std::array<double, 3> largest_speeds(config::RunConfig const& run) {
  std::array<double, 3> speeds{};
  for (int axis = 0; axis < run.grid.dims; ++axis)
    speeds[axis] = largest_speed(run, parameters_of(run).velocity[axis]);
  return speeds;
}

double time_step(config::RunConfig const& run) {
  Scheme const& scheme = scheme_of(run);
  auto const speeds = largest_speeds(run);
  double const limit = advect::step_limit(scheme.flux, run.grid, speeds);
  bool changes = velocity_changes(run);
  for (auto const& sides : run.boundary)
    for (auto const& side : sides) changes = changes || depends_on_time(side.value);
  if (!run.time.step) return std::min(run.time.safety * limit, longest_step(run, changes));
  if (*run.time.step <= limit) return std::min(*run.time.step, output_interval(run));
  std::string numbers;
  for (int axis = 0; axis < run.grid.dims; ++axis)
    numbers += fmt::format("{}{:.6g}", axis == 0 ? "" : ", ", speeds[axis]);
  throw ConfigError({run.problem(
      run.time.step_location,
      fmt::format("{} s is over the stability limit of {:.6g} s ({} is stable {}, here with |v| up "
                  "to ({}) m/s); 'auto' takes {} of the limit",
                  *run.time.step, limit, scheme.name, scheme.limit, numbers, run.time.safety))});
}

}  // namespace gridstride::advection

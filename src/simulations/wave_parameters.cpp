#include "simulations/wave_parameters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "config/file_source.hpp"
#include "expression/transform.hpp"
#include "model/out_of_core.hpp"
#include "model/rank_files.hpp"
#include "model/step_clock.hpp"
#include "model/values.hpp"

namespace gridstride::wave {

namespace {

using config::FieldSource;
using config::Spec;
using config::Visitor;

/// The unit of a point source: that of u_tt times the volume that it stands for.
std::string_view amplitude_unit(std::size_t dims) {
  static constexpr std::string_view units[] = {"m/s^2", "m^2/s^2", "m^3/s^2"};
  return units[std::clamp<std::size_t>(dims, 1, 3) - 1];
}

}  // namespace

void Parameters::fields(Visitor& visitor, config::RunOptions const& run) {
  auto const folder = run.file.parent_path();
  config::declare_formula_or_field(
      visitor,
      {.name = "speed",
       .unit = "m/s",
       .documentation = "How fast waves go, c (m/s). Where it is zero, u stays as it is.",
       .minimum = 0},
      config::Presence::required, folder, speed);
  visitor.visit({.name = "order",
                 .documentation = "Order of the differences in space: 2, 4, 6 or 8.",
                 .minimum = 2,
                 .maximum = 8},
                order);
  if (order % 2 != 0)
    visitor.fault("order", fmt::format("there is no order {} (2, 4, 6 or 8)", order));
  config::declare_formula_or_field(
      visitor, {.name = "initial_velocity", .unit = "1/s", .documentation = "u_t at time 0 (1/s)."},
      config::Presence::optional, folder, initial_velocity);
  visitor.visit(
      {.name = "source",
       .unit = "1/s^2",
       .documentation = "What is added to u_tt: a number, or a formula of space and time.",
       .variables = "xyzt"},
      source);
  declare_ricker(visitor, run);
  declare_absorbing(visitor);
}

void Parameters::declare_ricker(Visitor& visitor, config::RunOptions const& run) {
  auto const& grid = run.grid_options;
  std::size_t const dims = grid.points.size();
  auto const check_inside = [&](Visitor& v, std::vector<double> const& at) {
    if (grid.lower.size() != at.size() || grid.upper.size() != at.size()) return;
    for (std::size_t a = 0; a < at.size(); ++a)
      if (!(at[a] >= grid.lower[a] && at[a] <= grid.upper[a]))
        v.fault(at.size() == 1 ? "at" : fmt::format("at.{}", a),
                fmt::format("{} is outside of the grid ({} goes from {} to {})", at[a],
                            axis_names[a], grid.lower[a], grid.upper[a]));
  };
  auto const body = [&](Ricker& one) {
    return [&](Visitor& v) {
      config::ListShape const shape =
          dims == 0 ? config::ListShape{1, 3} : config::ListShape{dims, dims};
      if (v.list({.name = "at", .unit = "m", .documentation = "The point's coordinates."}, shape,
                 one.at))
        check_inside(v, one.at);
      v.visit({.name = "frequency",
               .unit = "Hz",
               .documentation = "The wavelet's dominant frequency, f.",
               .minimum = 0,
               .exclusive_minimum = true},
              one.frequency);
      v.visit({.name = "delay",
               .unit = "s",
               .documentation = "When the wavelet has its peak; `auto` is 1.2/f."},
              one.delay, "auto");
      v.visit({.name = "amplitude",
               .unit = amplitude_unit(dims),
               .documentation =
                   "The integral over space of what is added to u_tt at the peak, in m/s^2, "
                   "m^2/s^2 or m^3/s^2 by the dimensions."},
              one.amplitude);
    };
  };
  visitor.items<Ricker>({.name = "ricker",
                         .documentation = "Point sources that go through Ricker's wavelet, "
                                          "(1 - 2a) exp(-a) with a = (pi f (t - delay))^2."},
                        ricker,
                        [&](Spec const& item, Ricker& one) { visitor.section(item, body(one)); });
}

void Parameters::declare_absorbing(Visitor& visitor) {
  visitor.section(
      {.name = "absorbing", .documentation = "The damping layers of absorbing sides."},
      [&](Visitor& v) {
        v.visit({.name = "thickness",
                 .documentation = "Points in a layer; two of the longest wavelengths are good.",
                 .minimum = 1,
                 .maximum = 1000000},
                thickness);
        v.visit({.name = "strength",
                 .documentation = "A wave that goes through the layer and back keeps "
                                  "exp(-strength) of its height; too strong a layer reflects.",
                 .minimum = 0},
                strength);
      });
}

namespace {

bool is_absorbing(config::RunConfig const& run, int axis, int side) {
  return run.sides_of("u")[axis][side].kind == SideKind::absorbing;
}

/// What the steps of a run are. What differs from step to step, sources and absorbing layers keep
/// them single.
star::StepKind kind_of(config::RunConfig const& run, std::span<Row const> rows) {
  auto const& parameters = parameters_of(run);
  bool plain = !has_array(rows, "source") && parameters.ricker.empty();
  for (int axis = 0; axis < run.grid.dims; ++axis)
    for (int side = 0; side < 2; ++side) plain = plain && !is_absorbing(run, axis, side);
  return {run.grid, static_cast<int>(parameters.order), has_array(rows, "speed squared"), plain};
}

star::Repetition wanted_by(config::RunConfig const& run) {
  return {run.kernels.at("star"), static_cast<int>(run.fused_steps.value_or(0))};
}

/// Axes with fewer points than the differences or the layers need.
std::vector<Problem> size_problems(config::RunConfig const& run) {
  auto const& parameters = parameters_of(run);
  std::vector<Problem> found;
  for (int axis = 0; axis < run.grid.dims; ++axis) {
    std::int64_t const points = run.grid.points[axis];
    if (points < parameters.order / 2 + 1)
      found.push_back(
          run.problem(run.location("parameters.order"),
                      fmt::format("order {} needs {} points along {} (here {})", parameters.order,
                                  parameters.order / 2 + 1, axis_names[axis], points)));
    int const layers = is_absorbing(run, axis, 0) + is_absorbing(run, axis, 1);
    if (layers * parameters.thickness >= points)
      found.push_back(
          run.problem(run.location("parameters.absorbing.thickness"),
                      fmt::format("{} layer{} of {} points do{} not fit along {} ({} points)",
                                  layers, layers == 1 ? "" : "s", parameters.thickness,
                                  layers == 1 ? "es" : "", axis_names[axis], points)));
  }
  return found;
}

/// Sources on a side that holds u at 0, which would add nothing.
std::vector<Problem> source_problems(config::RunConfig const& run) {
  auto const& sources = parameters_of(run).ricker;
  constexpr double rounding =
      1e-9;  // of a spacing, as the points are found that a source is shared among
  std::vector<Problem> found;
  for (std::size_t i = 0; i < sources.size(); ++i)
    for (int axis = 0; axis < run.grid.dims; ++axis)
      for (int side = 0; side < 2; ++side) {
        auto const a = static_cast<std::size_t>(axis);
        double const there = run.grid.coordinate(axis, side == 0 ? 0 : run.grid.points[a] - 1);
        bool const is_there = std::abs(sources[i].at[a] - there) <= rounding * run.grid.spacing[a];
        if (!is_there || sides_of(run, axis)[static_cast<std::size_t>(side)] != SideKind::fixed)
          continue;
        bool const absorbs = is_absorbing(run, axis, side);
        std::string key = fmt::format("parameters.ricker.{}.at", i);
        if (!run.locations.contains(key)) key = "parameters.ricker.at";
        found.push_back(run.problem(
            run.location(key),
            fmt::format(
                "{} lies on the {} side of {}, {}where u is held at 0, so that the source adds "
                "nothing (a point inside does, or on a side that is 'free')",
                sources[i].at[a], side == 0 ? "lower" : "upper", axis_names[a],
                absorbs ? "behind the layer that absorbs, " : "")));
      }
  return found;
}

}  // namespace

std::vector<Problem> problems(config::RunConfig const& run, Inputs const& inputs) {
  auto const& parameters = parameters_of(run);
  auto const order = static_cast<int>(parameters.order);
  auto found = size_problems(run);
  auto const append = [&found](std::vector<Problem> const& more) {
    found.insert(found.end(), more.begin(), more.end());
  };
  append(source_problems(run));
  append(fused_steps_problems(run, star::most_fused_steps(run.grid.dims, order),
                              fmt::format("with order {} in {}D", order, run.grid.dims)));
  append(problems_of(run, parameters.initial_velocity, inputs, [] {}));
  append(problems_of(run, parameters.speed, inputs, [&] { largest_speed(run, inputs); }));
  return found;
}

double largest_speed(config::RunConfig const& run, Inputs const& inputs) {
  auto const& parameters = parameters_of(run);
  return parameters.surveyed_speed.largest(
      run, parameters.speed, inputs, [](double value) -> std::string_view {
        return value >= 0 && std::isfinite(value) ? "" : "a speed is not negative";
      });
}

std::vector<Row> rows(config::RunConfig const& run, Backend backend) {
  auto const& parameters = parameters_of(run);
  FieldSource squared = parameters.speed;
  squared.squares = true;
  squared.formula.expression = expression::apply(
      expression::Operation::power, squared.formula.expression, expression::Expression(2));
  Row before = evolved(run, "u_before", 1);
  before.source = parameters.initial_velocity;  // that it begins as
  Row speed = coefficient(run, "speed squared", squared);
  speed.whole = !is_written_in_parts(run, backend);  // which the energy is found with
  std::vector<Row> rows = {evolved(run, "u", 1), before, speed,
                           term(run, "source", source_of(parameters.source))};
  bool const several = star::fused_steps(backend, kind_of(run, rows), wanted_by(run)) > 1;
  Row spare = evolved(run, "spare", several ? 2 : 0);
  spare.saved = false;
  rows.push_back(spare);
  return rows;
}

std::array<SideKind, 2> sides_of(config::RunConfig const& run, int axis) {
  std::array<SideKind, 2> kinds;
  for (int side = 0; side < 2; ++side)
    kinds[side] =
        is_absorbing(run, axis, side) ? SideKind::fixed : run.sides_of("u")[axis][side].kind;
  return kinds;
}

template <class T>
star::Chosen<T> chosen_for(config::RunConfig const& run, Device const& device) {
  return star::choose<T>(device, kind_of(run, rows(run, device.backend())), wanted_by(run));
}
template star::Chosen<float> chosen_for(config::RunConfig const&, Device const&);
template star::Chosen<double> chosen_for(config::RunConfig const&, Device const&);

void choose_kernels(config::RunConfig const& run, Inputs const&, Device const& device) {
  chosen_for<double>(run, device);
}

namespace {

/// The longest step of `auto`, whatever is stable: a tenth of the shortest wavelet's period too.
double longest_step(config::RunConfig const& run) {
  auto const& parameters = parameters_of(run);
  bool const changes = parameters.source.expression.depends_on(expression::time_variable) ||
                       !parameters.ricker.empty();
  double longest = gridstride::longest_step(run, changes);
  for (Ricker const& one : parameters.ricker) longest = std::min(longest, 0.1 / one.frequency);
  return longest;
}

/// σ at the outer end of an axis' layers.
double strongest_damping(config::RunConfig const& run, Inputs const& inputs, int axis) {
  auto const& parameters = parameters_of(run);
  if (!is_absorbing(run, axis, 0) && !is_absorbing(run, axis, 1)) return 0;
  double const depth = static_cast<double>(parameters.thickness) * run.grid.spacing[axis];
  return 1.5 * parameters.strength * largest_speed(run, inputs) / depth;
}

/// A source goes into u by the square of a step, rounded to the precision: by half of it in the
/// first step, by a quarter where steps are shortened to land on an output.
void require_squares_for_source(config::RunConfig const& run, double step) {
  if (is_zero(source_of(parameters_of(run).source))) return;
  bool const single = run.precision == Precision::float32;
  double const least =
      single ? double{std::numeric_limits<float>::min()} : std::numeric_limits<double>::min();
  double const most =
      single ? double{std::numeric_limits<float>::max()} : std::numeric_limits<double>::max();
  double const square = step * step;
  if (square / 4 >= least && square <= most) return;
  throw ConfigError({run.problem(
      run.location("parameters.source"),
      fmt::format("goes into u by the square of a step, and that of {:.4g} s is too {} for {} "
                  "({}another unit of time helps)",
                  step, square > most ? "large" : "small", name_of(run.precision),
                  single ? "precision: float64, or " : ""))});
}

}  // namespace

double time_step(config::RunConfig const& run, Inputs const& inputs) {
  auto const& parameters = parameters_of(run);
  double const speed = largest_speed(run, inputs);
  auto const order = static_cast<int>(parameters.order);
  double const eigenvalue = star::largest_eigenvalue(run.grid, order);
  double const limit = 2 / (speed * std::sqrt(eigenvalue));
  double step = run.time.step.value_or(
      dividing_step(run, std::min(run.time.safety * limit, longest_step(run))));
  if (is_over(step, limit))
    throw unstable_step(run, step, limit,
                        fmt::format("2/(c·√ρ), with c = {:.6g} m/s and ρ = {:.6g} 1/m² of order {}",
                                    speed, eigenvalue, order));
  // The state before the first one is made for a step of this length.
  step = std::min(step, output_interval(run));
  double damping = 0;
  for (int axis = 0; axis < run.grid.dims; ++axis) damping += strongest_damping(run, inputs, axis);
  if (damping * step > 1)
    throw ConfigError({run.problem(
        run.location("parameters.absorbing"),
        fmt::format("{} points with a strength of {} stop a wave within {:.2g} steps (a layer has "
                    "to be thicker or weaker)",
                    parameters.thickness, parameters.strength, 1 / (damping * step)))});
  require_squares_for_source(run, step);
  return step;
}

double shared_time_step(config::RunConfig const& run, Inputs const& inputs) {
  parameters_of(run).surveyed_speed.tell(
      found_by_first(run, [&] { return largest_speed(run, inputs); }));
  return time_step(run, inputs);
}

std::vector<double> damping_of(config::RunConfig const& run, Inputs const& inputs, int axis) {
  double const strongest = strongest_damping(run, inputs, axis);
  if (strongest == 0) return {};
  auto const thickness = parameters_of(run).thickness;
  std::vector<double> sigma(static_cast<std::size_t>(run.grid.points[axis]), 0);
  for (int side = 0; side < 2; ++side) {
    if (!is_absorbing(run, axis, side)) continue;
    for (std::int64_t i = 0; i < thickness; ++i) {
      double const depth = static_cast<double>(thickness - i) / static_cast<double>(thickness);
      auto const place = static_cast<std::size_t>(i);
      sigma[side == 0 ? place : sigma.size() - 1 - place] = strongest * depth * depth;
    }
  }
  return sigma;
}

}  // namespace gridstride::wave

#include "simulations/advection_parameters.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "config/file_source.hpp"
#include "config/visitor.hpp"
#include "equations/upwind.hpp"
#include "model/rank_files.hpp"
#include "model/reading.hpp"
#include "model/step_clock.hpp"
#include "model/values.hpp"

namespace gridstride::advection {

using expression::Expression;

Parameters::Parameters() {
  for (config::FieldSource& component : velocity)
    component.formula = {.text = "0", .expression = Expression(0.0), .location = {}};
}

void Parameters::fields(config::Visitor& visitor, config::RunOptions const& run) {
  auto const given = static_cast<int>(run.grid_options.points.size());
  int const axes = given == 0 ? 3 : given;
  visitor.section(
      {.name = "velocity", .documentation = "How fast u is carried along each axis."},
      [&](config::Visitor& v) {
        for (int axis = 0; axis < axes; ++axis)
          config::declare_formula_or_field(v,
                                           {.name = axis_names[axis],
                                            .unit = "m/s",
                                            .documentation = "At the points of the grid.",
                                            .variables = "xyzt"},
                                           config::Presence::optional, run.file.parent_path(),
                                           velocity[axis]);
        for (int axis = axes; axis < 3; ++axis)
          v.refuse(axis_names[axis], fmt::format("the grid has no axis {}", axis_names[axis]));
      });
}

namespace {
/// Σ|v|·dt/h of weno5 up to which edges stay sharp.
constexpr double sharp_courant_number =
    equations::sharp_courant_number(equations::Convection::weno5);
}  // namespace

std::span<FluxScheme const> schemes() {
  static std::string const limit_of_weno5 =
      fmt::format("up to Σ|v|·dt/h = {}", advect::stable_courant_number);
  static FluxScheme const table[] = {
      {"weno5", advect::Scheme::weno5, &find_scheme("ssp_rk3"), limit_of_weno5,
       sharp_courant_number / advect::stable_courant_number},
      {"lax_wendroff", advect::Scheme::lax_wendroff, &find_scheme("midpoint"),
       "up to |v|·dt/h = 1 along each axis"},
      {"upwind", advect::Scheme::upwind, &find_scheme("euler"), "up to Σ|v|·dt/h = 1"},
  };
  return table;
}

FluxScheme const& scheme_of(config::RunConfig const& run) {
  return *std::ranges::find(schemes(), run.time.scheme, &FluxScheme::name);
}

std::vector<Row> rows(config::RunConfig const& run, Backend) {
  Scheme const& scheme = *scheme_of(run).in_time;
  std::vector<Row> rows = {evolved(run, "u", scheme.buffers),
                           scratch(run, "look ahead", velocity_changes(run) ? 1 : 0)};
  for (int axis = 0; axis < run.grid.dims; ++axis)
    rows.push_back(coefficient(run, velocity_names[axis], parameters_of(run).velocity[axis]));
  add_sides(rows, run, "u", scheme);
  return rows;
}

namespace {

/// How far a stage of a scheme looks.
std::int64_t reach_of(advect::Scheme flux) {
  return flux == advect::Scheme::weno5 ? advect::reach_of<advect::Scheme::weno5>
                                       : advect::reach_of<advect::Scheme::upwind>;
}

/// How steps go by slabs. Axes that take turns make a step unlike the one before.
SlabSteps slab_steps(config::RunConfig const& run, Backend backend) {
  auto const all = rows(run, backend);
  std::string const needed = "of heat or wave";
  FluxScheme const& scheme = scheme_of(run);
  auto const stages = std::ssize(scheme.in_time->stages);
  bool const alternates = scheme.flux == advect::Scheme::lax_wendroff && run.grid.dims > 1;
  Obstacle const of_ranks[] = {{!goes_by_planes(run, all), "with simpler formulas"}};
  auto const fields = std::ranges::count_if(
      all, [](Row const& row) { return row.role == Role::coefficient && row.arrays > 0; });
  auto const slowest = static_cast<std::size_t>(run.grid.dims - 1);
  return {.shape = {.grid = run.grid,
                    .periodic = run.sides_of("u")[slowest][0].kind == SideKind::periodic,
                    .reach = stages * reach_of(scheme.flux),
                    .alike = !depends_on_time(all) && !alternates,
                    .scratch = scheme.in_time->scratch(),
                    .value_bytes = size_of(run.precision),
                    .values_per_update = static_cast<double>(stages * (2 + fields)),
                    .stages = static_cast<int>(stages),
                    .periodic_across = of_strip_axes<bool>(
                        run.grid.dims,
                        [&](std::size_t axis) {
                          return run.sides_of("u")[axis][0].kind == SideKind::periodic;
                        })},
          .evolved = {"u"},
          .needed = needed,
          .needed_of_ranks = needed_for(of_ranks),
          .needed_of_strips = needed_of_formulas(run, all),
          .without_whole = goes_without_whole(run, backend)};
}

}  // namespace

std::optional<SweepPlan> plan(config::RunConfig const& run, Device const& device) {
  if (run.ranks == 1) return {};
  return plan_slabs(run, device, rows(run, device.backend()), slab_steps(run, device.backend()));
}

std::vector<Row> rows_of(config::RunConfig const& run, Backend backend,
                         std::optional<SweepPlan> const& plan) {
  auto all = rows(run, backend);
  return plan ? rows_of_slabs(run, std::move(all), slab_steps(run, backend), *plan) : all;
}

MemoryForecast memory(config::RunConfig const& run, Inputs const&, Backend backend) {
  auto const all = rows(run, backend);
  if (run.ranks == 1) return forecast(run, all);
  Device const device = Device::open(backend, run.device.ordinal);
  return forecast_slabs(run, device, all, slab_steps(run, backend), plan(run, device));
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

/// Of all velocities, in the run's precision.
Demand demand_of(config::RunConfig const& run) {
  bool const single = run.precision == Precision::float32;
  return [single](double v) -> std::string_view {
    if (!std::isfinite(v)) return "a velocity is finite";
    return single && !std::isfinite(static_cast<float>(v)) ? "a velocity is finite in float32" : "";
  };
}

/// The largest of what there is at some moments of the run.
template <class Find>
double largest_of_moments(config::RunConfig const& run, Find const& find) {
  constexpr int moments = 32;
  constexpr double golden = 0.6180339887498949;  // so that the moments share no period
  double largest = 0;
  for (int i = 1; i <= moments; ++i)
    largest = std::max(largest, find(run.time.end * (i * golden - std::floor(i * golden))));
  return largest;
}

/// The largest |v| of a component.
double largest_speed(config::RunConfig const& run, Inputs const& inputs, std::size_t axis) {
  auto const& velocity = parameters_of(run).velocity[axis];
  auto const demand = demand_of(run);
  if (!depends_on_time(velocity))
    return parameters_of(run).surveyed[axis].largest(run, velocity, inputs, demand);
  return std::max(largest_magnitude(run, velocity, inputs, run.grid, 0, demand),
                  largest_of_moments(run, [&](double time) {
                    return largest_magnitude(run, velocity, inputs, coarser(run.grid), time,
                                             demand);
                  }));
}

}  // namespace

bool velocity_changes(config::RunConfig const& run) {
  return std::ranges::any_of(parameters_of(run).velocity,
                             [](auto const& component) { return depends_on_time(component); });
}

std::array<double, 3> shared_speeds(config::RunConfig const& run, Inputs const& inputs) {
  std::array<double, 3> speeds{};
  if (keeps_state(run)) speeds = largest_speeds(run, inputs);
  for (double& speed : speeds) speed = found_by_first(run, [speed] { return speed; });
  return speeds;
}

std::array<double, 3> largest_speeds(config::RunConfig const& run, Inputs const& inputs) {
  std::array<double, 3> speeds{};
  for (std::size_t axis = 0; axis < static_cast<std::size_t>(run.grid.dims); ++axis)
    speeds[axis] = largest_speed(run, inputs, axis);
  return speeds;
}

double along_sides(config::RunConfig const& run, Inputs const& inputs) {
  auto const is_single = [&](config::FieldSource const& source) {
    if (source.file.empty()) return false;
    NumberType const type = inputs.open(source)->type();
    return type.kind == NumberKind::real && type.bytes < 8;
  };
  bool const any = found_by_first(run, [&] {
                     return std::ranges::any_of(parameters_of(run).velocity, is_single) ? 1.0 : 0.0;
                   }) > 0;
  return any ? 0x1p-17 : advect::AdvectionStep<double>().along;
}

namespace {

/// So large that 2^16 steps lose less than a rounding of it where all that is not normal is 0.
double enough_to_flush(Precision precision) {
  return precision == Precision::float32 ? 0x1p-126 * 0x1p23 * 0x1p16 : 0x1p-1022 * 0x1p52 * 0x1p16;
}

/// Whether u is not 0, and nowhere so large, as it begins or comes in over the sides.
bool is_small(config::RunConfig const& run, Inputs const& inputs) {
  double const enough = enough_to_flush(run.precision);
  auto const any = [](double) { return std::string_view(); };
  auto const largest = [&](config::Formula const& formula, Grid const& grid, double time = 0) {
    return largest_magnitude(run, source_of(formula), inputs, grid, time, any);
  };
  auto const& initial = run.initial.at("u");
  double found = initial.file.empty() ? largest(initial.formula, coarser(run.grid))
                                      : first_magnitude(initial, inputs, enough);
  if (found < enough && initial.file.empty()) found = largest(initial.formula, run.grid);
  for (int axis = 0; axis < run.grid.dims && found < enough; ++axis)
    for (int side = 0; side < 2; ++side) {
      auto const& condition =
          run.sides_of("u")[static_cast<std::size_t>(axis)][static_cast<std::size_t>(side)];
      if (condition.kind != SideKind::dirichlet) continue;
      Grid const face = face_of(run.grid, axis, side);
      found = std::max(found, largest(condition.value, face));
      if (found < enough && depends_on_time(source_of(condition.value)))
        found = std::max(found, largest_of_moments(run, [&](double time) {
                           return largest(condition.value, coarser(face), time);
                         }));
    }
  return found > 0 && found < enough;
}

}  // namespace

std::string variant_of(config::RunConfig const& run, Inputs const& inputs, Backend backend) {
  std::string const& asked = run.kernels.at("advect");
  if (asked != "auto" || backend != Backend::cpu) return asked;
  double const small = found_by_first(run, [&] { return is_small(run, inputs) ? 1.0 : 0.0; });
  return small > 0 ? "threads_subnormal" : asked;
}

std::vector<Problem> problems(config::RunConfig const& run, Inputs const& inputs) {
  std::vector<Problem> found;
  for (std::size_t axis = 0; axis < static_cast<std::size_t>(run.grid.dims); ++axis) {
    auto const& velocity = parameters_of(run).velocity[axis];
    if (depends_on_time(velocity)) continue;  // the choice of the step looks at these
    auto const more = problems_of(run, velocity, inputs, [&] { largest_speed(run, inputs, axis); });
    found.insert(found.end(), more.begin(), more.end());
  }
  return found;
}

void save_files(config::RunConfig const& run, CheckpointSink& sink) {
  for (std::size_t axis = 0; axis < 3; ++axis)
    parameters_of(run).surveyed[axis].save(velocity_names[axis], sink);
}

void require_same_files(config::RunConfig const& run, CheckpointSource const& source) {
  auto const& parameters = parameters_of(run);
  for (std::size_t axis = 0; axis < 3; ++axis)
    parameters.surveyed[axis].require_same(run, parameters.velocity[axis], velocity_names[axis],
                                           source);
}

double limit_of_auto(FluxScheme const& scheme, Grid const& grid,
                     std::array<double, 3> const& largest_speed) {
  return scheme.share * advect::step_limit(scheme.flux, grid, largest_speed);
}

std::vector<std::string> report(config::RunConfig const& run, Inputs const& inputs, Device const&) {
  FluxScheme const& scheme = scheme_of(run);
  if (scheme.share == 1) return {};
  if (!run.time.step)
    return {
        fmt::format("step: set by accuracy at edges, auto takes {:g} of Σ|v|·dt/h = {}; stable {}",
                    run.time.safety, sharp_courant_number, scheme.limit)};
  double const longest = limit_of_auto(scheme, run.grid, largest_speeds(run, inputs));
  if (*run.time.step <= longest) return {};
  return {fmt::format(
      "step: Σ|v|·dt/h is up to {:.3g}, and edges stay sharp up to {}, a step of {:.6g} s; with "
      "longer ones they may ripple and follow roundings",
      sharp_courant_number * *run.time.step / longest, sharp_courant_number, longest)};
}

double time_step(config::RunConfig const& run, Inputs const& inputs) {
  FluxScheme const& scheme = scheme_of(run);
  auto const speeds = largest_speeds(run, inputs);
  return stable_step(
      run,
      run.time.step ? advect::step_limit(scheme.flux, run.grid, speeds)
                    : limit_of_auto(scheme, run.grid, speeds),
      depends_on_time(rows(run, Backend::cpu)),
      fmt::format(
          "{} is stable {}, here with |v| up to ({:.6g}) m/s", scheme.name, scheme.limit,
          fmt::join(std::span(speeds).first(static_cast<std::size_t>(run.grid.dims)), ", ")));
}

}  // namespace gridstride::advection

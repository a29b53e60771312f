#pragma once

#include <array>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "config/run_config.hpp"
#include "kernels/advect/advect.hpp"
#include "model/entry.hpp"
#include "model/out_of_core.hpp"
#include "model/scheme.hpp"
#include "model/state.hpp"
#include "model/surveyed_values.hpp"

/// What a config says of an advection, for the simulation's own files.
namespace gridstride::advection {

class Parameters final : public config::ParameterSet {
 public:
  Parameters();
  std::array<config::FieldSource, 3> velocity;
  mutable std::array<SurveyedValues, 3> surveyed;  ///< of what does not depend on time

  void fields(config::Visitor& visitor, config::RunOptions const& run) override;
};

inline Parameters const& parameters_of(config::RunConfig const& run) {
  return parameters_as<Parameters>(run);
}

/// A flux, and the scheme that carries it through time.
struct FluxScheme {
  std::string_view name;
  advect::Scheme flux;
  Scheme const* in_time;
  std::string_view limit;  ///< how far it is stable, in words
  /// The part of that limit that steps of `auto` are `safety` of. Of weno5 Σ ν = 0.6: with longer
  /// steps, stable as they are for what is smooth, its weights and the stages make ripples at edges
  /// that follow roundings.
  double share = 1;
};

/// The default first.
std::span<FluxScheme const> schemes();
FluxScheme const& scheme_of(config::RunConfig const& run);

inline constexpr std::array<std::string_view, 3> velocity_names = {"velocity.x", "velocity.y",
                                                                   "velocity.z"};

/// u, the velocity, and what looks ahead to it.
std::vector<Row> rows(config::RunConfig const& run, Backend backend);

/// How several ranks share the grid; empty in one process.
std::optional<SweepPlan> plan(config::RunConfig const& run, Device const& device);
/// The rows of this process then.
std::vector<Row> rows_of(config::RunConfig const& run, Backend backend,
                         std::optional<SweepPlan> const& plan);
MemoryForecast memory(config::RunConfig const& run, Inputs const& inputs, Backend backend);

/// Whether a component of the velocity depends on time; then `LookAhead` decides the steps.
bool velocity_changes(config::RunConfig const& run);

/// The largest |v| along each axis (m/s), at all points at time 0. A velocity that depends on time
/// is looked at at 32 later moments too, on about a quarter of a million points: enough to say
/// before a run what will be too fast for it. Throws `ConfigError` where one is not finite.
std::array<double, 3> largest_speeds(config::RunConfig const& run, Inputs const& inputs);

/// The same, which the first of several ranks has looked for.
std::array<double, 3> shared_speeds(config::RunConfig const& run, Inputs const& inputs);

/// The share of the largest speed up to which a flow through a side goes along it (`AdvectionStep::along`):
/// more of it for files in float32, in which a wall may be the sine of a phase that was rounded. All ranks call
/// it.
double along_sides(config::RunConfig const& run, Inputs const& inputs);

/// The row of `advect` for a run. On the host `auto` is one that keeps subnormal numbers where u, of what it
/// begins with and what sides have then, is so small that what many steps lose without them is more
/// than a rounding. All ranks call it.
std::string variant_of(config::RunConfig const& run, Inputs const& inputs, Backend backend);

/// Files of other shapes than the grid, and velocities that are not finite.
std::vector<Problem> problems(config::RunConfig const& run, Inputs const& inputs);

/// What checkpoints have of files. `require_same_files` throws `ConfigError` where one holds other
/// values now.
void save_files(config::RunConfig const& run, CheckpointSink& sink);
void require_same_files(config::RunConfig const& run, CheckpointSource const& source);

/// What steps of `auto` are `safety` of, for the largest speeds along the axes (s).
double limit_of_auto(FluxScheme const& scheme, Grid const& grid,
                     std::array<double, 3> const& largest_speed);

/// What edges have to do with the step of weno5.
std::vector<std::string> report(config::RunConfig const& run, Inputs const& inputs,
                                Device const& device);

/// The step to take; of `auto` with a velocity that depends on time, about the shortest one.
/// Throws `ConfigError` when the one asked for is unstable, and as `largest_speeds` does.
double time_step(config::RunConfig const& run, Inputs const& inputs);

}  // namespace gridstride::advection

#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "config/run_config.hpp"
#include "kernels/advect/advect.hpp"

/// What a config says of an advection, for the simulation's own files.
namespace gridstride::advection {

class Parameters final : public config::ParameterSet {
 public:
  Parameters();
  std::array<config::Formula, 3> velocity;

  void fields(config::Visitor& visitor, config::RunOptions const& run) override;
};

inline Parameters const& parameters_of(config::RunConfig const& run) {
  return static_cast<Parameters const&>(*run.parameters);
}

/// One stage of a scheme over buffers numbered from the state's:
/// out = base + in_weight·(in − base) + factor·dt·L(in).
struct Stage {
  int in;
  int base;
  int out;
  double factor;
  double in_weight;
  double velocity_time;          ///< that v is taken at, as a share of dt
  std::array<double, 3> inflow;  ///< what enters: weights of its values at 0, dt/2 and dt
};

struct Scheme {
  std::string_view name;
  advect::Scheme flux;
  std::string_view limit;  ///< how far it is stable, in words
  int buffers;
  bool alternates;  ///< the new state is in the other buffer
  std::vector<Stage> stages;
};

/// The default first.
std::vector<Scheme> const& schemes();
Scheme const& scheme_of(config::RunConfig const& run);

/// Whether a component of the velocity depends on time; then `LookAhead` decides the steps.
bool velocity_changes(config::RunConfig const& run);

/// The largest |v| along each axis (m/s), at all points at time 0. A velocity that depends on time
/// is looked at at 32 later moments too, on about a quarter of a million points: enough to say
/// before a run what will be too fast for it. Throws `ConfigError` where one is not finite.
std::array<double, 3> largest_speeds(config::RunConfig const& run);

/// The step to take; of `auto` with a velocity that depends on time, about the shortest one.
/// Throws `ConfigError` when the one asked for is unstable, and as `largest_speeds` does.
double time_step(config::RunConfig const& run);

}  // namespace gridstride::advection

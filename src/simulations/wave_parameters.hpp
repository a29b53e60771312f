#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "config/run_config.hpp"
#include "config/visitor.hpp"
#include "kernels/star/star.hpp"
#include "model/entry.hpp"
#include "model/state.hpp"
#include "model/surveyed_values.hpp"

/// What a config says of a wave, for the simulation's own files.
namespace gridstride::wave {

/// A point source whose strength goes through Ricker's wavelet.
struct Ricker {
  std::vector<double> at;
  double frequency = config::required_number;
  std::optional<double> delay;  // empty: 1.2/frequency, when the wavelet begins from almost nothing
  double amplitude = 1;

  double delay_or_default() const { return delay.value_or(1.2 / frequency); }
};

class Parameters final : public config::ParameterSet {
 public:
  config::FieldSource speed;
  std::int64_t order = 4;
  config::FieldSource initial_velocity = {{"0", expression::Expression(0.0), {}}, {}, {}, {}};
  config::Formula source{"0", expression::Expression(0.0), {}};
  std::vector<Ricker> ricker;
  std::int64_t thickness = 40;  // of an absorbing layer, in points
  double strength = 8;          // the layer reflects exp(−strength)
  mutable SurveyedValues surveyed_speed;

  void fields(config::Visitor& visitor, config::RunOptions const& run) override;

 private:
  void declare_ricker(config::Visitor& visitor, config::RunOptions const& run);
  void declare_absorbing(config::Visitor& visitor);
};

inline Parameters const& parameters_of(config::RunConfig const& run) {
  return parameters_as<Parameters>(run);
}

/// u now and a step before, arrays for passes of several steps, c² and the source.
std::vector<Row> rows(config::RunConfig const& run, Backend backend);

/// What the differences take a side for: behind its layer an absorbing one is fixed.
std::array<SideKind, 2> sides_of(config::RunConfig const& run, int axis);

/// Of all ranks: the time step, whose largest speed the first of them has looked for.
double shared_time_step(config::RunConfig const& run, Inputs const& inputs);

/// How a device makes the steps.
template <class T>
star::Chosen<T> chosen_for(config::RunConfig const& run, Device const& device);
void choose_kernels(config::RunConfig const& run, Inputs const& inputs, Device const& device);

/// Datasets of other shapes than the grid's, speeds that are negative, too few points for the order
/// or for absorbing layers.
std::vector<Problem> problems(config::RunConfig const& run, Inputs const& inputs);

/// The largest speed; a dataset is looked through once. Throws `ConfigError` where a speed is
/// negative or not finite.
double largest_speed(config::RunConfig const& run, Inputs const& inputs);

/// The step to take: the one asked for, or the longest that divides the time between two outputs
/// and is at most `safety` times the limit of stability, a tenth of that time where the source
/// depends on time, and a tenth of the period of a Ricker wavelet. Throws `ConfigError` for a step
/// over the limit, for a layer that would stop a wave within a step, and for a source with steps
/// whose squares the precision does not hold.
double time_step(config::RunConfig const& run, Inputs const& inputs);

/// σ at the points of an axis (1/s): in the layer of an absorbing side 3/2·strength·c/d·ξ², with
/// its thickness d and 0 ≤ ξ ≤ 1 the depth in it; 0 elsewhere. Empty without such a side. A wave
/// that goes through the layer and back along the normal keeps exp(−2∫σ/c) = exp(−strength).
std::vector<double> damping_of(config::RunConfig const& run, Inputs const& inputs, int axis);

}  // namespace gridstride::wave

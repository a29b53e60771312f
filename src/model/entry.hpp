#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/simulation.hpp"
#include "model/state.hpp"

namespace gridstride {

/// One row of the table of simulations: what is known of one before there is a device, and how to
/// make it.
struct SimulationEntry {
  config::SimulationInfo info;
  MemoryForecast (*memory)(config::RunConfig const& run, Inputs const& inputs,
                           Backend backend) = nullptr;
  /// In place of `memory`, where arrays on the grid are all that it takes: its rows.
  std::vector<Row> (*rows)(config::RunConfig const& run, Backend backend) = nullptr;
  /// What only the files can show of the parameters: their shapes. Null: nothing.
  std::vector<Problem> (*problems)(config::RunConfig const& run, Inputs const& inputs) = nullptr;
  /// The step that the run will take on a device, which has room for all of it. Throws `ConfigError`
  /// for what only the numbers can show: a diffusivity that is negative somewhere, a step over the
  /// stability limit. Null without time, and where the simulation itself tells it (`first_step`).
  double (*time_step)(config::RunConfig const& run, Inputs const& inputs,
                      Device const& device) = nullptr;
  /// Lines that tell how the run's parameters were understood, and what follows for it. Throws as
  /// `time_step` does. Null: there is nothing to tell.
  std::vector<std::string> (*report)(config::RunConfig const& run, Inputs const& inputs,
                                     Device const& device) = nullptr;
  /// Chooses the kernels for a device as a run does; throws what the family throws for a variant
  /// that does not do the run's work. Null: all do.
  void (*choose_kernels)(config::RunConfig const& run, Inputs const& inputs,
                         Device const& device) = nullptr;
  /// Throws as `time_step` does.
  std::unique_ptr<Simulation> (*make)(config::RunConfig const& run, Stream const& stream,
                                      Inputs const& inputs) = nullptr;
};

/// A simulation in the run's precision.
template <template <class> class Simulated>
std::unique_ptr<Simulation> make_simulation(config::RunConfig const& run, Stream const& stream,
                                            Inputs const& inputs) {
  if (run.precision == Precision::float32)
    return std::make_unique<Simulated<float>>(run, stream, inputs);
  return std::make_unique<Simulated<double>>(run, stream, inputs);
}

/// Completes a row: how the simulation and its parameters are made, in the run's precision.
template <template <class> class Simulated, class Parameters>
SimulationEntry entry(SimulationEntry row) {
  row.info.make_parameters = []() -> std::unique_ptr<config::ParameterSet> {
    return std::make_unique<Parameters>();
  };
  row.make = make_simulation<Simulated>;
  return row;
}

/// Device memory that a run will need.
MemoryForecast memory_of(SimulationEntry const& entry, config::RunConfig const& run,
                         Inputs const& inputs, Backend backend);

/// Kernel variants that the config names and that do not do the run's work on a device.
std::vector<Problem> variant_problems(SimulationEntry const& entry, config::RunConfig const& run,
                                      Inputs const& inputs, Device const& device);

/// What there is to say where the config asks for more fused steps than kernels make, `where` they
/// make no more: "in 2D".
std::vector<Problem> fused_steps_problems(config::RunConfig const& run, int most,
                                          std::string const& where);

/// The parameters of a run, which are of the simulation that the run names.
template <class Parameters>
Parameters const& parameters_as(config::RunConfig const& run) {
  return static_cast<Parameters const&>(*run.parameters);
}

}  // namespace gridstride

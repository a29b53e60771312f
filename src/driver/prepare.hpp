#pragma once

#include <memory>
#include <string>
#include <vector>

#include "config/run_config.hpp"
#include "core/device.hpp"
#include "core/stream.hpp"
#include "driver/forecast.hpp"
#include "model/simulation.hpp"

namespace gridstride {

/// Which of so many GPUs of this machine is this process's: the processes of a machine have one
/// after the other, and share them where there are too few.
int ordinal_of_rank(int devices);

/// The device that a run asks for. Where `auto` finds no GPU, a line in `fallbacks` says why.
/// Throws `ConfigError` when the device asked for is not there.
Device choose_device(config::RunConfig const& run, std::vector<std::string>& fallbacks);

/// The files that a run's config names, for its simulation. `shape` and `read` throw `ConfigError`
/// for what cannot be read, `read` for values that are not finite too.
Inputs inputs_of(config::RunConfig const& run);

/// Throws `ConfigError` for everything that reading the file could not show: kernel variants that
/// the device does not have, datasets that are missing or have another shape than they must.
void check_on_device(config::RunConfig const& run, Device const& device);

/// A run that was checked, and what of it there is already.
struct Checked {
  Forecast expected = {};
  Inputs inputs = {};
  std::unique_ptr<Simulation> simulation = nullptr;  ///< none where nothing had to be asked of it
};

/// Throws `ConfigError` for everything that keeps the run from starting, before it is started: also
/// for an unstable step and one that does not get to the end, too little memory, formulas that are
/// no numbers, and results that cannot be written.
Checked check_before_run(config::RunConfig const& run, Stream& stream);

/// The simulation of a run that was checked, which is made where there is none yet. Throws as it
/// does.
std::unique_ptr<Simulation> take_simulation(config::RunConfig const& run, Stream const& stream,
                                            Checked& checked);

/// What else the run itself would find before its first step, such as files and matrices with
/// values that are not finite: sets up the simulation, and throws as it does.
void check_start(config::RunConfig const& run, Stream& stream, Checked checked);

/// How the simulation understood a run that was checked, a line each; none where there is nothing to
/// tell.
std::vector<std::string> understood(config::RunConfig const& run, Device const& device);

/// Throws `ConfigError` when the result to compare with is missing, cannot be read, or is of
/// another grid.
void check_reference(config::RunConfig const& run);

}  // namespace gridstride

#pragma once

#include <exception>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "config/run_file.hpp"
#include "core/stream.hpp"
#include "driver/forecast.hpp"
#include "driver/run.hpp"

/// The runs of a sweep, side by side: each is a run as any other, with a thread, a simulation and
/// streams of its own, and has the bits that it has alone.
namespace gridstride {

/// What a sweep will take.
struct SweepForecast {
  std::vector<Forecast> runs;
  int at_once = 1;    ///< how many runs go side by side
  std::string bound;  ///< why not more; empty when all do
  /// Steps and bytes on the disk of all runs, and the memory of those that go side by side.
  Forecast together;
};

/// Checks each run as `check_before_run` does, and throws as it does. Runs go side by side as far
/// as there are processors for them and memory for any so many of them.
SweepForecast forecast_sweep(std::span<config::RunConfig const> members, Stream& stream);

/// What became of a sweep.
struct SweepSummary {
  std::vector<RunSummary> runs;  ///< in the order of the sweep; some may have a `failure`
  int at_once = 1;
  std::filesystem::path table;
  std::exception_ptr failure;  ///< what tells of all that failed or was stopped; null when none was
};

/// `NAME.sweep.csv` in the folder of the runs' folders: a line for each, with its constants, its
/// folder and how it ended.
std::filesystem::path sweep_table(config::RunFile const& file);

/// Runs all. A run that fails does not end the others; a signal stops all. `Interrupted`,
/// `VerificationError` or `Error` is then in `failure`. Throws `ConfigError` for what keeps any
/// from starting, before the first does, and `IoError` for the table.
SweepSummary run_sweep(config::RunFile const& file, RunOptions const& options);

/// The closing lines of a sweep, for people.
std::string format_summary(SweepSummary const& summary);

}  // namespace gridstride

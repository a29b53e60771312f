#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/run_config.hpp"
#include "core/error.hpp"
#include "io/result_info.hpp"
#include "model/simulation.hpp"

namespace gridstride {

/// A signal stopped the run after its state was saved. Exit code 128 + signal.
class Interrupted : public Error {
 public:
  Interrupted(int signal, std::string const& message) : Error(message), signal_(signal) {}
  int signal() const { return signal_; }

 private:
  int signal_;
};

struct RunOptions {
  bool quiet = false;
  /// Go on from `checkpoint`, or without one from the newest of the run; from the start when there
  /// was no such run at all.
  bool restart = false;
  std::filesystem::path checkpoint;
  /// Begin anew where there are checkpoints, and remove them.
  bool overwrite = false;
  /// With `restart`: begin anew the files of results that the first part of the run left elsewhere.
  bool new_series = false;
  /// Is told what share of the run is done, in place of a line for people.
  std::function<void(double)> tell_share = {};
};

/// What a run did and what it took.
struct RunSummary {
  std::filesystem::path config;
  std::vector<NamedValue> swept;  ///< of a run of a sweep: its constants
  bool has_time = true;           ///< else there are no steps and updates to speak of
  Clock clock;
  std::string device;
  std::int64_t steps = 0;  ///< of this process
  std::int64_t grid_points = 0;
  double bytes_per_update = 0;  ///< the least that a step moves: each value read and written once
  double startup_seconds = 0;   ///< from the start to the first step, without the driver's own
  double stepping_seconds = 0;  ///< the time loop, from its first step to its last
  std::vector<NamedValue> phases;  ///< wall time in seconds
  Reading read;                    ///< of the files that the config names
  std::int64_t files = 0;
  std::int64_t bytes_written = 0;
  std::filesystem::path directory;
  std::vector<NamedValue> verified;     ///< errors against the exact solution
  std::vector<NamedValue> diagnostics;  ///< the simulation's own, at the end
  std::vector<NamedText> chosen;        ///< what the config left to the simulation
  std::string ending;                   ///< why the run ended before `time.end`; else empty
  /// There was nothing left to do: all but `fallbacks` and `ending` is empty.
  bool done_before = false;
  std::string shortfall;  ///< what the result lacks of what was asked for; empty when nothing
  std::vector<std::string> fallbacks;
  std::string failure;  ///< why there is no result, or it is not `verified`; empty when it is good

  double updates_per_second() const;
};

/// What `run` throws where the final fields are too far from the exact solution.
class SolutionMissed final : public VerificationError {
 public:
  SolutionMissed(std::string const& what, std::vector<NamedValue> errors)
      : VerificationError(what), errors_(std::move(errors)) {}

  /// All of them, as in `RunSummary::verified`.
  std::vector<NamedValue> const& errors() const { return errors_; }

 private:
  std::vector<NamedValue> errors_;
};

/// Runs a config without a sweep from its start, or a checkpoint, to its end. Several may go side
/// by side in threads of their own where `io::serves_several_runs`. Throws `ConfigError`, `IoError`,
/// `CudaError`, `NumericalError`, `Interrupted`, and `SolutionMissed` when the final fields are
/// further from `verify.exact` than its tolerance.
RunSummary run(config::RunConfig const& config, RunOptions const& options);

/// The closing lines of a run, for people.
std::string format_summary(RunSummary const& summary);
/// The same as JSON: an object, or a list of them.
std::string summary_json(RunSummary const& summary);
std::string summary_json(std::vector<RunSummary> const& summaries);

}  // namespace gridstride

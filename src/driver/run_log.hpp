#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "config/run_config.hpp"
#include "io/result.hpp"

namespace gridstride {

/// Why a run ended that computed all that it was asked for.
inline constexpr char const* run_is_done = "done";

/// The files that a config names, and what tells whether they are as they were: size and time.
using InputStates = std::map<std::string, std::string>;
InputStates states_of_inputs(config::RunConfig const& run);

/// What the log says of the last run that wrote into it.
struct LoggedRun {
  std::string config;  ///< resolved
  std::string ended;   ///< why it ended; empty when it could not tell (or is still running)
  std::string early;   ///< why before `time.end`, where nothing failed
  InputStates inputs;  ///< empty in the logs of earlier versions
};

/// The lines that a log has of a run's resolved config, its inputs, and its end.
std::string logged_config(std::string const& resolved_yaml);
std::string logged_input(std::string const& file, std::string const& state);
std::string logged_ending(std::string const& why);
std::string logged_early_ending(std::string const& why);

/// Reads them back. Empty when there is no log, or one without a run in it.
std::optional<LoggedRun> read_last_run(std::filesystem::path const& log);

/// What became of the run that wrote a result: `complete`, what it ended short of, `still running
/// (process ...)`, or why not.
std::string run_state(io::ResultFile const& result);

}  // namespace gridstride

#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "config/run_config.hpp"
#include "core/error.hpp"

namespace gridstride::config {

/// What a file asks for: one run, or those of its sweep.
struct RunFile {
  RunConfig run;                   ///< as the file has it, with its `sweep`
  std::vector<RunConfig> members;  ///< of the sweep; empty where there is none

  bool is_sweep() const { return !members.empty(); }
  /// What there is to run.
  std::span<RunConfig const> runs() const {
    return is_sweep() ? std::span<RunConfig const>(members) : std::span<RunConfig const>(&run, 1);
  }
};

/// Reads and checks a file as `read_run_config` does, and each run of its sweep: the run that
/// `--set` for each constant, for no sweep, and `--output` make of the file. The first constant
/// varies slowest. What is wrong with one of them
/// says with which.
RunFile read_run_file(std::filesystem::path const& file, std::span<Override const> overrides,
                      std::span<SimulationInfo const> simulations);

/// What tells a run of a sweep from the others, and its folder: `F=0.02,k=0.06`.
std::string member_name(std::span<NamedValue const> swept);

/// Those faults with the name of the run that they were found in.
ConfigError in_member(ConfigError const& error, std::span<NamedValue const> swept);

/// Does what is for one run; what is wrong with one of a sweep says with which.
template <class Work>
auto for_member(std::span<NamedValue const> swept, Work const& work) {
  try {
    return work();
  } catch (ConfigError const& error) {
    if (swept.empty()) throw;
    throw in_member(error, swept);
  }
}

}  // namespace gridstride::config

#pragma once

#include <CLI/CLI.hpp>
#include <exception>
#include <functional>
#include <string>
#include <vector>

#include "config/run_file.hpp"

namespace gridstride::cli {

/// Work of the subcommand that was given; returns the exit code.
using Action = std::function<int()>;

namespace exit_code {
inline constexpr int done = 0, failed = 1, bad_input = 2, does_not_hold = 3, signal_base = 128;
}
/// That of a program which ends by what was thrown.
int exit_code_of(std::exception const& error);

// One function per subcommand, each in its file: adds the subcommand, which sets the action.
/// `words` are the command line, for other processes to be started with.
void add_run(CLI::App& app, Action& action, std::vector<std::string> words);
void add_check(CLI::App& app, Action& action);
void add_list(CLI::App& app, Action& action);
void add_describe(CLI::App& app, Action& action);
void add_compare(CLI::App& app, Action& action);
void add_verify(CLI::App& app, Action& action);
void add_info(CLI::App& app, Action& action);
void add_bench(CLI::App& app, Action& action, std::vector<std::string> words);
void add_slurm(CLI::App& app, Action& action);

/// Options that change what a config says: `--set`, `--device`, `--output`.
struct OverrideOptions {
  std::vector<std::string> settings;
  std::string device;
  std::string output;

  void add_to(CLI::App& command);
  /// Throws `ConfigError` for a setting that is not `KEY=VALUE`.
  std::vector<config::Override> overrides() const;
};

/// Throws `ConfigError` for a number of processes that `--ranks` does not take on this machine.
void require_processes(int count);

/// `--ranks`: so many processes of the same command line.
struct RanksOption {
  int count = 1;
  CLI::Option* given = nullptr;

  void add_to(CLI::App& command);
  /// Whether they are still to be started. Throws `ConfigError` where they cannot be, or others have
  /// been.
  bool must_launch() const;
  /// Starts them with the words of this command line; returns the exit code once they have ended.
  int launch(std::vector<std::string> words) const;
};

/// Reads and checks all files, of which one may be `-`, standard input.
std::vector<config::RunFile> read_files(std::vector<std::string> const& files,
                                        OverrideOptions const& changes);

}  // namespace gridstride::cli

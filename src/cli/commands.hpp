#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

#include "config/run_file.hpp"

namespace gridstride::cli {

/// Work of the subcommand that was given; returns the exit code.
using Action = std::function<int()>;

// One function per subcommand, each in its file: adds the subcommand, which sets the action.
void add_run(CLI::App& app, Action& action);
void add_check(CLI::App& app, Action& action);
void add_list(CLI::App& app, Action& action);
void add_describe(CLI::App& app, Action& action);
void add_compare(CLI::App& app, Action& action);
void add_verify(CLI::App& app, Action& action);
void add_info(CLI::App& app, Action& action);
void add_bench(CLI::App& app, Action& action);

/// Options that change what a config says: `--set`, `--device`, `--output`.
struct OverrideOptions {
  std::vector<std::string> settings;
  std::string device;
  std::string output;

  void add_to(CLI::App& command);
  /// Throws `ConfigError` for a setting that is not `KEY=VALUE`.
  std::vector<config::Override> overrides() const;
};

/// Reads and checks all files, of which one may be `-`, standard input.
std::vector<config::RunFile> read_files(std::vector<std::string> const& files,
                                        OverrideOptions const& changes);

}  // namespace gridstride::cli

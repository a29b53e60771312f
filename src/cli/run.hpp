#pragma once

#include <exception>
#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "config/run_file.hpp"
#include "driver/run.hpp"

/// What `run` does, for its two ways: one file after the other, or shared out over processes.
namespace gridstride::cli {

struct RunArguments {
  std::vector<std::string> files;
  OverrideOptions changes;
  bool quiet = false;
  std::string restart;
  CLI::Option* restart_given = nullptr;
  bool overwrite = false;
  bool new_series = false;
  std::string summary;
  int ranks = 1;
  CLI::Option* ranks_given = nullptr;
  bool spread = false;
};

RunOptions options_of(RunArguments const& arguments);

/// What several files find together before the first of them runs, and what is amiss with where
/// the summaries go. Throws `ConfigError`.
void check_all(std::vector<config::RunFile> const& files, RunArguments const& arguments,
               RunOptions const& how);

/// Runs one file and adds what became of it. Returns what its end is to be, once that is told.
std::exception_ptr run_file(config::RunFile const& file, RunOptions const& how,
                            std::vector<RunSummary>& summaries);

/// `--spread`: each file is run by one process. Returns the exit code.
int spread_files(RunArguments const& arguments);

/// Throws `ConfigError` for a number of processes that `--ranks` does not take on this machine.
void require_processes(int count);
/// The steps of a file's run are shared by so many. Throws `ConfigError` for a sweep.
void share_steps(config::RunFile& file, int count);

/// `--ranks`: whether so many processes are still to be started. Throws `ConfigError` where they
/// cannot be, or others have been.
bool must_launch(RunArguments const& arguments);
/// Starts them with the words of this command line; returns the exit code once they have ended.
int launch(RunArguments const& arguments, std::vector<std::string> words);

}  // namespace gridstride::cli

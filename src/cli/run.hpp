#pragma once

#include <exception>
#include <filesystem>
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
  RanksOption ranks;
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

/// What `--summary` names gets the text, in a folder that is made where there is none.
void write_summary(std::filesystem::path const& path, std::string const& text);

/// `--spread`: each file is run by one process. Returns the exit code.
int spread_files(RunArguments const& arguments);

/// The steps of a file's run are shared by so many. Throws `ConfigError` for a sweep.
void share_steps(config::RunFile& file, int count);

}  // namespace gridstride::cli

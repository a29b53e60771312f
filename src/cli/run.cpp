#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <exception>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <utility>

#include "cli/run.hpp"
#include "config/input_files.hpp"
#include "core/console.hpp"
#include "core/error.hpp"
#include "core/host_limits.hpp"
#include "core/ranks.hpp"
#include "driver/prepare.hpp"
#include "driver/restart.hpp"
#include "driver/run.hpp"
#include "driver/shared_run.hpp"
#include "driver/sweep.hpp"
#include "io/atomic_file.hpp"
#include "simulations/registry.hpp"

namespace gridstride::cli {

namespace {

using Files = std::vector<config::RunFile>;

/// All that there is to run.
std::vector<config::RunConfig const*> runs_of(Files const& files) {
  std::vector<config::RunConfig const*> runs;
  for (auto const& file : files)
    for (auto const& run : file.runs()) runs.push_back(&run);
  return runs;
}

/// What a single run finds before it writes anything.
void check_together(Files const& files, RunOptions const& how) {
  std::map<std::filesystem::path, std::filesystem::path> results;
  for (auto const* run : runs_of(files)) {
    auto const& config = *run;
    std::vector<std::string> fallbacks;
    Stream stream(choose_device(config, fallbacks));
    config::for_member(config.swept, [&] {
      check_start(config, stream, check_before_run(config, stream));
      choose_beginning(config, how, OutputPaths(config));
    });
    auto const [other, is_new] =
        results.emplace(config.output.directory.lexically_normal() / config.name, config.file);
    if (!is_new)
      throw ConfigError({config.problem(
          config.location("output.directory"),
          fmt::format("the results of {} have the same place and names", other->second.string()))});
  }
}

/// What is amiss with where a summary goes, which replaces nothing that the runs read or write.
void check_summary(std::filesystem::path const& path, Files const& files) {
  std::error_code none;
  for (auto const* run : runs_of(files)) {
    auto const& config = *run;
    auto const& reference = config.verify.reference;
    if (OutputPaths(config).owns(path) || config::is_input(config, path) ||
        (!reference.empty() && std::filesystem::equivalent(path, reference, none)))
      throw ConfigError({{"--summary " + path.string(), 0, 0, "",
                          fmt::format("is a file of {} itself", config.file.string())}});
  }
  auto const folder = std::filesystem::absolute(path, none).parent_path();
  if (auto const fault = folder_fault(folder); !fault.empty() && !io::is_stream(path))
    throw ConfigError({{"--summary " + path.string(), 0, 0, "", fault}});
}

}  // namespace

RunOptions options_of(RunArguments const& arguments) {
  RunOptions how;
  how.quiet = arguments.quiet;
  how.restart = arguments.restart_given->count() > 0;
  how.checkpoint = arguments.restart;
  how.overwrite = arguments.overwrite;
  how.new_series = arguments.new_series;
  return how;
}

void check_all(Files const& files, RunArguments const& arguments, RunOptions const& how) {
  for (auto const& file : files) check_reference(file.run);
  if (files.size() > 1) check_together(files, how);
  if (!arguments.summary.empty() && arguments.summary != "-")
    check_summary(arguments.summary, files);
}

std::exception_ptr run_file(config::RunFile const& file, RunOptions const& how,
                            std::vector<RunSummary>& summaries) {
  if (file.is_sweep()) {
    auto sweep = run_sweep(file, how);
    if (!how.quiet) tell(format_summary(sweep) + '\n');
    std::ranges::move(sweep.runs, std::back_inserter(summaries));
    return sweep.failure;
  }
  RunSummary summary;
  try {
    summary = run(file.run, how);
  } catch (SolutionMissed const& missed) {
    summary.config = file.run.file;
    summary.failure = missed.what();
    summary.verified = missed.errors();
    summaries.push_back(std::move(summary));
    return std::current_exception();
  }
  summaries.push_back(summary);
  if (!how.quiet) tell(format_summary(summary) + '\n');
  if (summary.shortfall.empty()) return nullptr;
  return std::make_exception_ptr(NumericalError(summary.shortfall));
}

void write_summary(std::filesystem::path const& path, std::string const& text) {
  std::error_code failed;
  std::filesystem::create_directories(path.parent_path(), failed);  // the file tells
  io::write_text_file(path, text);
}

void share_steps(config::RunFile& file, int count) {
  if (count > 1 && file.is_sweep())
    throw ConfigError({file.run.problem(
        file.run.location("sweep"),
        fmt::format("the runs of a sweep go in one process (there are {})", count))});
  file.run.ranks = count;
}

namespace {

int run_files(RunArguments const& options) {
  // Every file is checked before the first one runs.
  auto files = read_files(options.files, options.changes);
  for (auto& file : files) share_steps(file, ranks().count());
  if (!ranks().is_first()) {
    serve(runs_of(files));
    return 0;
  }
  auto const how = options_of(options);
  check_all(files, options, how);
  std::signal(SIGPIPE, SIG_IGN);  // who reads the progress may leave
  std::vector<RunSummary> summaries;
  auto const write_summaries = [&] {
    if (options.summary.empty() || summaries.empty()) return;
    bool const is_one = files.size() == 1 && !files.front().is_sweep();
    write_summary(options.summary,
                  is_one ? summary_json(summaries.front()) : summary_json(summaries));
  };
  bool const at_once = io::is_stream(options.summary);  // else all that is known, after each run
  for (auto const& file : files) {
    std::exception_ptr failure;
    try {
      failure = run_file(file, how, summaries);
    } catch (Error const&) {
      if (at_once) write_summaries();
      throw;
    }
    if (!at_once || &file == &files.back() || failure) write_summaries();
    if (failure) std::rethrow_exception(failure);
  }
  return 0;
}

/// Standard input is that of one process.
void require_files(RunArguments const& options) {
  int const processes = std::max(options.ranks.count, ranks().count());
  if (processes > 1 && std::ranges::count(options.files, "-") > 0)
    throw ConfigError({{"-", 0, 0, "",
                        fmt::format("standard input comes to one of the {} processes alone (a file "
                                    "is needed)",
                                    processes)}});
}

}  // namespace

void add_run(CLI::App& app, Action& action, std::vector<std::string> words) {
  auto const options = std::make_shared<RunArguments>();
  auto* command = app.add_subcommand("run", "Run simulations from their files");
  command->add_option("files", options->files, "YAML files; - is standard input")
      ->type_name("FILE");
  options->changes.add_to(*command);
  options->restart_given =
      command
          ->add_option("--restart", options->restart,
                       "Go on from a checkpoint, or from the newest one of the run")
          ->expected(0, 1)
          ->type_name("[CHECKPOINT]");
  command->add_flag("--overwrite", options->overwrite, "Remove checkpoints of an earlier run")
      ->excludes(options->restart_given);
  command
      ->add_flag("--new-series", options->new_series,
                 "With --restart: begin result files anew that the run cannot go on with")
      ->needs(options->restart_given);
  command->add_flag("--quiet", options->quiet, "No progress and no summary");
  command
      ->add_option("--summary", options->summary,
                   "Write the summary as JSON (of several runs, a list); - for standard output")
      ->type_name("FILE");
  options->ranks.add_to(*command);
  command->add_flag("--spread", options->spread,
                    "Of several processes, each runs whole files by itself");
  command->callback([options, &action, words = std::move(words)] {
    if (options->files.empty()) {
      // `run --restart FILE`: the option has taken what was meant as the file.
      if (options->restart.empty()) throw CLI::RequiredError("run: a FILE");
      options->files.push_back(std::exchange(options->restart, {}));
    }
    action = [options, words] {
      require_files(*options);
      if (options->ranks.must_launch()) {
        read_files(options->files, options->changes);  // what they are refused for is told at once
        return options->ranks.launch(words);
      }
      return options->spread ? spread_files(*options) : run_files(*options);
    };
  });
}

}  // namespace gridstride::cli

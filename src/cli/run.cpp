#include <fmt/format.h>

#include <csignal>
#include <filesystem>
#include <map>
#include <memory>
#include <utility>

#include "cli/commands.hpp"
#include "core/console.hpp"
#include "core/error.hpp"
#include "driver/prepare.hpp"
#include "driver/restart.hpp"
#include "driver/run.hpp"
#include "io/atomic_file.hpp"
#include "simulations/registry.hpp"

namespace gridstride::cli {

namespace {

struct RunArguments {
  std::vector<std::string> files;
  OverrideOptions changes;
  bool quiet = false;
  std::string restart;
  CLI::Option* restart_given = nullptr;
  bool overwrite = false;
  bool new_series = false;
  std::string summary;
};

/// What a single run finds before it writes anything.
void check_together(std::vector<config::RunConfig> const& runs, RunOptions const& how) {
  std::map<std::filesystem::path, std::filesystem::path> results;
  for (auto const& config : runs) {
    std::vector<std::string> fallbacks;
    Stream stream(choose_device(config, fallbacks));
    check_before_run(config, stream);
    check_start(config, stream);
    choose_beginning(config, how, OutputPaths(config));
    auto const [other, is_new] =
        results.emplace(config.output.directory.lexically_normal() / config.name, config.file);
    if (!is_new)
      throw ConfigError({config.problem(
          config.location("output.directory"),
          fmt::format("the results of {} have the same place and names", other->second.string()))});
  }
}

/// A summary does not replace what the runs read or write.
void require_free(std::filesystem::path const& path, std::vector<config::RunConfig> const& runs) {
  std::error_code none;
  for (auto const& config : runs) {
    bool taken = OutputPaths(config).owns(path);
    std::vector<std::filesystem::path> inputs = {config.file, config.verify.reference};
    for (auto const& [field, source] : config.initial) inputs.push_back(source.file);
    for (auto const& input : inputs)
      taken = taken || (!input.empty() && std::filesystem::equivalent(path, input, none));
    if (taken)
      throw ConfigError({{"--summary " + path.string(), 0, 0, "",
                          fmt::format("is a file of {} itself", config.file.string())}});
  }
}

int run_files(RunArguments const& options) {
  // Every file is checked before the first one runs.
  auto const runs = read_configs(options.files, options.changes);
  for (auto const& config : runs) check_reference(config);
  RunOptions how;
  how.quiet = options.quiet;
  how.restart = options.restart_given->count() > 0;
  how.checkpoint = options.restart;
  how.overwrite = options.overwrite;
  how.new_series = options.new_series;
  if (runs.size() > 1) check_together(runs, how);
  if (!options.summary.empty() && options.summary != "-") require_free(options.summary, runs);
  std::signal(SIGPIPE, SIG_IGN);  // who reads the progress may leave
  std::vector<RunSummary> summaries;
  auto const write_summaries = [&] {
    if (options.summary.empty() || summaries.empty()) return;
    io::write_text_file(options.summary, runs.size() > 1 ? summary_json(summaries)
                                                         : summary_json(summaries.front()));
  };
  bool const at_once = io::is_stream(options.summary);  // else all that is known, after each run
  for (auto const& config : runs) {
    try {
      summaries.push_back(run(config, how));
    } catch (Error const&) {
      if (at_once) write_summaries();
      throw;
    }
    auto const& summary = summaries.back();
    if (!options.quiet) tell(format_summary(summary) + '\n');
    if (!at_once || &config == &runs.back() || !summary.shortfall.empty()) write_summaries();
    if (!summary.shortfall.empty()) throw NumericalError(summary.shortfall);
  }
  return 0;
}

}  // namespace

void add_run(CLI::App& app, Action& action) {
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
                 "With --restart: begin result files anew that the first part did not leave")
      ->needs(options->restart_given);
  command->add_flag("--quiet", options->quiet, "No progress and no summary");
  command
      ->add_option("--summary", options->summary,
                   "Write the summary as JSON (of several runs, a list); - for standard output")
      ->type_name("FILE");
  command->callback([options, &action] {
    if (options->files.empty()) {
      // `run --restart FILE`: the option has taken what was meant as the file.
      if (options->restart.empty()) throw CLI::RequiredError("run: a FILE");
      options->files.push_back(std::exchange(options->restart, {}));
    }
    action = [options] { return run_files(*options); };
  });
}

}  // namespace gridstride::cli

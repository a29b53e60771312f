#include "driver/restart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "config/changes.hpp"
#include "core/error.hpp"
#include "driver/formats/format.hpp"
#include "driver/run_log.hpp"

namespace gridstride {

namespace fs = std::filesystem;

namespace {

ConfigError refusal(config::RunConfig const& config, std::string_view key, std::string message) {
  return ConfigError({config.problem(config.location(key), std::move(message))});
}

/// Reads a checkpoint; what is wrong with it comes with the way on, where there is an older one.
template <class Read>
void read_or_point_to(fs::path const& path, std::string const& older, Read const& read) {
  try {
    read();
  } catch (IoError const& error) {
    if (older.empty()) throw;
    std::string_view message = error.what();
    if (auto const prefix = path.string() + ": "; message.starts_with(prefix))
      message.remove_prefix(prefix.size());
    throw IoError(path,
                  fmt::format("{}; `--restart {}` goes on from the one before it", message, older));
  }
}

void require_same_problem(config::RunConfig const& config, io::CheckpointFile const& checkpoint) {
  auto const problem = config::problem_yaml(config);
  auto const& stored = checkpoint.origin().problem;
  if (problem == stored) return;
  auto const changes = config::describe_changes(stored, problem);
  throw refusal(config, "",
                fmt::format("the checkpoint {} belongs to another problem ({}); start anew "
                            "without it",
                            checkpoint.path().string(),
                            changes.empty() ? "the config has changed since" : changes));
}

void require_time_left(config::RunConfig const& config, io::CheckpointFile const& checkpoint) {
  auto const& [problem, step, time] = checkpoint.origin();
  if (time <= config.time.end) return;
  throw refusal(config, "time.end",
                fmt::format("the checkpoint {} is of a later time ({} s) than the end ({} s); name "
                            "an earlier one",
                            checkpoint.path().string(), time, config.time.end));
}

/// Whether the results that a run writes are there.
bool has_results(config::RunConfig const& config, OutputPaths const& paths) {
  return std::ranges::all_of(format_rows(), [&](FormatRow const& row) {
    return !row.writes(config) || fs::exists(paths.file(row.file));
  });
}

/// A file of the config that is not as it was when the run began that came to its end.
void require_same_inputs(config::RunConfig const& config, std::string const& place,
                         LoggedRun const& last) {
  for (auto const& [file, state] : states_of_inputs(config)) {
    auto const before = last.inputs.find(file);
    if (before == last.inputs.end() || before->second == state) continue;
    throw refusal(config, "output.directory",
                  fmt::format("{} is not as it was for the run in {} that came to its end ({}; now "
                              "{}) and left no checkpoint to go on from; without --restart its "
                              "results are replaced",
                              file, place, before->second, state));
  }
}

/// A batch job says `--restart` from its first submission on, and goes on saying it.
Beginning without_checkpoint(config::RunConfig const& config, OutputPaths const& paths) {
  Beginning beginning;
  auto const place = paths.directory.string();
  auto const last = read_last_run(paths.log);
  if (!last) {
    beginning.remark =
        fmt::format("--restart: there is no earlier run in {}; from the start", place);
    return beginning;
  }
  if (last->ended != run_is_done || !has_results(config, paths)) {
    beginning.remark =
        fmt::format("--restart: the earlier run in {} left no checkpoint; from the start", place);
    return beginning;
  }
  constexpr std::array<std::string_view, 3> of_no_matter = {"device", "output.directory", "limits"};
  auto const changes =
      config::describe_changes(last->config, config::resolved_yaml(config), of_no_matter);
  if (!changes.empty())
    throw refusal(config, "output.directory",
                  fmt::format("the run in {} came to its end with another config ({}) and left no "
                              "checkpoint to go on from; without --restart its results are "
                              "replaced",
                              place, changes));
  require_same_inputs(config, place, *last);
  beginning.done = true;
  beginning.ending = last->early;
  beginning.remark =
      fmt::format("--restart: the run in {} came to its end before; nothing is left to do", place);
  return beginning;
}

}  // namespace

Beginning choose_beginning(config::RunConfig const& config, RunOptions const& options,
                           OutputPaths const& paths) {
  auto const found = paths.checkpoints();
  if (!options.restart) {
    if (!found.empty() && !options.overwrite)
      throw refusal(config, "output.directory",
                    fmt::format("{} holds checkpoints of an earlier run, the newest {} (`run "
                                "--restart` goes on from it, `--overwrite` removes them and "
                                "begins anew, `--output` writes elsewhere)",
                                paths.directory.string(), found.front().filename().string()));
    return {};
  }
  Beginning beginning;
  if (!config.simulation->has_time) {
    if (!options.checkpoint.empty())
      throw IoError(options.checkpoint,
                    fmt::format("is of no use ({} has no time, and no checkpoints)",
                                config.simulation->name));
    beginning.remark =
        fmt::format("--restart: {} has no time; from the start", config.simulation->name);
    return beginning;
  }
  if (options.checkpoint.empty() && found.empty()) return without_checkpoint(config, paths);
  fs::path const path = options.checkpoint.empty() ? found.front() : options.checkpoint;
  if (options.checkpoint.empty() && found.size() > 1) beginning.older = found[1].string();
  read_or_point_to(path, beginning.older, [&] { beginning.checkpoint.emplace(path); });
  require_same_problem(config, *beginning.checkpoint);
  require_time_left(config, *beginning.checkpoint);
  return beginning;
}

void resume(Beginning const& beginning, Simulation& simulation) {
  auto const& checkpoint = *beginning.checkpoint;
  read_or_point_to(checkpoint.path(), beginning.older, [&] {
    checkpoint.read([&](CheckpointSource const& source) { simulation.load(source); });
  });
}

}  // namespace gridstride

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstddef>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands.hpp"
#include "cli/json.hpp"
#include "cli/run.hpp"
#include "config/changes.hpp"
#include "core/host_limits.hpp"
#include "core/stream.hpp"
#include "core/text.hpp"
#include "driver/forecast.hpp"
#include "driver/output_paths.hpp"
#include "driver/prepare.hpp"
#include "driver/simulation_infos.hpp"
#include "driver/sweep.hpp"

namespace gridstride::cli {

namespace {

/// `5 snapshots`
std::string counted(double count, std::string_view what) {
  return fmt::format("{:.0f} {}{}", count, what, count == 1 ? "" : "s");
}

void print_device(Device const& device) {
  fmt::print("# device: {}, {} free\n", device.name(),
             format_bytes(static_cast<double>(device.free_memory())));
}

/// Of adaptive steps, the longest are counted.
std::string_view more_steps(config::RunConfig const& config) {
  return config.time.adaptive ? ", more where steps are shorter" : "";
}

std::string steps_text(config::RunConfig const& config, Forecast const& expected,
                       Device const& device) {
  return fmt::format("time step: {}{:.6g} s, {}{}, at least {}",
                     config.time.adaptive ? "adaptive, at most " : "", expected.time_step,
                     counted(expected.steps, "step"), more_steps(config),
                     format_seconds(least_seconds(config, expected, device)));
}

/// What a run takes, or several.
void print_forecast(config::RunConfig const& config, Forecast const& expected) {
  auto const of_device = format_bytes(static_cast<double>(expected.device_bytes)),
             of_host = format_bytes(static_cast<double>(expected.host_bytes));
  if (expected.rank_bytes > 0)
    fmt::print("# memory: {} on the device for each rank; for the first {}, and {} on the host\n",
               format_bytes(static_cast<double>(expected.rank_bytes)), of_device, of_host);
  else
    fmt::print("# memory: {} on the device, {} {}\n", of_device, of_host,
               expected.slabs.empty() ? "for output" : "on the host");
  if (!expected.slabs.empty()) fmt::print("# {}\n", expected.slabs);
  if (!expected.room.lack.empty()) fmt::print("# {}\n", expected.room.lack);
  std::string const checkpoints =
      expected.checkpoints == 0
          ? ""
          : fmt::format(", {} for {} ({} stay)", format_bytes(expected.checkpoint_bytes),
                        counted(expected.checkpoints, "checkpoint"), config.checkpoint.keep);
  bool const goes_by_steps = config.output.every.steps || config.checkpoint.every.steps;
  fmt::print("# disk: {} for {}{}{}, {} free\n", format_bytes(expected.output_bytes),
             counted(expected.snapshots, "snapshot"), checkpoints,
             goes_by_steps ? more_steps(config) : "",
             format_bytes(disk_room(config.output.directory).bytes));
  if (auto const warning = disk_warning(config, expected); !warning.empty())
    fmt::print("# warning: {}\n", warning);
}

Json json_head(config::RunConfig const& config, Device const& device) {
  return {{"file", config.file.string()},
          {"resolved_config", config::resolved_yaml(config)},
          {"device", fmt::format("{}: {}", name_of(device.backend()), device.name())},
          {"device_free_bytes", device.free_memory()}};
}

Json json_forecast(config::RunConfig const& config, Forecast const& expected,
                   Device const& device) {
  Json json = {{"device_bytes", expected.device_bytes}, {"host_bytes", expected.host_bytes}};
  if (config.simulation->has_time) {
    json["time_step"] = json_number(expected.time_step);
    json["steps"] = json_number(expected.steps);
    json["least_seconds"] = json_number(least_seconds(config, expected, device));
  }
  json.update({{"snapshots", json_number(expected.snapshots)},
               {"output_bytes", json_number(expected.output_bytes)},
               {"checkpoints", json_number(expected.checkpoints)},
               {"checkpoint_bytes", json_number(expected.checkpoint_bytes)},
               {"disk_free_bytes", json_number(disk_room(config.output.directory).bytes)}});
  if (!expected.slabs.empty()) json["slabs"] = expected.slabs;
  if (expected.rank_bytes > 0) {
    json["ranks"] = config.ranks;
    json["rank_bytes"] = expected.rank_bytes;
  }
  if (auto const warning = disk_warning(config, expected); !warning.empty())
    json["warning"] = warning;
  return json;
}

void print_notes(std::vector<std::string> const& fallbacks, std::vector<std::string> const& lines) {
  for (auto const& fallback : fallbacks) fmt::print("# {}\n", fallback);
  for (auto const& line : lines) fmt::print("# {}\n", line);
}

/// That `run` is going to be refused for what earlier runs left; empty where it is not.
std::string checkpoints_left(std::span<config::RunConfig const> runs) {
  for (auto const& run : runs)
    if (OutputPaths const paths(run); !paths.checkpoints().empty())
      return fmt::format(
          "{} holds checkpoints of an earlier run: `run` asks for --restart, which goes on from "
          "the newest, or --overwrite, which begins anew",
          paths.directory.string());
  return {};
}

int check_run(config::RunConfig const& config, Stream& stream,
              std::vector<std::string> const& fallbacks, bool as_json) {
  Device const& device = stream.device();
  auto checked = check_before_run(config, stream);
  auto const expected = checked.expected;
  check_start(config, stream, std::move(checked));
  auto lines = understood(config, device);
  if (auto const note = checkpoints_left({&config, 1}); !note.empty()) lines.push_back(note);
  if (as_json) {
    Json json = json_head(config, device);
    json.update(json_forecast(config, expected, device));
    if (!lines.empty()) json["understood"] = lines;
    json["fallbacks"] = fallbacks;
    print_json(json);
    return 0;
  }
  fmt::print("{}\n", config::resolved_yaml(config));
  print_notes(fallbacks, lines);
  print_device(device);
  if (config.simulation->has_time) fmt::print("# {}\n", steps_text(config, expected, device));
  print_forecast(config, expected);
  return 0;
}

Json json_member(config::RunConfig const& member, Forecast const& expected, Device const& device) {
  Json json;
  for (auto const& [name, value, digits] : member.swept) json["sweep"][name] = value;
  json["directory"] = member.output.directory.string();
  json.update(json_forecast(member, expected, device));
  return json;
}

/// What the config with every default does not say of a sweep, as it has numbers where the file has
/// constants; empty where it says all.
std::string unsaid(config::RunFile const& file) {
  std::vector<std::string> swept = {"sweep", "output.directory"};
  for (auto const& [name, values] : file.run.sweep) swept.push_back("constants." + name);
  std::vector<std::string_view> const ignored(swept.begin(), swept.end());
  std::set<std::string> keys;
  std::string const shown = config::resolved_yaml(file.run);
  for (auto const& member : file.members)
    keys.merge(config::changed_keys(shown, config::resolved_yaml(member), ignored));
  if (keys.empty()) return {};
  return fmt::format("the sweep changes {} too, which the config above does not show",
                     fmt::join(keys, ", "));
}

/// The equations are told as the first run has them.
int check_sweep(config::RunFile const& file, Stream& stream,
                std::vector<std::string> const& fallbacks, bool as_json) {
  Device const& device = stream.device();
  auto const& members = file.members;
  auto const expected = forecast_sweep(members, stream);
  for (auto const& member : members)
    config::for_member(member.swept,
                       [&] { check_start(member, stream, {.inputs = inputs_of(member)}); });
  auto lines = understood(members.front(), device);
  if (auto const note = unsaid(file); !note.empty()) lines.insert(lines.begin(), note);
  if (auto const note = checkpoints_left(members); !note.empty()) lines.push_back(note);
  if (as_json) {
    Json json = json_head(file.run, device);
    auto const& together = expected.together;
    json.update({{"at_once", expected.at_once},
                 {"device_bytes", together.device_bytes},
                 {"host_bytes", together.host_bytes},
                 {"steps", json_number(together.steps)},
                 {"snapshots", json_number(together.snapshots)},
                 {"output_bytes", json_number(together.output_bytes)},
                 {"checkpoints", json_number(together.checkpoints)},
                 {"checkpoint_bytes", json_number(together.checkpoint_bytes)}});
    for (std::size_t i = 0; i < members.size(); ++i)
      json["runs"].push_back(json_member(members[i], expected.runs[i], device));
    if (!lines.empty()) json["understood"] = lines;
    json["fallbacks"] = fallbacks;
    print_json(json);
    return 0;
  }
  fmt::print("{}\n", config::resolved_yaml(file.run));
  print_notes(fallbacks, lines);
  print_device(device);
  fmt::print("# sweep: {} in {}, {} at a time{}\n",
             counted(static_cast<double>(members.size()), "run"),
             file.run.output.directory.string(), expected.at_once,
             expected.bound.empty() ? "" : " (" + expected.bound + ")");
  for (std::size_t i = 0; i < members.size(); ++i)
    fmt::print("# {}: {}\n", config::member_name(members[i].swept),
               steps_text(members[i], expected.runs[i], device));
  print_forecast(file.run, expected.together);
  return 0;
}

struct CheckArguments {
  std::string file;
  OverrideOptions changes;
  bool json = false;
  int ranks = 1;
  CLI::Option* ranks_given = nullptr;
};

int check_file(CheckArguments const& options) {
  auto file = config::read_run_file(options.file, options.changes.overrides(), simulation_infos());
  bool const is_given = options.ranks_given->count() > 0;
  int const ranks =
      is_given ? options.ranks : static_cast<int>(file.run.wanted_ranks().value_or(1));
  if (is_given) require_processes(ranks);
  share_steps(file, ranks);
  check_reference(file.run);
  std::vector<std::string> fallbacks;
  Stream stream(choose_device(file.run, fallbacks));
  return file.is_sweep() ? check_sweep(file, stream, fallbacks, options.json)
                         : check_run(file.run, stream, fallbacks, options.json);
}

}  // namespace

void add_check(CLI::App& app, Action& action) {
  auto const options = std::make_shared<CheckArguments>();
  auto* command = app.add_subcommand(
      "check", "Check a file; print the run with every default, and what it will take");
  command->add_option("file", options->file, "YAML file; - is standard input")
      ->required()
      ->type_name("FILE");
  options->changes.add_to(*command);
  command->add_flag("--json", options->json, "As JSON");
  options->ranks_given =
      command
          ->add_option("--ranks", options->ranks,
                       "As a run of so many processes on this machine, which share the steps")
          ->type_name("N");
  command->callback([options, &action] { action = [options] { return check_file(*options); }; });
}

}  // namespace gridstride::cli

#include <fmt/format.h>

#include <memory>
#include <string>
#include <string_view>

#include "cli/commands.hpp"
#include "cli/json.hpp"
#include "core/host_limits.hpp"
#include "core/stream.hpp"
#include "core/text.hpp"
#include "driver/forecast.hpp"
#include "driver/prepare.hpp"
#include "driver/simulation_infos.hpp"

namespace gridstride::cli {

namespace {

/// `5 snapshots`
std::string counted(double count, std::string_view what) {
  return fmt::format("{:.0f} {}{}", count, what, count == 1 ? "" : "s");
}

void print_forecast(config::RunConfig const& config, Forecast const& expected,
                    Device const& device) {
  fmt::print("# device: {}, {} free\n", device.name(),
             format_bytes(static_cast<double>(device.free_memory())));
  if (config.simulation->has_time)
    fmt::print("# time step: {}{:.6g} s, {}, at least {}\n",
               config.time.adaptive ? "adaptive, at most " : "", expected.time_step,
               counted(expected.steps, "step"),
               format_seconds(least_seconds(config, expected, device)));
  fmt::print("# memory: {} on the device, {} {}\n",
             format_bytes(static_cast<double>(expected.device_bytes)),
             format_bytes(static_cast<double>(expected.host_bytes)),
             expected.slabs.empty() ? "for output" : "on the host");
  if (!expected.slabs.empty()) fmt::print("# {}\n", expected.slabs);
  if (!expected.room.lack.empty()) fmt::print("# {}\n", expected.room.lack);
  std::string const checkpoints =
      expected.checkpoints == 0
          ? ""
          : fmt::format(", {} for {} ({} stay)", format_bytes(expected.checkpoint_bytes),
                        counted(expected.checkpoints, "checkpoint"), config.checkpoint.keep);
  fmt::print("# disk: {} for {}{}, {} free\n", format_bytes(expected.output_bytes),
             counted(expected.snapshots, "snapshot"), checkpoints,
             format_bytes(disk_room(config.output.directory).bytes));
  if (auto const warning = disk_warning(config, expected); !warning.empty())
    fmt::print("# warning: {}\n", warning);
}

Json json_forecast(config::RunConfig const& config, Forecast const& expected,
                   Device const& device) {
  Json json = {{"file", config.file.string()},
               {"resolved_config", config::resolved_yaml(config)},
               {"device", fmt::format("{}: {}", name_of(device.backend()), device.name())},
               {"device_free_bytes", device.free_memory()},
               {"device_bytes", expected.device_bytes},
               {"host_bytes", expected.host_bytes}};
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
  if (auto const warning = disk_warning(config, expected); !warning.empty())
    json["warning"] = warning;
  return json;
}

struct CheckArguments {
  std::string file;
  OverrideOptions changes;
  bool json = false;
};

int check_file(CheckArguments const& options) {
  auto const config =
      config::read_run_config(options.file, options.changes.overrides(), simulation_infos());
  check_reference(config);
  std::vector<std::string> fallbacks;
  Device const device = choose_device(config, fallbacks);
  Stream stream(device);
  auto const expected = check_before_run(config, stream);
  check_start(config, stream);
  auto const lines = understood(config, device);
  if (options.json) {
    Json json = json_forecast(config, expected, device);
    if (!lines.empty()) json["understood"] = lines;
    json["fallbacks"] = fallbacks;
    print_json(json);
    return 0;
  }
  fmt::print("{}\n", config::resolved_yaml(config));
  for (auto const& fallback : fallbacks) fmt::print("# {}\n", fallback);
  for (auto const& line : lines) fmt::print("# {}\n", line);
  print_forecast(config, expected, device);
  return 0;
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
  command->callback([options, &action] { action = [options] { return check_file(*options); }; });
}

}  // namespace gridstride::cli

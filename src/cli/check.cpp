#include <fmt/format.h>

#include <memory>
#include <string>
#include <string_view>

#include "cli/commands.hpp"
#include "core/host_limits.hpp"
#include "core/stream.hpp"
#include "core/text.hpp"
#include "driver/forecast.hpp"
#include "driver/prepare.hpp"
#include "simulations/registry.hpp"

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
    fmt::print("# time step: {:.6g} s, {}, at least {}\n", expected.time_step,
               counted(expected.steps, "step"),
               format_seconds(least_seconds(config, expected, device)));
  fmt::print("# memory: {} on the device, {} for output\n",
             format_bytes(static_cast<double>(expected.device_bytes)),
             format_bytes(static_cast<double>(expected.host_bytes)));
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

int check_file(std::string const& file, OverrideOptions const& changes) {
  auto const config = config::read_run_config(file, changes.overrides(), simulation_infos());
  check_reference(config);
  std::vector<std::string> fallbacks;
  Device const device = choose_device(config, fallbacks);
  Stream stream(device);
  auto const expected = check_before_run(config, stream);
  check_start(config, stream);
  fmt::print("{}\n", config::resolved_yaml(config));
  for (auto const& fallback : fallbacks) fmt::print("# {}\n", fallback);
  print_forecast(config, expected, device);
  return 0;
}

}  // namespace

void add_check(CLI::App& app, Action& action) {
  auto const file = std::make_shared<std::string>();
  auto const changes = std::make_shared<OverrideOptions>();
  auto* command = app.add_subcommand(
      "check", "Check a file; print the run with every default, and what it will take");
  command->add_option("file", *file, "YAML file; - is standard input")
      ->required()
      ->type_name("FILE");
  changes->add_to(*command);
  command->callback(
      [file, changes, &action] { action = [=] { return check_file(*file, *changes); }; });
}

}  // namespace gridstride::cli

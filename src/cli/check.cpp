#include <fmt/format.h>

#include <memory>

#include "cli/commands.hpp"
#include "core/text.hpp"
#include "driver/prepare.hpp"
#include "simulations/registry.hpp"

namespace gridstride::cli {

namespace {

int check_file(std::string const& file, OverrideOptions const& changes) {
  auto const config = config::read_run_config(file, changes.overrides(), simulation_infos());
  std::vector<std::string> fallbacks;
  Device const device = choose_device(config, fallbacks);
  check_on_device(config, device);
  check_memory(config, device);
  auto const expected = forecast(config, device);
  fmt::print("{}\n", config::resolved_yaml(config));
  for (auto const& fallback : fallbacks) fmt::print("# {}\n", fallback);
  fmt::print("# device: {}, {} free\n", device.name(),
             format_bytes(static_cast<double>(device.free_memory())));
  if (config.simulation->has_time)
    fmt::print("# time step: {:.6g} s, {:.0f} steps\n", expected.time_step, expected.steps);
  fmt::print("# memory: {} on the device, {} for output\n",
             format_bytes(static_cast<double>(expected.device_bytes)),
             format_bytes(static_cast<double>(expected.host_bytes)));
  fmt::print("# disk: {} for {} snapshot{}\n", format_bytes(expected.disk_bytes),
             expected.snapshots, expected.snapshots == 1 ? "" : "s");
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

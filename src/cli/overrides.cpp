#include <algorithm>

#include "cli/commands.hpp"
#include "core/error.hpp"
#include "driver/simulation_infos.hpp"

namespace gridstride::cli {

namespace {

/// Text as a YAML value that means just this text.
std::string quoted(std::string const& text) {
  std::string result = "'";
  for (char const c : text) result += c == '\'' ? "''" : std::string(1, c);
  return result + "'";
}

}  // namespace

void OverrideOptions::add_to(CLI::App& command) {
  command.add_option("--set", settings, "Set a parameter, as grid.points=[64,64]; may be repeated")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command.add_option("--device", device, "auto, cpu, cuda or cuda:N");
  command.add_option("--output", output, "Directory to write to")->type_name("DIR");
}

std::vector<config::Override> OverrideOptions::overrides() const {
  std::vector<config::Override> result;
  for (auto const& setting : settings) {
    auto const equals = setting.find('=');
    if (equals == std::string::npos || equals == 0)
      throw ConfigError({{"--set " + setting, 0, 0, "",
                          "is not a setting (KEY=VALUE is needed, as time.end=0.5)"}});
    result.push_back({setting.substr(0, equals), setting.substr(equals + 1)});
  }
  if (!device.empty()) result.push_back({"device", device});
  if (!output.empty()) result.push_back({"output.directory", quoted(output)});
  return result;
}

std::vector<config::RunFile> read_files(std::vector<std::string> const& files,
                                        OverrideOptions const& changes) {
  if (std::ranges::count(files, "-") > 1)
    throw ConfigError({{"-", 0, 0, "", "standard input can be read once"}});
  auto const overrides = changes.overrides();
  std::vector<config::RunFile> read;
  for (auto const& file : files)
    read.push_back(config::read_run_file(file, overrides, simulation_infos()));
  return read;
}

}  // namespace gridstride::cli

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "cli/commands.hpp"
#include "config/faults.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "driver/simulation_infos.hpp"

namespace gridstride::cli {

namespace {

config::SimulationInfo const& find_simulation(std::string const& name) {
  auto const infos = simulation_infos();
  auto const found =
      std::find_if(infos.begin(), infos.end(), [&](auto const& info) { return info.name == name; });
  if (found != infos.end()) return *found;
  std::vector<std::string_view> names;
  for (auto const& info : infos) names.push_back(info.name);
  throw ConfigError({{"describe", 0, 0, "",
                      fmt::format("there is no simulation '{}' (there is {}){}", name,
                                  format_choices(names), config::suggestion(name, names))}});
}

}  // namespace

void add_describe(CLI::App& app, Action& action) {
  struct Options {
    std::string name;
    bool schema = false;
    bool markdown = false;
  };
  auto const options = std::make_shared<Options>();
  auto* command = app.add_subcommand(
      "describe", "Parameters of a simulation's file, with units, defaults and documentation");
  auto* name = command->add_option("name", options->name, "Simulation");
  auto* schema = command->add_flag("--schema", options->schema, "As JSON Schema, for editors");
  command->add_flag("--markdown", options->markdown, "The reference of all simulations")
      ->excludes(schema)
      ->excludes(name);
  command->callback([options, &action] {
    if (options->name.empty() && !options->markdown)
      throw CLI::RequiredError("describe: the name of a simulation, or --markdown,");
    action = [options] {
      if (options->markdown)
        fmt::print("{}", config::input_reference(simulation_infos()));
      else if (options->schema)
        fmt::print("{}", config::describe_schema(find_simulation(options->name)));
      else
        fmt::print("{}", config::describe_text(find_simulation(options->name)));
      return 0;
    };
  });
}

}  // namespace gridstride::cli

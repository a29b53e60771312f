#include "config/run_config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "config/declaration.hpp"
#include "config/document.hpp"
#include "config/faults.hpp"
#include "config/overrides.hpp"
#include "config/reader.hpp"
#include "config/run_sections.hpp"
#include "core/text.hpp"

namespace gridstride::config {
namespace {

/// The paths of all keys, for suggestions: of `initial.u`, not of `boundary.u`.
void append_paths(Declaration const& declaration, std::string const& parent,
                  std::vector<std::string>& paths) {
  for (Declaration const& child : declaration.children) {
    if (repeats(declaration, child) || child.any_name) continue;
    bool const is_form = declaration.kind == Declaration::Kind::forms;
    std::string const path = is_form ? parent : join_path(parent, child.name);
    if (!is_form) paths.push_back(path);
    bool const has_keys = child.kind == Declaration::Kind::section;
    if (has_keys || child.kind == Declaration::Kind::forms) append_paths(child, path, paths);
  }
}

std::vector<std::string> all_paths(SimulationInfo const& simulation) {
  RunConfig defaults = default_run(simulation, "");
  std::vector<std::string> paths;
  append_paths(collect_run(defaults, *defaults.parameters), "", paths);
  return paths;
}

/// The simulation of that name or, for the sake of the other faults, the one probably meant.
SimulationInfo const* find_simulation(std::string_view name,
                                      std::span<SimulationInfo const> simulations) {
  std::vector<std::string_view> names;
  for (auto const& simulation : simulations) names.push_back(simulation.name);
  std::string_view const nearest = nearest_name(name, names);
  for (auto const& simulation : simulations)
    if (simulation.name == nearest) return &simulation;
  return nullptr;
}

/// The document with the overrides in it; throws when it cannot be read as keys and values.
Node load(std::string const& text, std::span<Override const> overrides, Faults& faults) {
  std::optional<Node> root = parse_document(text, 0, "", faults);
  if (root && root->kind != Node::Kind::mapping) {
    faults.add(root->place, "",
               fmt::format("a mapping of keys expected (as 'simulation: heat'), not {}",
                           kind_name(*root)));
    root.reset();
  }
  if (!root) faults.throw_if_any();
  apply_overrides(*root, overrides, faults);
  return *std::move(root);
}

void append_locations(Node const& node, std::string const& path, Faults const& faults,
                      std::map<std::string, Location, std::less<>>& locations) {
  Place const& place = node.place;
  std::string const file = place.source == 0 ? "" : faults.source_name(place.source);
  locations[path] = {place.line, place.column, path, file};
  for (std::size_t i = 0; i < node.children.size(); ++i) {
    bool const listed = node.kind == Node::Kind::sequence;
    std::string const name = listed ? std::to_string(i) : node.keys[i].text;
    append_locations(node.children[i], join_path(path, name), faults, locations);
  }
}

}  // namespace

Sides const& RunOptions::sides_of(std::string_view field) const {
  for (std::size_t i = 0; i < boundary.size(); ++i)
    if (sided(i).name == field) return boundary[i];
  throw std::invalid_argument(fmt::format("sides_of: there is no field '{}'", field));
}

Location RunConfig::location(std::string_view path) const {
  std::string_view around = path;
  auto found = locations.find(around);
  while (found == locations.end() && !around.empty()) {
    std::size_t const dot = around.rfind('.');
    around = around.substr(0, dot == std::string_view::npos ? 0 : dot);
    found = locations.find(around);
  }
  Location location = found == locations.end() ? Location{} : found->second;
  location.path = path;
  return location;
}

Problem RunConfig::problem(Location const& location, std::string message) const {
  return {location.file.empty() ? file.string() : location.file, location.line, location.column,
          location.path, std::move(message)};
}

RunConfig read_run_config(std::filesystem::path const& file, std::span<Override const> overrides,
                          std::span<SimulationInfo const> simulations) {
  return parse_run_config(file, read_document(file_named(file)), overrides, simulations);
}

RunConfig parse_run_config(std::filesystem::path const& given_file, std::string const& text,
                           std::span<Override const> overrides,
                           std::span<SimulationInfo const> simulations) {
  auto const file = file_named(given_file);
  bool const is_standard_input = file != given_file;
  Faults faults(file.string());
  Node const root = load(text, overrides, faults);

  Node const* const given = root.child("simulation");
  SimulationInfo const* const simulation = find_simulation(given ? given->text : "", simulations);
  Reader reader(root, simulation ? all_paths(*simulation) : std::vector<std::string>(), faults);
  std::string name;
  declare_simulation(reader, simulations, name);
  if (!simulation) faults.throw_if_any();

  RunConfig run = default_run(*simulation, is_standard_input ? "stdin" : file.stem().string());
  run.file = file;
  run.text = text;
  append_locations(root, "", faults, run.locations);
  declare_run(reader, run, *run.parameters);
  reader.finish();
  faults.throw_if_any();
  return run;
}

}  // namespace gridstride::config

#include "config/run_file.hpp"

#include <fmt/format.h>

#include <cstddef>

#include "config/document.hpp"
#include "core/text.hpp"

namespace gridstride::config {
namespace {

/// The constants of each run of a sweep.
std::vector<std::vector<NamedValue>> combinations(RunOptions const& run) {
  if (run.sweep.empty()) return {};
  std::vector<std::vector<NamedValue>> all = {{}};
  for (auto const& [name, values] : run.sweep) {
    std::vector<std::vector<NamedValue>> longer;
    for (auto const& before : all)
      for (double const value : values) {
        longer.push_back(before);
        longer.back().push_back({name, value});
      }
    all = std::move(longer);
  }
  return all;
}

}  // namespace

RunFile read_run_file(std::filesystem::path const& file, std::span<Override const> overrides,
                      std::span<SimulationInfo const> simulations) {
  std::string const text = read_document(file_named(file));
  RunFile result{parse_run_config(file, text, overrides, simulations), {}};
  for (auto& swept : combinations(result.run)) {
    std::vector<Override> all(overrides.begin(), overrides.end());
    all.push_back({"sweep", "{}"});
    for (auto const& [name, value, digits] : swept)
      all.push_back({"constants." + name, format_exact(value)});
    result.members.push_back(
        for_member(swept, [&] { return parse_run_config(file, text, all, simulations); }));
    RunConfig& member = result.members.back();
    member.swept = std::move(swept);
    member.output.directory /= member_name(member.swept);
  }
  return result;
}

std::string member_name(std::span<NamedValue const> swept) {
  std::string name;
  for (auto const& [constant, value, digits] : swept)
    name += fmt::format("{}{}={}", name.empty() ? "" : ",", constant, format_exact(value));
  return name;
}

ConfigError in_member(ConfigError const& error, std::span<NamedValue const> swept) {
  auto problems = error.problems();
  for (auto& problem : problems)
    problem.message += fmt::format(" (in the sweep's run {})", member_name(swept));
  return ConfigError(problems);
}

}  // namespace gridstride::config

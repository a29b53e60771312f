#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>

#include "bench/kernel_figures.hpp"
#include "cli/commands.hpp"
#include "cli/json.hpp"
#include "config/faults.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "core/version.hpp"
#include "driver/simulation_infos.hpp"
#include "equations/operators.hpp"
#include "expression/expression.hpp"
#include "kernels/families.hpp"

namespace gridstride::cli {

namespace {

void list_simulations(std::string const&) {
  for (auto const& info : simulation_infos()) fmt::print("{:<14} {}\n", info.name, info.summary);
}

/// What the driver says about the kernels of each variant of a family, on the first GPU.
std::vector<bench::KernelFigures> figures_of(std::string_view family) {
  if (!Device::cuda_unavailable_reason().empty()) return {};
  Stream stream(Device::open(Backend::cuda));
  return bench::kernel_figures(stream, family);
}

void print_figures(bench::KernelFigures const& figures) {
  constexpr std::string_view indent = "                           ";
  if (!figures.remark.empty()) fmt::print("{}no figures: {}\n", indent, figures.remark);
  for (auto const& kernel : figures.kernels)
    fmt::print(
        "{}{}{}: {} registers, {} + {} B shared, {} B local, blocks of {}, {:.0f} % occupancy\n",
        indent, kernel.name, kernel.launches > 1 ? fmt::format(" ({} times)", kernel.launches) : "",
        kernel.registers, kernel.static_shared_bytes, kernel.dynamic_shared_bytes,
        kernel.local_bytes, kernel.block_threads, 100 * kernel.occupancy);
}

void list_family(KernelFamily const& family) {
  fmt::print("{}: {}\n", family.name, family.summary);
  auto const figures = figures_of(family.name);
  for (auto const& row : family.rows) {
    fmt::print("  {:<5} {:<20} {} {}{}\n", name_of(row.backend), row.name,
               row.name == family.default_variant(row.backend) ? '*' : ' ', row.idea,
               row.in_build ? "" : " (not in this build)");
    if (row.backend != Backend::cuda) continue;
    auto const found = std::ranges::find(figures, row.name, &bench::KernelFigures::variant);
    if (found != figures.end()) print_figures(*found);
  }
}

/// The family of this name, or all without one.
std::vector<KernelFamily> families_called(std::string const& name) {
  auto const& all = kernel_families();
  if (name.empty()) return all;
  std::vector<std::string_view> names;
  for (auto const& known : all) {
    if (known.name == name) return {known};
    names.push_back(known.name);
  }
  throw ConfigError({{"list", 0, 0, "",
                      fmt::format("there is no kernel family '{}' (there is {}){}", name,
                                  format_choices(names), config::suggestion(name, names))}});
}

void list_kernels(std::string const& family) {
  for (auto const& known : families_called(family)) list_family(known);
  fmt::print("* is what 'auto' means\n");
}

void list_functions(std::string const&) {
  for (auto const& function : expression::functions())
    fmt::print("{:<14} {}\n", function.signature, function.doc);
  for (auto const& one : equations::operators())
    fmt::print("{:<14} in equations: {}\n", one.info.signature, one.info.doc);
}

void list_devices(std::string const&) {
  for (auto const& device : Device::available())
    fmt::print("{}{:<3} {}, {} of memory, {} {}\n", name_of(device.backend()),
               device.backend() == Backend::cpu ? "" : fmt::format(":{}", device.ordinal()),
               device.name(), format_bytes(static_cast<double>(device.total_memory())),
               device.processors(),
               device.backend() == Backend::cpu ? "threads" : "multiprocessors");
  if (auto const reason = Device::cuda_unavailable_reason(); !reason.empty())
    fmt::print("no GPU ({})\n", reason);
}

Json json_simulations(std::string const&) {
  Json list = Json::array();
  for (auto const& info : simulation_infos())
    list.push_back({{"name", info.name}, {"summary", info.summary}});
  return list;
}

Json json_figures(bench::KernelFigures const& figures) {
  Json list = Json::array();
  for (auto const& kernel : figures.kernels)
    list.push_back({{"name", kernel.name},
                    {"launches", kernel.launches},
                    {"registers", kernel.registers},
                    {"static_shared_bytes", kernel.static_shared_bytes},
                    {"dynamic_shared_bytes", kernel.dynamic_shared_bytes},
                    {"local_bytes", kernel.local_bytes},
                    {"block_threads", kernel.block_threads},
                    {"occupancy", json_number(kernel.occupancy)}});
  return list;
}

Json json_kernels(std::string const& name) {
  Json list = Json::array();
  for (auto const& family : families_called(name)) {
    auto const figures = figures_of(family.name);
    Json variants = Json::array();
    for (auto const& row : family.rows) {
      Json variant = {{"name", row.name},
                      {"backend", name_of(row.backend)},
                      {"default", row.name == family.default_variant(row.backend)},
                      {"in_build", row.in_build},
                      {"idea", row.idea}};
      auto const found = std::ranges::find(figures, row.name, &bench::KernelFigures::variant);
      if (row.backend == Backend::cuda && found != figures.end())
        variant["kernels"] = json_figures(*found);
      variants.push_back(std::move(variant));
    }
    list.push_back(
        {{"name", family.name}, {"summary", family.summary}, {"variants", std::move(variants)}});
  }
  return list;
}

Json json_functions(std::string const&) {
  Json list = Json::array();
  for (auto const& function : expression::functions())
    list.push_back(
        {{"name", function.name}, {"signature", function.signature}, {"summary", function.doc}});
  for (auto const& one : equations::operators())
    list.push_back({{"name", one.info.name},
                    {"signature", one.info.signature},
                    {"summary", one.info.doc},
                    {"of", "equations"}});
  return list;
}

Json json_devices(std::string const&) {
  Json list = Json::array();
  for (auto const& device : Device::available())
    list.push_back(
        {{"name",
          device.backend() == Backend::cpu ? "cpu" : fmt::format("cuda:{}", device.ordinal())},
         {"model", device.name()},
         {"memory_bytes", device.total_memory()},
         {"processors", device.processors()}});
  return list;
}

struct Topic {
  std::string_view name;
  void (*print)(std::string const& family);
  Json (*json)(std::string const& family);
};

constexpr std::array<Topic, 4> topics = {{{"simulations", list_simulations, json_simulations},
                                          {"kernels", list_kernels, json_kernels},
                                          {"functions", list_functions, json_functions},
                                          {"devices", list_devices, json_devices}}};

struct ListOptions {
  std::string topic;
  std::string family;
  bool json = false;
};

int list(ListOptions const& options) {
  Json json = Json::object();
  for (auto const& topic : topics) {
    if (!options.topic.empty() && options.topic != topic.name) continue;
    if (options.json) {
      json[std::string(topic.name)] = topic.json(options.family);
      continue;
    }
    if (options.topic.empty()) fmt::print("-- {}\n", topic.name);
    topic.print(options.family);
  }
  if (options.json) print_json(json);
  return 0;
}

}  // namespace

void add_list(CLI::App& app, Action& action) {
  auto const options = std::make_shared<ListOptions>();
  auto* command = app.add_subcommand("list", "List simulations, kernels, functions or devices");
  std::vector<std::string> names;
  for (auto const& topic : topics) names.emplace_back(topic.name);
  command->add_option("topic", options->topic, "What to list; everything without one")
      ->check(CLI::IsMember(names));
  command->add_option("family", options->family, "With 'kernels': one family alone");
  command->add_flag("--json", options->json, "As JSON");
  command->callback([options, &action] {
    if (!options->family.empty() && options->topic != "kernels")
      throw CLI::ExtrasError("list", {options->family});
    action = [options] { return list(*options); };
  });
}

}  // namespace gridstride::cli

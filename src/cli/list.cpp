#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>

#include "bench/kernel_figures.hpp"
#include "cli/commands.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "core/version.hpp"
#include "expression/expression.hpp"
#include "kernels/families.hpp"
#include "simulations/registry.hpp"

namespace gridstride::cli {

namespace {

void list_simulations() {
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

void list_kernels(std::string const& family) {
  std::vector<std::string_view> names;
  for (auto const& known : kernel_families()) {
    names.push_back(known.name);
    if (family.empty() || known.name == family) list_family(known);
  }
  if (!family.empty() && std::ranges::find(names, family) == names.end()) {
    auto const nearest = nearest_name(family, names);
    throw ConfigError(
        {{"list", 0, 0, "",
          fmt::format("there is no kernel family '{}' (there is {}){}", family,
                      format_choices(names),
                      nearest.empty() ? "" : fmt::format("; did you mean '{}'?", nearest))}});
  }
  fmt::print("* is what 'auto' means\n");
}

void list_functions() {
  for (auto const& function : expression::functions())
    fmt::print("{:<14} {}\n", function.signature, function.doc);
}

void list_devices() {
  for (auto const& device : Device::available())
    fmt::print("{}{:<3} {}, {} of memory, {} {}\n", name_of(device.backend()),
               device.backend() == Backend::cpu ? "" : fmt::format(":{}", device.ordinal()),
               device.name(), format_bytes(static_cast<double>(device.total_memory())),
               device.processors(),
               device.backend() == Backend::cpu ? "threads" : "multiprocessors");
  if (auto const reason = Device::cuda_unavailable_reason(); !reason.empty())
    fmt::print("no GPU ({})\n", reason);
}

struct Topic {
  std::string_view name;
  void (*print)();
};

constexpr std::array<Topic, 4> topics = {{{"simulations", list_simulations},
                                          {"kernels", [] { list_kernels(""); }},
                                          {"functions", list_functions},
                                          {"devices", list_devices}}};

}  // namespace

void add_list(CLI::App& app, Action& action) {
  struct Options {
    std::string topic;
    std::string family;
  };
  auto const options = std::make_shared<Options>();
  auto* command = app.add_subcommand("list", "List simulations, kernels, functions or devices");
  std::vector<std::string> names;
  for (auto const& topic : topics) names.emplace_back(topic.name);
  command->add_option("topic", options->topic, "What to list; everything without one")
      ->check(CLI::IsMember(names));
  command->add_option("family", options->family, "With 'kernels': one family alone");
  command->callback([options, &action] {
    if (!options->family.empty() && options->topic != "kernels")
      throw CLI::ExtrasError("list", {options->family});
    action = [options] {
      if (!options->family.empty()) {
        list_kernels(options->family);
        return 0;
      }
      for (auto const& topic : topics) {
        if (!options->topic.empty() && options->topic != topic.name) continue;
        if (options->topic.empty()) fmt::print("-- {}\n", topic.name);
        topic.print();
      }
      return 0;
    };
  });
}

}  // namespace gridstride::cli

#include <fmt/format.h>

#include <array>
#include <memory>
#include <string_view>

#include "cli/commands.hpp"
#include "core/text.hpp"
#include "core/version.hpp"
#include "expression/expression.hpp"
#include "kernels/families.hpp"
#include "simulations/registry.hpp"

namespace gridstride::cli {

namespace {

void list_simulations() {
  for (auto const& info : simulation_infos()) fmt::print("{:<12} {}\n", info.name, info.summary);
}

void list_kernels() {
  for (auto const& family : kernel_families()) {
    fmt::print("{}: {}\n", family.name, family.summary);
    for (auto const& row : family.rows)
      fmt::print("  {:<5} {:<16} {} {}{}\n", name_of(row.backend), row.name,
                 row.is_default ? '*' : ' ', row.idea, row.in_build ? "" : " (not in this build)");
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
                                          {"kernels", list_kernels},
                                          {"functions", list_functions},
                                          {"devices", list_devices}}};

}  // namespace

void add_list(CLI::App& app, Action& action) {
  auto const wanted = std::make_shared<std::string>();
  auto* command = app.add_subcommand("list", "List simulations, kernels, functions or devices");
  std::vector<std::string> names;
  for (auto const& topic : topics) names.emplace_back(topic.name);
  command->add_option("topic", *wanted, "What to list; everything without one")
      ->check(CLI::IsMember(names));
  command->callback([wanted, &action] {
    action = [wanted] {
      for (auto const& topic : topics) {
        if (!wanted->empty() && *wanted != topic.name) continue;
        if (wanted->empty()) fmt::print("-- {}\n", topic.name);
        topic.print();
      }
      return 0;
    };
  });
}

}  // namespace gridstride::cli

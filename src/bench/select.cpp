#include <fmt/format.h>

#include <algorithm>

#include "bench/bench.hpp"
#include "bench/workloads.hpp"
#include "core/error.hpp"
#include "core/text.hpp"

namespace gridstride::bench {

namespace {

using Names = std::vector<std::string_view>;

void add(Names& names, std::string_view name) {
  if (std::ranges::find(names, name) == names.end()) names.push_back(name);
}

/// `there is no WHAT 'redcue' (there is 'reduce' or 'scan'); did you mean 'reduce'?`
[[noreturn]] void unknown(std::string const& what, std::string const& name, Names const& known) {
  auto const nearest = nearest_name(name, known);
  throw ConfigError(
      {{"bench", 0, 0, "",
        fmt::format("there is no {} '{}' (there is {}){}", what, name, format_choices(known),
                    nearest.empty() ? "" : fmt::format("; did you mean '{}'?", nearest))}});
}

void keep_family(std::vector<Workload>& all, std::string const& family) {
  Names families;
  for (auto const& workload : all) add(families, workload.family);
  std::erase_if(all, [&](Workload const& workload) { return workload.family != family; });
  if (all.empty()) unknown("kernel family", family, families);
}

void keep_type(std::vector<Workload>& all, std::string const& type) {
  Names types;
  for (auto const& workload : all) add(types, workload.type);
  std::erase_if(all, [&](Workload const& workload) { return workload.type != type; });
  if (all.empty()) unknown("type", type, types);
}

void keep_variant(std::vector<Workload>& all, std::string const& variant) {
  Names variants;
  for (auto& workload : all) {
    for (auto const& row : workload.rows) add(variants, row.name);
    std::erase_if(workload.rows, [&](Row const& row) { return row.name != variant; });
  }
  std::erase_if(all, [](Workload const& workload) { return workload.rows.empty(); });
  if (all.empty()) unknown("variant", variant, variants);
}

/// Of workloads that would do the very same, the first.
void keep_different(std::vector<Workload>& all, bool same_size) {
  std::vector<Workload> kept;
  for (auto const& workload : all)
    if (std::ranges::none_of(kept, [&](Workload const& other) {
          return other.family == workload.family && other.operation == workload.operation &&
                 other.type == workload.type && (same_size || other.size == workload.size);
        }))
      kept.push_back(workload);
  all = std::move(kept);
}

}  // namespace

std::vector<Workload> select(Selection const& selection, Backend backend) {
  auto all = workloads(backend);
  if (!selection.family.empty()) keep_family(all, selection.family);
  if (selection.type.empty())
    std::erase_if(all, [](Workload const& workload) { return !workload.by_default; });
  else
    keep_type(all, selection.type);
  if (!selection.variant.empty()) keep_variant(all, selection.variant);
  if (selection.size > 0)
    std::erase_if(all, [](Workload const& workload) { return workload.size_of == SizeOf::none; });
  keep_different(all, selection.size > 0);
  return all;
}

}  // namespace gridstride::bench

#include "config/sweep_section.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/text.hpp"

namespace gridstride::config {
namespace {

/// Each has a part in the names of the runs' folders, which may not be too long.
constexpr std::size_t most_swept = 3;
constexpr std::int64_t most_runs = 10'000;

using Values = std::vector<double>;

/// `count` values from `from` to `to`, both among them.
Values spaced_evenly(double from, double to, std::int64_t count) {
  Values values = {from};
  auto const last = static_cast<double>(count - 1);
  for (std::int64_t i = 1; i < count; ++i) {
    auto const place = static_cast<double>(i);
    values.push_back(i + 1 == count ? to : (from * (last - place) + to * place) / last);
  }
  return values;
}

/// The values of one constant: a list, or what gives one.
void declare_values(Visitor& visitor, Spec const& spec, Values& values) {
  double from = required_number, to = required_number;
  std::int64_t count = required_integer;
  Form const forms[] = {
      {.kind = Form::Kind::list,
       .body =
           [&](Visitor& v) {
             v.list({.name = spec.name, .unit = "", .documentation = "These values."},
                    {1, static_cast<std::size_t>(most_runs)}, values);
           }},
      {.kind = Form::Kind::mapping, .body = [&](Visitor& v) {
         v.visit({.name = "from", .unit = "", .documentation = "The first value."}, from);
         v.visit({.name = "to", .unit = "", .documentation = "The last value."}, to);
         v.visit({.name = "count",
                  .documentation = "How many values, evenly spaced; of one alone it is `from`.",
                  .minimum = 1,
                  .maximum = static_cast<double>(most_runs)},
                 count);
       }}};
  enum { listed, spaced };
  int chosen = values.empty() ? -1 : listed;
  visitor.forms(spec, Presence::optional, forms, chosen);
  bool const complete = !std::isnan(from) && !std::isnan(to) && count != required_integer;
  if (chosen == spaced && complete) values = spaced_evenly(from, to, count);
}

/// What is wrong with the values of a constant; empty when nothing is.
std::string fault_of(Values values) {
  if (!std::ranges::all_of(values, [](double value) { return std::isfinite(value); }))
    return "has values that are too large to reckon with";
  std::ranges::sort(values);
  auto const twice = std::ranges::adjacent_find(values);
  if (twice == values.end()) return {};
  return fmt::format("has the value {} twice (their results would have one place)",
                     format_exact(*twice));
}

void check_size(Visitor& visitor, RunOptions const& run) {
  if (run.sweep.size() > most_swept)
    visitor.fault("sweep", fmt::format("{} constants are more than the {} that may vary at a time",
                                       run.sweep.size(), most_swept));
  double runs = 1;
  for (auto const& [name, values] : run.sweep) runs *= static_cast<double>(values.size());
  if (runs > static_cast<double>(most_runs))
    visitor.fault("sweep",
                  fmt::format("{:g} runs are more than the {} that there may be", runs, most_runs));
}

}  // namespace

void declare_sweep(Visitor& visitor, RunOptions& run) {
  auto swept = std::move(run.sweep);
  for (auto const& [name, value] : run.constants)
    if (std::ranges::count(swept, name, [](auto const& one) { return one.first; }) == 0)
      swept.emplace_back(name, Values());
  bool const is_given = visitor.given("sweep");
  if (is_given && !visitor.given("constants"))
    visitor.fault("sweep",
                  "gives values to constants, of which there are none (constants: {F: 0.04})");
  constexpr std::string_view documentation =
      "The values of a constant: a list, or evenly spaced ones.";
  visitor.section(
      {.name = "sweep",
       .documentation = "Constants, up to three, with the values that they take: a run for each "
                        "combination, side by side, each with a folder of its own in "
                        "`output.directory`. `{}` makes it one run again."},
      [&](Visitor& v) {
        Values none;
        if (swept.empty())
          declare_values(
              v, {.name = "NAME", .unit = "", .documentation = documentation, .any_name = true},
              none);
        for (auto& [name, values] : swept)
          declare_values(v, {.name = name, .unit = "", .documentation = documentation}, values);
        std::ranges::stable_sort(swept, {}, [&](auto const& one) {
          auto const place = v.locate(one.first);
          return std::pair(place.line, place.column);
        });
      });
  std::erase_if(swept, [](auto const& one) { return one.second.empty(); });
  for (auto const& [name, values] : swept)
    if (auto const fault = fault_of(values); !fault.empty()) visitor.fault("sweep." + name, fault);
  run.sweep = std::move(swept);
  check_size(visitor, run);
}

void check_beside_sweep(Visitor& visitor, RunOptions const& run) {
  if (run.sweep.empty()) return;
  if (!run.verify.reference.empty())
    visitor.fault("verify.reference",
                  "is one result, and a sweep has one for each run (`gridstride compare` compares "
                  "them one by one)");
}

}  // namespace gridstride::config

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "core/text.hpp"
#include "driver/run.hpp"

namespace gridstride {

double RunSummary::updates_per_second() const {
  return stepping_seconds > 0
             ? static_cast<double>(steps) * static_cast<double>(grid_points) / stepping_seconds
             : 0;
}

std::string format_summary(RunSummary const& summary) {
  if (summary.done_before) return fmt::format("{}", fmt::join(summary.fallbacks, "\n"));
  double const rate = summary.updates_per_second();
  std::string text = fmt::format("computed on {}\n", summary.device);
  if (summary.has_time)
    text = fmt::format("step {}, time {} on {}\n{} steps{}, {} updates/s, {:.1f} GB/s\n",
                       summary.clock.step, summary.clock.time, summary.device, summary.steps,
                       summary.clock.rejected > 0
                           ? fmt::format(" ({} more rejected)", summary.clock.rejected)
                           : std::string(),
                       format_si(rate), rate * summary.bytes_per_update * 1e-9);
  if (!summary.ending.empty()) text += summary.ending + '\n';
  for (auto const& phase : summary.phases)
    text += fmt::format("  {:<22} {:>9.3f} s\n", phase.name, phase.value);
  if (summary.read.bytes > 0)
    text += fmt::format("  {:<22} {:>9.3f} s: {}, {:.2f} GB/s\n", "reading (of set-up)",
                        summary.read.seconds, format_bytes(summary.read.bytes),
                        summary.read.rate() * 1e-9);
  for (auto const& [name, choice] : summary.chosen)
    text += fmt::format("  {:<22} {:>11}\n", name, choice);
  auto const line = [](NamedValue const& value) {
    return fmt::format("  {:<22} {:>11.{}g}\n", value.name, value.value, value.digits);
  };
  for (auto const& value : summary.diagnostics)
    if (!std::isnan(value.value)) text += line(value);
  for (auto const& value : summary.verified) text += line(value);
  for (auto const& fallback : summary.fallbacks) text += fallback + '\n';
  text += fmt::format("{} files, {} of fields in {}", summary.files,
                      format_bytes(static_cast<double>(summary.bytes_written)),
                      summary.directory.string());
  return text;
}

namespace {

nlohmann::ordered_json json_of(RunSummary const& summary) {
  nlohmann::ordered_json json;
  json["config"] = summary.config.string();
  for (auto const& [name, value, digits] : summary.swept) json["sweep"][name] = value;
  if (!summary.failure.empty()) {
    json["failure"] = summary.failure;
    for (auto const& found : summary.verified) json["verified"][found.name] = found.value;
    return json;
  }
  json["device"] = summary.device;
  if (summary.done_before) {
    json["done_before"] = true;
    json["fallbacks"] = summary.fallbacks;
    return json;
  }
  if (summary.has_time) {
    json["step"] = summary.clock.step;
    json["time"] = summary.clock.time;
    json["steps"] = summary.steps;
    if (summary.clock.rejected > 0) json["rejected_steps"] = summary.clock.rejected;
  }
  if (!summary.ending.empty()) json["ending"] = summary.ending;
  json["grid_points"] = summary.grid_points;
  if (summary.has_time) json["updates_per_second"] = summary.updates_per_second();
  json["startup_seconds"] = summary.startup_seconds;
  json["stepping_seconds"] = summary.stepping_seconds;
  for (auto const& phase : summary.phases) json["phases"][phase.name] = phase.value;
  if (summary.read.bytes > 0) {
    json["bytes_read"] = static_cast<std::int64_t>(summary.read.bytes);
    json["reading_seconds"] = summary.read.seconds;
  }
  for (auto const& found : summary.verified) json["verified"][found.name] = found.value;
  for (auto const& found : summary.diagnostics) json["diagnostics"][found.name] = found.value;
  for (auto const& [name, text] : summary.chosen) json["chosen"][name] = text;
  json["fallbacks"] = summary.fallbacks;
  if (!summary.shortfall.empty()) json["shortfall"] = summary.shortfall;
  json["files"] = summary.files;
  json["bytes_written"] = summary.bytes_written;
  return json;
}

/// A path may hold any bytes.
std::string text_of(nlohmann::ordered_json const& json) {
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n';
}

}  // namespace

std::string summary_json(RunSummary const& summary) { return text_of(json_of(summary)); }

std::string summary_json(std::vector<RunSummary> const& summaries) {
  auto list = nlohmann::ordered_json::array();
  for (auto const& summary : summaries) list.push_back(json_of(summary));
  return text_of(list);
}

}  // namespace gridstride

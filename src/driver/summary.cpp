#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/text.hpp"
#include "driver/run.hpp"

namespace gridstride {

double RunSummary::updates_per_second() const {
  return stepping_seconds > 0 ? static_cast<double>(steps) * grid_points / stepping_seconds : 0;
}

std::string format_summary(RunSummary const& summary) {
  double const rate = summary.updates_per_second();
  std::string text = fmt::format("step {}, time {} on {}\n", summary.clock.step, summary.clock.time,
                                 summary.device);
  text += fmt::format("{} steps, {} updates/s, {:.1f} GB/s\n", summary.steps, format_si(rate),
                      rate * summary.bytes_per_update * 1e-9);
  for (auto const& [name, seconds] : summary.phases)
    text += fmt::format("  {:<22} {:>9.3f} s\n", name, seconds);
  for (auto const& [name, value] : summary.verified)
    text += fmt::format("  {:<22} {:>11.4g}\n", name, value);
  for (auto const& fallback : summary.fallbacks) text += fallback + '\n';
  text += fmt::format("{} files, {} of fields in {}", summary.files,
                      format_bytes(static_cast<double>(summary.bytes_written)),
                      summary.directory.string());
  return text;
}

std::string summary_json(RunSummary const& summary) {
  nlohmann::ordered_json json;
  json["device"] = summary.device;
  json["step"] = summary.clock.step;
  json["time"] = summary.clock.time;
  json["steps"] = summary.steps;
  json["grid_points"] = summary.grid_points;
  json["updates_per_second"] = summary.updates_per_second();
  json["startup_seconds"] = summary.startup_seconds;
  json["stepping_seconds"] = summary.stepping_seconds;
  for (auto const& [name, seconds] : summary.phases) json["phases"][name] = seconds;
  for (auto const& [name, value] : summary.verified) json["verified"][name] = value;
  json["fallbacks"] = summary.fallbacks;
  json["files"] = summary.files;
  json["bytes_written"] = summary.bytes_written;
  return json.dump(2) + '\n';
}

}  // namespace gridstride

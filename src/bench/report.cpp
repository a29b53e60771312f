#include "bench/report.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <nlohmann/json.hpp>

#include "core/text.hpp"
#include "core/version.hpp"

namespace gridstride::bench {

namespace {

std::string format_seconds(double seconds) {
  return seconds >= 1      ? fmt::format("{:.3f} s ", seconds)
         : seconds >= 1e-3 ? fmt::format("{:.3f} ms", seconds * 1e3)
                           : fmt::format("{:.2f} us", seconds * 1e6);
}

/// The unit of what a workload asks of the roof that binds: "B/s" or "FLOP/s".
std::string_view unit_of(Measurement const& measurement) {
  return measurement.roof == machine::float32_roof || measurement.roof == machine::float64_roof
             ? "FLOP/s"
             : "B/s";
}

std::string device_name(Device const& device) {
  return device.backend() == Backend::cpu ? "cpu" : fmt::format("cuda:{}", device.ordinal());
}

std::string line(Measurement const& measurement, VariantResult const& variant) {
  auto const& [row, timing, remark, wrong] = variant;
  char const mark = row.is_default ? '*' : ' ';
  if (!timing)
    return fmt::format("{} {:<22} {}{}\n", mark, row.name, wrong ? "WRONG: " : "", remark);
  auto const size = static_cast<double>(measurement.size);
  bool const memory = unit_of(measurement) == "B/s";
  double const amount = size * (memory ? measurement.workload.bytes : measurement.workload.flops);
  auto const vendor = measurement.vendor_seconds();
  return fmt::format("{} {:<22} {:>11}  {:>11} .. {:<11} {:>9} {:>10.3g} {:>6.1f} % {:>8}\n", mark,
                     row.name, format_seconds(timing->median), format_seconds(timing->p10),
                     format_seconds(timing->p90),
                     fmt::format("{:.1f}", amount / timing->median * 1e-9),
                     size / timing->median * 1e-9, 100 * measurement.roof_seconds / timing->median,
                     vendor ? fmt::format("{:.2f}", *vendor / timing->median) : "");
}

/// What stays the same for all variants of a workload.
nlohmann::ordered_json json_of(Measurement const& measurement) {
  auto const& workload = measurement.workload;
  auto const size = static_cast<double>(measurement.size);
  nlohmann::ordered_json json;
  json["family"] = workload.family;
  json["operation"] = workload.operation;
  json["type"] = workload.type;
  json["size"] = measurement.size;
  json["bytes"] = workload.bytes * size;
  json["flops"] = workload.flops * size;
  json["sets"] = measurement.sets;
  json["roof"] = measurement.roof;
  json["roof_seconds"] = measurement.roof_seconds;
  json["checked"] = measurement.checked;
  return json;
}

nlohmann::ordered_json json_of(Measurement const& measurement, VariantResult const& variant) {
  auto const& [row, timing, remark, wrong] = variant;
  nlohmann::ordered_json json;
  json["name"] = row.name;
  json["idea"] = row.idea;
  json["default"] = row.is_default;
  json["vendor"] = row.is_vendor;
  json["wrong"] = wrong;
  if (!timing) {
    json["remark"] = remark;
    return json;
  }
  auto const size = static_cast<double>(measurement.size);
  json["seconds"] = {{"median", timing->median}, {"p10", timing->p10}, {"p90", timing->p90}};
  json["samples"] = timing->samples;
  json["runs_per_sample"] = timing->runs_per_sample;
  json["bytes_per_second"] = measurement.workload.bytes * size / timing->median;
  json["flops_per_second"] = measurement.workload.flops * size / timing->median;
  json["elements_per_second"] = size / timing->median;
  json["roof_fraction"] = measurement.roof_seconds / timing->median;
  if (auto const vendor = measurement.vendor_seconds())
    json["vendor_ratio"] = *vendor / timing->median;
  return json;
}

}  // namespace

int Report::wrong_variants() const {
  std::ptrdiff_t count = 0;
  for (auto const& measurement : measurements)
    count += std::ranges::count_if(measurement.variants, &VariantResult::wrong);
  return static_cast<int>(count);
}

std::string heading(Device const& device, std::vector<machine::Roof> const& roofs) {
  auto const driver = device.backend() == Backend::cuda ? machine::driver_version() : std::string();
  std::string text =
      fmt::format("gridstride {} ({}) on {}: {}{}\n", version(), git_hash(), device_name(device),
                  device.name(), driver.empty() ? "" : ", driver " + driver);
  for (auto const& roof : roofs)
    text += fmt::format("  {:<15} {:>9.1f} G{:<7} {}\n", roof.name, roof.rate * 1e-9, roof.unit,
                        roof.how);
  return text;
}

std::string table(Measurement const& measurement) {
  auto const& workload = measurement.workload;
  std::string text = fmt::format(
      "\n{} {}, {}, {} elements: at best {} (roof: {})\n", workload.family, workload.operation,
      workload.type, measurement.size, format_seconds(measurement.roof_seconds), measurement.roof);
  text += fmt::format("  {:<22} {:>11}  {:>11} .. {:<11} {:>9} {:>10} {:>8} {:>8}\n", "variant",
                      "median", "p10", "p90", unit_of(measurement) == "B/s" ? "GB/s" : "GFLOP/s",
                      "G elem/s", "of roof", measurement.vendor_seconds() ? "x vendor" : "");
  for (auto const& variant : measurement.variants) text += line(measurement, variant);
  return text + fmt::format("  {}\n", measurement.checked);
}

std::string json(Report const& report) {
  nlohmann::ordered_json json;
  json["gridstride"] = {{"version", version()}, {"git_hash", git_hash()}};
  json["date"] = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
  auto const& device = report.device;
  json["device"] = {{"id", device_name(device)},
                    {"name", device.name()},
                    {"driver", machine::driver_version()},
                    {"memory", device.total_memory()},
                    {"processors", device.processors()},
                    {"compute_capability", device.compute_capability()},
                    {"cache", machine::cache_bytes(device)}};
  json["roofs"] = nlohmann::ordered_json::array();
  for (auto const& roof : report.roofs)
    json["roofs"].push_back(
        {{"name", roof.name}, {"rate", roof.rate}, {"unit", roof.unit}, {"how", roof.how}});
  json["measurements"] = nlohmann::ordered_json::array();
  for (auto const& measurement : report.measurements) {
    auto entry = json_of(measurement);
    entry["variants"] = nlohmann::ordered_json::array();
    for (auto const& variant : measurement.variants)
      entry["variants"].push_back(json_of(measurement, variant));
    json["measurements"].push_back(std::move(entry));
  }
  return json.dump(1) + '\n';
}

}  // namespace gridstride::bench

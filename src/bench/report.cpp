#include "bench/report.hpp"

#include <fmt/format.h>

#include <algorithm>
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

/// What rates are counted in: bytes, or operations where arithmetic binds; in 10^12 a second where
/// the roof has so many.
struct Unit {
  double amount;  ///< of a run
  double scale;
  std::string name;
};

Unit unit_of(Measurement const& measurement) {
  auto const& [roof, unit, seconds] = measurement.bound;
  bool const arithmetic = unit == "FLOP/s";
  double const amount = arithmetic ? measurement.work.flops : measurement.work.bytes;
  bool const large = arithmetic && amount / seconds >= 1e12;
  return {amount, large ? 1e-12 : 1e-9, fmt::format("{}{}", large ? 'T' : 'G', unit)};
}

/// The size as a title has it.
std::string size_text(Measurement const& measurement) {
  switch (measurement.workload.size_of) {
    case SizeOf::array:
      return fmt::format(", {} elements", measurement.size);
    case SizeOf::matrix:
      return fmt::format(", n = {}", measurement.size);
    case SizeOf::none:
      break;
  }
  return {};
}

std::string_view name_of(SizeOf size) {
  return size == SizeOf::array ? "array" : size == SizeOf::matrix ? "matrix" : "none";
}

bool has_errors(Measurement const& measurement) { return !measurement.workload.error.empty(); }

std::string device_name(Device const& device) {
  return device.backend() == Backend::cpu ? "cpu" : fmt::format("cuda:{}", device.ordinal());
}

std::string line(Measurement const& measurement, VariantResult const& variant) {
  auto const& [row, timing, remark, wrong, bound, error] = variant;
  char const mark = row.is_default ? '*' : ' ';
  if (!timing)
    return fmt::format("{} {:<22} {}{}\n", mark, row.name, wrong ? "WRONG: " : "", remark);
  auto const unit = unit_of(measurement);
  auto const vendor = measurement.vendor_seconds();
  auto text = fmt::format(
      "{} {:<22} {:>11}  {:>11} .. {:<11} {:>9} {:>10.3g} {:>6.1f} % {:>8}", mark, row.name,
      format_seconds(timing->median), format_seconds(timing->p10), format_seconds(timing->p90),
      fmt::format("{:.{}f}", unit.amount / timing->median * unit.scale,
                  unit.scale == 1e-12 ? 2 : 1),
      measurement.work.elements / timing->median * 1e-9, 100 * bound.seconds / timing->median,
      vendor ? fmt::format("{:.2f}", *vendor / timing->median) : "");
  if (error) text += fmt::format(" {:>8.1e}", *error);
  if (bound.roof != measurement.bound.roof) text += fmt::format("  (of {})", bound.roof);
  return text + '\n';
}

/// What stays the same for all variants of a workload.
nlohmann::ordered_json json_of(Measurement const& measurement) {
  auto const& workload = measurement.workload;
  nlohmann::ordered_json json;
  json["family"] = workload.family;
  json["operation"] = workload.operation;
  json["type"] = workload.type;
  json["size"] = measurement.size;
  json["size_of"] = name_of(workload.size_of);
  json["elements"] = measurement.work.elements;
  json["bytes"] = measurement.work.bytes;
  json["flops"] = measurement.work.flops;
  json["sets"] = measurement.sets;
  json["roof"] = measurement.bound.roof;
  json["roof_seconds"] = measurement.bound.seconds;
  json["checked"] = measurement.checked;
  return json;
}

nlohmann::ordered_json json_of(Measurement const& measurement, VariantResult const& variant) {
  auto const& [row, timing, remark, wrong, bound, error] = variant;
  nlohmann::ordered_json json;
  json["name"] = row.name;
  json["idea"] = row.idea;
  json["default"] = row.is_default;
  json["vendor"] = row.is_vendor;
  json["wrong"] = wrong;
  json["roof"] = bound.roof;
  json["roof_seconds"] = bound.seconds;
  if (error) json["error"] = *error;
  if (!timing) {
    json["remark"] = remark;
    return json;
  }
  auto const& work = measurement.work;
  json["seconds"] = {{"median", timing->median}, {"p10", timing->p10}, {"p90", timing->p90}};
  json["samples"] = timing->samples;
  json["runs_per_sample"] = timing->runs_per_sample;
  json["bytes_per_second"] = work.bytes / timing->median;
  json["flops_per_second"] = work.flops / timing->median;
  json["elements_per_second"] = work.elements / timing->median;
  json["roof_fraction"] = bound.seconds / timing->median;
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
    text += roof.unit == "1/s" ? fmt::format("  {:<15} {:>9.1f} {:<8} {}\n", roof.name,
                                             1e9 / roof.rate, "ns", roof.how)
                               : fmt::format("  {:<15} {:>9.1f} G{:<7} {}\n", roof.name,
                                             roof.rate * 1e-9, roof.unit, roof.how);
  return text;
}

std::string table(Measurement const& measurement) {
  auto const& workload = measurement.workload;
  std::string text = fmt::format("\n{} {}, {}{}: at best {} (roof: {})\n", workload.family,
                                 workload.operation, workload.type, size_text(measurement),
                                 format_seconds(measurement.bound.seconds), measurement.bound.roof);
  text += fmt::format("  {:<22} {:>11}  {:>11} .. {:<11} {:>9} {:>10} {:>8} {:>8}{}\n", "variant",
                      "median", "p10", "p90", unit_of(measurement).name, "G elem/s", "of roof",
                      measurement.vendor_seconds() ? "x vendor" : "",
                      has_errors(measurement) ? "    error" : "");
  for (auto const& variant : measurement.variants) text += line(measurement, variant);
  return text + fmt::format("  {}\n", measurement.checked);
}

nlohmann::ordered_json provenance(Device const& device) {
  nlohmann::ordered_json json;
  json["gridstride"] = {{"version", version()}, {"git_hash", git_hash()}};
  json["date"] = format_now();
  json["device"] = {{"id", device_name(device)},
                    {"name", device.name()},
                    {"driver", machine::driver_version()},
                    {"memory", device.total_memory()},
                    {"processors", device.processors()},
                    {"compute_capability", device.compute_capability()},
                    {"cache", machine::cache_bytes(device)}};
  return json;
}

std::string json(Report const& report) {
  auto json = provenance(report.device);
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

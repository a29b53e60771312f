#include "model/surveyed_values.hpp"

#include <fmt/format.h>

#include <bit>

#include "core/error.hpp"

namespace gridstride {

double SurveyedValues::largest(config::RunConfig const& run, config::FieldSource const& source,
                               Inputs const& inputs, Demand const& demand) {
  if (largest_) return *largest_;
  std::uint64_t checksum = 0;
  largest_ = largest_magnitude(run, source, inputs, run.grid, 0, demand, &checksum);
  if (!source.file.empty()) checksum_ = checksum;
  return *largest_;
}

void SurveyedValues::save(std::string_view name, CheckpointSink& sink) const {
  if (checksum_) sink.put_integer(name, std::bit_cast<std::int64_t>(*checksum_));
}

void SurveyedValues::require_same(config::RunConfig const& run, config::FieldSource const& source,
                                  std::string_view name, CheckpointSource const& checkpoint) const {
  // All ranks ask a checkpoint for the same, also those that have not looked into the file.
  if (source.file.empty() || !checkpoint.contains(name)) return;
  auto const stored = std::bit_cast<std::uint64_t>(checkpoint.get_integer(name));
  if (checksum_.value_or(stored) == stored) return;
  throw ConfigError({run.problem(
      source.location, fmt::format("{} holds other values than when the checkpoint was made; start "
                                   "anew without it",
                                   describe(source)))});
}

std::vector<Problem> problems_of(config::RunConfig const& run, config::FieldSource const& source,
                                 Inputs const& inputs, std::function<void()> const& look) {
  try {
    auto const fault = shape_fault(run, source, inputs);
    if (!fault.empty()) return {run.problem(source.location, fault)};
    look();
    return {};
  } catch (ConfigError const& error) {
    return error.problems();
  }
}

}  // namespace gridstride

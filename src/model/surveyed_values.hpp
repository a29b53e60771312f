#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "config/run_config.hpp"
#include "grid/checkpoint.hpp"
#include "model/simulation.hpp"
#include "model/values.hpp"

namespace gridstride {

/// What has been found of the values that a config gives for a coefficient. A file is looked through
/// once; a checksum of it goes with checkpoints, so that a run does not go on with another one.
class SurveyedValues {
 public:
  /// The largest |value| at time 0; throws as `largest_magnitude` does.
  double largest(config::RunConfig const& run, config::FieldSource const& source,
                 Inputs const& inputs, Demand const& demand);
  /// The same as another rank has found it.
  void tell(double largest) { largest_ = largest; }

  void save(std::string_view name, CheckpointSink& sink) const;
  /// Throws `ConfigError` where a file holds other values than when the checkpoint was made.
  void require_same(config::RunConfig const& run, config::FieldSource const& source,
                    std::string_view name, CheckpointSource const& checkpoint) const;

 private:
  std::optional<double> largest_;
  std::optional<std::uint64_t> checksum_;  // of a file
};

/// What is wrong with a coefficient from a file: its shape, else what `look`, which looks through its
/// values, throws for them. Of a formula only the latter.
std::vector<Problem> problems_of(config::RunConfig const& run, config::FieldSource const& source,
                                 Inputs const& inputs, std::function<void()> const& look);

}  // namespace gridstride

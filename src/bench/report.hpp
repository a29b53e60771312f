#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "bench/bench.hpp"

namespace gridstride::bench {

/// Everything that a call of `gridstride bench` found out.
struct Report {
  Device device;
  std::vector<machine::Roof> roofs;
  std::vector<Measurement> measurements;

  /// Variants whose results are wrong.
  int wrong_variants() const;
};

/// What was measured on and the roofs of the machine, as a table.
std::string heading(Device const& device, std::vector<machine::Roof> const& roofs);

/// A ladder: a line for each variant.
std::string table(Measurement const& measurement);

/// What it takes to compare figures with others: versions, device, date.
nlohmann::ordered_json provenance(Device const& device);

/// The whole as JSON, with its provenance.
std::string json(Report const& report);

}  // namespace gridstride::bench

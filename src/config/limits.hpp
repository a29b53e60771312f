#pragma once

#include <cstdint>
#include <optional>

#include "config/visitor.hpp"

namespace gridstride::config {

/// What a run may take; left to itself where nothing is said. Results do not depend on it.
struct Limits {
  std::optional<double> device_memory;  ///< bytes
  std::optional<double> host_memory;    ///< bytes
  std::optional<double> streams;        ///< how many chunks are under way; a whole number
  std::optional<double> chunk;          ///< bytes of one array in a chunk
  std::optional<double> trip_steps;     ///< of a trip to the device, at most; a whole number

  /// Whether anything is said.
  bool is_given() const { return device_memory || host_memory || streams || chunk || trip_steps; }
};

/// Declares the section `limits` of a run over data.
void declare_limits(Visitor& visitor, Limits& limits);
/// That of a run whose grid may be larger than the device.
void declare_grid_limits(Visitor& visitor, Limits& limits);

}  // namespace gridstride::config

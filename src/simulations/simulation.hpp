#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "config/run_config.hpp"
#include "core/stream.hpp"
#include "grid/checkpoint.hpp"
#include "grid/grid.hpp"

namespace gridstride {

/// Where a simulation is: steps done, and the time they reached (s).
struct Clock {
  std::int64_t step = 0;
  double time = 0;
};

/// One running simulation. Valid once constructed. Work is queued on the stream it was made with.
class Simulation {
 public:
  virtual ~Simulation() = default;

  virtual Clock clock() const = 0;
  virtual bool finished() const = 0;
  /// The step it takes when nothing shortens it (s).
  virtual double time_step() const = 0;
  /// Queues up to `max_steps` steps, never past `until`; the step that would pass it is shortened
  /// to land on it. Does not wait for the device.
  virtual void advance(std::int64_t max_steps, double until) = 0;
  /// What is written. The views hold until the next `advance`.
  virtual std::vector<Field> fields() const = 0;

  /// Everything needed to go on later with the same bits.
  virtual void save(CheckpointSink& sink) const = 0;
  virtual void load(CheckpointSource const& source) = 0;
};

/// Fills `values` (x fastest) from a dataset of an HDF5 file; the driver provides it, so that
/// simulations know nothing of files.
using DatasetReader = std::function<void(config::FieldSource const&, std::span<double> values)>;

/// Device memory that a run will need, before any is taken.
struct MemoryForecast {
  std::size_t array_bytes = 0;  ///< one array of the grid
  std::int64_t arrays = 0;      ///< how many of them
  std::string array_name;       ///< what they hold: "u"
  std::size_t bytes() const { return array_bytes * static_cast<std::size_t>(arrays); }
};

}  // namespace gridstride

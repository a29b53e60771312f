#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/device.hpp"
#include "core/named_value.hpp"
#include "model/state.hpp"
#include "model/sweep.hpp"

/// Grids that are larger than the device: their arrays stay in the host's memory.
namespace gridstride {

/// The steps of a simulation, as far as it goes through the device in slabs.
struct SlabSteps {
  SweepShape shape;
  std::vector<std::string> evolved;  ///< rows whose arrays go through it, one of each
  std::string refusal = {};          ///< why its steps do not go so, a sentence; empty: they do
};

/// How the arrays of these rows, which are those of a run that has them in the device's memory, go
/// through the device instead; empty where they fit there, as far as the run may take it, and where
/// the steps do not go so. Throws `ConfigError` where it may take too little, and for a limit with
/// steps that do not go so.
std::optional<SweepPlan> plan_slabs(config::RunConfig const& run, Device const& device,
                                    std::span<Row const> rows, SlabSteps const& steps);

/// The rows that are left then, with the evolved ones on the host.
std::vector<Row> rows_of_slabs(std::vector<Row> rows, SlabSteps const& steps);

/// What a run takes by such a plan.
MemoryForecast forecast_slabs(config::RunConfig const& run, std::vector<Row> const& rows,
                              SlabSteps const& steps, std::optional<SweepPlan> const& plan);

/// What there is to tell of it after a run.
std::vector<NamedText> texts_of(SweepPlan const& plan, SweepReport const& report);

/// Values on a face that is cut into planes by the slowest axis, for windows of any place.
template <class T>
class WindowFace {
 public:
  WindowFace() = default;
  /// `values` are the run's own, and null where there are none.
  WindowFace(Stream& stream, SweepPlan const& plan, int axis, T const* values);

  /// From the first plane of a window on.
  T const* at(std::int64_t first) const {
    return values_ == nullptr ? nullptr : values_ + (first - first_) * line_;
  }

 private:
  Buffer<T> own_;  // around a periodic axis
  T const* values_ = nullptr;
  std::int64_t line_ = 0, first_ = 0;
};

}  // namespace gridstride

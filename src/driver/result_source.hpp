#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "config/run_config.hpp"
#include "core/number_source.hpp"
#include "model/simulation.hpp"

/// Fields that a run takes from another run's result (`FieldSource::moment`).
namespace gridstride {

/// Extents, the slowest axis first, behind them the components of a vector. Throws `IoError` when
/// there is no such field or moment, when the field has another unit than is needed (`1` goes with
/// any), and when its points, on the result's grid or one of its own, lie elsewhere than as many of
/// this run.
std::vector<std::int64_t> result_shape(config::RunOptions const& run,
                                       config::FieldSource const& source);

/// As `Inputs::places` has them.
std::vector<std::optional<AxisPlaces>> result_places(config::FieldSource const& source);

std::unique_ptr<NumberSource> open_result(config::FieldSource const& source);

}  // namespace gridstride

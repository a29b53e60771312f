#pragma once

#include <cstdint>
#include <span>

#include "core/stream.hpp"
#include "model/phase_times.hpp"
#include "simulations/linear_system_parameters.hpp"

/// Right-hand sides, for `linear_system` alone.
namespace gridstride::linear_system {

/// b in device memory, n rows with a column for each right-hand side; done when this returns. As
/// `read_numbers` of files. Instantiated for float and double.
template <class T>
void fill_right(Stream& stream, config::RunConfig const& run, Inputs const& inputs,
                std::span<T> target, PhaseTimes* times = nullptr);

/// Adds what that takes.
void note_right(MemoryForecast& forecast, config::RunConfig const& run, Inputs const& inputs);

/// Where the right-hand side of a column stands.
config::Location const& location_of_right(config::RunConfig const& run, Inputs const& inputs,
                                          std::int64_t column);

/// The fault of an element of b that is not finite.
Problem not_finite(config::RunConfig const& run, Inputs const& inputs, std::int64_t place);

}  // namespace gridstride::linear_system

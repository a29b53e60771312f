#pragma once

#include <cstdint>
#include <span>

#include "core/csr.hpp"
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

/// The same on the host, columns one after the other. Throws `ConfigError` for an element that is not
/// finite.
Csr<double>::Array<double> columns_of_right(Stream& stream, config::RunConfig const& run,
                                            Inputs const& inputs, PhaseTimes* times);

/// A row of zeros, the first of which is `first_empty` (−1: there is none), asks for b = 0. Throws
/// `NumericalError` where it is not.
template <class T>
void require_solvable_rows(Csr<T> const& rows, std::int64_t first_empty,
                           std::span<double const> columns_of_right);

/// Adds what that takes.
void note_right(MemoryForecast& forecast, config::RunConfig const& run, Inputs const& inputs);

/// Where the right-hand side of a column stands.
config::Location const& location_of_right(config::RunConfig const& run, Inputs const& inputs,
                                          std::int64_t column);

/// The fault of an element of b that is not finite.
Problem not_finite(config::RunConfig const& run, Inputs const& inputs, std::int64_t place);

}  // namespace gridstride::linear_system

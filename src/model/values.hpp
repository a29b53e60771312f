#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/buffer.hpp"
#include "core/stream.hpp"
#include "kernels/reduce/reduce.hpp"
#include "model/phase_times.hpp"
#include "model/simulation.hpp"

/// The values that a config gives: formulas and datasets.
namespace gridstride {

/// A formula of space and time as a source of values.
config::FieldSource source_of(config::Formula const& formula);
/// A file and what of it: `dataset '/u' of data.h5`.
std::string describe(config::FieldSource const& source);
/// Whether values are those of a formula that is a number.
bool is_constant(config::FieldSource const& source);
/// Whether they are those of a formula that is 0.
bool is_zero(config::FieldSource const& source);
bool depends_on_time(config::FieldSource const& source);

/// `target`, in device memory, becomes a formula's values at the points of `grid`, which is queued,
/// or those of a file (`read_numbers`), which is done when this returns. With `times`, a formula
/// counts as `read`. `variant` is a row of `evaluate`, or `auto`.
template <class T>
void fill(Stream& stream, config::FieldSource const& source, Grid const& grid, Inputs const& inputs,
          std::span<T> target, PhaseTimes* times = nullptr, std::string_view variant = "auto");

/// Values in device memory, rounded to T; done when this returns. Without any there is no memory.
template <class T, class U>
Buffer<T> on_device(Stream& stream, std::vector<U> const& values) {
  if (values.empty()) return {};
  std::vector<T> const rounded(values.begin(), values.end());
  Buffer<T> buffer(stream, MemorySpace::device, rounded.size());
  copy_async(buffer.span(), std::span<T const>(rounded), stream);
  stream.synchronize();
  return buffer;
}

/// What one pass over values in device memory finds. Waits for the stream. `variant` is a row of
/// `reduce`.
template <class T>
reduce::Moments<T> moments_of(Stream& stream, std::span<T const> values, std::string_view variant);

/// The index of the first of them that is infinite or not a number; negative where all are finite.
template <class T>
std::int64_t first_non_finite(Stream& stream, std::span<T const> values, std::string_view variant);

/// What values have to be: what is wrong with one, in words, or nothing. Several threads ask it at once.
using Demand = std::function<std::string_view(double)>;

/// The largest |value| at the points of a grid at a time, computed on the host. Throws
/// `ConfigError`, with the place, for the first value that does not meet the demand. `checksum`
/// becomes that of a file's values.
double largest_magnitude(config::RunConfig const& run, config::FieldSource const& source,
                         Inputs const& inputs, Grid const& grid, double time, Demand const& demand,
                         std::uint64_t* checksum = nullptr);

/// What is wrong with a dataset's shape where it is to hold a value, or the components of a vector,
/// for each point of the run's grid; empty if nothing.
std::string shape_fault(config::RunConfig const& run, config::FieldSource const& source,
                        Inputs const& inputs);

}  // namespace gridstride

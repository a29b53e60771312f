#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/stream.hpp"
#include "model/phase_times.hpp"
#include "model/simulation.hpp"

/// Numbers from files, a part after the other: the file as a whole is never in the host's memory.
namespace gridstride {

/// `target`, in device memory, becomes the numbers of a file, or their squares where the source
/// wants them, through float64 and rounded to T; done when this returns. Throws `ConfigError` at
/// the source for the first number that is not finite, or not in T, and for a file that changes
/// meanwhile. With `times`, the time in which the file was read counts as `read`, all else as
/// `transfer`.
template <class T>
void read_numbers(Stream& stream, config::FieldSource const& source, Inputs const& inputs,
                  std::span<T> target, PhaseTimes* times = nullptr);

/// Whether a number that is finite may come to one that is not, rounded to T.
template <class T>
bool may_leave_range(NumberType type, bool squares) {
  return squares || (sizeof(T) < 8 && type.kind == NumberKind::real && type.bytes == 8);
}

/// The number at a place of the array.
double number_at(NumberSource const& numbers, std::int64_t place);

/// All of a file that is known to be small. Throws as above.
std::vector<double> read_numbers(config::FieldSource const& source, Inputs const& inputs);

struct LargestNumber {
  double magnitude = 0;
  std::int64_t refused = -1;   ///< the least place of a number that `accepts` does not take
  double value = 0;            ///< it
  std::uint64_t checksum = 0;  ///< of all numbers and their places
};

/// The largest |number| of a file; `accepts` is called by several threads. Throws as above.
LargestNumber find_largest(config::FieldSource const& source, Inputs const& inputs,
                           std::function<bool(double)> const& accepts);

/// The first |number| of a file that is at least so much, or else the largest of all; reads no
/// farther. Throws as above.
double first_magnitude(config::FieldSource const& source, Inputs const& inputs, double enough);

/// Adds to a forecast what reading so many numbers takes, as far as it does not depend on how they
/// are packed.
void note_reading(MemoryForecast& forecast, config::FieldSource const& source, std::size_t values);
/// The same of a file that is known: what is packed together is read together.
void note_packing(MemoryForecast& forecast, NumberSource const& numbers);

}  // namespace gridstride

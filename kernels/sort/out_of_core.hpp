#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "core/pipeline.hpp"
#include "core/stream.hpp"

/// Sorting of more keys than the device holds, in the order of sort.hpp. T is int32, int64, float
/// or double.
///
/// Runs are sorted on the device and wait in the host's memory. Where all keys of the result lie in
/// the runs is found by bisection: range by range of the result the pieces of all runs go to the
/// device once more, one after the other, and are sorted together. So each key crosses the bus twice
/// each way, and no step needs more than its share of the device, whatever the keys are.
///
/// The result has the bits that `sort::keys` gives for all keys at once, for every amount of memory:
/// keys that the variant takes for equal stay in their order, if its row says `stable`.
namespace gridstride::sort {

/// How long the two passes took, stage by stage.
struct OutOfCoreReport {
  PipelineReport runs, ranges;
};

/// Reads the keys that begin with number `first`; writes those of the result. Called by several
/// threads at once, for different keys.
template <class T>
using ReadKeys = std::function<void(std::int64_t first, std::span<T> target)>;
template <class T>
using WriteKeys = std::function<void(std::int64_t first, std::span<T const> source)>;

/// Sorts as many keys as `runs` holds, which is host memory for the runs; what `read` reads may be
/// there already. `device_bytes` bounds the memory on the device. Returns when all is written.
/// Throws `std::invalid_argument` for less than `least_device_bytes`, and what `read` and `write`
/// throw.
template <class T>
OutOfCoreReport out_of_core(Stream& stream, ReadKeys<T> const& read, std::span<T> runs,
                            WriteKeys<T> const& write, std::size_t device_bytes,
                            std::string_view variant = "auto");

/// The keys of one array of the host's memory, sorted, into another one; `keys` become runs.
template <class T>
OutOfCoreReport out_of_core(Stream& stream, std::span<T> keys, std::span<T> sorted,
                            std::size_t device_bytes, std::string_view variant = "auto");

constexpr std::size_t least_device_bytes = std::size_t{1} << 16;

}  // namespace gridstride::sort

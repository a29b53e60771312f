#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/buffer.hpp"
#include "core/variant.hpp"
#include "kernels/machine/machine.hpp"

/// What there is to measure.
namespace gridstride::bench {

/// Results of any type, for comparison: holds every int64 and every double exactly.
using Values = std::vector<long double>;

/// How far results are from the exact ones, and how far they may be: by an error analysis.
struct Accuracy {
  double error;
  double allowed;
};

/// The data of a workload on one device, in some sets that are alike. Work is queued.
struct Problem {
  /// Fills the inputs of a set and spoils its outputs.
  std::function<void(int set)> prepare;
  /// One run of a variant. Throws `std::invalid_argument` for a variant that does not take it.
  std::function<void(std::string_view variant, int set)> run;
  /// The outputs of a set: all, or samples spread over those that are large. Waits.
  std::function<Values(int set)> result = {};
  /// In its place, where every variant rounds in its own way: what set 0 shows after one run of a
  /// variant on prepared data. Waits.
  std::function<Accuracy(std::string_view variant)> accuracy = {};
};

/// What is asked of a roof of `machine`: bytes or operations.
struct Demand {
  std::string_view roof;
  double amount;
  std::string_view otherwise = {};  ///< the roof on a machine that has not the first
};

/// What a run takes; or what each element of it takes.
struct Work {
  double bytes;              ///< that it must move
  double flops;              ///< that it must compute
  std::vector<Demand> asks;  ///< the one that takes longest is what binds
  double set_bytes;          ///< memory of a set
  double elements = 1;       ///< that rates are told by
};

/// What the size of a workload counts.
enum class SizeOf {
  array,   ///< elements
  matrix,  ///< rows of a square matrix
  none,    ///< nothing: there is but one size, and `--size` leaves the workload out
};

/// A row of the family's table that can run.
struct Row {
  std::string_view name;
  std::string_view idea;
  bool is_default;
  bool is_vendor;  ///< a library's own, to compare with
  /// The arithmetic roof that it works under, where that is not the workload's, and its operations
  /// there for each one that is asked.
  std::string_view roof = {};
  double operations = 1;
};

/// One operation of a kernel family on one type.
struct Workload {
  std::string_view family;
  std::string_view operation;
  std::string_view type;
  bool by_default;    ///< false: measured only when its type is asked for
  std::int64_t size;  ///< where `--size` says nothing
  std::function<Work(std::int64_t size)> work;
  std::vector<Row> rows;  ///< of the backend
  std::function<Problem(Stream&, std::int64_t size, int sets)> make;
  bool in_place = false;  ///< a run spoils its input: the set is prepared before each
  SizeOf size_of = SizeOf::array;
  /// The size that is run where `size` is asked for.
  std::int64_t (*rounded)(std::int64_t wanted) = [](std::int64_t wanted) { return wanted; };
  std::string_view error = {};  ///< what a problem's accuracy tells, in words
};

/// The work of runs in which all elements are alike.
std::function<Work(std::int64_t size)> per_element(Work const& each);

/// The size at which a workload has about so many elements, or its only one.
std::int64_t size_of_elements(Workload const& workload, std::int64_t elements);

/// The elements that `sample` takes whole: of more it takes as many in windows.
inline constexpr std::int64_t sampled_elements = std::int64_t{1} << 20;
inline constexpr std::int64_t sample_windows = 64;

/// Values of the stream's device memory. Waits for the stream.
template <class T>
std::vector<T> on_host(Stream& stream, std::span<T const> values) {
  std::vector<T> host(values.size());
  copy_async(std::span(host), values, stream);
  stream.synchronize();
  return host;
}

namespace detail {
/// Starts of the windows that `sample` takes of `size` elements, the first and the last included.
std::vector<std::int64_t> window_starts(std::int64_t size, std::int64_t window);
}  // namespace detail

/// Appends the values of an array, or windows of it when it has more than 4 `sampled_elements`.
template <class T>
void sample(Stream& stream, std::span<T const> values, Values& result) {
  auto const size = static_cast<std::int64_t>(values.size());
  auto const window = size > 4 * sampled_elements ? sampled_elements / sample_windows
                                                  : std::max<std::int64_t>(size, 1);
  std::vector<T> host(static_cast<std::size_t>(window));
  for (auto const start : detail::window_starts(size, window)) {
    copy_async(std::span(host), values.subspan(static_cast<std::size_t>(start), host.size()),
               stream);
    stream.synchronize();
    result.insert(result.end(), host.begin(), host.end());
  }
}

/// An array for each set.
template <class T>
class Arrays {
 public:
  Arrays(Stream& stream, std::int64_t size, int sets, MemorySpace space = MemorySpace::device)
      : buffers_(std::make_shared<std::vector<Buffer<T>>>()) {
    for (int set = 0; set < sets; ++set)
      buffers_->emplace_back(stream, space, static_cast<std::size_t>(size));
  }
  std::span<T> operator()(int set) const {
    return (*buffers_)[static_cast<std::size_t>(set)].span();
  }
  std::span<T const> constant(int set) const { return (*this)(set); }

 private:
  std::shared_ptr<std::vector<Buffer<T>>> buffers_;
};

/// The `result` of a problem whose outputs are these arrays.
template <class... T>
std::function<Values(int)> result_of(Stream& stream, Arrays<T> const&... outputs) {
  return [&stream, outputs...](int set) {
    Values values;
    (sample(stream, outputs.constant(set), values), ...);
    return values;
  };
}

/// Queues other contents than any result has: all bytes are random.
template <class T>
void spoil(Stream& stream, std::span<T> output) {
  machine::fill_random(
      stream, std::span(reinterpret_cast<std::uint8_t*>(output.data()), output.size_bytes()), 77);
}

/// The most bits that random values may have so that the sum of `size` of them is exact in any
/// order, in a type of `digits`; at least 1. Positive and negative values cancel as in a random
/// walk, so that sums below 2^(bits + 3)·√size are met, more than ten standard deviations.
int exact_bits(std::int64_t size, int digits);

/// The same for the sum of their squares, which do not cancel.
int exact_bits_of_squares(std::int64_t size, int digits);

template <class T>
constexpr std::string_view type_name() {
  if constexpr (std::is_same_v<T, std::uint8_t>) return "uint8";
  if constexpr (std::is_same_v<T, std::int32_t>) return "int32";
  if constexpr (std::is_same_v<T, std::int64_t>) return "int64";
  if constexpr (std::is_same_v<T, float>) return "float32";
  if constexpr (std::is_same_v<T, double>) return "float64";
}

/// The arithmetic roof of T's ordinary units.
template <class T>
constexpr std::string_view arithmetic_roof() {
  return sizeof(T) == 8 ? machine::float64_roof : machine::float32_roof;
}

/// Rows and columns of a square of at most `size` elements, and at least `least`; of other dimensions
/// points along the edges of a cube, or a line.
std::int64_t side_of(std::int64_t size, std::int64_t least = 1, int dims = 2);
/// The extents of a cube of at most so many points, and at least eight.
std::array<std::int64_t, 3> cube_of(std::int64_t points);

bool is_vendor(std::string_view variant);

/// A size for each backend: small where a host has to do it.
std::int64_t default_size(Backend backend, std::int64_t on_gpu);

/// The rows of a family's table that run on a backend.
template <class Function>
std::vector<Row> rows_of(std::span<Variant<Function> const> variants, Backend backend,
                         std::string_view default_variant) {
  std::vector<Row> rows;
  for (auto const& row : variants)
    if (row.backend == backend && row.run != nullptr)
      rows.push_back({row.name, row.idea, row.name == default_variant, is_vendor(row.name)});
  return rows;
}

}  // namespace gridstride::bench

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/buffer.hpp"
#include "driver/diagnostics.hpp"
#include "kernels/reduce/reduce.hpp"

namespace gridstride {

/// The diagnostics of one field of T, which is float or double; see `Diagnostics`.
template <class T>
class FieldDiagnostics {
 public:
  FieldDiagnostics(config::RunOptions const& run, Field const& field, Stream& stream);

  /// Adds what it finds in the field to `result`: NaN, and counts of 0, where the field has gaps.
  void measure(Field const& field, Clock const& clock, Stream& stream, Measurement& result);

 private:
  using Moments = reduce::Moments<T>;

  struct Bins {
    std::string name;
    config::HistogramOptions options;
    Buffer<T> edges;              ///< in device memory, where the range is given
    Buffer<std::int64_t> counts;  ///< in pinned memory, what the device found
  };

  void upload(config::DiagnosticsOptions const& options, Field const& field, Stream& stream);
  Moments look(Field const& field, Stream& stream);
  std::pair<double, double> mean_and_l2(Field const& field, Moments const& moments,
                                        Stream& stream) const;
  void add_probes(std::vector<double>& found) const;
  void add_nothing(Measurement& result) const;
  io::Histogram count(Bins& bins, Field const& field, Moments const& moments, Stream& stream);
  void cumulate(Field const& field, T lower, T upper, Stream& stream);
  void add_quantiles(Field const& field, Moments const& moments, Stream& stream,
                     std::vector<double>& found);

  std::string reduce_variant_, histogram_variant_, scan_variant_;
  bool may_have_gaps_;
  bool norms_ = false;
  std::vector<Bins> histograms_;
  std::vector<double> quantiles_;
  std::vector<std::string> names_;  ///< of the values

  std::size_t corners_per_probe_ = 1;
  std::vector<double> weights_;  ///< of the corners of all probes

  Buffer<std::int64_t> places_;  ///< of the corners, in device memory once and for all
  // In pinned memory, what the device found:
  Buffer<Moments> moments_;
  Buffer<T> corners_;
  Buffer<std::int64_t> cumulated_;
};

template <class T>
std::span<T const> values_of(Field const& field) {
  return {static_cast<T const*>(field.data), static_cast<std::size_t>(field.grid.size())};
}

/// The names of the values that diagnostics give of one field, in the order of `measure`.
std::vector<std::string> diagnostic_names(config::DiagnosticsOptions const& options,
                                          Field const& field);

/// Those of its histograms, in the order in which they are asked for: `u.histogram`,
/// `u.histogram.2`.
std::vector<io::HistogramInfo> histogram_infos(config::DiagnosticsOptions const& options,
                                               Field const& field);

/// What `NumericalError` says of a value that is not finite.
[[noreturn]] void throw_not_finite(Field const& field, Clock const& clock, std::int64_t index,
                                   double value);

}  // namespace gridstride

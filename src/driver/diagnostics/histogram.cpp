#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "config/visitor.hpp"
#include "core/buffer.hpp"
#include "core/text.hpp"
#include "driver/diagnostics/kind.hpp"
#include "kernels/histogram/histogram.hpp"
#include "model/histogram_edges.hpp"

namespace gridstride {
namespace {

using config::Visitor;

class HistogramOptions final : public config::Diagnostic {
 public:
  std::string field;
  std::int64_t bins = 64;
  std::vector<double> range;  ///< lower and upper end; empty: the field's own

  void declare(Visitor& visitor, config::Spec const& self, config::RunOptions const& run) override {
    visitor.section(self, [&](Visitor& v) {
      declare_field(v, run, field);
      v.visit({.name = "bins",
               .documentation = "The number of bins.",
               .minimum = 1,
               .maximum = static_cast<double>(histogram::max_bins)},
              bins);
      bool const read =
          v.list({.name = "range",
                  .unit = unit_of(run, field),
                  .documentation = "Lower end of the first bin and upper end of the last; values "
                                   "outside are not counted. When left out, the field's least "
                                   "and greatest value at each output."},
                 {.minimum = 2, .maximum = 2, .presence = config::Presence::optional}, range);
      if (read) check_range(v, run.precision);
    });
  }
  bool is_found_by_parts(config::RunOptions const&, Backend) const override { return true; }
  std::vector<std::string> gives() const override {
    if (field.empty()) return {};
    std::string text = fmt::format("{} in {} bins", field, bins);
    for (double const end : range) text += fmt::format(" {}", end);
    return {text};
  }

 private:
  void check_range(Visitor& v, Precision precision) const {
    if (!(range[0] < range[1]))
      return v.fault("range", fmt::format("the upper end must be larger than the lower one (here "
                                          "{} and {})",
                                          format_exact(range[1]), format_exact(range[0])));
    bool const divides = precision == Precision::float32
                             ? rise(histogram_edges<float>(range[0], range[1], bins))
                             : rise(histogram_edges<double>(range[0], range[1], bins));
    if (!divides)
      v.fault("range",
              fmt::format("{} to {} cannot be divided into {} bins of {}", format_exact(range[0]),
                          format_exact(range[1]), bins, gridstride::name_of(precision)));
  }
};

/// `u.histogram`, a second one `u.histogram.2`.
std::vector<io::HistogramInfo> histograms(config::RunOptions const& run, Field const& field) {
  std::vector<io::HistogramInfo> infos;
  for (HistogramOptions const* options : asked_for<HistogramOptions>(run, field)) {
    std::string const number = infos.empty() ? "" : fmt::format(".{}", infos.size() + 1);
    infos.push_back({field.name + ".histogram" + number, options->bins});
  }
  return infos;
}

/// The edges for values from `minimum` to `maximum`; none where T does not tell any apart.
template <class T>
std::vector<T> edges_for(T minimum, T maximum, std::int64_t bins) {
  auto edges = histogram_edges<T>(minimum, maximum, bins);
  if (rise(edges)) return edges;
  T const told_apart = std::abs(minimum) * std::numeric_limits<T>::epsilon() * static_cast<T>(bins);
  T const half = std::max(static_cast<T>(0.5), told_apart);
  edges = histogram_edges<T>(minimum - half, maximum + half, bins);
  return rise(edges) ? edges : std::vector<T>{};
}

/// One read of the field for each histogram.
template <class T>
class HistogramFinder final : public FieldFinder<T> {
 public:
  HistogramFinder(config::RunOptions const& run, Field const& field, Stream& stream)
      : variant_(variant_of(run, "histogram")) {
    auto const infos = histograms(run, field);
    for (HistogramOptions const* options : asked_for<HistogramOptions>(run, field)) {
      auto const size = static_cast<std::size_t>(options->bins);
      bins_.push_back({infos[bins_.size()].name, *options, {stream, MemorySpace::pinned, size}});
    }
  }

  void collect(FieldLook<T> const& look, std::vector<double>&,
               std::vector<Histogram>& found) override {
    for (Bins& bins : bins_) found.push_back(count(bins, look));
  }

 private:
  struct Bins {
    std::string name;
    HistogramOptions options;
    Buffer<std::int64_t> counts;  ///< in pinned memory, what the device found
  };

  Histogram count(Bins& bins, FieldLook<T> const& look) const;

  std::string variant_;
  std::vector<Bins> bins_;
};

template <class T>
Histogram HistogramFinder<T>::count(Bins& bins, FieldLook<T> const& look) const {
  auto const& [name, options, found] = bins;
  Stream& stream = look.stream;
  std::size_t const size = found.size();
  Histogram result{name, std::vector<std::int64_t>(size), {}};
  auto edges =
      options.range.empty()
          ? edges_for(one_zero(look.moments.minimum), one_zero(look.moments.maximum), options.bins)
          : histogram_edges<T>(options.range[0], options.range[1], options.bins);
  if (edges.empty()) {
    result.edges.assign(size + 1, std::numeric_limits<double>::quiet_NaN());
    return result;
  }
  result.edges.assign(edges.begin(), edges.end());
  // Bins are half-open, but the last one holds its upper edge.
  edges.back() = std::nextafter(edges.back(), std::numeric_limits<T>::infinity());
  Buffer<T> on_device(stream, MemorySpace::device, edges.size());
  Buffer<std::int64_t> counts(stream, MemorySpace::device, size);
  copy_async(on_device.span(), std::span<T const>(edges), stream);
  count_values(look, counts.span(), [&](std::span<T const> values, histogram::Before before) {
    histogram::count_even_edges<T>(stream, values, std::as_const(on_device).span(), edges.front(),
                                   edges.back(), counts.span(), variant_, before);
  });
  copy_async(bins.counts.span(), counts.span(), stream);
  stream.synchronize();
  std::ranges::copy(found.span(), result.counts.begin());
  return result;
}

}  // namespace

DiagnosticRow histogram_row() {
  return {
      .kind = {.name = "histogram",
               .documentation = "How many points of a field have values in each of some even bins.",
               .make = []() -> std::unique_ptr<config::Diagnostic> {
                 return std::make_unique<HistogramOptions>();
               }},
      .histograms = histograms,
      .float32 = make_finder<FieldFinder<float>, HistogramFinder<float>>,
      .float64 = make_finder<FieldFinder<double>, HistogramFinder<double>>};
}

}  // namespace gridstride

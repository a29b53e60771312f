#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include "config/visitor.hpp"
#include "core/buffer.hpp"
#include "core/text.hpp"
#include "driver/diagnostics/interval.hpp"
#include "driver/diagnostics/kind.hpp"
#include "kernels/histogram/bins.hpp"
#include "kernels/histogram/histogram.hpp"
#include "kernels/histogram/order_statistics.hpp"
#include "kernels/scan/scan.hpp"

namespace gridstride {
namespace {

using config::Visitor;

constexpr std::size_t most_quantiles = 100;

std::string name_of(std::string_view field, double q) { return fmt::format("{}.q{}", field, q); }

class Quantiles final : public config::Diagnostic {
 public:
  std::string field;
  std::vector<double> at;  ///< fractions of the points

  void declare(Visitor& visitor, config::Spec const& self, config::RunOptions const& run) override {
    visitor.section(self, [&](Visitor& v) {
      declare_field(v, run, field);
      bool const read = v.list({.name = "at",
                                .documentation = "The fractions: 0.5 for the median.",
                                .minimum = 0,
                                .maximum = 1},
                               {1, most_quantiles}, at);
      for (std::size_t i = 0; read && i < at.size(); ++i)
        if (std::ranges::count(std::span(at).first(i), at[i]) > 0)
          v.fault(element_key("at", i, at.size()),
                  fmt::format("{} is given twice", format_exact(at[i])));
    });
  }
  bool is_found_by_parts(config::RunOptions const&, Backend) const override { return true; }
  std::vector<std::string> gives() const override {
    std::vector<std::string> names;
    for (double const q : at) names.push_back(name_of(field, q));
    return names;
  }
};

/// What all entries of a field ask for.
std::vector<double> fractions_of(config::RunOptions const& run, Field const& field) {
  std::vector<double> all;
  for (Quantiles const* quantiles : asked_for<Quantiles>(run, field))
    all.insert(all.end(), quantiles->at.begin(), quantiles->at.end());
  return all;
}

std::vector<std::string> quantile_names(config::RunOptions const& run, Field const& field) {
  std::vector<std::string> all;
  for (double const q : fractions_of(run, field)) all.push_back(name_of(field.name, q));
  return all;
}

/// The least value that `count_even` puts into this one of `max_bins` bins, or a later one.
template <class T>
T start_of(std::int64_t bin, Interval<T> const& range) {
  if (bin == 0) return range.lower;
  if (bin == histogram::max_bins) return range.upper;
  histogram::EvenBins<T> const bin_of(range.lower, range.upper, histogram::max_bins);
  T below = range.lower, above = range.upper;
  while (true) {
    T const middle = below + (above - below) / 2;
    if (!(middle > below && middle < above)) return above;
    (bin_of(middle) >= bin ? above : below) = middle;
  }
}

/// The values that `count_even` puts into one of `max_bins` bins.
template <class T>
Interval<T> part_of(Interval<T> const& range, std::int64_t bin) {
  return {start_of(bin, range), start_of(bin + 1, range)};
}

/// Where the value of a rank lies, by cumulated counts of even bins.
struct Found {
  std::int64_t bin;
  std::int64_t rank;   ///< within the bin, from 1
  std::int64_t count;  ///< of the bin
};

/// `rank` is from 1 to the last of the cumulated counts.
Found find_rank(std::span<std::int64_t const> cumulated, std::int64_t rank) {
  auto const place = std::ranges::lower_bound(cumulated, rank);
  std::int64_t const before = place == cumulated.begin() ? 0 : *std::prev(place);
  return {place - cumulated.begin(), rank - before, *place - before};
}

/// The value of a rank, where those of the bin are spread evenly over the range.
template <class T>
double spread(Found const& found, Interval<T> const& range) {
  auto const lower = static_cast<double>(range.lower), upper = static_cast<double>(range.upper);
  double const share = (static_cast<double>(found.rank) - 0.5) / static_cast<double>(found.count);
  return lower + share * (upper - lower);
}

/// ⌈q·n⌉, but for the rounding of q itself; at least 1.
std::int64_t rank_of(double q, std::int64_t size) {
  double const exact = q * static_cast<double>(size);
  double const rank = std::ceil(exact * (1 - std::numeric_limits<double>::epsilon()));
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(rank), 1, size);
}

/// One read of the field for all quantiles, and one for each bin that a quantile lies in. Where even
/// bins cannot tell its values apart, some reads for all quantiles.
template <class T>
class QuantilesFinder final : public FieldFinder<T> {
 public:
  QuantilesFinder(config::RunOptions const& run, Field const& field, Stream& stream)
      : histogram_variant_(variant_of(run, "histogram")),
        scan_variant_(variant_of(run, "scan")),
        fractions_(fractions_of(run, field)),
        cumulated_(stream, MemorySpace::pinned, histogram::max_bins) {}

  void collect(FieldLook<T> const& look, std::vector<double>& found,
               std::vector<Histogram>&) override;

 private:
  void cumulate(FieldLook<T> const& look, Interval<T> const& range);
  void count_through(FieldLook<T> const& look, std::vector<double>& found);

  std::string histogram_variant_, scan_variant_;
  std::vector<double> fractions_;
  Buffer<std::int64_t> cumulated_;  ///< in pinned memory, what the device found
};

/// Counts the values of [lower, upper) in even bins; `cumulated_[b]` then tells how many of them
/// lie in bin b or an earlier one.
template <class T>
void QuantilesFinder<T>::cumulate(FieldLook<T> const& look, Interval<T> const& range) {
  Buffer<std::int64_t> counts(look.stream, MemorySpace::device, cumulated_.size());
  count_values(look, counts.span(), [&](std::span<T const> values, histogram::Before before) {
    histogram::count_even<T>(look.stream, values, range.lower, range.upper, counts.span(),
                             histogram_variant_, before);
  });
  scan::inclusive_sum<std::int64_t>(look.stream, counts.span(), counts.span(), scan_variant_);
  copy_async(cumulated_.span(), counts.span(), look.stream);
  look.stream.synchronize();
}

/// The values themselves, whatever the range is.
template <class T>
void QuantilesFinder<T>::count_through(FieldLook<T> const& look, std::vector<double>& found) {
  std::int64_t const size = look.field.grid.size();
  std::vector<std::int64_t> ranks;
  for (double const q : fractions_) ranks.push_back(rank_of(q, size) - 1);
  histogram::OrderStatistics<T> statistics(std::move(ranks), size, look.moments.minimum,
                                           look.moments.maximum);
  Buffer<T> edges(look.stream, MemorySpace::device, histogram::max_bins + 1);
  Buffer<std::int64_t> counts(look.stream, MemorySpace::device, histogram::max_bins);
  while (!statistics.done()) {
    auto const between = statistics.edges();
    std::size_t const bins = between.size() - 1;
    copy_async(edges.span().first(between.size()), between, look.stream);
    auto const found_counts = counts.span().first(bins);
    count_values(look, found_counts, [&](std::span<T const> values, histogram::Before before) {
      histogram::count_edges<T>(look.stream, values,
                                std::as_const(edges).span().first(between.size()), found_counts,
                                histogram_variant_, before);
    });
    copy_async(cumulated_.span().first(bins), std::span<std::int64_t const>(found_counts),
               look.stream);
    look.stream.synchronize();
    statistics.narrow(cumulated_.span().first(bins));
  }
  for (T const value : statistics.values()) found.push_back(static_cast<double>(value));
}

template <class T>
void QuantilesFinder<T>::collect(FieldLook<T> const& look, std::vector<double>& found,
                                 std::vector<Histogram>&) {
  Interval<T> const range{one_zero(look.moments.minimum), one_zero(look.moments.maximum)};
  // Bins are shared out, too; they may be narrower than others by a rounding.
  Interval<T> const narrow{0, (range.upper - range.lower) / (2 * histogram::max_bins)};
  if (!divisible(range, histogram::max_bins) || !divisible(narrow, histogram::max_bins))
    return count_through(look, found);
  cumulate(look, range);
  std::vector<std::int64_t> const coarse(cumulated_.data(), cumulated_.data() + cumulated_.size());
  std::int64_t refined = -1;
  for (double const q : fractions_) {
    std::int64_t const rank = rank_of(q, look.field.grid.size());
    if (rank == 1 || rank > coarse.back()) {
      found.push_back(rank == 1 ? range.lower : range.upper);
      continue;
    }
    Found place = find_rank(coarse, rank);
    Interval<T> bin = part_of(range, place.bin);
    if (divisible(bin, histogram::max_bins)) {
      if (place.bin != refined) cumulate(look, bin);
      refined = place.bin;
      place = find_rank(cumulated_.span(), place.rank);
      bin = part_of(bin, place.bin);
    }
    found.push_back(spread(place, bin));
  }
}

}  // namespace

DiagnosticRow quantiles_row() {
  return {
      .kind = {.name = "quantiles",
               .documentation = "Values that given fractions of a field's points do not exceed.",
               .make = []() -> std::unique_ptr<config::Diagnostic> {
                 return std::make_unique<Quantiles>();
               }},
      .names = quantile_names,
      .float32 = make_finder<FieldFinder<float>, QuantilesFinder<float>>,
      .float64 = make_finder<FieldFinder<double>, QuantilesFinder<double>>};
}

}  // namespace gridstride

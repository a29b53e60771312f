// Reductions that count: histograms and quantiles.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/ranks.hpp"
#include "core/text.hpp"
#include "kernels/histogram/histogram.hpp"
#include "kernels/histogram/order_statistics.hpp"
#include "model/histogram_edges.hpp"
#include "simulations/transform_finder.hpp"

namespace gridstride::transform {

namespace {

/// Counts the values of an array between edges.
template <class T>
class Counter {
 public:
  /// In at most `bins` bins.
  Counter(Wanted<T> const& wanted, std::size_t bins)
      : stream_(wanted.stream),
        chain_(&wanted.chain),
        place_(wanted.place),
        edges_(stream_, MemorySpace::device, bins + 1),
        counts_(stream_, MemorySpace::device, bins) {}
  static std::size_t bytes(std::size_t bins) {
    return (bins + 1) * sizeof(T) + bins * sizeof(std::int64_t);
  }

  int place() const { return place_; }
  // For the next pass, which are counted between:
  /// Edges that rise strictly, of a histogram's even bins or any others.
  void set_edges(std::span<T const> edges, bool even) {
    ends_ = even ? std::pair(edges.front(), edges.back()) : std::pair<T, T>();
    ranges_.clear();
    copy_async(edges_.span().first(edges.size()), edges, stream_);
    begin(edges.size() - 1);
  }
  void set_ranges(std::vector<histogram::NumberRange> ranges) {
    ranges_ = std::move(ranges);
    std::int64_t bins = 0;
    for (auto const& range : ranges_) bins += range.count;
    begin(static_cast<std::size_t>(bins));
  }
  void take(Worker<T>& worker, Rows const& chunk) {
    auto const rows = chain_->own(place_, chunk);
    if (rows.empty()) return;
    constexpr auto added = histogram::Before::added_to;
    Stream& stream = worker.stream();
    auto const values = worker.values(place_, rows);
    auto const counts = counts_.span().first(bins_);
    if (!ranges_.empty())
      return histogram::count_numbers<T>(stream, values, ranges_, counts, "auto", added);
    auto const edges = std::as_const(edges_).span().first(bins_ + 1);
    if (auto const [first, last] = ends_; first < last)
      histogram::count_even_edges<T>(stream, values, edges, first, last, counts, "auto", added);
    else
      histogram::count_edges<T>(stream, values, edges, counts, "auto", added);
  }
  std::vector<std::int64_t> counts() {
    std::vector<std::int64_t> host(bins_);
    copy_async(std::span(host), std::as_const(counts_).span().first(bins_), stream_);
    stream_.synchronize();
    if (chain_->shares().several()) add_counts(ranks(), host);
    return host;
  }

 private:
  void begin(std::size_t bins) {
    bins_ = bins;
    zero_async(counts_.span(), stream_);
    stream_.synchronize();
  }

  Stream stream_;
  Chain const* chain_;
  int place_;
  Buffer<T> edges_;
  Buffer<std::int64_t> counts_;
  std::pair<T, T> ends_ = {};  ///< of even edges
  std::vector<histogram::NumberRange> ranges_;
  std::size_t bins_ = 0;
};

/// Counts in even bins, as numpy.histogram has them: the last one holds its upper edge.
template <class T>
class HistogramFinder final : public Finder<T> {
 public:
  explicit HistogramFinder(Wanted<T> const& wanted)
      : options_(wanted.options),
        moments_(wanted.moments.front()),
        counter_(wanted, static_cast<std::size_t>(options_.bins)) {
    if (!options_.range.empty()) set_range(options_.range[0], options_.range[1]);
  }
  static std::size_t bytes(Chain const&, ReduceOptions const& options, int) {
    return Counter<T>::bytes(static_cast<std::size_t>(options.bins));
  }

  std::vector<int> places() const override {
    if (!counts_.empty()) return {};
    return {counter_.place()};
  }
  int passes() const override { return !counts_.empty() ? 0 : edges_.empty() ? 2 : 1; }
  void take(Worker<T>& worker, Rows const& chunk) override {
    if (!edges_.empty()) counter_.take(worker, chunk);
  }
  void end_pass(Stream&) override {
    if (!edges_.empty()) {
      counts_ = counter_.counts();
      return;
    }
    auto const lower = static_cast<double>(moments_->found().minimum);
    auto const upper = static_cast<double>(moments_->found().maximum);
    if (lower < upper)
      set_range(lower, upper);
    else
      set_range(lower - 0.5, upper + 0.5);
  }
  std::vector<Table> tables() const override {
    std::vector<double> lower, upper;
    for (std::size_t b = 0; b < counts_.size(); ++b) {
      lower.push_back(static_cast<double>(edges_[b]));
      upper.push_back(static_cast<double>(edges_[b + 1]));
    }
    return {{histogram_name(options_.of),
             {{"lower", "1", lower}, {"upper", "1", upper}, {"count", "1", counts_}}}};
  }

 private:
  void set_range(double lower, double upper) {
    edges_ = histogram_edges<T>(lower, upper, options_.bins);
    if (!rise(edges_))
      throw NumericalError(
          fmt::format("{} to {} cannot be divided into {} bins of {} (for the "
                      "histogram of {})",
                      format_exact(lower), format_exact(upper), options_.bins,
                      gridstride::name_of(precision_of<T>()), options_.of));
    auto halfopen = edges_;
    halfopen.back() = std::nextafter(halfopen.back(), std::numeric_limits<T>::infinity());
    counter_.set_edges(halfopen, true);
  }

  ReduceOptions options_;
  MomentsFinder<T> const* moments_;  ///< which give the range where it is not given
  Counter<T> counter_;
  std::vector<T> edges_;  ///< once the range is known
  std::vector<std::int64_t> counts_;
};

/// Where a fraction of n values lies among them in order: between two places.
struct Between {
  std::int64_t below, above;
  double share;

  static Between of(double fraction, std::int64_t n) {
    double const place = fraction * static_cast<double>(n - 1);
    auto const below = static_cast<std::int64_t>(std::floor(place));
    return {below, std::min(below + 1, n - 1), place - std::floor(place)};
  }
};

/// The values at fractions of an array in order, straight between neighbours as numpy.quantile has
/// them. The first pass counts in bins over all finite values there are, so that nothing has to be
/// known before it.
template <class T>
class QuantilesFinder final : public Finder<T> {
 public:
  explicit QuantilesFinder(Wanted<T> const& wanted)
      : options_(wanted.options),
        size_(wanted.chain.link(wanted.place).grid.size()),
        moments_(wanted.moments.front()),
        counter_(wanted, histogram::max_bins),
        statistics_(places_in_order(), size_, std::numeric_limits<T>::lowest(),
                    std::numeric_limits<T>::max()),
        values_(options_.at.size(), std::numeric_limits<double>::quiet_NaN()) {
    look_on();
  }
  static std::size_t bytes(Chain const&, ReduceOptions const&, int) {
    return Counter<T>::bytes(histogram::max_bins);
  }

  std::vector<int> places() const override {
    if (statistics_.done()) return {};
    return {counter_.place()};
  }
  int passes() const override { return statistics_.passes(); }
  void take(Worker<T>& worker, Rows const& chunk) override { counter_.take(worker, chunk); }
  void end_pass(Stream&) override {
    if (by_numbers_)
      statistics_.narrow_numbers(counter_.counts());
    else
      statistics_.narrow(counter_.counts());
    statistics_.bound(moments_->found().minimum, moments_->found().maximum);
    if (statistics_.done())
      read();
    else
      look_on();
  }
  std::vector<NamedValue> numbers() const override {
    std::vector<std::string> keys;
    for (double const fraction : options_.at) keys.push_back(fmt::format("q{}", fraction));
    return named(options_.of, keys, values_);
  }

 private:
  std::vector<std::int64_t> places_in_order() const {
    std::vector<std::int64_t> places;
    for (double const fraction : options_.at) {
      auto const between = Between::of(fraction, size_);
      places.insert(places.end(), {between.below, between.above});
    }
    return places;
  }
  void look_on() {
    auto ranges = statistics_.ranges();
    by_numbers_ = ranges.size() <= histogram::most_number_ranges;
    if (by_numbers_)
      counter_.set_ranges(std::move(ranges));
    else
      counter_.set_edges(statistics_.edges(), false);
  }
  void read() {
    auto const found = statistics_.values();
    for (std::size_t i = 0; i < values_.size(); ++i) {
      auto const below = static_cast<double>(found[2 * i]);
      auto const above = static_cast<double>(found[2 * i + 1]);
      double const share = Between::of(options_.at[i], size_).share, gap = above - below;
      values_[i] = std::isfinite(gap) ? below + share * gap : (1 - share) * below + share * above;
    }
  }

  ReduceOptions options_;
  std::int64_t size_;
  MomentsFinder<T> const* moments_;
  Counter<T> counter_;
  histogram::OrderStatistics<T> statistics_;
  bool by_numbers_ = true;  ///< whether this pass counts stretches of numbers
  std::vector<double> values_;
};

}  // namespace

template <class T>
FinderRow<T> histogram_row() {
  return finder_row<HistogramFinder<T>, T>();
}

template <class T>
FinderRow<T> quantiles_row() {
  return finder_row<QuantilesFinder<T>, T>();
}

template FinderRow<float> histogram_row();
template FinderRow<double> histogram_row();
template FinderRow<float> quantiles_row();
template FinderRow<double> quantiles_row();

}  // namespace gridstride::transform

// Reductions that count: histograms and quantiles.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "core/error.hpp"
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
  Counter(Stream const& stream, Chain const& chain, int place)
      : stream_(stream), chain_(&chain), place_(place) {}

  int place() const { return place_; }
  /// For the next pass; edges rise strictly.
  void set_edges(std::span<T const> edges) {
    edges_ = {stream_, MemorySpace::device, edges.size()};
    counts_ = {stream_, MemorySpace::device, edges.size() - 1};
    copy_async(edges_.span(), edges, stream_);
    zero_async(counts_.span(), stream_);
    stream_.synchronize();
  }
  void take(Worker<T>& worker, Rows const& chunk) {
    auto const rows = chain_->own(place_, chunk);
    if (rows.empty()) return;
    histogram::count_edges<T>(worker.stream(), worker.values(place_, rows),
                              std::as_const(edges_).span(), counts_.span(), "auto",
                              histogram::Before::added_to);
  }
  std::vector<std::int64_t> counts() {
    std::vector<std::int64_t> host(counts_.size());
    copy_async(std::span(host), std::as_const(counts_).span(), stream_);
    stream_.synchronize();
    return host;
  }

 private:
  Stream stream_;
  Chain const* chain_;
  int place_;
  Buffer<T> edges_;
  Buffer<std::int64_t> counts_;
};

/// Counts in even bins, as numpy.histogram has them: the last one holds its upper edge.
template <class T>
class HistogramFinder final : public Finder<T> {
 public:
  HistogramFinder(Stream const& stream, Chain const& chain, ReduceOptions const& options, int place)
      : chain_(&chain), options_(options), counter_(stream, chain, place) {
    if (options.range.empty())
      moments_.emplace(stream, chain, place);
    else
      set_range(options.range[0], options.range[1]);
  }

  std::vector<int> places() const override {
    if (done_) return {};
    return {counter_.place()};
  }
  void take(Worker<T>& worker, Rows const& chunk) override {
    if (moments_)
      moments_->take(worker, chunk);
    else
      counter_.take(worker, chunk);
  }
  void end_pass(Stream& stream) override {
    if (!moments_) {
      counts_ = counter_.counts();
      done_ = true;
      return;
    }
    auto const found = finite_moments(*moments_, *chain_, options_.of, stream);
    moments_.reset();
    auto const lower = static_cast<double>(found.minimum);
    auto const upper = static_cast<double>(found.maximum);
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
    return {{options_.of + "_histogram",
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
    counter_.set_edges(halfopen);
  }

  Chain const* chain_;
  ReduceOptions options_;
  std::optional<Reduced<reduce::MomentsOperation<T>>> moments_;  ///< where they give the range
  Counter<T> counter_;
  std::vector<T> edges_;
  std::vector<std::int64_t> counts_;
  bool done_ = false;
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
/// them.
template <class T>
class QuantilesFinder final : public Finder<T> {
 public:
  QuantilesFinder(Stream const& stream, Chain const& chain, ReduceOptions const& options, int place)
      : chain_(&chain),
        options_(options),
        moments_(std::in_place, stream, chain, place),
        counter_(stream, chain, place),
        values_(options.at.size(), std::numeric_limits<double>::quiet_NaN()) {}

  std::vector<int> places() const override {
    if (!moments_ && statistics_->done()) return {};
    return {counter_.place()};
  }
  void take(Worker<T>& worker, Rows const& chunk) override {
    if (moments_)
      moments_->take(worker, chunk);
    else
      counter_.take(worker, chunk);
  }
  void end_pass(Stream& stream) override {
    if (moments_) {
      auto const found = finite_moments(*moments_, *chain_, options_.of, stream);
      moments_.reset();
      statistics_.emplace(ranks(), size(), found.minimum, found.maximum);
    } else {
      statistics_->narrow(counter_.counts());
    }
    if (statistics_->done())
      read();
    else
      counter_.set_edges(statistics_->edges());
  }
  std::vector<NamedValue> numbers() const override {
    std::vector<std::string> keys;
    for (double const fraction : options_.at) keys.push_back(fmt::format("q{}", fraction));
    return named(options_.of, keys, values_);
  }

 private:
  std::int64_t size() const { return chain_->link(counter_.place()).grid.size(); }
  std::vector<std::int64_t> ranks() const {
    std::vector<std::int64_t> ranks;
    for (double const fraction : options_.at) {
      auto const between = Between::of(fraction, size());
      ranks.insert(ranks.end(), {between.below, between.above});
    }
    return ranks;
  }
  void read() {
    auto const found = statistics_->values();
    for (std::size_t i = 0; i < values_.size(); ++i) {
      auto const below = static_cast<double>(found[2 * i]);
      auto const above = static_cast<double>(found[2 * i + 1]);
      values_[i] = below + Between::of(options_.at[i], size()).share * (above - below);
    }
  }

  Chain const* chain_;
  ReduceOptions options_;
  std::optional<Reduced<reduce::MomentsOperation<T>>> moments_;  ///< in the first pass
  Counter<T> counter_;
  std::optional<histogram::OrderStatistics<T>> statistics_;
  std::vector<double> values_;
};

}  // namespace

template <class T>
std::unique_ptr<Finder<T>> make_histogram(Stream const& stream, Chain const& chain,
                                          ReduceOptions const& options, int place) {
  return std::make_unique<HistogramFinder<T>>(stream, chain, options, place);
}

template <class T>
std::unique_ptr<Finder<T>> make_quantiles(Stream const& stream, Chain const& chain,
                                          ReduceOptions const& options, int place) {
  return std::make_unique<QuantilesFinder<T>>(stream, chain, options, place);
}

#define GRIDSTRIDE_INSTANTIATE(T)                                                 \
  template std::unique_ptr<Finder<T>> make_histogram(Stream const&, Chain const&, \
                                                     ReduceOptions const&, int);  \
  template std::unique_ptr<Finder<T>> make_quantiles(Stream const&, Chain const&, \
                                                     ReduceOptions const&, int);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::transform

#include "driver/field_diagnostics.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "config/histogram_edges.hpp"
#include "core/error.hpp"
#include "kernels/elementwise/elementwise.hpp"
#include "kernels/histogram/bins.hpp"
#include "kernels/histogram/histogram.hpp"
#include "kernels/scan/scan.hpp"

namespace gridstride {

namespace {

/// The points around a probe, and what each counts.
struct Corners {
  std::vector<std::int64_t> places;
  std::vector<double> weights;
};

/// Multilinear interpolation. A point beyond the last grid point of an axis (the gap that closes a
/// periodic axis) interpolates towards the first.
void append_corners(Grid const& grid, std::array<double, 3> const& at, Corners& corners) {
  std::array<std::array<std::int64_t, 2>, 3> place{};
  std::array<double, 3> share{};
  for (int axis = 0; axis < grid.dims; ++axis) {
    std::int64_t const points = grid.points[axis];
    double const position = (at[axis] - grid.origin[axis]) / grid.spacing[axis];
    auto const lower = std::clamp<std::int64_t>(static_cast<std::int64_t>(position), 0, points - 1);
    share[axis] = position - static_cast<double>(lower);
    place[axis] = {lower, (lower + 1) % points};
  }
  for (int corner = 0; corner < 1 << grid.dims; ++corner) {
    std::array<std::int64_t, 3> index{};
    double weight = 1;
    for (int axis = 0; axis < grid.dims; ++axis) {
      int const upper = corner >> axis & 1;
      index[axis] = place[axis][upper];
      weight *= upper == 1 ? share[axis] : 1 - share[axis];
    }
    corners.places.push_back(index[0] + grid.points[0] * (index[1] + grid.points[1] * index[2]));
    corners.weights.push_back(weight);
  }
}

/// What even bins, which are half-open, share out.
template <class T>
struct Interval {
  T lower, upper;
};

/// Whether `count_even` takes so many bins.
template <class T>
bool divisible(Interval<T> const& range, std::int64_t bins) {
  T const scale = static_cast<T>(bins) / (range.upper - range.lower);
  return range.lower < range.upper && scale != 0 && std::isfinite(scale);
}

/// The range of a histogram of values from `minimum` to `maximum`.
template <class T>
Interval<T> range_for(T minimum, T maximum, std::int64_t bins) {
  if (divisible<T>({minimum, maximum}, bins)) return {minimum, maximum};
  T const told_apart = std::abs(minimum) * std::numeric_limits<T>::epsilon() * static_cast<T>(bins);
  T const half = std::max(static_cast<T>(0.5), told_apart);
  return {minimum - half, maximum + half};
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

std::string variant_of(config::RunOptions const& run, std::string_view family) {
  auto const chosen = run.kernels.find(family);
  return chosen == run.kernels.end() ? "auto" : chosen->second;
}

std::vector<double> quantiles_of(config::DiagnosticsOptions const& options,
                                 std::string const& field) {
  std::vector<double> all;
  for (auto const& quantiles : options.quantiles)
    if (quantiles.field == field) all.insert(all.end(), quantiles.at.begin(), quantiles.at.end());
  return all;
}

}  // namespace

template <class T>
FieldDiagnostics<T>::FieldDiagnostics(config::RunOptions const& run, Field const& field,
                                      Stream& stream)
    : reduce_variant_(variant_of(run, "reduce")),
      histogram_variant_(variant_of(run, "histogram")),
      scan_variant_(variant_of(run, "scan")),
      may_have_gaps_(run.simulation != nullptr && run.simulation->has_gaps),
      norms_(run.diagnostics.norms),
      quantiles_(quantiles_of(run.diagnostics, field.name)),
      names_(diagnostic_names(run.diagnostics, field)),
      moments_(stream, MemorySpace::pinned, 1) {
  upload(run.diagnostics, field, stream);
  if (!quantiles_.empty()) cumulated_ = {stream, MemorySpace::pinned, histogram::max_bins};
}

template <class T>
void FieldDiagnostics<T>::upload(config::DiagnosticsOptions const& options, Field const& field,
                                 Stream& stream) {
  Corners corners;
  for (auto const& probe : options.probes)
    if (probe.field == field.name) append_corners(field.grid, probe.at, corners);
  corners_per_probe_ = std::size_t{1} << field.grid.dims;
  weights_ = std::move(corners.weights);
  corners_ = {stream, MemorySpace::pinned, corners.places.size()};
  places_ = {stream, MemorySpace::device, corners.places.size()};
  copy_async(places_.span(), corners.places, stream);
  auto const infos = histogram_infos(options, field);
  for (auto const& histogram : options.histograms) {
    if (histogram.field != field.name) continue;
    auto const size = static_cast<std::size_t>(histogram.bins);
    Bins bins{infos[histograms_.size()].name, histogram, {}, {stream, MemorySpace::pinned, size}};
    if (histogram.range) {
      auto edges =
          config::histogram_edges<T>((*histogram.range)[0], (*histogram.range)[1], histogram.bins);
      // Bins are half-open, but the last one holds its upper edge.
      edges.back() = std::nextafter(edges.back(), std::numeric_limits<T>::infinity());
      bins.edges = {stream, MemorySpace::device, edges.size()};
      copy_async(bins.edges.span(), edges, stream);
      stream.synchronize();
    }
    histograms_.push_back(std::move(bins));
  }
  stream.synchronize();
}

template <class T>
void FieldDiagnostics<T>::measure(Field const& field, Clock const& clock, Stream& stream,
                                  Measurement& result) {
  Moments const moments = look(field, stream);
  if (std::int64_t const index = moments.first_non_finite; index >= 0) {
    if (may_have_gaps_) return add_nothing(result);
    T value = 0;
    copy_async(std::span(&value, 1),
               values_of<T>(field).subspan(static_cast<std::size_t>(index), 1), stream);
    stream.synchronize();
    throw_not_finite(field, clock, index, static_cast<double>(value));
  }
  std::vector<double> found;
  if (norms_) {
    auto const [mean, l2] = mean_and_l2(field, moments, stream);
    found = {moments.minimum, moments.maximum, mean, l2};
  }
  add_probes(found);
  if (!quantiles_.empty()) add_quantiles(field, moments, stream, found);
  for (std::size_t i = 0; i < found.size(); ++i) result.values.push_back({names_[i], found[i]});
  for (auto& bins : histograms_) result.histograms.push_back(count(bins, field, moments, stream));
}

template <class T>
void FieldDiagnostics<T>::add_nothing(Measurement& result) const {
  constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
  for (std::string const& name : names_) result.values.push_back({name, unknown});
  for (Bins const& bins : histograms_)
    result.histograms.push_back({bins.name, std::vector<std::int64_t>(bins.counts.size()),
                                 std::vector<double>(bins.counts.size() + 1, unknown)});
}

/// What one read of the field tells, and the values around the probes.
template <class T>
reduce::Moments<T> FieldDiagnostics<T>::look(Field const& field, Stream& stream) {
  // The first allocation makes the stream's device that of the calling thread.
  Buffer<Moments> moments(stream, MemorySpace::device, 1);
  Buffer<T> corners(stream, MemorySpace::device, places_.size());
  reduce::moments<T>(stream, values_of<T>(field), moments.span(), reduce_variant_);
  elementwise::gather<T>(stream, values_of<T>(field), places_.span(), corners.span());
  copy_async(moments_.span(), moments.span(), stream);
  copy_async(corners_.span(), corners.span(), stream);
  stream.synchronize();
  return moments_.span()[0];
}

/// Where squares or the sum may leave the range of float64, the field is read once more, in pieces
/// and times a power of two.
template <class T>
std::pair<double, double> FieldDiagnostics<T>::mean_and_l2(Field const& field,
                                                           Moments const& moments,
                                                           Stream& stream) const {
  auto const size = static_cast<double>(field.grid.size());
  double const largest = std::max(std::abs(static_cast<double>(moments.minimum)),
                                  std::abs(static_cast<double>(moments.maximum)));
  if (largest == 0 || (largest > 1e-140 && largest < 1e140))
    return {moments.sum / size, std::sqrt(moments.sum_of_squares / size)};
  int const exponent = std::clamp(std::ilogb(largest), -1000, 1000);
  constexpr std::size_t piece = std::size_t{1} << 20;
  auto const values = values_of<T>(field);
  Buffer<T> scaled(stream, MemorySpace::device, std::min(piece, values.size()));
  Buffer<Moments> found(stream, MemorySpace::device, (values.size() + piece - 1) / piece);
  for (std::size_t p = 0; p < found.size(); ++p) {
    auto const part = values.subspan(p * piece, std::min(piece, values.size() - p * piece));
    auto const target = scaled.span().first(part.size());
    copy_async(target, part, stream);
    elementwise::scale<T>(stream, static_cast<T>(std::scalbn(1.0, -exponent)), target);
    reduce::moments<T>(stream, target, found.span().subspan(p, 1), reduce_variant_);
  }
  std::vector<Moments> parts(found.size());
  copy_async(std::span(parts), std::as_const(found).span(), stream);
  stream.synchronize();
  double sum = 0, squares = 0;
  for (Moments const& part : parts) {
    sum += part.sum;
    squares += part.sum_of_squares;
  }
  return {std::scalbn(sum / size, exponent), std::scalbn(std::sqrt(squares / size), exponent)};
}

template <class T>
void FieldDiagnostics<T>::add_probes(std::vector<double>& found) const {
  auto const corners = corners_.span();
  for (std::size_t first = 0; first < corners.size(); first += corners_per_probe_) {
    double value = 0;
    for (std::size_t i = first; i < first + corners_per_probe_; ++i)
      if (weights_[i] != 0) value += weights_[i] * static_cast<double>(corners[i]);
    found.push_back(value);
  }
}

template <class T>
io::Histogram FieldDiagnostics<T>::count(Bins& bins, Field const& field, Moments const& moments,
                                         Stream& stream) {
  auto const& [name, options, edges, found] = bins;
  std::size_t const size = found.size();
  io::Histogram result{name, std::vector<std::int64_t>(size), {}};
  Buffer<std::int64_t> counts(stream, MemorySpace::device, size);
  if (options.range) {
    auto const told =
        config::histogram_edges<T>((*options.range)[0], (*options.range)[1], options.bins);
    result.edges.assign(told.begin(), told.end());
    histogram::count_edges<T>(stream, values_of<T>(field), edges.span(), counts.span(),
                              histogram_variant_);
  } else {
    auto const range = range_for(moments.minimum, moments.maximum, options.bins);
    if (!divisible(range, options.bins)) {
      result.edges.assign(size + 1, std::numeric_limits<double>::quiet_NaN());
      return result;
    }
    result.edges = config::histogram_edges<double>(range.lower, range.upper, options.bins);
    histogram::count_even<T>(stream, values_of<T>(field), range.lower, range.upper, counts.span(),
                             histogram_variant_);
  }
  copy_async(bins.counts.span(), counts.span(), stream);
  stream.synchronize();
  std::ranges::copy(found.span(), result.counts.begin());
  // Half-open bins over the field's own range leave out its greatest value alone.
  if (!options.range)
    result.counts.back() +=
        field.grid.size() - std::reduce(result.counts.begin(), result.counts.end());
  return result;
}

/// Counts the values of [lower, upper) in even bins; `cumulated_[b]` then tells how many of them
/// lie in bin b or an earlier one.
template <class T>
void FieldDiagnostics<T>::cumulate(Field const& field, T lower, T upper, Stream& stream) {
  Buffer<std::int64_t> counts(stream, MemorySpace::device, cumulated_.size());
  histogram::count_even<T>(stream, values_of<T>(field), lower, upper, counts.span(),
                           histogram_variant_);
  scan::inclusive_sum<std::int64_t>(stream, counts.span(), counts.span(), scan_variant_);
  copy_async(cumulated_.span(), counts.span(), stream);
  stream.synchronize();
}

template <class T>
void FieldDiagnostics<T>::add_quantiles(Field const& field, Moments const& moments, Stream& stream,
                                        std::vector<double>& found) {
  Interval<T> const range{moments.minimum, moments.maximum};
  if (!divisible(range, histogram::max_bins)) {
    bool const overflows = !std::isfinite(range.upper - range.lower);
    found.insert(found.end(), quantiles_.size(),
                 overflows ? std::numeric_limits<double>::quiet_NaN() : range.lower);
    return;
  }
  cumulate(field, range.lower, range.upper, stream);
  std::vector<std::int64_t> const coarse(cumulated_.data(), cumulated_.data() + cumulated_.size());
  std::int64_t refined = -1;
  for (double const q : quantiles_) {
    std::int64_t const rank = rank_of(q, field.grid.size());
    if (rank == 1 || rank > coarse.back()) {
      found.push_back(rank == 1 ? range.lower : range.upper);
      continue;
    }
    Found place = find_rank(coarse, rank);
    Interval<T> bin = part_of(range, place.bin);
    if (divisible(bin, histogram::max_bins)) {
      if (place.bin != refined) cumulate(field, bin.lower, bin.upper, stream);
      refined = place.bin;
      place = find_rank(cumulated_.span(), place.rank);
      bin = part_of(bin, place.bin);
    }
    found.push_back(spread(place, bin));
  }
}

std::vector<std::string> diagnostic_names(config::DiagnosticsOptions const& options,
                                          Field const& field) {
  std::vector<std::string> names;
  if (options.norms)
    for (auto const* norm : {".min", ".max", ".mean", ".l2"}) names.push_back(field.name + norm);
  for (auto const& probe : options.probes) {
    auto const point = std::span(probe.at).first(static_cast<std::size_t>(field.grid.dims));
    if (probe.field == field.name)
      names.push_back(fmt::format("{}({})", field.name, fmt::join(point, ", ")));
  }
  for (double const q : quantiles_of(options, field.name))
    names.push_back(fmt::format("{}.q{}", field.name, q));
  return names;
}

std::vector<io::HistogramInfo> histogram_infos(config::DiagnosticsOptions const& options,
                                               Field const& field) {
  std::vector<io::HistogramInfo> infos;
  for (auto const& histogram : options.histograms) {
    if (histogram.field != field.name) continue;
    std::string const number = infos.empty() ? "" : fmt::format(".{}", infos.size() + 1);
    infos.push_back({field.name + ".histogram" + number, histogram.bins});
  }
  return infos;
}

void throw_not_finite(Field const& field, Clock const& clock, std::int64_t index, double value) {
  throw NumericalError(std::isnan(value) ? "NaN" : "infinity", clock.step, clock.time, field.name,
                       field.grid.indices(index));
}

template class FieldDiagnostics<float>;
template class FieldDiagnostics<double>;

}  // namespace gridstride

#include "kernels/histogram/order_statistics.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include "kernels/histogram/histogram.hpp"

namespace gridstride::histogram {

namespace {

template <class T>
using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

constexpr std::uint64_t number_of_zero = std::uint64_t{1} << 63;

/// The number of a value among all values in order; 0 is in the middle.
template <class T>
std::uint64_t number_of(T value) {
  auto const magnitude = std::uint64_t{std::bit_cast<Bits<T>>(value < 0 ? -value : value)};
  std::uint64_t const distance = value == 0 ? 0 : magnitude;
  return value < 0 ? number_of_zero - distance : number_of_zero + distance;
}

template <class T>
T value_of(std::uint64_t number) {
  if (number >= number_of_zero)
    return std::bit_cast<T>(static_cast<Bits<T>>(number - number_of_zero));
  return -std::bit_cast<T>(static_cast<Bits<T>>(number_of_zero - number));
}

}  // namespace

template <class T>
OrderStatistics<T>::OrderStatistics(std::vector<std::int64_t> ranks, std::int64_t size, T minimum,
                                    T maximum)
    : ranks_(std::move(ranks)) {
  if (!ranks_.empty() && !(minimum <= maximum))
    throw std::invalid_argument("order statistics: there is no range of values");
  for (std::int64_t const rank : ranks_)
    if (rank < 0 || rank >= size)
      throw std::invalid_argument("order statistics: there is no value of rank " +
                                  std::to_string(rank));
  ranges_.assign(ranks_.size(), {number_of(minimum), number_of(maximum), 0, size});
  set_edges();
}

/// Numbers from one edge to the next within a range: a power of two, by which the GPU divides
/// without dividing.
template <class T>
std::uint64_t OrderStatistics<T>::step(Range const& range) const {
  return std::bit_ceil((range.high - range.low) / parts_ + 1);
}

/// The ranges that hold several values, each once, in rising order.
template <class T>
auto OrderStatistics<T>::unresolved() const -> std::vector<Range> {
  std::vector<Range> open;
  for (auto const& range : ranges_)
    if (range.low < range.high) open.push_back(range);
  std::ranges::sort(open, {}, &Range::low);
  open.erase(std::unique(open.begin(), open.end()), open.end());
  return open;
}

template <class T>
int OrderStatistics<T>::passes() const {
  std::uint64_t widest = 1;
  for (auto const& range : ranges_) widest = std::max(widest, range.high - range.low + 1);
  int passes = 0;
  for (; widest > 1; ++passes) widest = (widest - 1) / parts_ + 1;
  return passes;
}

/// Each range has an edge at the beginning of each part. What is after the last one is known from
/// the number of all; the bin from there to the next range counts for nothing.
template <class T>
void OrderStatistics<T>::set_edges() {
  edges_.clear();
  auto const open = unresolved();
  if (open.empty()) return;
  if (open.size() > max_bins / 2)
    throw std::invalid_argument("order statistics: more ranks than can be told apart in a pass");
  parts_ = max_bins / open.size();
  for (auto const& range : open)
    for (std::uint64_t number = range.low; number <= range.high; number += step(range))
      edges_.push_back(value_of<T>(number));
}

template <class T>
void OrderStatistics<T>::narrow(std::span<std::int64_t const> counts) {
  if (counts.size() + 1 != edges_.size())
    throw std::invalid_argument("order statistics: there are other bins");
  narrow(counts, 1);
}

template <class T>
std::vector<NumberRange> OrderStatistics<T>::ranges() const {
  std::vector<NumberRange> ranges;
  for (auto const& range : unresolved())
    ranges.push_back({static_cast<std::int64_t>(range.low - number_of_zero),
                      static_cast<std::int64_t>(last_stretch(range)),
                      std::countr_zero(step(range))});
  return ranges;
}

template <class T>
void OrderStatistics<T>::narrow_numbers(std::span<std::int64_t const> counts) {
  std::int64_t stretches = 0;
  for (auto const& range : ranges()) stretches += range.count;
  if (std::ssize(counts) != stretches)
    throw std::invalid_argument("order statistics: there are other bins");
  narrow(counts, 0);
}

/// There are `between` bins from the last edge of a range to the next range.
template <class T>
void OrderStatistics<T>::narrow(std::span<std::int64_t const> counts, std::uint64_t between) {
  std::size_t first = 0;  // bin of the range
  for (auto const& range : unresolved()) {
    std::uint64_t const width = step(range), last = last_stretch(range);
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      if (ranges_[r] != range) continue;
      Range part{range.low, 0, range.before, 0};
      std::int64_t rest = range.count;
      for (std::uint64_t p = 0; p <= last; ++p) {
        part.count = p < last ? counts[first + p] : rest;
        if (ranks_[r] < part.before + part.count) break;
        part.before += part.count;
        part.low += width;
        rest -= part.count;
      }
      part.high = std::min(part.low + (width - 1), range.high);
      ranges_[r] = part;
    }
    first += last + between;
  }
  set_edges();
}

template <class T>
void OrderStatistics<T>::bound(T minimum, T maximum) {
  for (auto& range : ranges_) {
    range.low = std::max(range.low, number_of(minimum));
    range.high = std::min(range.high, number_of(maximum));
  }
  set_edges();
}

template <class T>
std::vector<T> OrderStatistics<T>::values() const {
  std::vector<T> found;
  for (auto const& range : ranges_) found.push_back(value_of<T>(range.low));
  return found;
}

template class OrderStatistics<float>;
template class OrderStatistics<double>;

}  // namespace gridstride::histogram

// Histograms on the host.
//
// `reference` takes one value after the other: the oracle.
//
// `threads` cuts the values into pieces, each of which has tables of its own. A piece has four
// tables and gives each value to the next one, for an addition to a bin has to wait for the one
// before to the same bin, and values often repeat. A value outside all bins goes to a place of its
// own in front of the first bin, which saves a branch. The pieces' tables are added in order.
//
// Both add integers, so the results are the same bits: counts, or the fixed-point weights of
// weights.hpp.

#include <algorithm>
#include <limits>
#include <vector>

#include "kernels/histogram/bins.hpp"
#include "kernels/histogram/rows.hpp"
#include "kernels/histogram/weights.hpp"
#include "kernels/support/parallel_for.hpp"

namespace gridstride::histogram {

namespace {

/// The largest exponent field of the finite weights among `count` from `weights` on.
template <class T>
int largest_exponent(T const* weights, std::int64_t count) {
  int largest = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    int const field = exponent_field(weights[i]);
    if (field != not_finite) largest = std::max(largest, field);
  }
  return largest;
}

/// The sum of the weights of a bin.
struct Sum {
  Fixed fixed;
  bool spoilt = false;  // by a weight that is not finite

  void add(WeightScale const& scale, double w) {
    if (exponent_field(w) == not_finite)
      spoilt = true;
    else
      fixed = fixed + scale.split(w);
  }
  void add(Sum const& other) {
    fixed = fixed + other.fixed;
    spoilt = spoilt || other.spoilt;
  }
  double value(WeightScale const& scale) const {
    return spoilt ? std::numeric_limits<double>::quiet_NaN() : scale.join(fixed);
  }
};

}  // namespace

template <class T>
void host_reference(Stream&, Arguments<T> const& a) {
  with_bins(a, [&](auto const& bin_of) {
    if (a.weights == nullptr) {
      for (std::int64_t i = 0; i < a.size; ++i)
        if (int const bin = bin_of(a.input[i]); bin >= 0) ++a.counts[bin];
      return;
    }
    if constexpr (std::remove_cvref_t<decltype(bin_of)>::weighable) {
      WeightScale const scale(largest_exponent(a.weights, a.size), a.size);
      std::vector<Sum> sums(static_cast<std::size_t>(a.bins));
      for (std::int64_t i = 0; i < a.size; ++i)
        if (int const bin = bin_of(a.input[i]); bin >= 0)
          sums[static_cast<std::size_t>(bin)].add(scale, a.weights[i]);
      for (int b = 0; b < a.bins; ++b) a.sums[b] = sums[static_cast<std::size_t>(b)].value(scale);
    }
  });
}

namespace {

/// How the values are shared out: at most 64 pieces, none of them small.
struct Pieces {
  std::int64_t size, count;

  explicit Pieces(std::int64_t values)
      : size(std::max((values + 63) / 64, std::int64_t{1} << 16)),
        count((values + size - 1) / size) {}
  std::int64_t first(std::int64_t piece) const { return piece * size; }
  std::int64_t last(std::int64_t piece, std::int64_t values) const {
    return std::min(first(piece) + size, values);
  }
};

/// Adds the counts of the values [first, last) to `counts`.
template <class T, class Bins>
void count_piece(T const* input, std::int64_t first, std::int64_t last, Bins const& bin_of,
                 std::int64_t* counts) {
  constexpr int tables = 4;
  auto const width = static_cast<std::size_t>(bin_of.count()) + 1;
  std::vector<std::int64_t> memory(tables * width);
  std::int64_t* table[tables];
  for (int t = 0; t < tables; ++t)
    table[t] = memory.data() + static_cast<std::size_t>(t) * width + 1;

  std::int64_t i = first;
  for (; i + tables <= last; i += tables) {
    int bin[tables];
    for (int t = 0; t < tables; ++t) bin[t] = bin_of(input[i + t]);
    for (int t = 0; t < tables; ++t) ++table[t][bin[t]];
  }
  for (; i < last; ++i) ++table[0][bin_of(input[i])];

  for (int b = 0; b < bin_of.count(); ++b)
    for (int t = 0; t < tables; ++t) counts[b] += table[t][b];
}

template <class T, class Bins>
void count_in_threads(Arguments<T> const& a, Bins const& bin_of) {
  Pieces const pieces(a.size);
  auto const bins = static_cast<std::size_t>(a.bins);
  std::vector<std::int64_t> counts(static_cast<std::size_t>(pieces.count) * bins);
  parallel_for(pieces.count, [&](std::int64_t p) {
    count_piece(a.input, pieces.first(p), pieces.last(p, a.size), bin_of,
                &counts[static_cast<std::size_t>(p) * bins]);
  });
  for (std::size_t k = 0; k < counts.size(); ++k) a.counts[k % bins] += counts[k];
}

template <class T, class Bins>
void weigh_in_threads(Arguments<T> const& a, Bins const& bin_of) {
  Pieces const pieces(a.size);
  std::vector<int> exponents(static_cast<std::size_t>(pieces.count));
  parallel_for(pieces.count, [&](std::int64_t p) {
    exponents[static_cast<std::size_t>(p)] =
        largest_exponent(a.weights + pieces.first(p), pieces.last(p, a.size) - pieces.first(p));
  });
  WeightScale const scale(*std::max_element(exponents.begin(), exponents.end()), a.size);

  auto const bins = static_cast<std::size_t>(a.bins);
  std::vector<Sum> sums(static_cast<std::size_t>(pieces.count) * bins);
  parallel_for(pieces.count, [&](std::int64_t p) {
    Sum* const table = &sums[static_cast<std::size_t>(p) * bins];
    for (std::int64_t i = pieces.first(p); i < pieces.last(p, a.size); ++i)
      if (int const bin = bin_of(a.input[i]); bin >= 0) table[bin].add(scale, a.weights[i]);
  });
  for (std::size_t k = bins; k < sums.size(); ++k) sums[k % bins].add(sums[k]);
  for (std::size_t b = 0; b < bins; ++b) a.sums[b] = sums[b].value(scale);
}

}  // namespace

template <class T>
void host_threads(Stream&, Arguments<T> const& a) {
  with_bins(a, [&](auto const& bin_of) {
    if (a.weights == nullptr) return count_in_threads(a, bin_of);
    if constexpr (std::remove_cvref_t<decltype(bin_of)>::weighable) weigh_in_threads(a, bin_of);
  });
}

#define GRIDSTRIDE_INSTANTIATE(T)                             \
  template void host_reference(Stream&, Arguments<T> const&); \
  template void host_threads(Stream&, Arguments<T> const&);
GRIDSTRIDE_INSTANTIATE(std::uint8_t)
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::histogram

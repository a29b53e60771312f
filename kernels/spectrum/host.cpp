// Welch's method on the host.
//
// `reference` transforms one segment after the other, in float64: the oracle.
//
// `threads` makes one complex signal of two segments, a + i·b. Of its transform Z,
// |A_k|² + |B_k|² = (|Z_k|² + |Z_(N−k)|²)/2, and only such sums are asked for. Eight of these go
// through the transform side by side, a piece of 16 segments, which is a thread's; what a piece
// lacks is 0. The pieces are added up in their order, so that the bits depend on nothing else.
//
// Numbers of samples that are not powers of two take Bluestein's way: with jk = (j² + k² − (k−j)²)/2
// a transform becomes a filter whose taps are roots of one, and that takes transforms of a power of
// two of at least 2N − 1 points.

#include <bit>
#include <cmath>
#include <numbers>
#include <vector>

#include "kernels/fft/host.hpp"
#include "kernels/spectrum/rows.hpp"
#include "kernels/support/parallel_for.hpp"

namespace gridstride::spectrum {

namespace {

using fft::SplitComplex;

/// Transforms of N points, `together` of them side by side: element j of number q is at
/// j·together + q.
template <class T>
class Transforms {
 public:
  Transforms(std::int64_t points, std::int64_t together);

  /// Replaces the numbers by their transforms.
  void apply(SplitComplex<T>& numbers) const;

 private:
  bool is_plain() const { return points_ == std::ssize(roots_.re); }
  /// exp(−πi·j²/N) for j = 0 … N − 1
  static SplitComplex<T> chirp(std::int64_t points);
  void run(SplitComplex<T>& numbers, std::int64_t together, bool inverse) const;

  std::int64_t points_, together_;
  SplitComplex<T> roots_;
  SplitComplex<T> chirp_{0}, spectrum_{0};  ///< of Bluestein's way
};

template <class T>
std::int64_t size_of_transform(std::int64_t points) {
  auto const n = static_cast<std::uint64_t>(points);
  return static_cast<std::int64_t>(std::has_single_bit(n) ? n : std::bit_ceil(2 * n - 1));
}

template <class T>
Transforms<T>::Transforms(std::int64_t points, std::int64_t together)
    : points_(points),
      together_(together),
      roots_(fft::roots_of_one<T>(size_of_transform<T>(points))) {
  if (is_plain()) return;
  auto const size = roots_.re.size();
  chirp_ = chirp(points);
  spectrum_ = SplitComplex<T>(static_cast<std::int64_t>(size));
  for (std::size_t j = 0; j < chirp_.re.size(); ++j)
    for (std::size_t const place : {j, (size - j) % size}) {
      spectrum_.re[place] = chirp_.re[j];
      spectrum_.im[place] = -chirp_.im[j];
    }
  run(spectrum_, 1, false);
}

template <class T>
SplitComplex<T> Transforms<T>::chirp(std::int64_t points) {
  SplitComplex<T> values(points);
  for (std::int64_t j = 0; j < points; ++j) {
    double const angle =
        -std::numbers::pi * static_cast<double>(j * j % (2 * points)) / static_cast<double>(points);
    values.re[static_cast<std::size_t>(j)] = static_cast<T>(std::cos(angle));
    values.im[static_cast<std::size_t>(j)] = static_cast<T>(std::sin(angle));
  }
  return values;
}

template <class T>
void Transforms<T>::run(SplitComplex<T>& numbers, std::int64_t together, bool inverse) const {
  SplitComplex<T> spare(std::ssize(numbers.re));
  if (inverse) std::swap(numbers.re, numbers.im);
  auto data = view(numbers), other = view(spare);
  fft::transform(data, other, together, roots_);
  if (data.re != numbers.re.data()) std::swap(numbers, spare);
  if (inverse) std::swap(numbers.re, numbers.im);
}

template <class T>
void Transforms<T>::apply(SplitComplex<T>& numbers) const {
  if (is_plain()) return run(numbers, together_, false);
  auto const count = static_cast<std::size_t>(together_), points = chirp_.re.size();
  /// Element j of every number times a factor.
  auto const turn_all = [&](SplitComplex<T>& all, std::size_t j, T re, T im) {
    for (std::size_t q = j * count; q < (j + 1) * count; ++q)
      fft::turn(all.re[q], all.im[q], re, im);
  };
  SplitComplex<T> work(std::ssize(roots_.re) * together_);
  std::copy_n(numbers.re.begin(), points * count, work.re.begin());
  std::copy_n(numbers.im.begin(), points * count, work.im.begin());
  for (std::size_t j = 0; j < points; ++j) turn_all(work, j, chirp_.re[j], chirp_.im[j]);
  run(work, together_, false);
  for (std::size_t k = 0; k < roots_.re.size(); ++k)
    turn_all(work, k, spectrum_.re[k], spectrum_.im[k]);
  run(work, together_, true);
  T const scale = T(1) / static_cast<T>(roots_.re.size());
  for (std::size_t k = 0; k < points; ++k)
    turn_all(work, k, chirp_.re[k] * scale, chirp_.im[k] * scale);
  std::copy_n(work.re.begin(), points * count, numbers.re.begin());
  std::copy_n(work.im.begin(), points * count, numbers.im.begin());
}

/// Calls `put(j, value)` with the samples of a segment, their trend taken away, times the window.
template <class T, class Put>
void windowed(Arguments<T> const& a, std::int64_t segment, Put const& put) {
  auto const& options = a.options;
  std::int64_t const first = segment * options.hop();
  TrendSums sums;
  if (options.detrend != Detrend::none)
    for (std::int64_t j = 0; j < options.segment; ++j) {
      auto const x = static_cast<double>(sample_at(a.samples, first + j));
      sums.x += x;
      sums.moment += x * (static_cast<double>(j) - static_cast<double>(options.segment - 1) / 2);
    }
  auto const trend = Trend::of(sums, options.detrend, options.segment);
  for (std::int64_t j = 0; j < options.segment; ++j)
    put(j, trend.without(sample_at(a.samples, first + j), j) * a.window[j]);
}

template <class T>
T square(T re, T im) {
  return re * re + im * im;
}

}  // namespace

template <class T>
void host_reference(Stream&, Arguments<T> const& a) {
  Transforms<double> const transforms(a.options.segment, 1);
  for (std::int64_t s = 0; s < a.segments; ++s) {
    SplitComplex<double> z(a.options.segment);
    windowed(a, s, [&](std::int64_t j, T x) { z.re[static_cast<std::size_t>(j)] = x; });
    transforms.apply(z);
    for (std::size_t k = 0; k < static_cast<std::size_t>(a.options.bins()); ++k)
      a.sums[k] += square(z.re[k], z.im[k]);
  }
}

namespace {

constexpr std::size_t pairs = piece_segments / 2;

/// Σ |Z_k|² over the pairs of a piece, for all N of k.
template <class T>
std::vector<T> powers_of_piece(Arguments<T> const& a, Transforms<T> const& transforms,
                               std::int64_t piece) {
  SplitComplex<T> z(a.options.segment * std::int64_t{pairs});
  for (std::size_t q = 0; q < pairs; ++q)
    for (int second = 0; second < 2; ++second) {
      std::int64_t const segment =
          piece * piece_segments + 2 * static_cast<std::int64_t>(q) + second;
      if (segment >= a.segments) continue;
      auto& part = second == 0 ? z.re : z.im;
      windowed(a, segment,
               [&](std::int64_t j, T x) { part[static_cast<std::size_t>(j) * pairs + q] = x; });
    }
  transforms.apply(z);
  std::vector<T> powers(static_cast<std::size_t>(a.options.segment));
  for (std::size_t k = 0; k < powers.size(); ++k)
    for (std::size_t q = k * pairs; q < (k + 1) * pairs; ++q) powers[k] += square(z.re[q], z.im[q]);
  return powers;
}

}  // namespace

template <class T>
void host_threads(Stream&, Arguments<T> const& a) {
  if (*a.prepared == nullptr)
    *a.prepared = std::make_shared<Transforms<T>>(a.options.segment, std::int64_t{pairs});
  auto const& transforms = *static_cast<Transforms<T> const*>(a.prepared->get());
  std::int64_t const pieces = (a.segments + piece_segments - 1) / piece_segments;
  std::int64_t const together = group_segments(a.options.segment) / piece_segments;
  for (std::int64_t first = 0; first < pieces; first += together) {
    std::int64_t const count = std::min(together, pieces - first);
    std::vector<std::vector<T>> powers(static_cast<std::size_t>(count));
    parallel_for(count, 100 * a.options.segment, [&](std::int64_t p) {
      powers[static_cast<std::size_t>(p)] = powers_of_piece(a, transforms, first + p);
    });
    auto const n = static_cast<std::size_t>(a.options.segment);
    for (auto const& power : powers)
      for (std::size_t k = 0; k < static_cast<std::size_t>(a.options.bins()); ++k)
        a.sums[k] += (static_cast<double>(power[k]) + static_cast<double>(power[(n - k) % n])) / 2;
  }
}

#define GRIDSTRIDE_INSTANTIATE(T)                             \
  template void host_reference(Stream&, Arguments<T> const&); \
  template void host_threads(Stream&, Arguments<T> const&);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::spectrum

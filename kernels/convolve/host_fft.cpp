// Filters with the fast Fourier transform on the host: overlap-save (see fft_blocks.cuh), with the
// transform of kernels/fft.
//
// A group of blocks goes through it together, element j of all of them side by side. Two blocks
// make one complex number, since a filter with real taps keeps real and imaginary parts apart:
// F⁻¹(F(a + i·b)·F(taps)) has what becomes of a in its real part and of b in its imaginary one. So
// a group is 2·lanes blocks, and the groups are shared among the threads.
//
// A block of n points costs about 4·n·log2(n) operations each way and 2·n for the product, per two
// blocks. Each output is computed alike whatever the number of threads.

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "kernels/convolve/boundary.hpp"
#include "kernels/convolve/rows.hpp"
#include "kernels/fft/host.hpp"
#include "kernels/support/parallel_for.hpp"
#include "kernels/support/vector_widths.hpp"

namespace gridstride::convolve {

namespace {

template <class T>
constexpr std::int64_t lanes = 32 / sizeof(T);

using fft::SplitComplex;
using fft::SplitView;
using fft::view;

template <class T>
GRIDSTRIDE_VECTOR_WIDTHS void multiply(SplitView<T> data, SplitComplex<T> const& spectrum) {
  for (std::size_t k = 0; k < spectrum.re.size(); ++k) {
    T const w_re = spectrum.re[k], w_im = spectrum.im[k];
    T* const re = data.re + k * lanes<T>;
    T* const im = data.im + k * lanes<T>;
    for (std::int64_t lane = 0; lane < lanes<T>; ++lane) fft::turn(re[lane], im[lane], w_re, w_im);
  }
}

/// What a filter keeps for blocks of some number of points.
template <class T>
struct Transform {
  Transform(std::span<T const> taps, std::int64_t points)
      : roots(fft::roots_of_one<T>(points)), spectrum(points) {
    SplitComplex<double> data(points), spare(points);
    for (std::size_t k = 0; k < taps.size(); ++k)
      data.re[k] = static_cast<double>(taps[k]) / static_cast<double>(points);
    SplitView<double> from = view(data), to = view(spare);
    fft::transform(from, to, 1, fft::roots_of_one<double>(points));
    std::copy_n(from.re, points, spectrum.re.begin());
    std::copy_n(from.im, points, spectrum.im.begin());
  }
  SplitComplex<T> roots, spectrum;
};

template <class T>
Transform<T> const& prepared(Filter<T> const& filter, std::int64_t points) {
  using Kept = std::map<std::int64_t, Transform<T>>;
  auto& slot = filter.prepared().fft;
  if (!slot) slot = std::make_shared<Kept>();
  return static_cast<Kept*>(slot.get())->try_emplace(points, filter.taps(), points).first->second;
}

/// The number of points that costs least per output of a signal.
std::int64_t cheapest_points(std::int64_t taps, std::int64_t length) {
  std::int64_t best = 0;
  double best_cost = 0;
  for (std::int64_t points = 16; points <= 4 * most_taps + 4; points *= 2) {
    std::int64_t const useful = std::min(points - taps + 1, length);
    if (useful < 1) continue;
    double const blocks = std::ceil(static_cast<double>(length) / static_cast<double>(useful));
    double const cost = blocks * static_cast<double>(points) * (std::log2(points) + 4);
    if (best == 0 || cost < best_cost) best = points, best_cost = cost;
  }
  return best;
}

/// A group of blocks: those numbered from `first` on. They go along one signal after the other
/// where the elements of a signal are neighbours, else over all signals and then on along them.
template <class T>
class Group {
 public:
  Group(Arguments<T> const& a, std::int64_t points, std::int64_t first)
      : a_(a), signals_(Signals::of(a.shape)), taps_(a.filter->count()), points_(points) {
    useful_ = std::min(points - taps_ + 1, signals_.length);
    per_signal_ = (signals_.length + useful_ - 1) / useful_;
    std::int64_t const blocks = per_signal_ * signals_.count();
    for (std::int64_t id = first; id < std::min(first + size, blocks); ++id) {
      bool const along = signals_.inner == 1;
      std::int64_t const signal = along ? id / per_signal_ : id % signals_.count();
      std::int64_t const start = (along ? id % per_signal_ : id / signals_.count()) * useful_;
      places_[count_++] = {
          signal / signals_.inner * signals_.length * signals_.inner + signal % signals_.inner,
          start, std::min(useful_, signals_.length - start)};
    }
  }

  static constexpr std::int64_t size = 2 * lanes<T>;
  static std::int64_t count_of(Arguments<T> const& a, std::int64_t points) {
    Group const one(a, points, 0);
    return (one.per_signal_ * one.signals_.count() + size - 1) / size;
  }

  /// Element j of block n is data[j·lanes + n], in the imaginary parts from block `lanes` on.
  void gather(SplitView<T> data) const {
    for (std::int64_t j = 0; j < points_; ++j)
      for (std::int64_t n = 0; n < size; ++n)
        at(data, j, n) = n < count_ ? element(places_[n], j) : T(0);
  }
  void crop(SplitView<T> data) const {
    for (std::int64_t j = 0; j < useful_; ++j)
      for (std::int64_t n = 0; n < count_; ++n)
        if (j < places_[n].outputs)
          a_.out[places_[n].origin + (places_[n].start + j) * signals_.inner] =
              at(data, taps_ - 1 + j, n);
  }

 private:
  struct Place {
    std::int64_t origin;  ///< the signal's first element in the array
    std::int64_t start;   ///< the block's first output in the signal
    std::int64_t outputs;
  };

  static T& at(SplitView<T> data, std::int64_t j, std::int64_t n) {
    return n < lanes<T> ? data.re[j * lanes<T> + n] : data.im[j * lanes<T> + n - lanes<T>];
  }
  T element(Place const& block, std::int64_t j) const {
    if (j >= block.outputs + taps_ - 1) return T(0);
    std::int64_t const place = block.start + a_.filter->center() - (taps_ - 1) + j;
    auto const source = source_of(a_.boundary, place, signals_.length);
    return source < 0 ? a_.value : a_.in[block.origin + source * signals_.inner];
  }

  Arguments<T> const& a_;
  Signals signals_;
  std::int64_t taps_, points_, useful_ = 0, per_signal_ = 0, count_ = 0;
  Place places_[size];
};

}  // namespace

template <class T>
void host_fft(Stream&, Arguments<T> const& a) {
  std::int64_t const points = cheapest_points(a.filter->count(), a.shape.length());
  auto const& [roots, spectrum] = prepared(*a.filter, points);
  std::int64_t const groups = Group<T>::count_of(a, points);
  std::int64_t const work = 8 * Group<T>::size * points;  // of two transforms, as vectors do them
  std::int64_t const teams = threads_for(groups, work), each = work * groups / teams;
  parallel_for(teams, each, [&, &roots = roots, &spectrum = spectrum](std::int64_t team) {
    SplitComplex<T> one(points * lanes<T>), other(points * lanes<T>);
    for (std::int64_t g = groups * team / teams; g < groups * (team + 1) / teams; ++g) {
      Group<T> const group(a, points, g * Group<T>::size);
      SplitView<T> data = view(one), spare = view(other);
      group.gather(data);
      fft::transform(data, spare, lanes<T>, roots);
      multiply(data, spectrum);
      std::swap(data.re, data.im);
      std::swap(spare.re, spare.im);
      fft::transform(data, spare, lanes<T>, roots);
      std::swap(data.re, data.im);
      group.crop(data);
    }
  });
}

template void host_fft(Stream&, Arguments<float> const&);
template void host_fft(Stream&, Arguments<double> const&);

}  // namespace gridstride::convolve

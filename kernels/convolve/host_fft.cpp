// Filters with the fast Fourier transform on the host: overlap-save (see cuda_fft.cu), with a
// transform of our own.
//
// The transform is Stockham's, which sorts itself: steps of radix 4, and one of radix 2 where the
// number of points asks for it, from one array to another. A group of blocks goes through it
// together, element j of all of them side by side, so that every inner loop runs over neighbours.
// Two blocks make one complex number, since a filter with real taps keeps real and imaginary parts
// apart: F⁻¹(F(a + i·b)·F(taps)) has what becomes of a in its real part and of b in its imaginary
// one. So a group is 2·lanes blocks, and the groups are shared among the threads.
//
// A block of n points costs about 4·n·log2(n) operations each way and 2·n for the product, per two
// blocks. Each output is computed alike whatever the number of threads.

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <numbers>
#include <utility>
#include <vector>

#include "kernels/convolve/boundary.hpp"
#include "kernels/convolve/rows.hpp"
#include "kernels/support/parallel_for.hpp"
#include "kernels/support/vector_widths.hpp"

namespace gridstride::convolve {

namespace {

template <class T>
constexpr std::int64_t lanes = 32 / sizeof(T);

/// Complex numbers, real and imaginary parts apart.
template <class T>
struct Complex {
  std::vector<T> re, im;
  explicit Complex(std::int64_t size)
      : re(static_cast<std::size_t>(size)), im(static_cast<std::size_t>(size)) {}
};
template <class T>
struct View {
  T *re, *im;
};
template <class T>
View<T> view(Complex<T>& numbers) {
  return {numbers.re.data(), numbers.im.data()};
}

/// exp(−2πi·k/points), k = 0 … points − 1.
template <class T>
Complex<T> roots_of_one(std::int64_t points) {
  Complex<T> roots(points);
  for (std::int64_t k = 0; k < points; ++k) {
    double const angle =
        -2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(points);
    roots.re[static_cast<std::size_t>(k)] = static_cast<T>(std::cos(angle));
    roots.im[static_cast<std::size_t>(k)] = static_cast<T>(std::sin(angle));
  }
  return roots;
}

/// (re, im) *= w
template <class T>
void turn(T& re, T& im, T w_re, T w_im) {
  T const turned = re * w_re - im * w_im;
  im = re * w_im + im * w_re;
  re = turned;
}

/// One step of radix 4: `stride` transforms of `points` become four times as many of a quarter.
template <class T>
GRIDSTRIDE_VECTOR_WIDTHS void step_of_four(View<T> in, View<T> out, std::int64_t points,
                                           std::int64_t stride, Complex<T> const& roots) {
  std::int64_t const quarter = points / 4;
  std::size_t const apart = roots.re.size() / static_cast<std::size_t>(points);
  for (std::int64_t p = 0; p < quarter; ++p) {
    T w_re[4], w_im[4];
    for (std::size_t i = 0; i < 4; ++i) {
      w_re[i] = roots.re[i * static_cast<std::size_t>(p) * apart];
      w_im[i] = roots.im[i * static_cast<std::size_t>(p) * apart];
    }
    T const* const re = in.re + p * stride;
    T const* const im = in.im + p * stride;
    T* const to_re = out.re + 4 * p * stride;
    T* const to_im = out.im + 4 * p * stride;
    std::int64_t const far = quarter * stride;
#pragma omp simd
    for (std::int64_t q = 0; q < stride; ++q) {
      T const sum_re = re[q] + re[q + 2 * far], sum_im = im[q] + im[q + 2 * far];
      T const gap_re = re[q] - re[q + 2 * far], gap_im = im[q] - im[q + 2 * far];
      T const odd_re = re[q + far] + re[q + 3 * far], odd_im = im[q + far] + im[q + 3 * far];
      // −i·(b − d)
      T const bent_re = im[q + far] - im[q + 3 * far], bent_im = re[q + 3 * far] - re[q + far];
      to_re[q] = sum_re + odd_re;
      to_im[q] = sum_im + odd_im;
      T re1 = gap_re + bent_re, im1 = gap_im + bent_im;
      T re2 = sum_re - odd_re, im2 = sum_im - odd_im;
      T re3 = gap_re - bent_re, im3 = gap_im - bent_im;
      turn(re1, im1, w_re[1], w_im[1]);
      turn(re2, im2, w_re[2], w_im[2]);
      turn(re3, im3, w_re[3], w_im[3]);
      to_re[q + stride] = re1;
      to_im[q + stride] = im1;
      to_re[q + 2 * stride] = re2;
      to_im[q + 2 * stride] = im2;
      to_re[q + 3 * stride] = re3;
      to_im[q + 3 * stride] = im3;
    }
  }
}

/// The last step of an odd power of two.
template <class T>
GRIDSTRIDE_VECTOR_WIDTHS void step_of_two(View<T> in, View<T> out, std::int64_t stride) {
#pragma omp simd
  for (std::int64_t q = 0; q < stride; ++q) {
    out.re[q] = in.re[q] + in.re[q + stride];
    out.im[q] = in.im[q] + in.im[q + stride];
    out.re[q + stride] = in.re[q] - in.re[q + stride];
    out.im[q + stride] = in.im[q] - in.im[q + stride];
  }
}

/// `together` transforms of `roots.size()` points; the result is in `data`, `spare` is used up.
/// With real and imaginary parts exchanged it is the inverse, times the number of points.
template <class T>
void transform(View<T>& data, View<T>& spare, std::int64_t together, Complex<T> const& roots) {
  auto points = std::ssize(roots.re);
  std::int64_t stride = together;
  for (; points >= 4; points /= 4, stride *= 4) {
    step_of_four(data, spare, points, stride, roots);
    std::swap(data, spare);
  }
  if (points == 1) return;
  step_of_two(data, spare, stride);
  std::swap(data, spare);
}

template <class T>
GRIDSTRIDE_VECTOR_WIDTHS void multiply(View<T> data, Complex<T> const& spectrum) {
  for (std::size_t k = 0; k < spectrum.re.size(); ++k) {
    T const w_re = spectrum.re[k], w_im = spectrum.im[k];
    T* const re = data.re + k * lanes<T>;
    T* const im = data.im + k * lanes<T>;
    for (std::int64_t lane = 0; lane < lanes<T>; ++lane) turn(re[lane], im[lane], w_re, w_im);
  }
}

/// What a filter keeps for blocks of some number of points.
template <class T>
struct Transform {
  Transform(std::span<T const> taps, std::int64_t points)
      : roots(roots_of_one<T>(points)), spectrum(points) {
    Complex<double> data(points), spare(points);
    for (std::size_t k = 0; k < taps.size(); ++k)
      data.re[k] = static_cast<double>(taps[k]) / static_cast<double>(points);
    View<double> from = view(data), to = view(spare);
    transform(from, to, 1, roots_of_one<double>(points));
    std::copy_n(from.re, points, spectrum.re.begin());
    std::copy_n(from.im, points, spectrum.im.begin());
  }
  Complex<T> roots, spectrum;
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
  void gather(View<T> data) const {
    for (std::int64_t j = 0; j < points_; ++j)
      for (std::int64_t n = 0; n < size; ++n)
        at(data, j, n) = n < count_ ? element(places_[n], j) : T(0);
  }
  void crop(View<T> data) const {
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

  static T& at(View<T> data, std::int64_t j, std::int64_t n) {
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
    Complex<T> one(points * lanes<T>), other(points * lanes<T>);
    for (std::int64_t g = groups * team / teams; g < groups * (team + 1) / teams; ++g) {
      Group<T> const group(a, points, g * Group<T>::size);
      View<T> data = view(one), spare = view(other);
      group.gather(data);
      transform(data, spare, lanes<T>, roots);
      multiply(data, spectrum);
      std::swap(data.re, data.im);
      std::swap(spare.re, spare.im);
      transform(data, spare, lanes<T>, roots);
      std::swap(data.re, data.im);
      group.crop(data);
    }
  });
}

template void host_fft(Stream&, Arguments<float> const&);
template void host_fft(Stream&, Arguments<double> const&);

}  // namespace gridstride::convolve

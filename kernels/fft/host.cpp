// Stockham's transform, which sorts itself: steps of radix 7, 5 and 3, then 4, and one of radix 2
// where the number of points asks for it, from one array to another. All transforms go through a
// step together, so that every inner loop runs over neighbours.

#include "kernels/fft/host.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numbers>
#include <utility>

#include "kernels/support/vector_widths.hpp"

namespace gridstride::fft {

template <class T>
SplitComplex<T> roots_of_one(std::int64_t points) {
  SplitComplex<T> roots(points);
  for (std::int64_t k = 0; k < points; ++k) {
    double const angle =
        -2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(points);
    roots.re[static_cast<std::size_t>(k)] = static_cast<T>(std::cos(angle));
    roots.im[static_cast<std::size_t>(k)] = static_cast<T>(std::sin(angle));
  }
  return roots;
}

namespace {

/// One step of radix 4: `stride` transforms of `points` become four times as many of a quarter.
template <class T>
GRIDSTRIDE_VECTOR_WIDTHS void step_of_four(SplitView<T> in, SplitView<T> out, std::int64_t points,
                                           std::int64_t stride, SplitComplex<T> const& roots) {
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

/// One step of an odd radix. The sums and differences of elements j and radix − j give results k
/// and radix − k.
template <int radix, class T>
GRIDSTRIDE_VECTOR_WIDTHS void step_of_odd(SplitView<T> in, SplitView<T> out, std::int64_t points,
                                          std::int64_t stride, SplitComplex<T> const& roots) {
  constexpr int half = radix / 2;
  std::int64_t const part = points / radix, far = part * stride;
  std::size_t const all = roots.re.size(), apart = all / static_cast<std::size_t>(points);
  T cosine[half][half], sine[half][half];
  for (std::size_t k = 0; k < half; ++k)
    for (std::size_t j = 0; j < half; ++j) {
      std::size_t const turn_by = (k + 1) * (j + 1) % radix * (all / radix);
      cosine[k][j] = roots.re[turn_by];
      sine[k][j] = roots.im[turn_by];
    }
  for (std::int64_t p = 0; p < part; ++p) {
    T w_re[radix], w_im[radix];
    for (std::size_t k = 0; k < radix; ++k) {
      w_re[k] = roots.re[k * static_cast<std::size_t>(p) * apart];
      w_im[k] = roots.im[k * static_cast<std::size_t>(p) * apart];
    }
    T const* const re = in.re + p * stride;
    T const* const im = in.im + p * stride;
    T* const to_re = out.re + radix * p * stride;
    T* const to_im = out.im + radix * p * stride;
#pragma omp simd
    for (std::int64_t q = 0; q < stride; ++q) {
      T sum_re[half], sum_im[half], gap_re[half], gap_im[half];
      T all_re = re[q], all_im = im[q];
#pragma GCC unroll 8
      for (int j = 0; j < half; ++j) {
        std::int64_t const a = q + (j + 1) * far, b = q + (radix - 1 - j) * far;
        sum_re[j] = re[a] + re[b];
        sum_im[j] = im[a] + im[b];
        gap_re[j] = re[a] - re[b];
        gap_im[j] = im[a] - im[b];
        all_re += sum_re[j];
        all_im += sum_im[j];
      }
      to_re[q] = all_re;
      to_im[q] = all_im;
#pragma GCC unroll 8
      for (int k = 0; k < half; ++k) {
        T even_re = re[q], even_im = im[q], odd_re = 0, odd_im = 0;
#pragma GCC unroll 8
        for (int j = 0; j < half; ++j) {
          even_re += cosine[k][j] * sum_re[j];
          even_im += cosine[k][j] * sum_im[j];
          odd_re -= sine[k][j] * gap_im[j];
          odd_im += sine[k][j] * gap_re[j];
        }
        T a_re = even_re + odd_re, a_im = even_im + odd_im;
        T b_re = even_re - odd_re, b_im = even_im - odd_im;
        turn(a_re, a_im, w_re[k + 1], w_im[k + 1]);
        turn(b_re, b_im, w_re[radix - 1 - k], w_im[radix - 1 - k]);
        to_re[q + (k + 1) * stride] = a_re;
        to_im[q + (k + 1) * stride] = a_im;
        to_re[q + (radix - 1 - k) * stride] = b_re;
        to_im[q + (radix - 1 - k) * stride] = b_im;
      }
    }
  }
}

/// The last step of an odd power of two.
template <class T>
GRIDSTRIDE_VECTOR_WIDTHS void step_of_two(SplitView<T> in, SplitView<T> out, std::int64_t stride) {
#pragma omp simd
  for (std::int64_t q = 0; q < stride; ++q) {
    out.re[q] = in.re[q] + in.re[q + stride];
    out.im[q] = in.im[q] + in.im[q + stride];
    out.re[q + stride] = in.re[q] - in.re[q + stride];
    out.im[q + stride] = in.im[q] - in.im[q + stride];
  }
}

}  // namespace

template <class T>
void transform(SplitView<T>& data, SplitView<T>& spare, std::int64_t together,
               SplitComplex<T> const& roots) {
  auto points = std::ssize(roots.re);
  std::int64_t stride = together;
  auto const steps_of_odd = [&]<int radix>() {
    for (; points % radix == 0; points /= radix, stride *= radix) {
      step_of_odd<radix>(data, spare, points, stride, roots);
      std::swap(data, spare);
    }
  };
  steps_of_odd.template operator()<7>();
  steps_of_odd.template operator()<5>();
  steps_of_odd.template operator()<3>();
  for (; points >= 4; points /= 4, stride *= 4) {
    step_of_four(data, spare, points, stride, roots);
    std::swap(data, spare);
  }
  if (points == 1) return;
  step_of_two(data, spare, stride);
  std::swap(data, spare);
}

std::complex<double> root_of_one(std::int64_t k, std::int64_t points) {
  // The angle in eighths of a turn over `points`, brought into the first of eight: exact so far.
  std::int64_t angle = 8 * k;
  bool const is_below = angle > 4 * points;
  if (is_below) angle = 8 * points - angle;
  bool const is_left = angle > 2 * points;
  if (is_left) angle = 4 * points - angle;
  bool const is_steep = angle > points;
  if (is_steep) angle = 2 * points - angle;
  double const turned =
      std::numbers::pi / 4 * (static_cast<double>(angle) / static_cast<double>(points));
  double cosine = std::cos(turned), sine = std::sin(turned);
  if (is_steep) std::swap(cosine, sine);
  return {is_left ? -cosine : cosine, is_below ? sine : -sine};
}

bool is_prime(std::int64_t points) {
  for (std::int64_t factor = 2; factor * factor <= points; ++factor)
    if (points % factor == 0) return false;
  return points > 1;
}

std::vector<int> powers_of_root(std::int64_t prime) {
  for (std::int64_t root = 1;; ++root) {
    std::vector<int> powers = {1};
    for (std::int64_t power = root % prime; power != 1; power = power * root % prime)
      powers.push_back(static_cast<int>(power));
    if (std::ssize(powers) == prime - 1) return powers;
  }
}

bool is_smooth(std::int64_t points) {
  for (std::int64_t const radix : {2, 3, 5, 7})
    while (points % radix == 0) points /= radix;
  return points == 1;
}

std::int64_t next_smooth(std::int64_t points) {
  while (!is_smooth(points)) ++points;
  return points;
}

namespace {

template <class T>
SplitComplex<T> accurate_roots(std::int64_t points) {
  SplitComplex<T> roots(points);
  for (std::int64_t k = 0; k < points; ++k) {
    auto const root = root_of_one(k, points);
    roots.re[static_cast<std::size_t>(k)] = static_cast<T>(root.real());
    roots.im[static_cast<std::size_t>(k)] = static_cast<T>(root.imag());
  }
  return roots;
}

/// `together` lines times one: data[j·together + q] *= factors[j].
template <class T>
GRIDSTRIDE_VECTOR_WIDTHS void turn_lines(SplitView<T> data, std::int64_t together,
                                         SplitComplex<T> const& factors) {
  for (std::size_t j = 0; j < factors.re.size(); ++j) {
    T const w_re = factors.re[j], w_im = factors.im[j];
    T* const re = data.re + static_cast<std::int64_t>(j) * together;
    T* const im = data.im + static_cast<std::int64_t>(j) * together;
#pragma omp simd
    for (std::int64_t q = 0; q < together; ++q) turn(re[q], im[q], w_re, w_im);
  }
}

template <class T>
void exchange_parts(SplitView<T>& view) {
  std::swap(view.re, view.im);
}

}  // namespace

template <class T>
Fourier<T>::Fourier(std::int64_t points, std::int64_t room_of)
    : points_(points),
      roots_(accurate_roots<T>(room_of > 0         ? room_of
                               : is_smooth(points) ? points
                                                   : next_smooth(2 * points - 1))),
      chirp_(0),
      filter_(0) {
  if (room() == points) return;
  chirp_ = SplitComplex<T>(points);
  // In float64, so that its rounding is of no account in float32.
  SplitComplex<double> filter(room()), spare(room());
  std::int64_t square = 0;  // j² modulo 2·points
  for (std::int64_t j = 0; j < points; ++j) {
    auto const root = root_of_one(square, 2 * points);
    square = (square + 2 * j + 1) % (2 * points);
    auto const at = static_cast<std::size_t>(j);
    chirp_.re[at] = static_cast<T>(root.real());
    chirp_.im[at] = static_cast<T>(root.imag());
    for (auto const place : {at, static_cast<std::size_t>(j == 0 ? 0 : room() - j)}) {
      filter.re[place] = root.real() / static_cast<double>(room());
      filter.im[place] = -root.imag() / static_cast<double>(room());
    }
  }
  auto data = view(filter), other = view(spare);
  transform(data, other, 1, accurate_roots<double>(room()));
  filter_ = SplitComplex<T>(room());
  std::copy(data.re, data.re + room(), filter_.re.begin());
  std::copy(data.im, data.im + room(), filter_.im.begin());
}

template <class T>
void Fourier<T>::forward(SplitView<T>& data, SplitView<T>& spare, std::int64_t together) const {
  if (room() == points_) return transform(data, spare, together, roots_);
  turn_lines(data, together, chirp_);
  for (T* const part : {data.re, data.im})
    std::fill(part + points_ * together, part + room() * together, T{0});
  transform(data, spare, together, roots_);
  turn_lines(data, together, filter_);
  exchange_parts(data);
  exchange_parts(spare);
  transform(data, spare, together, roots_);
  exchange_parts(data);
  exchange_parts(spare);
  turn_lines(data, together, chirp_);
}

template <class T>
void Fourier<T>::inverse(SplitView<T>& data, SplitView<T>& spare, std::int64_t together) const {
  exchange_parts(data);
  exchange_parts(spare);
  forward(data, spare, together);
  exchange_parts(data);
  exchange_parts(spare);
}

#define GRIDSTRIDE_INSTANTIATE(T)                                                                 \
  template SplitComplex<T> roots_of_one<T>(std::int64_t);                                         \
  template void transform<T>(SplitView<T>&, SplitView<T>&, std::int64_t, SplitComplex<T> const&); \
  template class Fourier<T>;
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::fft

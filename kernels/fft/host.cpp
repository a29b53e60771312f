// Stockham's transform, which sorts itself: steps of radix 4, and one of radix 2 where the number
// of points asks for it, from one array to another. All transforms go through a step together, so
// that every inner loop runs over neighbours.

#include "kernels/fft/host.hpp"

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
  for (; points >= 4; points /= 4, stride *= 4) {
    step_of_four(data, spare, points, stride, roots);
    std::swap(data, spare);
  }
  if (points == 1) return;
  step_of_two(data, spare, stride);
  std::swap(data, spare);
}

#define GRIDSTRIDE_INSTANTIATE(T)                         \
  template SplitComplex<T> roots_of_one<T>(std::int64_t); \
  template void transform<T>(SplitView<T>&, SplitView<T>&, std::int64_t, SplitComplex<T> const&);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::fft

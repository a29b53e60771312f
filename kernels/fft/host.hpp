#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

/// Complex Fourier transforms on the host, of a power of two of points, some of them side by side.
namespace gridstride::fft {

/// Complex numbers, real and imaginary parts apart.
template <class T>
struct SplitComplex {
  std::vector<T> re, im;
  explicit SplitComplex(std::int64_t size)
      : re(static_cast<std::size_t>(size)), im(static_cast<std::size_t>(size)) {}
};
template <class T>
struct SplitView {
  T *re, *im;
};
template <class T>
SplitView<T> view(SplitComplex<T>& numbers) {
  return {numbers.re.data(), numbers.im.data()};
}

/// exp(−2πi·k/points), k = 0 … points − 1.
template <class T>
SplitComplex<T> roots_of_one(std::int64_t points);

/// (re, im) *= w
template <class T>
void turn(T& re, T& im, T w_re, T w_im) {
  T const turned = re * w_re - im * w_im;
  im = re * w_im + im * w_re;
  re = turned;
}

/// `together` transforms of `roots.size()` points, a power of two: element j of transform q is
/// data[j·together + q]. The result is in `data`, `spare` is used up. With real and imaginary parts
/// exchanged it is the inverse, times the number of points.
template <class T>
void transform(SplitView<T>& data, SplitView<T>& spare, std::int64_t together,
               SplitComplex<T> const& roots);

}  // namespace gridstride::fft

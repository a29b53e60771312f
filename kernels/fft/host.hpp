#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <vector>

/// Complex Fourier transforms on the host, some of them side by side.
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

/// `together` transforms of `roots.size()` points, a product of 2, 3, 5 and 7: element j of transform
/// q is data[j·together + q]. The result is in `data`, `spare` is used up. With real and imaginary
/// parts exchanged it is the inverse, times the number of points.
template <class T>
void transform(SplitView<T>& data, SplitView<T>& spare, std::int64_t together,
               SplitComplex<T> const& roots);

/// exp(−2πi·k/points) for 0 ≤ k ≤ points, each part to half a unit of its last place or little more.
std::complex<double> root_of_one(std::int64_t k, std::int64_t points);

bool is_prime(std::int64_t points);
/// For a prime number of points p < 2³¹, the powers g⁰ … g^(p−2) modulo p of the least g for which
/// these are all of 1 … p − 1.
std::vector<int> powers_of_root(std::int64_t prime);

/// Whether 2, 3, 5 and 7 are its only prime factors.
bool is_smooth(std::int64_t points);
/// The least such number that is not less.
std::int64_t next_smooth(std::int64_t points);

/// Transforms of any number of points. Where it is not smooth, Bluestein's way: jk is
/// (j² + k² − (k − j)²)/2, and sums over k − j are a convolution, for which a smooth number of
/// points will do.
template <class T>
class Fourier {
 public:
  /// `room` is for whom the shortest convolution is not the fastest one: a smooth number.
  explicit Fourier(std::int64_t points, std::int64_t room = 0);

  std::int64_t points() const { return points_; }
  /// Numbers that data and spare need for each transform.
  std::int64_t room() const { return static_cast<std::int64_t>(roots_.re.size()); }

  SplitComplex<T> const& chirp() const { return chirp_; }
  SplitComplex<T> const& filter() const { return filter_; }

  /// As `transform`; beyond `points` data may hold anything, before and after.
  void forward(SplitView<T>& data, SplitView<T>& spare, std::int64_t together) const;
  /// The inverse, times the number of points.
  void inverse(SplitView<T>& data, SplitView<T>& spare, std::int64_t together) const;

 private:
  std::int64_t points_;
  SplitComplex<T> roots_;
  SplitComplex<T> chirp_;   ///< exp(−πi·j²/points); empty where none is needed
  SplitComplex<T> filter_;  ///< the transform of what is convolved with, over its length
};

}  // namespace gridstride::fft

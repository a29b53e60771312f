#pragma once

#include "core/host_device.hpp"
#include "kernels/sampling/philox.hpp"
#include "kernels/support/multiply_add.cuh"

/// From random words to sums of samples, once for host and device. Real is float or double.
namespace gridstride::quadrature {

/// How many random words a coordinate takes.
template <class Real>
inline constexpr int words_per_uniform = sizeof(Real) / sizeof(unsigned);

/// Samples of so many random words are numbered in groups of one, two or four, so that a group
/// takes whole blocks of Philox: place p of the words of group number G is word p mod 4 of block
/// p/4 of item G. The words of its samples follow one another, those of a sample axis by axis.
GRIDSTRIDE_HOST_DEVICE constexpr int samples_of_group(int words_per_sample) {
  return words_per_sample % 4 == 0 ? 1 : words_per_sample % 2 == 0 ? 2 : 4;
}

/// The nearest number to 1 below it that `uniform` gives.
template <class Real>
inline constexpr Real greatest_uniform = sizeof(Real) == 4 ? Real(0x1.fffffep-1)
                                                           : Real(0x1.fffffffffffffp-1);

/// The number in [1, 2) whose fraction has these bits.
GRIDSTRIDE_HOST_DEVICE inline float with_fraction(unsigned bits) {
#ifdef __CUDA_ARCH__
  return __uint_as_float(0x3f800000u | bits);
#else
  return __builtin_bit_cast(float, 0x3f800000u | bits);
#endif
}

GRIDSTRIDE_HOST_DEVICE inline double with_fraction(unsigned long long bits) {
#ifdef __CUDA_ARCH__
  return __longlong_as_double(static_cast<long long>(0x3ff0000000000000ull | bits));
#else
  return __builtin_bit_cast(double, 0x3ff0000000000000ull | bits);
#endif
}

/// (2k + 1)·2^-24 with k the upper 23 bits of the word: in (0, 1), no end point, and 1 − u is a
/// number of the same kind. The bits become a fraction, from which 1 − 2^-24 is taken without
/// rounding; on a GPU a conversion from integer would take four times as long.
GRIDSTRIDE_HOST_DEVICE inline float uniform(unsigned word) {
  return with_fraction(word >> 9) - greatest_uniform<float>;
}

/// (2k + 1)·2^-53 with k the upper 52 bits of the two words.
GRIDSTRIDE_HOST_DEVICE inline double uniform(unsigned high, unsigned low) {
  unsigned long long const word = static_cast<unsigned long long>(high) << 32 | low;
  return with_fraction(word >> 12) - greatest_uniform<double>;
}

/// The uniform number that starts at words[0].
template <class Real>
GRIDSTRIDE_HOST_DEVICE inline Real uniform_of(unsigned const* words) {
  if constexpr (sizeof(Real) == 4)
    return uniform(words[0]);
  else
    return uniform(words[0], words[1]);
}

/// The box and the parameters of an integral, as kernels take them: lower + width does not lie
/// beyond the upper end.
template <class Real>
struct SampleBox {
  Real lower[20];
  Real width[20];
  Real parameters[4];
};

/// The coordinate at a part u of an axis of the box.
template <class Real>
GRIDSTRIDE_HOST_DEVICE inline Real coordinate(SampleBox<Real> const& box, int axis, Real u) {
  return multiply_add(box.width[axis], u, box.lower[axis]);
}

/// Sums of scaled samples f_i about a pivot p near their mean: Σ (f_i − p) and Σ (f_i − p)². Mean
/// and variance come from them without the cancellation that plain squares suffer where the spread
/// is small beside the mean (T. F. Chan, G. H. Golub and R. J. LeVeque, "Algorithms for computing
/// the sample variance", The American Statistician 37 (1983)).
struct SampleSums {
  double sum = 0, squares = 0;

  GRIDSTRIDE_HOST_DEVICE void add(SampleSums const& other) {
    sum += other.sum;
    squares += other.squares;
  }
};

/// What kernels do to a sample before they sum it: times the power of two, less the pivot.
template <class Real>
struct Centering {
  Real scale, pivot;

  GRIDSTRIDE_HOST_DEVICE Real operator()(Real value) const { return value * scale - pivot; }
};

/// What a kernel sums: samples first (a multiple of 4) to first + count − 1 of a stream.
struct SampleRange {
  long long first, count, tile_size;
  PhiloxKey key;
};

}  // namespace gridstride::quadrature

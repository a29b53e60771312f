#pragma once

#include "core/host_device.hpp"

/// How lines of each kind become real Fourier transforms, of length `length`, and what of those is
/// a coefficient; for the host, and for kernels that are compiled at run time.
///
/// Lines between two like sides are continued to a period, odd or even: that has sums of the same
/// modes, and loses nothing to rounding, as formulas of half the length do that divide by sines.
/// Lines between two kinds of sides have n points to transform (J. Makhoul, IEEE Trans. ASSP 28,
/// 1980, 27–34): every other one, and then the rest backwards. A line that begins with a Dirichlet
/// side is one that begins with a Neumann side backwards, with every other coefficient's sign
/// changed.
namespace gridstride::fft {

/// What a pass does with each line.
enum class Task {
  forward,
  inverse,
  solve,     ///< forward, divided by eigenvalues, and back
  halve,     ///< reals to n/2 + 1 complex numbers
  complete,  ///< and back
};

/// Which step of a convolution that no block holds: numbers turned by the chirp; multiplied by the
/// filter between two transforms; turned by the chirp again.
enum class ConvolutionStep { none, chirp, filter, back };

enum class LineKind { complex, periodic, sine, cosine, quarter_sine, quarter_cosine };

/// Of the real transform.
GRIDSTRIDE_HOST_DEVICE constexpr long long length_of(LineKind kind, long long n) {
  return kind == LineKind::sine ? 2 * (n + 1) : kind == LineKind::cosine ? 2 * (n - 1) : n;
}
/// Of the complex transform that does it: even and odd elements as real and imaginary parts.
GRIDSTRIDE_HOST_DEVICE constexpr long long complex_length(LineKind kind, long long n) {
  long long const length = length_of(kind, n);
  return kind != LineKind::complex && length % 2 == 0 ? length / 2 : length;
}
GRIDSTRIDE_HOST_DEVICE constexpr bool is_quarter(LineKind kind) {
  return kind == LineKind::quarter_sine || kind == LineKind::quarter_cosine;
}

/// An element that is sign·line[index]; a sign of 0: it is 0, and the index 0.
struct Element {
  long long index;
  int sign;
};

/// What element i of the transform is. A quarter's line holds coefficients, for they come back by
/// way of it.
GRIDSTRIDE_HOST_DEVICE constexpr Element element_of(LineKind kind, long long n, long long i) {
  if (kind == LineKind::sine) {
    if (i == 0 || i == n + 1) return {0, 0};
    return i <= n ? Element{i - 1, 1} : Element{2 * n + 1 - i, -1};
  }
  if (kind == LineKind::cosine) return {i < n ? i : 2 * (n - 1) - i, 1};
  if (!is_quarter(kind)) return {i, 1};
  bool const is_even = 2 * i < n;
  return {is_even ? 2 * i : 2 * (n - 1 - i) + 1,
          is_even || kind == LineKind::quarter_cosine ? 1 : -1};
}

/// The elements of a line that belong to the real and the imaginary part of result k.
struct Parts {
  Element re, im;
};

GRIDSTRIDE_HOST_DEVICE constexpr long long reversed(LineKind kind, long long n, long long i) {
  return kind == LineKind::quarter_sine ? n - 1 - i : i;
}

/// Coefficients that are sign times the parts of result k, k = 0 … length/2; a quarter's those of
/// the result times 2·exp(−iπk/(2n)).
GRIDSTRIDE_HOST_DEVICE constexpr Parts coefficients_of(LineKind kind, long long n, long long k) {
  Element const none{0, 0};
  if (kind == LineKind::sine) return {none, k >= 1 && k <= n ? Element{k - 1, -1} : none};
  if (kind == LineKind::cosine) return {{k, 1}, none};
  bool const has_both = k > 0 && 2 * k < n;
  return {{reversed(kind, n, k), 1},
          has_both ? Element{reversed(kind, n, n - k), is_quarter(kind) ? -1 : 1} : none};
}

/// The way back for periodic lines: what the parts of result k are. A quarter's line holds values,
/// and the result is what they are times exp(iπk/(2n)).
GRIDSTRIDE_HOST_DEVICE constexpr Parts result_of(LineKind kind, long long n, long long k) {
  bool const is_middle = is_quarter(kind) && 2 * k == n;
  Parts parts = coefficients_of(kind, n, k);
  if (is_middle) parts.im = {reversed(kind, n, n - k), -1};
  return parts;
}

/// Results k and length/2 − k of a real transform, of those of the complex one of its even and odd
/// elements, Z: with E and O the transforms of these, Z_k = E_k + i·O_k, and Y_k = E_k + w·O_k, where
/// w is exp(−2πi·k/length). The second is its own place for k = length/4.
template <class T>
GRIDSTRIDE_HOST_DEVICE void separate(T& a_re, T& a_im, T& b_re, T& b_im, T w_re, T w_im) {
  T const even_re = (a_re + b_re) / 2, even_im = (a_im - b_im) / 2;
  T const gap_re = (a_im + b_im) / 2, gap_im = (b_re - a_re) / 2;
  T const odd_re = gap_re * w_re - gap_im * w_im, odd_im = gap_re * w_im + gap_im * w_re;
  a_re = even_re + odd_re;
  a_im = even_im + odd_im;
  b_re = even_re - odd_re;
  b_im = odd_im - even_im;
}
/// The way back, times 2.
template <class T>
GRIDSTRIDE_HOST_DEVICE void combine(T& a_re, T& a_im, T& b_re, T& b_im, T w_re, T w_im) {
  T const even_re = a_re + b_re, even_im = a_im - b_im;
  T const gap_re = a_re - b_re, gap_im = a_im + b_im;
  T const odd_re = gap_re * w_re + gap_im * w_im, odd_im = gap_im * w_re - gap_re * w_im;
  a_re = even_re - odd_im;
  a_im = even_im + odd_re;
  b_re = even_re + odd_im;
  b_im = odd_re - even_im;
}

/// A pass of radix r turns element i of butterfly j by exp(−2πi·i·k/(s·r)), where k = j mod s, and s
/// is the product of the radices before: so many rows of s roots each, for i = 1, 4, 8, 12 …
GRIDSTRIDE_HOST_DEVICE constexpr int root_rows(int radix) { return 1 + (radix - 1) / 4; }

template <class T>
struct alignas(2 * sizeof(T)) Number {
  T re, im;
};

/// What exp(−2πi·m/n) is made of, m < n < 2³¹.
struct Turn {
  double n, quarters, angle;    ///< n, 4/n, π/(2n)
  unsigned long long fraction;  ///< 2⁶⁴/n
};

/// The lines of a pass as kernels take them, and tables in device memory. The first of the axes
/// across has the nearest neighbours.
template <class T>
struct LineWork {
  T const* in;
  T* out;
  long long in_stride, out_stride;
  long long counts[4], in_strides[4], out_strides[4];
  long long lines;
  Number<T> const *roots, *chirp, *filter;  ///< of the complex transform; blocks: of each pass
  int const* order;                         ///< powers of a primitive root of a prime length
  Number<T> const *halving, *quarter;       ///< exp(−2πi·k/length), exp(−πi·k/(2n))
  T const* along;                           ///< eigenvalues; null: 0
  T const* across[4];
  T constant, scale;
  /// Results k of the line with index t along the first axis across are turned by
  /// exp(∓2πi·k·t·twist/n).
  Turn turn;
  int twist;
  /// Of a convolution longer than a block holds: element j of line t is number j·stretch + t, of
  /// which the first short_points are given, or wanted.
  long long stretch, short_points;
};

/// Two passes as one kernel (blocks/pair.cuh): the lines of both are in slabs along an axis across.
struct Slabs {
  long long size, each;  ///< of that axis: of all slabs, of one
  /// From one slab to the next, in elements: where the first pass reads, where it writes and the
  /// second one reads, and where that one writes.
  long long first_in, between, second_out;
  unsigned count;  ///< slabs
  unsigned lag;    ///< slabs by which the second pass is behind
  unsigned ring;   ///< slabs for which there is room in between; 0: for all
  bool mixes;      ///< blocks of both passes by turns, or those of a slab together
  unsigned first_tiles, second_tiles;  ///< blocks' work of a slab
  unsigned* counters;                  ///< 2·count of them, all 0
};

}  // namespace gridstride::fft

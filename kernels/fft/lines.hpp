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

/// A coefficient that is sign times the real or imaginary part of result k of the transform; of a
/// quarter, of that result times 2·exp(−iπk/(2n)).
struct Part {
  long long k;
  bool imaginary;
  int sign;
};
GRIDSTRIDE_HOST_DEVICE constexpr Part part_of(LineKind kind, long long n, long long coefficient) {
  if (kind == LineKind::sine) return {coefficient + 1, true, -1};
  if (kind == LineKind::cosine) return {coefficient, false, 1};
  if (kind == LineKind::quarter_sine) coefficient = n - 1 - coefficient;
  bool const is_real = 2 * coefficient <= n;
  return {is_real ? coefficient : n - coefficient, !is_real, is_real || !is_quarter(kind) ? 1 : -1};
}

/// The way back of `part_of`: the elements of the line that are the real and the imaginary part of
/// result k; of a quarter, the line holds values, and the result is theirs times exp(iπk/(2n)).
struct Parts {
  Element re, im;
};
GRIDSTRIDE_HOST_DEVICE constexpr Parts parts_of(LineKind kind, long long n, long long k) {
  bool const has_both = k > 0 && (is_quarter(kind) || 2 * k < n);
  Parts parts{{k, 1}, {0, 0}};
  if (has_both) parts.im = {n - k, is_quarter(kind) ? -1 : 1};
  if (kind == LineKind::quarter_sine) {
    parts.re.index = n - 1 - parts.re.index;
    if (has_both) parts.im.index = n - 1 - parts.im.index;
  }
  return parts;
}

}  // namespace gridstride::fft

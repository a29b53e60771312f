#pragma once

#include "kernels/fft/blocks/line.cuh"

/// Transforms of a few numbers in registers, for NVRTC.
namespace gridstride::fft {

/// A loop whose index is known when this is compiled.
template <int i>
struct Index {
  static constexpr int value = i;
};
template <int count, int first = 0, class Body>
__device__ __forceinline__ void unrolled(Body const& body) {
  if constexpr (first < count) {
    body(Index<first>{});
    unrolled<count, first + 1>(body);
  }
}

/// cos or sin of π/4·x, 0 ≤ x ≤ 1, by their series.
constexpr double series(double x, bool is_sine) {
  double const angle = 0.78539816339744830961566 * x, square = angle * angle;
  double sum = 0;
  for (int i = 20 + (is_sine ? 1 : 0); i >= 0; i -= 2) {
    sum = 1 - (sum * square) / ((i + 1) * (i + 2));
    if (i == (is_sine ? 1 : 0)) break;
  }
  return is_sine ? sum * angle : sum;
}

/// exp(−2πi·k/n)
struct Root {
  double re, im;
};
constexpr Root root_of(int k, int n) {
  int angle = 8 * (k % n);
  bool const is_below = angle > 4 * n;
  if (is_below) angle = 8 * n - angle;
  bool const is_left = angle > 2 * n;
  if (is_left) angle = 4 * n - angle;
  bool const is_steep = angle > n;
  if (is_steep) angle = 2 * n - angle;
  double const x = static_cast<double>(angle) / n;
  double const cosine = series(x, is_steep), sine = series(x, !is_steep);
  return {is_left ? -cosine : cosine, is_below ? sine : -sine};
}

/// v·exp(∓2πi·k/n)
template <bool inverse, int k, int n, class T>
__device__ __forceinline__ Number<T> turned(Number<T> v) {
  constexpr int quarters = 4 * (k % n);
  if constexpr (quarters == 0) {
    return v;
  } else if constexpr (quarters == 2 * n) {
    return {-v.re, -v.im};
  } else if constexpr (quarters == (inverse ? n : 3 * n)) {
    return {-v.im, v.re};
  } else if constexpr (quarters == (inverse ? 3 * n : n)) {
    return {v.im, -v.re};
  } else {
    constexpr Root root = root_of(k, n);
    return v * Number<T>{static_cast<T>(root.re), static_cast<T>(inverse ? -root.im : root.im)};
  }
}

constexpr int first_factor(int n) {
  if (n % 4 == 0 && n > 4) return 4;
  for (int const factor : {2, 3, 5, 7})
    if (n % factor == 0) return factor;
  return n;
}

/// The transform of an odd prime number of numbers: sums and differences of elements j and
/// count − j give results k and count − k.
template <int count, bool inverse, class T>
__device__ __forceinline__ void transform_odd(Number<T> (&v)[count]) {
  constexpr int half = count / 2;
  Number<T> sum[half], gap[half], const_first = v[0];
  unrolled<half>([&](auto j) {
    auto const a = v[j.value + 1], b = v[count - 1 - j.value];
    sum[j.value] = a + b;
    gap[j.value] = a - b;
    v[0] = v[0] + sum[j.value];
  });
  unrolled<half>([&](auto k) {
    Number<T> even = const_first, odd{0, 0};
    unrolled<half>([&](auto j) {
      constexpr Root root = root_of((decltype(k)::value + 1) * (decltype(j)::value + 1), count);
      constexpr T cosine = static_cast<T>(root.re);
      constexpr T sine = static_cast<T>(inverse ? -root.im : root.im);
      even.re = fma(cosine, sum[j.value].re, even.re);
      even.im = fma(cosine, sum[j.value].im, even.im);
      odd.re = fma(-sine, gap[j.value].im, odd.re);
      odd.im = fma(sine, gap[j.value].re, odd.im);
    });
    v[k.value + 1] = even + odd;
    v[count - 1 - k.value] = even - odd;
  });
}

template <int count, bool inverse, class T>
__device__ __forceinline__ void transform(Number<T> (&v)[count]);

constexpr int common_factor(int a, int b) { return b == 0 ? a : common_factor(b, a % b); }

/// The transform of a·b numbers where a and b have no common factor (I. J. Good, J. Royal Statistical
/// Society B 20, 1958, 361–372): element (j₁·b + j₂·a) mod n and result k₁ mod a, k₂ mod b are those
/// of a transform along two axes, without a turn in between.
template <int a, int b, bool inverse, class T>
__device__ __forceinline__ void transform_coprime(Number<T> (&v)[a * b]) {
  Number<T> rows[b][a], result[a * b];
  unrolled<b>([&](auto j) {
    unrolled<a>([&](auto i) { rows[j.value][i.value] = v[(i.value * b + j.value * a) % (a * b)]; });
    transform<a, inverse>(rows[j.value]);
  });
  unrolled<a>([&](auto k) {
    Number<T> column[b];
    unrolled<b>([&](auto j) { column[j.value] = rows[j.value][k.value]; });
    transform<b, inverse>(column);
    unrolled<b>([&](auto i) {
      constexpr int place = [] {
        int at = decltype(k)::value;
        while (at % b != decltype(i)::value) at += a;
        return at;
      }();
      result[place] = column[i.value];
    });
  });
  unrolled<a * b>([&](auto i) { v[i.value] = result[i.value]; });
}

/// The transform of `count` numbers. Where it is a product a·b, with element j₁·b + j₂ and result
/// k₁ + a·k₂, those of a numbers come first, then a turn by j₂·k₁, then those of b.
template <int count, bool inverse, class T>
__device__ __forceinline__ void transform(Number<T> (&v)[count]) {
  if constexpr (count == 2) {
    auto const a = v[0], b = v[1];
    v[0] = a + b;
    v[1] = a - b;
  } else if constexpr (count > 2) {
    constexpr int a = first_factor(count), b = count / a;
    if constexpr (b == 1) {
      transform_odd<count, inverse>(v);
    } else if constexpr (common_factor(a, b) == 1) {
      transform_coprime<a, b, inverse>(v);
    } else {
      unrolled<b>([&](auto j) {
        Number<T> part[a];
        unrolled<a>([&](auto i) { part[i.value] = v[i.value * b + j.value]; });
        transform<a, inverse>(part);
        unrolled<a>([&](auto k) {
          constexpr int by = decltype(j)::value * decltype(k)::value;
          v[k.value * b + j.value] = turned<inverse, by, count>(part[k.value]);
        });
      });
      Number<T> result[count];
      unrolled<a>([&](auto k) {
        Number<T> part[b];
        unrolled<b>([&](auto j) { part[j.value] = v[k.value * b + j.value]; });
        transform<b, inverse>(part);
        unrolled<b>([&](auto i) { result[k.value + a * i.value] = part[i.value]; });
      });
      unrolled<count>([&](auto i) { v[i.value] = result[i.value]; });
    }
  }
}

}  // namespace gridstride::fft

#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>

/// Complex Fourier transforms by a block of threads, whose points stay on chip.
///
/// The transform of n = r₁·r₂·… points takes one pass for each radix. In pass p a thread takes r_p
/// elements that lie n/(r₁…r_p) apart into registers, transforms these r_p, turns each by a root of
/// one, and puts them back where they came from. After the last pass frequencies lie in reversed
/// order of digits. The inverse transform is the same passes backwards, each undone by its inverse,
/// and times n. Between two passes elements go through shared memory, where one more after each 16
/// keeps lanes in different banks.
namespace gridstride::fft {

// ---------------------------------------------------------------------- transforms in registers

template <class T>
struct alignas(2 * sizeof(T)) Complex {
  T re, im;
};
template <class T>
__device__ Complex<T> operator+(Complex<T> a, Complex<T> b) {
  return {a.re + b.re, a.im + b.im};
}
template <class T>
__device__ Complex<T> operator-(Complex<T> a, Complex<T> b) {
  return {a.re - b.re, a.im - b.im};
}
template <class T>
__device__ Complex<T> operator*(Complex<T> a, Complex<T> b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

/// cos(2π·i/32)
constexpr double cosine(int i) {
  constexpr double quarter[] = {1,
                                0.98078528040323044913,
                                0.92387953251128675613,
                                0.83146961230254523708,
                                0.70710678118654752440,
                                0.55557023301960222474,
                                0.38268343236508977173,
                                0.19509032201612826785,
                                0};
  i = (i % 32 + 32) % 32;
  if (i > 16) i = 32 - i;
  return i <= 8 ? quarter[i] : -quarter[16 - i];
}

/// v·exp(∓2πi·k/radix); k and radix are known when this is compiled.
template <bool inverse, class T>
__device__ __forceinline__ Complex<T> turned(Complex<T> v, int k, int radix) {
  constexpr T sign = inverse ? 1 : -1;
  if (k == 0) return v;
  if (4 * k == radix) return {-sign * v.im, sign * v.re};
  T const cosine_k = static_cast<T>(cosine(32 * k / radix));
  T const sine_k = sign * static_cast<T>(cosine(32 * k / radix - 8));
  if (8 * k == radix) return {cosine_k * (v.re - sign * v.im), cosine_k * (v.im + sign * v.re)};
  return {v.re * cosine_k - v.im * sine_k, v.re * sine_k + v.im * cosine_k};
}

/// The transform of `radix` numbers; result k is in v[reversed(k, radix)].
template <int radix, bool inverse, class T>
__device__ __forceinline__ void transform(Complex<T>* v) {
  if constexpr (radix > 1) {
    constexpr int half = radix / 2;
#pragma unroll
    for (int i = 0; i < half; ++i) {
      auto const a = v[i], b = v[i + half];
      v[i] = a + b;
      v[i + half] = turned<inverse>(a - b, i, radix);
    }
    transform<half, inverse>(v);
    transform<half, inverse>(v + half);
  }
}

/// The bits of k backwards.
constexpr int reversed(int k, int radix) {
  int result = 0;
  for (int bit = 1; bit < radix; bit *= 2, k /= 2) result = 2 * result + k % 2;
  return result;
}

// --------------------------------------------------------------- transforms by a block of threads

/// How a block of threads transforms: a pass for each radix.
template <class T, int... radices>
struct Passes {
  using Value = T;
  static constexpr int passes = sizeof...(radices);
  static constexpr int points = (radices * ...);
  static constexpr int most = std::max({radices...});  ///< numbers of a thread
  static constexpr int threads = points / most;
  /// Blocks of a multiprocessor that registers have to suffice for: 128 a thread where it has many
  /// numbers, else 80.
  static constexpr int resident = std::max(1, (most * sizeof(T) > 64 ? 512 : 768) / threads);
  static constexpr std::size_t shared_bytes = (points + points / 16) * sizeof(Complex<T>);

  static constexpr int radix(int pass) {
    constexpr int all[] = {radices...};
    return all[pass];
  }
  /// From one element of a pass to the next.
  static constexpr int stride(int pass) {
    int result = points;
    for (int p = 0; p <= pass; ++p) result /= radix(p);
    return result;
  }
};

/// The work of one thread; `v` are its numbers: those of one transform of the pass after the other.
template <class S>
struct Worker {
  using T = typename S::Value;
  Complex<T>* shared;
  Complex<T> const* roots;  ///< exp(−2πi·k/points)
  Complex<T> v[S::most];

  /// The place of element k of the pass's transform number u.
  template <int pass>
  static __device__ int place(int u, int k) {
    constexpr int stride = S::stride(pass), radix = S::radix(pass);
    return u / stride * stride * radix + u % stride + k * stride;
  }
  /// Calls `body(u, k, number)` for each number: element k of transform u.
  template <int pass, class Body>
  __device__ __forceinline__ void for_each(Body const& body) {
    constexpr int radix = S::radix(pass);
#pragma unroll
    for (int m = 0; m < S::most / radix; ++m)
#pragma unroll
      for (int k = 0; k < radix; ++k)
        body(static_cast<int>(threadIdx.x) + m * S::threads, k, v[m * radix + k]);
  }
  template <int pass, bool inverse>
  __device__ __forceinline__ void transform_all() {
    constexpr int radix = S::radix(pass);
    Complex<T> sorted[S::most];
#pragma unroll
    for (int m = 0; m < S::most; m += radix) {
      transform<radix, inverse>(v + m);
#pragma unroll
      for (int k = 0; k < radix; ++k) sorted[m + k] = v[m + reversed(k, radix)];
    }
#pragma unroll
    for (int i = 0; i < S::most; ++i) v[i] = sorted[i];
  }
  /// Number k of transform u times exp(∓2πi·k·(u mod stride)/(stride·radix)). The roots of four
  /// neighbours come from the one of the first and from the first three, which keeps them accurate.
  template <int pass, bool inverse>
  __device__ __forceinline__ void turn_all() {
    constexpr int stride = S::stride(pass), radix = S::radix(pass);
    if constexpr (stride > 1) {
      auto const root = [&](int k) {
        auto const w = roots[k];
        return Complex<T>{w.re, inverse ? -w.im : w.im};
      };
#pragma unroll
      for (int m = 0; m < S::most / radix; ++m) {
        int const u = static_cast<int>(threadIdx.x) + m * S::threads;
        int const k = u % stride * (S::points / (stride * radix));
        Complex<T> const first = root(k), second = first * first, third = second * first;
        Complex<T> const far = root(4 * k);
        Complex<T>* const here = v + m * radix;
        here[1] = here[1] * first;
        here[2] = here[2] * second;
        here[3] = here[3] * third;
        Complex<T> four = far;
#pragma unroll
        for (int i = 4; i < radix; i += 4) {
          if (i > 4) four = four * far;
          here[i] = here[i] * four;
          here[i + 1] = here[i + 1] * (four * first);
          here[i + 2] = here[i + 2] * (four * second);
          here[i + 3] = here[i + 3] * (four * third);
        }
      }
    }
  }
  static __device__ int padded(int place) { return place + place / 16; }
  /// Hands the numbers of one pass on to the other. A thread puts them where it has read them, so
  /// that the threads have to meet but once.
  template <int from, int to>
  __device__ __forceinline__ void exchange() {
    for_each<from>([&](int u, int k, Complex<T>& x) { shared[padded(place<from>(u, k))] = x; });
    __syncthreads();
    for_each<to>([&](int u, int k, Complex<T>& x) { x = shared[padded(place<to>(u, k))]; });
  }

  template <int pass = 0>
  __device__ __forceinline__ void forward() {
    transform_all<pass, false>();
    turn_all<pass, false>();
    if constexpr (pass + 1 < S::passes) {
      exchange<pass, pass + 1>();
      forward<pass + 1>();
    }
  }
  template <int pass = S::passes - 1>
  __device__ __forceinline__ void inverse() {
    turn_all<pass, true>();
    transform_all<pass, true>();
    if constexpr (pass > 0) {
      exchange<pass, pass - 1>();
      inverse<pass - 1>();
    }
  }
};

}  // namespace gridstride::fft

#pragma once

#include "kernels/fft/lines.hpp"

/// One line of a pass on the GPU: where its numbers are, and what of the work is not a complex
/// transform. For nvcc and for NVRTC, to which kind and length are constants. What is fused is
/// written so, and nothing else is fused by NVRTC: kernels for the same line in different
/// surroundings give the same bits.
namespace gridstride::fft {

template <class T>
__device__ __forceinline__ Number<T> operator+(Number<T> a, Number<T> b) {
  return {a.re + b.re, a.im + b.im};
}
template <class T>
__device__ __forceinline__ Number<T> operator-(Number<T> a, Number<T> b) {
  return {a.re - b.re, a.im - b.im};
}
template <class T>
__device__ __forceinline__ Number<T> operator*(Number<T> a, Number<T> b) {
  return {fma(a.re, b.re, -(a.im * b.im)), fma(a.re, b.im, a.im * b.re)};
}
template <class T>
__device__ __forceinline__ Number<T> conjugate(Number<T> a) {
  return {a.re, -a.im};
}

template <class T>
struct Line {
  LineWork<T> const& work;
  LineKind kind;
  long long n;
  bool is_there;             ///< false: a line beyond the last reads zeros and writes nothing
  bool pairs_in, pairs_out;  ///< two of T that belong together can be read, or written, as one
  bool streams = false;      ///< such pairs of 16 bytes are not read again soon
  T const* in;
  T* out;
  long long index[4];

  __device__ __forceinline__ Line(LineWork<T> const& given, LineKind of, long long points,
                                  bool in_pairs, bool out_pairs, long long line)
      : work(given),
        kind(of),
        n(points),
        is_there(line < given.lines),
        pairs_in(in_pairs),
        pairs_out(out_pairs) {
    long long from = 0, to = 0, rest = is_there ? line : 0;
#pragma unroll
    for (int axis = 0; axis < 4; ++axis) {
      long long const outer = quotient(rest, given.counts[axis]);
      index[axis] = rest - outer * given.counts[axis];
      rest = outer;
      from += index[axis] * given.in_strides[axis];
      to += index[axis] * given.out_strides[axis];
    }
    bool const is_complex = kind == LineKind::complex;
    in = given.in + from * (is_complex ? 2 : 1);
    out = given.out + to * (is_complex ? 2 : 1);
  }

  /// Division of 64 bits takes as long as all else of a line's index.
  static __device__ __forceinline__ long long quotient(long long a, long long b) {
    if (b == 1) return a;
    if ((a | b) >> 32 != 0) return a / b;
    return static_cast<unsigned>(a) / static_cast<unsigned>(b);
  }

  __device__ __forceinline__ long long length() const { return length_of(kind, n); }

  // Reals.
  __device__ __forceinline__ T real(Element e) const {
    if (e.sign == 0 || !is_there) return 0;
    T const value = in[e.index * work.in_stride];
    return e.sign > 0 ? value : -value;
  }
  __device__ __forceinline__ void put_real(Element e, T value) const {
    if (e.sign != 0 && is_there) out[e.index * work.out_stride] = e.sign > 0 ? value : -value;
  }
  /// Even and odd elements of the real transform as one number.
  __device__ __forceinline__ Number<T> packed(long long j) const {
    if (length() % 2 != 0) return {real(element_of(kind, n, j)), 0};
    if (kind == LineKind::periodic && pairs_in && is_there)
      return reinterpret_cast<Number<T> const*>(in)[j];
    return {real(element_of(kind, n, 2 * j)), real(element_of(kind, n, 2 * j + 1))};
  }
  __device__ __forceinline__ void put_packed(long long j, Number<T> value) const {
    if (length() % 2 != 0) return put_real(element_of(kind, n, j), value.re);
    if (kind == LineKind::periodic && pairs_out) {
      if (is_there) reinterpret_cast<Number<T>*>(out)[j] = value;
      return;
    }
    put_element(2 * j, value.re);
    put_element(2 * j + 1, value.im);
  }
  /// Elements that continue the line are not its own.
  __device__ __forceinline__ void put_element(long long i, T value) const {
    if (kind == LineKind::sine ? i <= n : i < n) put_real(element_of(kind, n, i), value);
  }
  /// Result k of the real transform goes where its coefficients are.
  __device__ __forceinline__ void put_result(long long k, Number<T> result) const {
    if (is_quarter(kind)) {
      result = result * work.quarter[k];
      result = {2 * result.re, 2 * result.im};
    }
    Parts const parts = coefficients_of(kind, n, k);
    put_real(parts.re, result.re);
    put_real(parts.im, result.im);
  }
  __device__ __forceinline__ Number<T> result(long long k) const {
    Parts const parts = result_of(kind, n, k);
    Number<T> const value{real(parts.re), real(parts.im)};
    return is_quarter(kind) ? value * conjugate(work.quarter[k]) : value;
  }

  // Complex numbers, which are a line's own or half of its spectrum. `base` is where its side of
  // the pass begins.
  __device__ __forceinline__ Number<T> number(T const* base, long long k) const {
    if (!is_there) return {0, 0};
    long long const place = k * work.in_stride;
    if (pairs_in) return reinterpret_cast<Number<T> const*>(base)[place];
    return {base[2 * place], base[2 * place + 1]};
  }
  __device__ __forceinline__ void put_number(T* base, long long k, Number<T> value) const {
    if (!is_there) return;
    long long const place = k * work.out_stride;
    if constexpr (sizeof(T) == 8) {
      if (pairs_out && streams)
        return __stcs(reinterpret_cast<double2*>(base) + place, double2{value.re, value.im});
    }
    if (pairs_out) {
      reinterpret_cast<Number<T>*>(base)[place] = value;
    } else {
      base[2 * place] = value.re;
      base[2 * place + 1] = value.im;
    }
  }
  /// Complex sides of lines of reals.
  __device__ __forceinline__ T const* complex_in() const { return work.in + 2 * (in - work.in); }
  __device__ __forceinline__ T* complex_out() const { return work.out + 2 * (out - work.out); }
  /// Results that are their own complex conjugates have no imaginary part.
  __device__ __forceinline__ Number<T> paired(long long k, Number<T> value) const {
    return k == 0 || 2 * k == n ? Number<T>{value.re, 0} : value;
  }

  /// What coefficient c is multiplied by.
  __device__ __forceinline__ T factor(T across, long long c) const {
    T const value = work.along != nullptr ? across + work.along[c] : across;
    return value == 0 ? T(0) : work.scale / value;
  }
  __device__ __forceinline__ T eigenvalue_across() const {
    T sum = work.constant;
#pragma unroll
    for (int axis = 0; axis < 4; ++axis)
      if (work.across[axis] != nullptr) sum += work.across[axis][index[axis]];
    return sum;
  }
  /// Result k of the real transform, divided by its eigenvalues.
  __device__ __forceinline__ Number<T> divided(T across, long long k, Number<T> value) const {
    Parts const parts = coefficients_of(kind, n, k);
    return {parts.re.sign != 0 ? value.re * factor(across, parts.re.index) : T(0),
            parts.im.sign != 0 ? value.im * factor(across, parts.im.index) : T(0)};
  }
  /// The same for the even and odd elements of a quarter's line, which are coefficients. A line of odd
  /// length has none in imaginary parts: what roundings leave there is as large as what is divided, and
  /// would be in the way of the quotients.
  __device__ __forceinline__ Number<T> divided_packed(T across, long long j,
                                                      Number<T> value) const {
    if (length() % 2 != 0) return {value.re * factor(across, element_of(kind, n, j).index), 0};
    return {value.re * factor(across, element_of(kind, n, 2 * j).index),
            value.im * factor(across, element_of(kind, n, 2 * j + 1).index)};
  }
};

}  // namespace gridstride::fft

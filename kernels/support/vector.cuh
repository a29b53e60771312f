#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

/// Vectors that one instruction loads or stores, and arithmetic that every device rounds alike.
namespace gridstride {

/// Elements of T in 16 bytes, the widest that a thread loads at once.
template <class T>
constexpr int vector_width = 16 / static_cast<int>(sizeof(T));

/// `width` neighbouring elements: 16 bytes, or one element where arrays are not aligned alike.
template <class T, int width>
struct alignas(sizeof(T) * width) Vector {
  static_assert(width == 1 || width == vector_width<T>);
  T at[width];
};

/// Bytes are taken out of words, in registers.
template <>
struct alignas(16) Vector<std::uint8_t, 16> {
  struct {
    unsigned words[4];
    __device__ std::uint8_t operator[](int i) const {
      return static_cast<std::uint8_t>(words[i / 4] >> (8 * (i % 4)));
    }
  } at;
};

/// Loads a vector that is used once, so that it does not drive other data out of the caches.
/// `source` is aligned to the vector's size. The load may come before earlier stores of the thread.
template <int width>
__device__ Vector<float, width> load_once(float const* source) {
  if constexpr (width == 4) {
    float4 const v = __ldcs(reinterpret_cast<float4 const*>(source));
    return {v.x, v.y, v.z, v.w};
  } else {
    return {__ldcs(source)};
  }
}

template <int width>
__device__ Vector<double, width> load_once(double const* source) {
  if constexpr (width == 2) {
    double2 const v = __ldcs(reinterpret_cast<double2 const*>(source));
    return {v.x, v.y};
  } else {
    return {__ldcs(source)};
  }
}

template <int width, class T>
requires std::is_integral_v<T> __device__ Vector<T, width> load_once(T const* source) {
  if constexpr (width > 1)
    return __builtin_bit_cast(Vector<T, width>, __ldcs(reinterpret_cast<uint4 const*>(source)));
  else
    return {__ldcs(source)};
}

/// The same for a store.
template <class T>
requires std::is_integral_v<T> __device__ void store_once(T* target,
                                                          Vector<T, vector_width<T>> const& v) {
  __stcs(reinterpret_cast<uint4*>(target), __builtin_bit_cast(uint4, v));
}
__device__ inline void store_once(float* target, Vector<float, 4> const& v) {
  __stcs(reinterpret_cast<float4*>(target), float4{v.at[0], v.at[1], v.at[2], v.at[3]});
}
__device__ inline void store_once(double* target, Vector<double, 2> const& v) {
  __stcs(reinterpret_cast<double2*>(target), double2{v.at[0], v.at[1]});
}
template <class T>
__device__ void store_once(T* target, Vector<T, 1> const& v) {
  __stcs(target, v.at[0]);
}

/// How many elements `p` lies beyond a multiple of 16 bytes.
template <class T>
__host__ __device__ inline int misalignment(T const* p) {
  return static_cast<int>(reinterpret_cast<std::uintptr_t>(p) % 16 / sizeof(T));
}

/// An array cut into aligned vectors, with less than one of them before and after.
struct VectorCut {
  std::int64_t head;  ///< elements before the first vector
  std::int64_t vectors;
  std::int64_t outside;  ///< elements before and after the vectors

  /// The cut for vectors of `width` elements; vectors of one are all there is.
  template <class T>
  static VectorCut make(T const* p, std::int64_t size, int width) {
    std::int64_t head = width == 1 ? 0 : (vector_width<T> - misalignment(p)) % vector_width<T>;
    if (head > size) head = size;
    std::int64_t const vectors = (size - head) / width;
    return {head, vectors, size - vectors * width};
  }

  /// The index of element number n of those outside.
  __device__ std::int64_t index_outside(std::int64_t n, int width) const {
    return n < head ? n : n + vectors * width;
  }
};

/// a·b and a + b, rounded separately: the compiler never fuses them into one operation.
__device__ inline float product(float a, float b) { return __fmul_rn(a, b); }
__device__ inline double product(double a, double b) { return __dmul_rn(a, b); }
__device__ inline float sum(float a, float b) { return __fadd_rn(a, b); }
__device__ inline double sum(double a, double b) { return __dadd_rn(a, b); }

}  // namespace gridstride

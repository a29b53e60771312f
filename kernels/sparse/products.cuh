#pragma once

#include <cstdint>

/// What the rungs have in common whose blocks take 2048 elements of the matrix, wherever rows end.
namespace gridstride::sparse {

constexpr int threads = 256;
constexpr int each = 8;  ///< elements of a thread
constexpr int piece_elements = threads * each;

/// Where number i of an array in shared memory lies: one place is left free after every 128 bytes,
/// so that threads that are a power of two apart do not meet in one bank.
template <class T>
constexpr int skewed(int i) {
  return i + i / (128 / static_cast<int>(sizeof(T)));
}

/// What a thread has of the `count` elements from `begin` on, with all of its loads under way at once.
/// What is read once does not drive x out of the caches.
template <class T>
struct Elements {
  std::int32_t column[each];
  T value[each];

  __device__ Elements(std::int64_t begin, int count, std::int32_t const* __restrict__ columns,
                      T const* __restrict__ values) {
#pragma unroll
    for (int i = 0; i < each; ++i) {
      int const k = i * threads + static_cast<int>(threadIdx.x);
      bool const there = k < count;
      column[i] = there ? __ldcs(columns + begin + k) : -1;
      value[i] = there ? __ldcs(values + begin + k) : T{0};
    }
  }
  /// products = values·x.
  __device__ void multiply(T const* __restrict__ x, T* products) const {
#pragma unroll
    for (int i = 0; i < each; ++i)
      if (column[i] >= 0)
        products[skewed<T>(i * threads + static_cast<int>(threadIdx.x))] = value[i] * x[column[i]];
  }
};

}  // namespace gridstride::sparse

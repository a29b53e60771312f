// Stored numbers to values on the GPU, as a ladder. The bytes come over the link to the host, which
// carries a fiftieth of what the device's memory does: a rung only has to stay out of the way.
//
//   naive       One thread per element: a warp loads 32 neighbouring ones.
//   vectorized  One thread per 16 bytes of stored numbers, which it loads at once: 16 elements of
//               one byte, 2 of eight. Values leave in 16 bytes too where they lie in C order and
//               are aligned.
//
// What type the numbers have is the same for all threads, so asking for it costs next to nothing,
// and there is one kernel for each width instead of one for each type.

#include <cstdint>

#include "kernels/convert/decode.hpp"
#include "kernels/convert/rows.hpp"
#include "kernels/support/launch.cuh"
#include "kernels/support/vector.cuh"

namespace gridstride::convert {

namespace {

constexpr int block_threads = 256;

template <class T>
__device__ T rounded(Arguments<T> const& a, double value) {
  return static_cast<T>(a.squares ? product(value, value) : value);
}

template <class T>
__device__ void note(Arguments<T> const& a, double value, std::int64_t place) {
  if (is_finite(value)) return;
  atomicMin(reinterpret_cast<long long*>(a.first_non_finite),
            static_cast<long long>(a.origin + place));
}

/// Element i, whose bits are known.
template <int bytes, bool linear, class T>
__device__ void convert_one(Arguments<T> const& a, Bits<bytes> bits, std::int64_t i) {
  std::int64_t const place = linear ? i : a.order.place(a.first + i);
  if (!linear && place < 0) return;
  double const value = decode<bytes>(bits, a.type.kind, a.type.swapped);
  a.target[place] = rounded(a, value);
  note(a, value, place);
}

template <int bytes, bool linear, class T>
__global__ void __launch_bounds__(block_threads)
    naive_kernel(__grid_constant__ Arguments<T> const a) {
  std::int64_t const i = static_cast<std::int64_t>(blockIdx.x) * block_threads + threadIdx.x;
  if (i < a.count) convert_one<bytes, linear>(a, static_cast<Bits<bytes> const*>(a.stored)[i], i);
}

/// 16 bytes of stored numbers.
template <int bytes>
union Pack {
  uint4 word;
  Bits<bytes> bits[16 / bytes];
};

/// Values that go to neighbouring places, in stores of 16 bytes.
template <int bytes, class T>
__device__ void convert_pack(Arguments<T> const& a, Pack<bytes> const& pack, std::int64_t i) {
  constexpr int count = 16 / bytes, width = vector_width<T>;
  constexpr int part = count < width ? count : width;
#pragma unroll
  for (int first = 0; first < count; first += part) {
    alignas(16) T values[part];
#pragma unroll
    for (int k = 0; k < part; ++k) {
      double const value = decode<bytes>(pack.bits[first + k], a.type.kind, a.type.swapped);
      values[k] = rounded(a, value);
      note(a, value, i + first + k);
    }
    T* const target = a.target + i + first;
    if constexpr (part == width)
      *reinterpret_cast<uint4*>(target) = *reinterpret_cast<uint4 const*>(values);
    else
      for (int k = 0; k < part; ++k) target[k] = values[k];
  }
}

/// `aligned`: element 0 goes to a multiple of 16 bytes.
template <int bytes, bool linear, bool aligned, class T>
__global__ void __launch_bounds__(block_threads)
    vectorized_kernel(__grid_constant__ Arguments<T> const a) {
  constexpr int count = 16 / bytes;
  std::int64_t const thread = static_cast<std::int64_t>(blockIdx.x) * block_threads + threadIdx.x;
  std::int64_t const i = thread * count;
  if (i + count <= a.count) {
    Pack<bytes> pack;
    pack.word = static_cast<uint4 const*>(a.stored)[thread];
    if constexpr (aligned) {
      convert_pack<bytes>(a, pack, i);
    } else {
#pragma unroll
      for (int k = 0; k < count; ++k) convert_one<bytes, linear>(a, pack.bits[k], i + k);
    }
  } else {
    for (std::int64_t last = i; last < a.count; ++last)
      convert_one<bytes, linear>(a, static_cast<Bits<bytes> const*>(a.stored)[last], last);
  }
}

}  // namespace

template <class T>
void cuda_naive(Stream& stream, Arguments<T> const& a) {
  unsigned const blocks = blocks_for(a.count, block_threads);
  with_width(a.type.bytes, [&](auto width) {
    constexpr int bytes = decltype(width)::value;
    if (a.linear)
      naive_kernel<bytes, true><<<blocks, block_threads, 0, native(stream)>>>(a);
    else
      naive_kernel<bytes, false><<<blocks, block_threads, 0, native(stream)>>>(a);
  });
  GRIDSTRIDE_CHECK_LAUNCH(stream, "convert naive");
}

template <class T>
void cuda_vectorized(Stream& stream, Arguments<T> const& a) {
  with_width(a.type.bytes, [&](auto width) {
    constexpr int bytes = decltype(width)::value;
    unsigned const blocks = blocks_for((a.count + 16 / bytes - 1) / (16 / bytes), block_threads);
    if (a.linear && misalignment(a.target) == 0)
      vectorized_kernel<bytes, true, true><<<blocks, block_threads, 0, native(stream)>>>(a);
    else if (a.linear)
      vectorized_kernel<bytes, true, false><<<blocks, block_threads, 0, native(stream)>>>(a);
    else
      vectorized_kernel<bytes, false, false><<<blocks, block_threads, 0, native(stream)>>>(a);
  });
  GRIDSTRIDE_CHECK_LAUNCH(stream, "convert vectorized");
}

#define GRIDSTRIDE_INSTANTIATE(T)                         \
  template void cuda_naive(Stream&, Arguments<T> const&); \
  template void cuda_vectorized(Stream&, Arguments<T> const&);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::convert

// What files hold of a field, on the GPU, as a ladder. What comes out goes over the link to the
// host, at a fiftieth of the rate of the device's memory; where points are left out, whole sectors
// of 32 bytes are read for the few that stay.
//
//   naive       One thread per value that stays: a warp stores 32 neighbouring ones. Each thread
//               finds its place in the field by four divisions of 64 bits.
//   vectorized  One thread per 16 bytes of what stays, stored at once: the divisions once for 2 or
//               4 values, which follow each other in steps of n along their line.

#include <cstdint>

#include "kernels/convert/rows.hpp"
#include "kernels/convert/walk.hpp"
#include "kernels/support/launch.cuh"
#include "kernels/support/vector.cuh"

namespace gridstride::convert {

namespace {

constexpr int thin_threads = 256;

template <class T, class F>
__device__ F fetch(ThinArguments<T, F> const& a, std::int64_t place) {
  T const value = __ldcs(a.field + place);
  F const rounded = static_cast<F>(value);
  if (is_beyond(value, rounded))
    atomicMin(reinterpret_cast<long long*>(a.first_beyond), static_cast<long long>(place));
  return rounded;
}

template <bool whole, class T, class F>
__global__ void __launch_bounds__(thin_threads)
    thin_naive_kernel(__grid_constant__ ThinArguments<T, F> const a) {
  std::int64_t const i = static_cast<std::int64_t>(blockIdx.x) * thin_threads + threadIdx.x;
  if (i >= a.count) return;
  a.target[i] = fetch(a, whole ? a.first + i : a.thinning.place(a.first + i));
}

/// `width`: that of a store, one where the target is not aligned.
template <bool whole, int width, class T, class F>
__global__ void __launch_bounds__(thin_threads)
    thin_vectorized_kernel(__grid_constant__ ThinArguments<T, F> const a) {
  std::int64_t const thread = static_cast<std::int64_t>(blockIdx.x) * thin_threads + threadIdx.x;
  std::int64_t const i = thread * vector_width<F>;
  if (i >= a.count) return;
  Walk walk(a.thinning, whole ? 0 : a.first + i);
  auto const place = [&](int k) { return whole ? a.first + i + k : walk.place(); };
  if (width > 1 && i + width <= a.count) {
    Vector<F, width> values;
#pragma unroll
    for (int k = 0; k < width; ++k) {
      values.at[k] = fetch(a, place(k));
      if (!whole) walk.next();
    }
    store_once(a.target + i, values);
  } else {
    for (int k = 0; k < vector_width<F> && i + k < a.count; ++k) {
      a.target[i + k] = fetch(a, place(k));
      if (!whole) walk.next();
    }
  }
}

}  // namespace

template <class T, class F>
void cuda_thin_naive(Stream& stream, ThinArguments<T, F> const& a) {
  unsigned const blocks = blocks_for(a.count, thin_threads);
  if (a.whole)
    thin_naive_kernel<true><<<blocks, thin_threads, 0, native(stream)>>>(a);
  else
    thin_naive_kernel<false><<<blocks, thin_threads, 0, native(stream)>>>(a);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "thin naive");
}

template <class T, class F>
void cuda_thin_vectorized(Stream& stream, ThinArguments<T, F> const& a) {
  constexpr int width = vector_width<F>;
  unsigned const blocks = blocks_for((a.count + width - 1) / width, thin_threads);
  bool const aligned = misalignment(a.target) == 0;
  if (a.whole && aligned)
    thin_vectorized_kernel<true, width><<<blocks, thin_threads, 0, native(stream)>>>(a);
  else if (a.whole)
    thin_vectorized_kernel<true, 1><<<blocks, thin_threads, 0, native(stream)>>>(a);
  else if (aligned)
    thin_vectorized_kernel<false, width><<<blocks, thin_threads, 0, native(stream)>>>(a);
  else
    thin_vectorized_kernel<false, 1><<<blocks, thin_threads, 0, native(stream)>>>(a);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "thin vectorized");
}

#define GRIDSTRIDE_INSTANTIATE(T, F)                                  \
  template void cuda_thin_naive(Stream&, ThinArguments<T, F> const&); \
  template void cuda_thin_vectorized(Stream&, ThinArguments<T, F> const&);
GRIDSTRIDE_INSTANTIATE(float, float)
GRIDSTRIDE_INSTANTIATE(double, double)
GRIDSTRIDE_INSTANTIATE(double, float)

}  // namespace gridstride::convert

// The rung `register` for a few taps, where memory is the roof: all that counts is that many loads
// are on their way. A thread loads the whole window of its outputs before it computes any; there
// is neither shared memory nor a barrier that would make threads wait for each other.
//
// Along x alone: a thread has two 16-byte vectors of outputs, a block's width apart, and loads the
// vectors around each that its taps reach. Each vector is loaded by up to three threads (five for
// float64), the first of which brings it to L1. As in cuda_register.cu the window begins at a
// vector, and the taps are shifted as much. Threads whose window goes beyond the signal, a few at
// its ends, take one datum after the other.
//
// Bytes: sizeof(T)·2 per output, from and to memory; up to three times the reads from L1.

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/convolve/window.cuh"
#include "kernels/support/vector.cuh"

namespace gridstride::convolve {

namespace {

constexpr int short_threads = 128;
constexpr int most_short_taps = 9;

constexpr int groups = 2;  // vectors of outputs of a thread

/// Through the read-only path, so that loads may move before stores.
template <class T>
__device__ Vector<T, vector_width<T>> load(T const* source) {
  if constexpr (sizeof(T) == 4) {
    float4 const v = __ldg(reinterpret_cast<float4 const*>(source));
    return {v.x, v.y, v.z, v.w};
  } else {
    double2 const v = __ldg(reinterpret_cast<double2 const*>(source));
    return {v.x, v.y};
  }
}

/// `reach` vectors are the window of one of outputs; the first tap is at place `skip` of it.
template <int reach, class T>
__global__ void __launch_bounds__(short_threads)
    short_kernel(__grid_constant__ Work<T> const work, __grid_constant__ Taps<T, 16> const taps,
                 unsigned parts, int skip) {
  constexpr int width = vector_width<T>;
  long long const signal = static_cast<long long>(blockIdx.x / parts) * work.length;
  long long const x =
      (static_cast<long long>(blockIdx.x % parts) * (groups * short_threads) + threadIdx.x) * width;
  T const* const in = work.in + signal;
  int const end = skip + work.count;
  auto const place = [&](int g) { return x + g * (short_threads * width); };
  auto const inside = [&](int g) {
    long long const lowest = place(g) + work.lowest - skip;
    return lowest >= 0 && lowest + reach * width <= work.length;
  };
  // Since `reach` is no larger than it has to be, only places near its ends may be no taps.
  Vector<T, width> window[groups][reach];
#pragma unroll
  for (int g = 0; g < groups; ++g)
    if (inside(g))
#pragma unroll
      for (int r = 0; r < reach; ++r)
        window[g][r] = load(in + place(g) + work.lowest - skip + r * width);
#pragma unroll
  for (int g = 0; g < groups; ++g) {
    if (place(g) >= work.length) return;
    Vector<T, width> sum{};
    if (inside(g)) {
#pragma unroll
      for (int m = 0; m < reach * width - (width - 1); ++m)
        if ((m >= width - 1 && m <= (reach - 2) * width + 1) || (m >= skip && m < end))
#pragma unroll
          for (int v = 0; v < width; ++v)
            sum.at[v] += taps.at[m] * window[g][(m + v) / width].at[(m + v) % width];
    } else {
#pragma unroll 1
      for (int m = skip; m < end; ++m)
#pragma unroll
        for (int v = 0; v < width; ++v)
          sum.at[v] += taps.at[m] * work.at(in, place(g) + v + work.lowest - skip + m);
    }
    *reinterpret_cast<Vector<T, width>*>(work.out + signal + place(g)) = sum;
  }
}

/// Places before the first tap in a window that begins at a vector.
template <class T>
int skip_of(std::int64_t lowest) {
  constexpr int width = vector_width<T>;
  return static_cast<int>((lowest % width + width) % width);
}

/// Vectors in the window of one of outputs.
template <class T>
constexpr int reach_of(std::int64_t places) {
  return static_cast<int>(tiles_of(places + vector_width<T> - 1, vector_width<T>));
}

template <int reach = 1, class T>
void launch(Stream& stream, Work<T> const& work, std::span<T const> taps) {
  if constexpr (reach < reach_of<T>(most_short_taps))
    if (reach < reach_of<T>(skip_of<T>(work.lowest) + work.count))
      return launch<reach + 1>(stream, work, taps);
  int const skip = skip_of<T>(work.lowest);
  auto const parts = tiles_of(work.length, groups * short_threads * vector_width<T>);
  short_kernel<reach><<<grid_of(parts * work.outer), short_threads, 0, native(stream)>>>(
      work, Taps<T, 16>::of(taps, skip), static_cast<unsigned>(parts), skip);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "convolve register short");
}

/// Points of a signal from which on its ends, which are slow along x, do not count.
constexpr std::int64_t least_length = 4096;

}  // namespace

template <class T>
bool takes_short(Arguments<T> const& a) {
  auto const signals = Signals::of(a.shape);
  auto const skip = skip_of<T>(a.filter->center() - (a.filter->count() - 1));
  return signals.inner == 1 && signals.length >= least_length &&
         skip + a.filter->count() <= most_short_taps && takes_vectors(a, signals.length);
}

template <class T>
void cuda_register_short(Stream& stream, Arguments<T> const& a) {
  for_each_piece(a, most_short_taps,
                 [&](Work<T> const& work, std::span<T const> taps) { launch(stream, work, taps); });
}

#define GRIDSTRIDE_INSTANTIATE(T)                 \
  template bool takes_short(Arguments<T> const&); \
  template void cuda_register_short(Stream&, Arguments<T> const&);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::convolve

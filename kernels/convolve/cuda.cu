// Filters along an axis, from the textbook's to the fastest. An output of n taps takes n
// multiply-adds and, where each element is read once, moves 2·sizeof(T) bytes: on an H200 memory is
// the roof for up to some 60 taps, arithmetic for more. What lies between these and a kernel
// are loads: each multiply-add has a datum and a tap.
//
//   global        one thread per output; both loads go to the caches, and each checks the boundary
//   shared        a block of 256 threads stages the data of a tile in shared memory, so that the
//                 boundary is dealt with once for each datum; a thread has 4 outputs (8 along y and
//                 z), which share the load of a tap from L1
//   constant      the taps are a parameter of the kernel: the constant bank hands one to all lanes
//   persistent    as many blocks as run at a time; each fetches the number of its next tile from a
//                 counter, so that none waits for the slowest
//   register      cuda_register.cu: a window of data in registers, a load for many multiply-adds
//   tensor_core   cuda_tensor_core.cu: products with a Toeplitz matrix, float64
//   overlap_save  cuda_overlap_save.cu: transforms of overlapping blocks by cuFFT
//   fft           cuda_fft.cu: the same within a block of threads
//
// Along x a tile has 1024 outputs of a signal, thread t those at t, t + 256, … Along y and z it has
// 32 neighbouring signals, which the lanes of a warp are side by side on, and 64 points. So warps
// read neighbouring elements along every axis, of global and of shared memory. A tile of n outputs
// along the axis reads n + taps − 1; filters of more taps than suit that are applied in pieces,
// one kernel after the other, each adding to the outputs.

#include <cuda_runtime_api.h>

#include <algorithm>

#include "kernels/convolve/work.cuh"

namespace gridstride::convolve {

namespace {

constexpr int threads = 256;

template <class T>
__global__ void __launch_bounds__(threads) global_kernel(Work<T> work, T const* taps) {
  long long const n = static_cast<long long>(blockIdx.x) * threads + threadIdx.x;
  if (n >= work.inner * work.length * work.outer) return;
  long long const i = n / work.inner % work.length;
  T const* signal = work.in + (n - i * work.inner);
  T sum = 0;
  for (int m = 0; m < work.count; ++m)
    sum += taps[work.count - 1 - m] * work.at(signal, i + work.lowest + m);
  work.out[n] = sum;
}

/// How a tile lies: `columns` signals beside each other, `points` of each.
struct AlongX {
  static constexpr int columns = 1, points = 1024, most_taps = 480;
};
struct AcrossX {
  static constexpr int columns = 32, points = 64, most_taps = 120;
};

/// Elements that a tile has in shared memory, at most.
template <class Tile, class T>
constexpr int staged = Tile::columns*(Tile::points + Tile::most_taps - 1);

/// The outputs of one tile. `tap(m)` is where the rungs differ.
template <class Tile, class T, class Tap>
__device__ void filter_tile(Work<T> const& work, Tap const& tap, unsigned tile, T* shared) {
  constexpr int columns = Tile::columns, rows = threads / columns;
  auto const tiles = static_cast<unsigned>((work.length + Tile::points - 1) / Tile::points);
  int const column = static_cast<int>(threadIdx.x) % columns;
  int const row = static_cast<int>(threadIdx.x) / columns;
  long long const n = static_cast<long long>(tile / tiles) * columns + column;
  long long const first = static_cast<long long>(tile % tiles) * Tile::points;
  bool const exists = n < work.inner * work.outer;
  long long const signal = exists ? work.signal(n) : 0;
  long long const lowest = first + work.lowest;
  int const used = Tile::points + work.count - 1;
  bool const inside = lowest >= 0 && lowest + used <= work.length;
  T const* const in = work.in + signal;
  for (int p = row; p < used; p += rows)
    shared[p * columns + column] = inside ? in[(lowest + p) * work.inner] : work.at(in, lowest + p);
  __syncthreads();
  T sum[Tile::points / rows] = {};
  for (int m = 0; m < work.count; ++m) {
    T const r = tap(m);
#pragma unroll
    for (int j = 0; j < Tile::points / rows; ++j)
      sum[j] += r * shared[(row + j * rows + m) * columns + column];
  }
#pragma unroll
  for (int j = 0; j < Tile::points / rows; ++j) {
    long long const i = first + row + j * rows;
    if (!exists || i >= work.length) break;
    T& out = work.out[signal + i * work.inner];
    out = work.add ? out + sum[j] : sum[j];
  }
}

template <class Tile, class T>
__global__ void __launch_bounds__(threads) shared_kernel(Work<T> work, T const* taps) {
  __shared__ T shared[staged<Tile, T>];
  auto const tap = [&](int m) { return taps[work.count - 1 - m]; };
  filter_tile<Tile>(work, tap, blockIdx.x, shared);
}

template <class Tile, class T>
__global__ void __launch_bounds__(threads)
    constant_kernel(__grid_constant__ Work<T> const work,
                    __grid_constant__ Taps<T, Tile::most_taps> const taps) {
  __shared__ T shared[staged<Tile, T>];
  filter_tile<Tile>(
      work, [&](int m) { return taps.at[m]; }, blockIdx.x, shared);
}

/// `counter` is zero before and after.
template <class Tile, class T>
__global__ void __launch_bounds__(threads)
    persistent_kernel(__grid_constant__ Work<T> const work,
                      __grid_constant__ Taps<T, Tile::most_taps> const taps, unsigned tiles,
                      unsigned* counter) {
  __shared__ T shared[staged<Tile, T>];
  __shared__ unsigned fetched;
  for (;;) {
    if (threadIdx.x == 0) {
      fetched = atomicAdd(counter, 1u);
      // Every block ends with a number that is no tile's; the last such number is the last of all.
      if (fetched == tiles + gridDim.x - 1) *counter = 0;
    }
    __syncthreads();
    unsigned const tile = fetched;
    if (tile >= tiles) return;
    filter_tile<Tile>(
        work, [&](int m) { return taps.at[m]; }, tile, shared);
    __syncthreads();
  }
}

/// Calls `body` with the tile that suits the axis and the number of tiles.
template <class T, class Body>
void with_tile(Arguments<T> const& a, Body const& body) {
  auto const signals = Signals::of(a.shape);
  auto const tiles = [&](auto tile) {
    return grid_of(tiles_of(signals.count(), tile.columns) * tiles_of(signals.length, tile.points));
  };
  if (signals.inner == 1)
    body(AlongX{}, tiles(AlongX{}));
  else
    body(AcrossX{}, tiles(AcrossX{}));
}

}  // namespace

template <class T>
void cuda_global(Stream& stream, Arguments<T> const& a) {
  for_each_piece(a, most_taps, [&](Work<T> const& work, auto) {
    global_kernel<<<grid_of(tiles_of(a.shape.size(), threads)), threads, 0, native(stream)>>>(
        work, a.filter->device_taps().data());
    GRIDSTRIDE_CHECK_LAUNCH(stream, "convolve global");
  });
}

template <class T>
void cuda_shared(Stream& stream, Arguments<T> const& a) {
  with_tile(a, [&](auto tile, unsigned tiles) {
    using Tile = decltype(tile);
    for_each_piece(a, Tile::most_taps, [&](Work<T> const& work, std::span<T const> piece) {
      T const* taps = a.filter->device_taps().data() + (piece.data() - a.filter->taps().data());
      shared_kernel<Tile><<<tiles, threads, 0, native(stream)>>>(work, taps);
      GRIDSTRIDE_CHECK_LAUNCH(stream, "convolve shared");
    });
  });
}

template <class T>
void cuda_constant(Stream& stream, Arguments<T> const& a) {
  with_tile(a, [&](auto tile, unsigned tiles) {
    using Tile = decltype(tile);
    for_each_piece(a, Tile::most_taps, [&](Work<T> const& work, std::span<T const> piece) {
      constant_kernel<Tile>
          <<<tiles, threads, 0, native(stream)>>>(work, Taps<T, Tile::most_taps>::of(piece));
      GRIDSTRIDE_CHECK_LAUNCH(stream, "convolve constant");
    });
  });
}

template <class T>
void cuda_persistent(Stream& stream, Arguments<T> const& a) {
  with_tile(a, [&](auto tile, unsigned tiles) {
    using Tile = decltype(tile);
    int resident = 0;
    GRIDSTRIDE_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
        &resident, persistent_kernel<Tile, T>, threads, 0));
    auto const blocks =
        std::min(tiles, static_cast<unsigned>(resident * stream.device().processors()));
    for_each_piece(a, Tile::most_taps, [&](Work<T> const& work, std::span<T const> piece) {
      persistent_kernel<Tile><<<blocks, threads, 0, native(stream)>>>(
          work, Taps<T, Tile::most_taps>::of(piece), tiles, stream.scratch().ticket);
      GRIDSTRIDE_CHECK_LAUNCH(stream, "convolve persistent");
    });
  });
}

#define GRIDSTRIDE_INSTANTIATE(T)                            \
  template void cuda_global(Stream&, Arguments<T> const&);   \
  template void cuda_shared(Stream&, Arguments<T> const&);   \
  template void cuda_constant(Stream&, Arguments<T> const&); \
  template void cuda_persistent(Stream&, Arguments<T> const&);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::convolve

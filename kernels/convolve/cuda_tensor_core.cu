// The rung `tensor_core` of the ladder in cuda.cu: float64 on tensor cores, which there have twice
// the multiply-adds of the ordinary units (compute capability 9.0).
//
// A filter is a product with a Toeplitz matrix. 16 outputs from point p on, of 8 signals or of 8
// places of one signal, are Y = A·X, where A has a_rk = taps_{k − r} (16 rows, taps + 15 columns,
// zeros beside the band) and X the data, x_kc = datum p + k of column c. 15 columns of zeros are
// what it costs: 255 taps become 272 products.
//
// Thread-to-data: a warp has 512 outputs, as four such Y, which share A. Along x these are 512
// points of a signal: column c of product q begins at point 16·(4c + q). Along y and z they are 64
// points of 8 neighbouring signals. Its data lie in a piece of shared memory of its own, so that
// warps never wait for each other. In a step of 8 places k, a lane takes 2 elements of A from
// shared memory, two more being those of the step before, and 2 of X for the last product: the
// others have what the product after them had two steps ago. Along x, an element is left out after
// each 16; along y and z, columns swap their halves at every other pair of rows: so the lanes of a
// load meet different banks, as far as 8 bytes allow.
//
// Bytes: 8·(2 + (taps + 15)/512) per output along x and 8·(2 + (taps + 15)/64) along y and z, all
// but 16 of them from caches. Since zero times infinity is no number, a datum that is not finite
// also spoils up to 22 outputs beside those whose taps meet it.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>
#include <stdexcept>

#include "kernels/convolve/work.cuh"
#include "kernels/support/async_copy.cuh"
#include "kernels/support/shared_bytes.cuh"

namespace gridstride::convolve {

namespace {

constexpr int warps = 4, tensor_threads = 32 * warps;
constexpr int rows = 16, columns = 8, depth = 8;  // of a product's Y, and of a step
constexpr int products = 4;                       // of a warp
constexpr int most_taps_of_piece = 512;

/// Steps for so many taps, and the places of A before the first of them.
constexpr int steps_for(int taps) { return (taps + rows - 1 + depth - 1) / depth; }
constexpr int zeros = rows - 1;

/// 512 points of one signal; column c of product q begins at point 16·(4·c + q). Element k of it
/// lies `step`(k / 8) + k % 8 elements after its first one.
struct AlongX {
  static constexpr int points = rows * columns * products, signals = 1;
  static constexpr int product = rows + 1, element = 1;  // from each to the next, in elements
  __device__ static int place(int point, int) { return point + point / rows; }
  __device__ static int first_place(int column, int element) {
    return column * products * product + element;
  }
  __device__ static int step(int s) { return s * depth + s / 2; }
  __device__ static int first_point(int q, int column) { return rows * (column * products + q); }
};

/// 64 points of 8 signals.
struct AcrossX {
  static constexpr int points = rows * products, signals = columns;
  static constexpr int product = rows * columns, element = columns;
  __device__ static int place(int point, int signal) {
    return point * columns + (signal ^ (point / 2 % 2 * 4));
  }
  __device__ static int first_place(int column, int element) { return place(element, column); }
  __device__ static int step(int s) { return s * depth * columns; }
  __device__ static int first_point(int q, int) { return rows * q; }
};

/// Data that a warp has of each signal.
template <class Layout>
constexpr int data_points(int steps) {
  return Layout::points - rows + steps * depth;
}

/// Elements of shared memory for them.
template <class Layout>
constexpr int segment_size(int steps) {
  int const points = data_points<Layout>(steps);
  return Layout::signals == 1 ? points + points / rows + 1 : points * columns;
}

/// y += a·x of 16 x 8 by 8 x 8; lane 4·g + t holds a at rows g, g + 8 and columns t, t + 4, x at
/// rows t, t + 4 and column g, y at rows g, g + 8 and columns 2t, 2t + 1.
__device__ inline void multiply_add(double (&y)[4], double const (&a)[4], double const (&x)[2]) {
#if __CUDA_ARCH__ >= 900
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+d"(y[0]), "+d"(y[1]), "+d"(y[2]), "+d"(y[3])
      : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(x[0]), "d"(x[1]));
#endif
}

/// Brings the data of the warp's signals, from `n` on, to its piece of shared memory.
template <class Layout>
__device__ void stage(Work<double> const& work, long long n, long long first, int points,
                      double* segment) {
  int const signal = static_cast<int>(threadIdx.x) % Layout::signals;
  long long const last = work.inner * work.outer - 1;  // whose outputs nobody stores twice
  double const* const in = work.in + work.signal(n + signal < last ? n + signal : last);
  long long const lowest = first + work.lowest;
  bool const inside = lowest >= 0 && lowest + points <= work.length;
  int const lane = static_cast<int>(threadIdx.x) % 32;
  for (int p = lane / Layout::signals; p < points; p += 32 / Layout::signals) {
    double* const target = segment + Layout::place(p, signal);
    if (inside)
      begin_copy<8>(static_cast<unsigned>(__cvta_generic_to_shared(target)),
                    in + (lowest + p) * work.inner);
    else
      *target = work.at(in, lowest + p);
  }
  close_group();
  await_groups<0>();
}

/// The products of a warp. What product q has of X in a step, product q − 1 has two steps later.
template <class Layout>
__device__ void multiply(double (&y)[products][4], double const* taps, double const* segment,
                         int steps) {
  int const g = static_cast<int>(threadIdx.x) % 32 / 4, t = static_cast<int>(threadIdx.x) % 4;
  double const* const own_taps = taps + zeros + t - g;
  double const* const own = segment + Layout::first_place(g, t);
  double x[2][products][2];
  auto const load = [&](int pair, int odd, int q) {
    double const* const source = own + Layout::step(pair) + Layout::step(odd) + q * Layout::product;
    x[odd][q][0] = source[0];
    x[odd][q][1] = source[4 * Layout::element];
  };
#pragma unroll
  for (int q = 0; q + 1 < products; ++q) {
    load(0, 0, q);
    load(0, 1, q);
  }
  // Rows g + 8 of A are those of the step before.
  double a[4] = {0, own_taps[-depth], 0, own_taps[4 - depth]};
#pragma unroll 1
  for (int pair = 0; pair < steps; pair += 2)
#pragma unroll
    for (int odd = 0; odd < 2; ++odd) {
      int const s = pair + odd;
      if (s == steps) break;
      load(pair, odd, products - 1);
      a[0] = own_taps[s * depth];
      a[2] = own_taps[s * depth + 4];
#pragma unroll
      for (int q = 0; q < products; ++q) multiply_add(y[q], a, x[odd][q]);
#pragma unroll
      for (int q = 0; q + 1 < products; ++q)
        for (int e = 0; e < 2; ++e) x[odd][q][e] = x[odd][q + 1][e];
      a[1] = a[0];
      a[3] = a[2];
    }
}

/// Warp w has part w % parts of the signals from w / parts · Layout::signals on.
template <class Layout>
__global__ void __launch_bounds__(tensor_threads)
    tensor_core_kernel(__grid_constant__ Work<double> const work, double const* device_taps,
                       unsigned parts) {
  extern __shared__ __align__(16) double memory[];
  int const steps = steps_for(work.count), padded = zeros + steps * depth;
  for (int i = static_cast<int>(threadIdx.x); i < padded; i += tensor_threads) {
    int const m = i - zeros;
    memory[i] = m >= 0 && m < work.count ? device_taps[work.count - 1 - m] : 0;
  }
  __syncthreads();

  int const warp = static_cast<int>(threadIdx.x) / 32;
  long long const number = static_cast<long long>(blockIdx.x) * warps + warp;
  long long const n = number / parts * Layout::signals;
  long long const first = number % parts * Layout::points;
  if (n >= work.inner * work.outer) return;
  double* const segment = memory + padded + 1 + warp * segment_size<Layout>(steps);
  stage<Layout>(work, n, first, data_points<Layout>(steps), segment);
  __syncwarp();
  double y[products][4] = {};
  multiply<Layout>(y, memory, segment, steps);

  int const g = static_cast<int>(threadIdx.x) % 32 / 4, t = static_cast<int>(threadIdx.x) % 4;
#pragma unroll
  for (int q = 0; q < products; ++q)
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      int const column = 2 * t + e % 2;
      long long const signal = n + (Layout::signals == 1 ? 0 : column);
      long long const i = first + Layout::first_point(q, column) + g + e / 2 * 8;
      if (i >= work.length || signal >= work.inner * work.outer) continue;
      double& out = work.out[work.signal(signal) + i * work.inner];
      out = work.add ? out + y[q][e] : y[q][e];
    }
}

template <class Layout>
void launch(Stream& stream, Arguments<double> const& a) {
  auto const shared_bytes = [](int steps) {
    return static_cast<int>(sizeof(double)) *
           (zeros + steps * depth + 1 + warps * segment_size<Layout>(steps));
  };
  // Shorter pieces where a block has less shared memory than on the GPU they were measured on.
  std::int64_t most_taps = most_taps_of_piece;
  auto const most_bytes = static_cast<int>(stream.device().capabilities().shared_bytes);
  while (shared_bytes(steps_for(static_cast<int>(most_taps))) > most_bytes) most_taps /= 2;
  for_each_piece(a, most_taps, [&](Work<double> const& work, std::span<double const> piece) {
    auto const parts = tiles_of(work.length, Layout::points);
    auto const tiles = parts * tiles_of(work.inner * work.outer, Layout::signals);
    int const steps = steps_for(work.count);
    int const bytes = shared_bytes(steps);
    allow_shared_bytes(tensor_core_kernel<Layout>, static_cast<std::size_t>(bytes));
    double const* const taps =
        a.filter->device_taps().data() + (piece.data() - a.filter->taps().data());
    tensor_core_kernel<Layout>
        <<<grid_of(tiles_of(tiles, warps)), tensor_threads, bytes, native(stream)>>>(
            work, taps, static_cast<unsigned>(parts));
    GRIDSTRIDE_CHECK_LAUNCH(stream, "convolve tensor_core");
  });
}

}  // namespace

void cuda_tensor_core(Stream& stream, Arguments<double> const& a) {
  if (Signals::of(a.shape).inner == 1)
    launch<AlongX>(stream, a);
  else
    launch<AcrossX>(stream, a);
}

}  // namespace gridstride::convolve

// Matrix products with blocks of C in registers: register_blocked and vectorized.
//
// register_blocked: 256 threads have a tile of 128 x 128 of C, each 8 x 8 elements of it in
// registers, 16 rows and columns apart. Per step along k a thread reads 8 elements of A and 8 of B
// from shared memory for 64 multiply-adds: a quarter of a load for each, where the tiled rungs take
// two. 2s/128 bytes of global memory per multiply-add. Both tiles lie with k across, so that the
// threads' elements are side by side; there are two of each, and while the threads work on one
// pair, the elements of the next are on their way to registers: one barrier per 8 steps.
//
// vectorized: a thread's rows and columns are groups of 16 bytes, so that one instruction reads a
// group from shared memory: 4 loads (float32) for 64 multiply-adds. Global memory is read and
// written 16 bytes at a time too, where all three matrices are aligned, and element by element
// otherwise.

#include <cuda_runtime_api.h>

#include "kernels/matmul/rows.hpp"
#include "kernels/matmul/work.cuh"

namespace gridstride::matmul {

namespace {

constexpr int tile = 128, depth = 8;
/// Threads in a row of the block and in a column; rows of C per thread, and columns.
constexpr int side = 16, own = 8;
constexpr int threads = side * side;
/// Elements of each operand that a thread brings per step.
constexpr int share = tile * depth / threads;
/// The gap keeps groups of 16 bytes aligned, and the stores of an operand whose rows lie along k in
/// different banks.
template <class T>
using Tile = T[depth][tile + 4];

/// Where the elements of a thread's share lie in the tile: `at`, and from there along k or across.
struct Spot {
  int at, p;

  /// Number `v` of the thread's groups of `width`, in the order of memory.
  template <int width>
  __device__ static Spot of(bool along_k, int v) {
    int const first = (static_cast<int>(threadIdx.x) + v * threads) * width;
    return along_k ? Spot{first / depth, first % depth} : Spot{first % tile, first / tile};
  }
};

/// The thread's share of the tile that begins at (i, p) of `x`, whose columns go along k, with
/// zeros beyond its ends.
template <int width, class T>
__device__ void fetch(Strided<T> const& x, std::int64_t i, std::int64_t p, std::int64_t rows,
                      std::int64_t k, T (&part)[share]) {
  bool const along_k = x.column == 1;
#pragma unroll
  for (int v = 0; v < share / width; ++v) {
    Spot const spot = Spot::of<width>(along_k, v);
    std::int64_t const u = i + spot.at, q = p + spot.p;
    T* const to = part + v * width;
    bool const whole = along_k ? u < rows && q + width <= k : u + width <= rows && q < k;
    if (width > 1 && whole) {
      auto const group = *reinterpret_cast<Vector<T, width> const*>(x.at(u, q));
#pragma unroll
      for (int e = 0; e < width; ++e) to[e] = group.at[e];
      continue;
    }
#pragma unroll
    for (int e = 0; e < width; ++e) {
      std::int64_t const ue = along_k ? u : u + e, qe = along_k ? q + e : q;
      to[e] = ue < rows && qe < k ? x(ue, qe) : T(0);
    }
  }
}

template <int width, class T>
__device__ void stash(Strided<T> const& x, T const (&part)[share], Tile<T>& to) {
  bool const along_k = x.column == 1;
#pragma unroll
  for (int v = 0; v < share / width; ++v) {
    Spot const spot = Spot::of<width>(along_k, v);
    if (along_k) {
#pragma unroll
      for (int e = 0; e < width; ++e) to[spot.p + e][spot.at] = part[v * width + e];
    } else {
      Vector<T, width> group;
#pragma unroll
      for (int e = 0; e < width; ++e) group.at[e] = part[v * width + e];
      *reinterpret_cast<Vector<T, width>*>(&to[spot.p][spot.at]) = group;
    }
  }
}

/// The place in the tile of number `n` of the rows, or columns, of thread `t` of its side.
template <int group>
__device__ int place_of(int n, int t) {
  return n / group * group * side + t * group + n % group;
}

template <int group, class T>
__device__ void read(T const (&from)[tile + 4], int t, T (&values)[own]) {
#pragma unroll
  for (int n = 0; n < own; n += group) {
    auto const v = *reinterpret_cast<Vector<T, group> const*>(&from[place_of<group>(n, t)]);
#pragma unroll
    for (int e = 0; e < group; ++e) values[n + e] = v.at[e];
  }
}

template <int group, class T>
__device__ void add_products(Tile<T> const& a, Tile<T> const& b, int tx, int ty,
                             T (&sums)[own][own]) {
#pragma unroll
  for (int p = 0; p < depth; ++p) {
    T column[own], row[own];
    read<group>(a[p], ty, column);
    read<group>(b[p], tx, row);
#pragma unroll
    for (int r = 0; r < own; ++r)
#pragma unroll
      for (int s = 0; s < own; ++s) sums[r][s] += column[r] * row[s];
  }
}

/// `width` neighbours of a row of C.
template <int width, class T>
__device__ void store(Work<T> const& work, std::int64_t i, std::int64_t j, T const* sums) {
  if (i >= work.m) return;
  if (width > 1 && j + width <= work.n) {
    auto* const c = reinterpret_cast<Vector<T, width>*>(work.c + i * work.ldc + j);
    Vector<T, width> group;
    if (work.beta != T(0)) group = *c;
#pragma unroll
    for (int e = 0; e < width; ++e)
      group.at[e] = combine(work.alpha, sums[e], work.beta, &group.at[e]);
    *c = group;
    return;
  }
#pragma unroll
  for (int e = 0; e < width; ++e)
    if (j + e < work.n) work.store(i, j + e, sums[e]);
}

/// `group`: elements that are side by side in a thread's share of C; `width`: those that are loaded
/// and stored at once in global memory.
template <int group, int width, class T>
__global__ void __launch_bounds__(threads) block_kernel(Work<T> work) {
  __shared__ alignas(16) Tile<T> a[2], b[2];
  Place const place(work.n, tile, tile);
  int const tx = threadIdx.x % side, ty = threadIdx.x / side;
  Strided<T> const across = transposed(work.b);
  T a_part[share], b_part[share];
  T sums[own][own] = {};
  fetch<width>(work.a, place.i, 0, work.m, work.k, a_part);
  fetch<width>(across, place.j, 0, work.n, work.k, b_part);
  int now = 0;
  for (std::int64_t p = 0; p < work.k; p += depth, now = 1 - now) {
    // Nobody reads these two any more: all have passed the last barrier, after the step before.
    stash<width>(work.a, a_part, a[now]);
    stash<width>(across, b_part, b[now]);
    __syncthreads();
    if (p + depth < work.k) {
      fetch<width>(work.a, place.i, p + depth, work.m, work.k, a_part);
      fetch<width>(across, place.j, p + depth, work.n, work.k, b_part);
    }
    add_products<group>(a[now], b[now], tx, ty, sums);
  }
#pragma unroll
  for (int r = 0; r < own; ++r)
#pragma unroll
    for (int s = 0; s < own; s += width)
      store<width>(work, place.i + place_of<group>(r, ty), place.j + place_of<group>(s, tx),
                   &sums[r][s]);
}

template <int group, int width, class T>
void multiply_blocks(Stream& stream, Arguments<T> const& x, char const* name) {
  block_kernel<group, width, T>
      <<<Place::blocks(x.m, x.n, tile, tile), threads, 0, native(stream)>>>(Work<T>(x));
  GRIDSTRIDE_CHECK_LAUNCH(stream, name);
}

}  // namespace

template <class T>
void cuda_register_blocked(Stream& stream, Arguments<T> const& x) {
  multiply_blocks<1, 1>(stream, x, "multiply: register_blocked");
}

template <class T>
void cuda_vectorized(Stream& stream, Arguments<T> const& x) {
  constexpr int group = vector_width<T>;
  if (aligned(x.a, x.lda) && aligned(x.b, x.ldb) && aligned(x.c, x.ldc))
    multiply_blocks<group, group>(stream, x, "multiply: vectorized");
  else
    multiply_blocks<group, 1>(stream, x, "multiply: vectorized, element by element");
}

#define GRIDSTRIDE_INSTANTIATE(T)                                    \
  template void cuda_register_blocked(Stream&, Arguments<T> const&); \
  template void cuda_vectorized(Stream&, Arguments<T> const&);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::matmul

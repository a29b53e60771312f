// Triangular solves with one right-hand side, x = L⁻¹·b, in one launch.
//
// Blocks of threads take 32 rows each, in turn, and run all at once. Of its rows a block first adds
// up the products with all x that there are, a warp for some of the rows or columns, whichever lies
// along memory, and waits for more as it goes. What is on the way from one 32 rows to the next is
// short: a warp takes in the last 32 x, with its part of L in registers since long, and
// substitutes, a lane per row. It finds four x at a time: all lanes get what is left of those four
// rows by shuffles that do not wait for each other, and each solves for them itself.
//
// No flags: x begins as a number that no solution has (not a number, all bits one), and who needs
// an element reads it until it is another. The order of additions is fixed.
//
// Demand: n²/2 elements once, at the memory's rate; and n/32 times the latency of the chain, which
// is what binds up to some ten thousand rows.

#include <cuda_runtime.h>

#include <algorithm>
#include <type_traits>

#include "kernels/factorize/panel.hpp"
#include "kernels/support/collectives.cuh"
#include "kernels/support/launch.cuh"

namespace gridstride::factorize {

namespace {

constexpr int rows_of_block = warp_size;
constexpr int vector_threads = 256;
constexpr int vector_warps = vector_threads / warp_size;
constexpr int rows_of_warp = rows_of_block / vector_warps;

template <class T>
using Bits = std::conditional_t<sizeof(T) == 8, unsigned long long, unsigned>;

constexpr int batch = 8;  // reads of x under way

/// Elements k, k + stride … before `end` of x, as soon as all are there; 0 from `end` on.
template <class T>
__device__ void await(T const* x, int k, int stride, int end, T (&values)[batch]) {
  auto const* const bits = reinterpret_cast<Bits<T> const volatile*>(x);
  Bits<T> found[batch];
  bool ready;
  do {
    ready = true;
#pragma unroll
    for (int u = 0; u < batch; ++u) {
      int const place = k + u * stride;
      found[u] = place < end ? bits[place] : Bits<T>{0};
    }
#pragma unroll
    for (int u = 0; u < batch; ++u) ready = ready && found[u] != ~Bits<T>{0};
  } while (!ready);
  memcpy(values, found, sizeof(values));
}

template <class T>
__device__ T await(T const* x) {
  auto const* const bits = reinterpret_cast<Bits<T> const volatile*>(x);
  Bits<T> found;
  do found = *bits;
  while (found == ~Bits<T>{0});
  T value;
  memcpy(&value, &found, sizeof(T));
  return value;
}

/// Makes x known. Whatever is not a number is so in the usual way.
template <class T>
__device__ void announce(T* x, T value) {
  if (value != value) value = static_cast<T>(nan(""));
  Bits<T> bits;
  memcpy(&bits, &value, sizeof(T));
  *reinterpret_cast<Bits<T> volatile*>(x) = bits;
}

/// Sums over the columns before `end` of the block's rows, into `sums`, where a row is contiguous:
/// lanes along a row, four rows for each warp.
template <class T>
__device__ void add_along_rows(Strided<T const> l, int first, int end, int n, T const* x, T* sums) {
  int const lane = lane_index(), mine = warp_index() * rows_of_warp;
  T sum[rows_of_warp] = {};
  for (int k = lane; k < end; k += batch * warp_size) {
    T element[rows_of_warp][batch], value[batch];
#pragma unroll
    for (int r = 0; r < rows_of_warp; ++r) {
      T const* const line = l.data + min(first + mine + r, n - 1) * l.row_stride;
#pragma unroll
      for (int u = 0; u < batch; ++u) {
        int const place = k + u * warp_size;
        element[r][u] = place < end ? line[place * l.column_stride] : T(0);
      }
    }
    await(x, k, warp_size, end, value);
#pragma unroll
    for (int r = 0; r < rows_of_warp; ++r)
#pragma unroll
      for (int u = 0; u < batch; ++u) sum[r] += element[r][u] * value[u];
  }
#pragma unroll
  for (int r = 0; r < rows_of_warp; ++r) {
    T const total = warp_reduce(sum[r], [](T a, T b) { return a + b; });
    if (lane == 0) sums[mine + r] = total;
  }
}

/// The same where a column is contiguous: lanes along a column, a warp for every eighth column.
template <class T>
__device__ void add_along_columns(Strided<T const> l, int first, int end, int n, T const* x,
                                  T* sums) {
  int const lane = lane_index(), i = min(first + lane, n - 1);
  T sum = 0;
  T const* const line = l.data + i * l.row_stride;
  for (int k = warp_index(); k < end; k += batch * vector_warps) {
    T element[batch], value[batch];
#pragma unroll
    for (int u = 0; u < batch; ++u) {
      int const place = k + u * vector_warps;
      element[u] = place < end ? line[place * l.column_stride] : T(0);
    }
    await(x, k, vector_warps, end, value);
#pragma unroll
    for (int u = 0; u < batch; ++u) sum += element[u] * value[u];
  }
  sums[warp_index() * rows_of_block + lane] = sum;
}

constexpr int together = 4;  // rows that every lane solves for itself

/// Their elements of L left of the diagonal, one after the other, of every four of 32 rows.
template <class T>
using Corners = T[warp_size / together][together * (together - 1) / 2];

/// Fills the corners from the elements left of the diagonal, of which each lane has those of a row.
template <class T>
__device__ void set_corners(Corners<T>& corners, T const (&own)[warp_size]) {
#pragma unroll
  for (int k = 0; k < warp_size; ++k) {
    int const i = lane_index() - k / together * together, j = k % together;
    if (i > j && i < together) corners[k / together][i * (i - 1) / 2 + j] = own[k];
  }
  __syncwarp();
}

/// x = L⁻¹·v of 32 rows, one in each lane, for a unit lower triangle.
template <class T>
__device__ T substitute(Corners<T> const& corners, T const (&own)[warp_size], T v) {
#pragma unroll
  for (int first = 0; first < warp_size; first += together) {
    T const* const corner = corners[first / together];
    T x[together];
#pragma unroll
    for (int i = 0; i < together; ++i) x[i] = shuffle(v, first + i);
#pragma unroll
    for (int i = 0; i < together; ++i)
#pragma unroll
      for (int j = 0; j < i; ++j) x[i] -= corner[i * (i - 1) / 2 + j] * x[j];
#pragma unroll
    for (int i = 0; i < together; ++i) v -= own[first + i] * x[i];
  }
  return v;
}

template <class T, bool along_rows>
__global__ void __launch_bounds__(vector_threads)
    solve_vector_kernel(int n, bool unit, Strided<T const> l, T const* b, std::int64_t b_stride,
                        T* x) {
  constexpr int parts = along_rows ? 1 : vector_warps;
  __shared__ T sums[2][parts * rows_of_block];
  __shared__ Corners<T> corners;
  int const lane = lane_index();
  int turn = 0;
  for (int first = static_cast<int>(blockIdx.x) * rows_of_block; first < n;
       first += static_cast<int>(gridDim.x) * rows_of_block, turn ^= 1) {
    int const row = first + lane, before = max(first - warp_size, 0);
    T last[warp_size], own[warp_size], reciprocal = 1, v = 0;
    if (warp_index() == 0) {
      bool const present = row < n;
      T const* const line = l.data + min(row, n - 1) * l.row_stride;
#pragma unroll
      for (int k = 0; k < warp_size; ++k) {
        last[k] = first > 0 && present ? line[(before + k) * l.column_stride] : T(0);
        own[k] = present && k < lane ? line[(first + k) * l.column_stride] : T(0);
      }
      if (present && !unit) reciprocal = T(1) / line[row * l.column_stride];
      if (present) v = b[row * b_stride];
#pragma unroll
      for (int k = 0; k < warp_size; ++k) own[k] *= reciprocal;
      set_corners(corners, own);
    }
    if constexpr (along_rows)
      add_along_rows(l, first, before, n, x, sums[turn]);
    else
      add_along_columns(l, first, before, n, x, sums[turn]);
    __syncthreads();
    if (warp_index() != 0) continue;
#pragma unroll
    for (int part = 0; part < parts; ++part) v -= sums[turn][part * rows_of_block + lane];
    T const earlier = first > 0 ? await(x + before + lane) : T(0);
    T products[together] = {};
#pragma unroll
    for (int k = 0; k < warp_size; ++k) products[k % together] += last[k] * shuffle(earlier, k);
#pragma unroll
    for (T const product : products) v -= product;
    v = substitute(corners, own, v * reciprocal);
    if (row < n) announce(x + row, v);
  }
}

}  // namespace

template <class T>
void solve_lower_vector(Stream& stream, std::int64_t n, bool unit,
                        std::type_identity_t<Strided<T const>> l, T const* b, std::int64_t b_stride,
                        T* x) {
  GRIDSTRIDE_CUDA(
      cudaMemsetAsync(x, 0xff, sizeof(T) * static_cast<std::size_t>(n), native(stream)));
  auto const blocks =
      std::min(blocks_for(n, rows_of_block), static_cast<unsigned>(stream.device().processors()));
  bool const along_rows = l.column_stride == 1 || l.column_stride == -1;
  auto const kernel = along_rows ? solve_vector_kernel<T, true> : solve_vector_kernel<T, false>;
  kernel<<<blocks, vector_threads, 0, native(stream)>>>(static_cast<int>(n), unit, l, b, b_stride,
                                                        x);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "factorize solve_vector");
}

#define GRIDSTRIDE_INSTANTIATE(T)                                                           \
  template void solve_lower_vector(Stream&, std::int64_t, bool, Strided<T const>, T const*, \
                                   std::int64_t, T*);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::factorize

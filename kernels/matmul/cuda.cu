// Matrix products on the GPU, as a ladder: naive, coalesced, tiled_16, tiled_32 and tiled_padded in
// this file; register_blocked, vectorized and what comes after them in files of their own.
//
// A product takes 2·m·n·k operations and has (m·k + k·n + 2·m·n)·s bytes of data, where s is
// sizeof(T): for large sizes far more operations than bytes. Its roof is the arithmetic, as long as
// each element that comes from memory is used often enough. The rungs differ in how often.
//
// naive: a thread per element of C, its k products in order. Neighbouring threads have neighbouring
// rows, so that what a warp reads of A, and writes of C, lies in 32 different lines. 2s bytes of
// loads for each multiply-add, nearly all of them from the caches.
//
// coalesced: the same with neighbouring threads in neighbouring columns. A warp reads one line of B
// and one element of A per step, and writes whole lines of C. Still two loads for each
// multiply-add.
//
// tiled_16, tiled_32: a block has a tile of C, a thread an element of it. The block walks along k
// in steps of a tile, and all its threads copy the tiles of A and B into shared memory, where each
// element is used by 16 or 32 threads: 2s/16 or 2s/32 bytes of global memory per multiply-add. Two
// loads of shared memory for each multiply-add remain, and they are what binds these rungs.
// Operands are read along their rows in memory whatever op is; transposed ones go into their tile
// column by column, where all threads of a warp meet in the same bank of shared memory (in one of
// 16 banks of 8 bytes for float64) and take turns.
//
// tiled_padded: rows of the tiles are 16 bytes longer, so that at most 4 threads of a warp (2 of
// half a warp for float64) meet in a bank. A row longer by one element would part them all, but
// then the rows could not be read 16 bytes at a time any more, which costs more than it brings.
//
// register_blocked, vectorized: in cuda_register_blocked.cu. thin: in cuda_thin.cu. cublas,
// cublas_tf32: in cuda_cublas.cu.
//
// V. Volkov and J. W. Demmel, "Benchmarking GPUs to tune dense linear algebra", SC 2008.

#include <cuda_runtime_api.h>

#include "kernels/matmul/rows.hpp"
#include "kernels/matmul/work.cuh"

namespace gridstride::matmul {

namespace {

// -------------------------------------------------------------------------------- naive, coalesced

constexpr int side = 16;

template <bool neighbours_in_rows, class T>
__global__ void element_kernel(Work<T> work) {
  Place const place(work.n, side, side);
  std::int64_t const i = place.i + (neighbours_in_rows ? threadIdx.x : threadIdx.y);
  std::int64_t const j = place.j + (neighbours_in_rows ? threadIdx.y : threadIdx.x);
  if (i >= work.m || j >= work.n) return;
  T sum = 0;
  for (std::int64_t p = 0; p < work.k; ++p) sum += work.a(i, p) * work.b(p, j);
  work.store(i, j, sum);
}

template <bool neighbours_in_rows, class T>
void multiply_elements(Stream& stream, Arguments<T> const& x, char const* name) {
  element_kernel<neighbours_in_rows, T>
      <<<Place::blocks(x.m, x.n, side, side), dim3(side, side), 0, native(stream)>>>(Work<T>(x));
  GRIDSTRIDE_CHECK_LAUNCH(stream, name);
}

// ------------------------------------------------------------------ tiled_16, tiled_32,
// tiled_padded

/// The thread's element of the tile of `x` that begins at (i, j) and ends at (rows, columns), with
/// neighbouring threads along the rows in memory.
template <int size, int padding, class T>
__device__ void fetch(Strided<T> const& x, std::int64_t i, std::int64_t j, std::int64_t rows,
                      std::int64_t columns, T (&tile)[size][size + padding]) {
  bool const along_columns = x.column == 1;
  int const u = along_columns ? threadIdx.y : threadIdx.x;
  int const v = along_columns ? threadIdx.x : threadIdx.y;
  tile[u][v] = i + u < rows && j + v < columns ? x(i + u, j + v) : T(0);
}

template <int size, int padding, class T>
__global__ void __launch_bounds__(size* size) tiled_kernel(Work<T> work) {
  __shared__ T a[size][size + padding], b[size][size + padding];
  Place const place(work.n, size, size);
  T sum = 0;
  for (std::int64_t p = 0; p < work.k; p += size) {
    fetch<size, padding>(work.a, place.i, p, work.m, work.k, a);
    fetch<size, padding>(work.b, p, place.j, work.k, work.n, b);
    __syncthreads();
#pragma unroll
    for (int q = 0; q < size; ++q) sum += a[threadIdx.y][q] * b[q][threadIdx.x];
    __syncthreads();
  }
  std::int64_t const i = place.i + threadIdx.y, j = place.j + threadIdx.x;
  if (i < work.m && j < work.n) work.store(i, j, sum);
}

template <int size, int padding, class T>
void multiply_tiles(Stream& stream, Arguments<T> const& x, char const* name) {
  tiled_kernel<size, padding, T>
      <<<Place::blocks(x.m, x.n, size, size), dim3(size, size), 0, native(stream)>>>(Work<T>(x));
  GRIDSTRIDE_CHECK_LAUNCH(stream, name);
}

}  // namespace

template <class T>
void cuda_naive(Stream& stream, Arguments<T> const& x) {
  multiply_elements<true>(stream, x, "multiply: naive");
}

template <class T>
void cuda_coalesced(Stream& stream, Arguments<T> const& x) {
  multiply_elements<false>(stream, x, "multiply: coalesced");
}

template <class T>
void cuda_tiled_16(Stream& stream, Arguments<T> const& x) {
  multiply_tiles<16, 0>(stream, x, "multiply: tiled_16");
}

template <class T>
void cuda_tiled_32(Stream& stream, Arguments<T> const& x) {
  multiply_tiles<32, 0>(stream, x, "multiply: tiled_32");
}

template <class T>
void cuda_tiled_padded(Stream& stream, Arguments<T> const& x) {
  multiply_tiles<32, vector_width<T>>(stream, x, "multiply: tiled_padded");
}

#define GRIDSTRIDE_INSTANTIATE(T)                             \
  template void cuda_naive(Stream&, Arguments<T> const&);     \
  template void cuda_coalesced(Stream&, Arguments<T> const&); \
  template void cuda_tiled_16(Stream&, Arguments<T> const&);  \
  template void cuda_tiled_32(Stream&, Arguments<T> const&);  \
  template void cuda_tiled_padded(Stream&, Arguments<T> const&);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::matmul

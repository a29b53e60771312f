// The rung `vectorized` of the ladder in cuda.cu: see there for what it follows.
//
// Thread-to-data: thread t of a block owns the vectors t, t + 256, t + 512 and t + 768 of the
// block's 1024, so that each load of a warp is 512 bytes in a row. It loads its vectors of every
// array first, all of them independent and under way at once, then computes and stores. The grid
// has a thread for all work there is: when a block ends the next one starts, and no round waits.
//
// Vectors are counted from the multiple of 16 bytes at or before the first element. Arrays that are
// aligned alike, and not only those that start at such a multiple, are taken so; what the first and
// the last vector have outside of the array is left out, and the rest of them goes element by
// element. Arrays that are not aligned alike go through the same kernels with vectors of one
// element.
//
// `matrix_add` without gaps between rows is `add`. With gaps a block takes as many vectors along a
// row as it has, up to 256; where a row is shorter, the block holds several rows. A thread owns one
// vector in each of four rows.

#include <algorithm>
#include <stdexcept>
#include <type_traits>

#include "kernels/elementwise/bodies.cuh"
#include "kernels/elementwise/rows.hpp"
#include "kernels/support/launch.cuh"

namespace gridstride::elementwise {

namespace {

constexpr int chunk_threads = 256;
constexpr int batch = 4;  // vectors of each array that a thread has under way

unsigned checked_blocks(std::int64_t blocks) {
  if (blocks > 2147483647) throw std::invalid_argument("elementwise: too many elements");
  return static_cast<unsigned>(blocks);
}

std::int64_t ceil_divide(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// Calls `launch` with the width of the vectors that arrays allow.
template <class T, class Launch>
void with_width(bool aligned_alike, Launch const& launch) {
  if (aligned_alike)
    launch(std::integral_constant<int, vector_width<T>>{});
  else
    launch(std::integral_constant<int, 1>{});
}

/// Whether the vector that starts at element `at` lies inside an array of `size` elements.
template <int width>
__device__ bool is_whole(std::int64_t at, std::int64_t size) {
  return at >= 0 && at + width <= size;
}

// ---------------------------------------------------------------------- add, axpy, scale, fill

/// A thread's vectors, the first at element `first`, which may lie before the array; `whole` says
/// that all of them lie inside.
template <bool whole, int width, class Body, class T>
__device__ void apply_batch(Body const& body, T const* x, T const* y, T* output, std::int64_t first,
                            std::int64_t size) {
  constexpr int step = chunk_threads * width;
  Vector<T, width> u[batch] = {}, v[batch] = {};
#pragma unroll
  for (int k = 0; k < batch; ++k) {
    std::int64_t const at = first + k * step;
    if (!whole && !is_whole<width>(at, size)) continue;
    if constexpr (Body::inputs > 0) u[k] = load_once<width>(x + at);
    if constexpr (Body::inputs > 1) v[k] = load_once<width>(y + at);
  }
#pragma unroll
  for (int k = 0; k < batch; ++k) {
    std::int64_t const at = first + k * step;
    if (whole || is_whole<width>(at, size)) {
#pragma unroll
      for (int e = 0; e < width; ++e) u[k].at[e] = body(u[k].at[e], v[k].at[e]);
      store_once(output + at, u[k]);
    } else {
      for (std::int64_t i = at; i < at + width; ++i)
        if (i >= 0 && i < size) output[i] = value_at(body, x, y, i);
    }
  }
}

/// `lead` is how many elements the first vector begins before the first element.
template <int width, class Body, class T>
__global__ void __launch_bounds__(chunk_threads)
    vectorized_kernel(Body const body, T const* x, T const* y, T* output, int lead,
                      std::int64_t size) {
  constexpr int step = chunk_threads * width;
  std::int64_t const first =
      static_cast<std::int64_t>(blockIdx.x) * batch * step + threadIdx.x * width - lead;
  if (first >= 0 && first + (batch - 1) * step + width <= size)
    apply_batch<true, width>(body, x, y, output, first, size);
  else
    apply_batch<false, width>(body, x, y, output, first, size);
}

template <class T>
void launch_one_dimensional(Stream& stream, Arguments<T> const& a) {
  with_body(a, [&](auto const& body) {
    using Body = std::decay_t<decltype(body)>;
    int const lead = misalignment(a.output);
    bool const alike = (Body::inputs < 1 || misalignment(a.x) == lead) &&
                       (Body::inputs < 2 || misalignment(a.y) == lead);
    with_width<T>(alike, [&](auto width) {
      int const before = width() > 1 ? lead : 0;
      auto const blocks = ceil_divide(a.size + before, chunk_threads * batch * width());
      vectorized_kernel<width()><<<checked_blocks(blocks), chunk_threads, 0, native(stream)>>>(
          body, a.x, a.y, a.output, before, a.size);
      GRIDSTRIDE_CHECK_LAUNCH(stream, "elementwise vectorized");
    });
  });
}

// ------------------------------------------------------------------------------------ matrix_add

/// A thread's vectors in every blockDim.y-th row from `first_row` on. `whole` says that all of them
/// lie inside the matrix.
template <bool whole, int width, class T>
__device__ void add_batch(Matrices<T> const& m, std::int64_t first_row,
                          std::int64_t const (&column)[batch]) {
  Vector<T, width> u[batch] = {}, v[batch] = {};
#pragma unroll
  for (int k = 0; k < batch; ++k) {
    std::int64_t const row = first_row + k * blockDim.y;
    if (!whole && (row >= m.rows || !is_whole<width>(column[k], m.columns))) continue;
    u[k] = load_once<width>(m.x + row * m.x_stride + column[k]);
    v[k] = load_once<width>(m.y + row * m.y_stride + column[k]);
  }
#pragma unroll
  for (int k = 0; k < batch; ++k) {
    std::int64_t const row = first_row + k * blockDim.y;
    if (!whole && row >= m.rows) return;
    if (whole || is_whole<width>(column[k], m.columns)) {
#pragma unroll
      for (int e = 0; e < width; ++e) u[k].at[e] = sum(u[k].at[e], v[k].at[e]);
      store_once(m.output + row * m.output_stride + column[k], u[k]);
    } else {
      for (std::int64_t j = column[k]; j < column[k] + width; ++j)
        if (j >= 0 && j < m.columns) m.add_at(row, j);
    }
  }
}

/// Blocks are numbered in one dimension, along a row first, so that no axis meets a limit.
template <int width, class T>
__global__ void __launch_bounds__(chunk_threads)
    vectorized_matrix_kernel(__grid_constant__ Matrices<T> const m, unsigned tiles_per_row) {
  std::int64_t const slot =
      static_cast<std::int64_t>(blockIdx.x % tiles_per_row) * blockDim.x + threadIdx.x;
  std::int64_t const first_row =
      static_cast<std::int64_t>(blockIdx.x / tiles_per_row) * blockDim.y * batch + threadIdx.y;
  std::int64_t column[batch];
  bool whole = first_row + (batch - 1) * blockDim.y < m.rows;
#pragma unroll
  for (int k = 0; k < batch; ++k) {
    // Each row has its own distance from a multiple of 16 bytes.
    std::int64_t const row = first_row + k * blockDim.y;
    auto const address = reinterpret_cast<std::uintptr_t>(m.output + row * m.output_stride);
    column[k] = slot * width - static_cast<int>(address / sizeof(T) % width);
    whole = whole && is_whole<width>(column[k], m.columns);
  }
  if (whole)
    add_batch<true, width>(m, first_row, column);
  else
    add_batch<false, width>(m, first_row, column);
}

template <class T>
void launch_matrix(Stream& stream, Arguments<T> const& a) {
  bool alike =
      misalignment(a.x) == misalignment(a.output) && misalignment(a.y) == misalignment(a.output);
  for (auto const stride : a.strides)
    alike = alike && (stride - a.strides[2]) % vector_width<T> == 0;
  with_width<T>(alike, [&](auto width) {
    // A row may begin anywhere in its first vector.
    std::int64_t const slots = ceil_divide(a.columns + width() - 1, width());
    std::int64_t const tiles = ceil_divide(slots, chunk_threads);
    auto const across = static_cast<unsigned>(ceil_divide(slots, tiles));
    unsigned const down = chunk_threads / across;
    unsigned const blocks = checked_blocks(tiles * ceil_divide(a.rows, down * batch));
    vectorized_matrix_kernel<width()><<<blocks, dim3(across, down), 0, native(stream)>>>(
        Matrices<T>(a), static_cast<unsigned>(tiles));
    GRIDSTRIDE_CHECK_LAUNCH(stream, "elementwise vectorized matrix_add");
  });
}

}  // namespace

template <class T>
void cuda_vectorized(Stream& stream, Arguments<T> const& a) {
  if (gathers(a.operation) || a.operation == Operation::dot3) return cuda_naive(stream, a);
  if (a.operation == Operation::matrix_add && !is_contiguous(a)) return launch_matrix(stream, a);
  launch_one_dimensional(stream, a);
}

template void cuda_vectorized(Stream&, Arguments<float> const&);
template void cuda_vectorized(Stream&, Arguments<double> const&);

}  // namespace gridstride::elementwise

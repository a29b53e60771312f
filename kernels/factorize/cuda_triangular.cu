// Triangular solves with many right-hand sides, and the solves with factors that they make.
//
// The triangle is cut in halves until at most 256 rows are left, so that nearly all work is in
// `matmul`: solve with the first half, subtract its part from the rest of B, solve with the second.
// Upper triangles go the same way from the other end.
//
//   solve_lower_kernel   a block has a strip of 32 columns of B in shared memory, and takes 32 rows
//                        of L at a time, with the next ones on their way (cp.async): one warp
//                        substitutes, a lane per column, in registers; then all warps subtract from
//                        the rows below, 8 rows per warp at a time, for which L's elements are
//                        broadcast. Reads L for every strip, B once.
//
// A few right-hand sides alone go through cuda_triangular_vector.cu instead.
//
// All four triangles are lower ones for the kernel, by strides that may be negative or exchanged.

#include <cuda_runtime.h>

#include "core/buffer.hpp"
#include "kernels/factorize/copy_element.cuh"
#include "kernels/factorize/panel.hpp"
#include "kernels/factorize/rows.hpp"
#include "kernels/matmul/matmul.hpp"
#include "kernels/support/collectives.cuh"
#include "kernels/support/launch.cuh"

namespace gridstride::factorize {

namespace {

constexpr int strip = 32;  // columns of B, a lane each
constexpr int step = 32;   // rows of L at a time
constexpr int solve_threads = 256;
constexpr int solve_warps = solve_threads / warp_size;
constexpr int update_rows = 8;  // of a warp at a time
constexpr int b_stride = strip + 1, l_stride = step + 2;

constexpr int padded(int rows) { return (rows + step - 1) / step * step; }

template <class T>
constexpr std::size_t solve_shared_bytes(int rows) {
  return sizeof(T) * static_cast<std::size_t>(padded(rows)) * (b_stride + 2 * l_stride);
}

/// Calls `body(i, j)` for each element of a matrix of `rows`, a multiple of 32, by 32 columns, with
/// the lanes of a warp along memory.
template <class Body>
__device__ void for_each_element(int rows, bool along_rows, Body const& body) {
  int const lane = lane_index();
#pragma unroll 4
  for (int line = warp_index(); line < rows; line += solve_warps) {
    // Of a square of 32 by 32, line l is row l or column l.
    int const top = line / step * step, within = line % step;
    if (along_rows)
      body(line, lane);
    else
      body(top + lane, within);
  }
}

/// x ← L⁻¹·x for 32 rows, by one warp.
template <class T>
__device__ void substitute(T (*b)[b_stride], T (*l)[l_stride], T const* reciprocals) {
  T x[step];
  int const lane = lane_index();
#pragma unroll
  for (int i = 0; i < step; ++i) x[i] = b[i][lane];
#pragma unroll
  for (int k = 0; k < step; k += 2) {
    x[k] *= reciprocals[k];
    x[k + 1] = (x[k + 1] - l[k + 1][k] * x[k]) * reciprocals[k + 1];
#pragma unroll
    for (int i = k + 2; i < step; ++i) x[i] = x[i] - l[i][k] * x[k] - l[i][k + 1] * x[k + 1];
  }
#pragma unroll
  for (int i = 0; i < step; ++i) b[i][lane] = x[i];
}

/// b_i −= Σ_k l_ik·x_k for `rows` rows.
template <class T>
__device__ void subtract(T (*b)[b_stride], T (*l)[l_stride], T (*x)[b_stride], int rows) {
  int const lane = lane_index();
  for (int first = update_rows * warp_index(); first < rows; first += update_rows * solve_warps) {
    T sum[update_rows] = {};
#pragma unroll 4
    for (int k = 0; k < step; k += 2) {
      T const x0 = x[k][lane], x1 = x[k + 1][lane];
#pragma unroll
      for (int r = 0; r < update_rows; ++r) {
        sum[r] += l[first + r][k] * x0;
        sum[r] += l[first + r][k + 1] * x1;
      }
    }
#pragma unroll
    for (int r = 0; r < update_rows; ++r) b[first + r][lane] -= sum[r];
  }
}

template <class T>
__global__ void __launch_bounds__(solve_threads)
    solve_lower_kernel(int rows, bool unit, Strided<T const> l, std::int64_t columns,
                       Strided<T> b) {
  extern __shared__ __align__(16) unsigned char dynamic_shared[];
  __shared__ T reciprocals[step];
  int const all_rows = padded(rows);
  auto* const b_shared = reinterpret_cast<T(*)[b_stride]>(dynamic_shared);
  auto* const l_shared = reinterpret_cast<T(*)[l_stride]>(b_shared + all_rows);  // two of them
  std::int64_t const first_column = std::int64_t{blockIdx.x} * strip;
  b.data += first_column * b.column_stride;
  auto const width = static_cast<int>(min(columns - first_column, std::int64_t{strip}));
  bool const b_along_rows = b.column_stride == 1, l_along_rows = abs(l.column_stride) == 1;

  auto const fetch = [&](int top) {
    auto* const target = l_shared + top / step % 2 * all_rows;
    for_each_element(all_rows - top, l_along_rows, [&](int i, int k) {
      bool const inside = top + i < rows && k <= i && top + k < rows;
      copy_element(&target[i][k],
                   l.data + (inside ? (top + i) * l.row_stride + (top + k) * l.column_stride : 0),
                   inside);
    });
    close_group();
  };
  for_each_element(all_rows, b_along_rows, [&](int i, int j) {
    bool const inside = i < rows && j < width;
    copy_element(&b_shared[i][j], b.data + (inside ? i * b.row_stride + j * b.column_stride : 0),
                 inside);
  });
  fetch(0);
  for (int top = 0; top < rows; top += step) {
    if (top + step < rows) {
      fetch(top + step);
      await_groups<1>();
    } else {
      await_groups<0>();
    }
    __syncthreads();
    auto* const now = l_shared + top / step % 2 * all_rows;
    if (warp_index() == 0) {
      int const k = lane_index();
      reciprocals[k] = unit || top + k >= rows ? T(1) : T(1) / now[k][k];
      __syncwarp();
      substitute(b_shared + top, now, reciprocals);
    }
    __syncthreads();
    subtract(b_shared + top + step, now + step, b_shared + top, all_rows - top - step);
    __syncthreads();
  }
  for_each_element(all_rows, b_along_rows, [&](int i, int j) {
    if (i < rows && j < width) b.data[i * b.row_stride + j * b.column_stride] = b_shared[i][j];
  });
}

// ----------------------------------------------------------------------------------- the host

/// op(A) for a triangular solve, and what is solved with it.
template <class T>
struct Triangular {
  Matrix<T> a;
  Op op;
  bool lower;  // op(A) is
  bool unit;
  Matrix<T> b;
  std::string_view matmul;

  /// op(A)'s block of rows [i0, i1) and columns [j0, j1).
  matmul::Operand<T> block(std::int64_t i0, std::int64_t i1, std::int64_t j0,
                           std::int64_t j1) const {
    if (op == Op::none) return {a.block(i0, j0, i1 - i0, j1 - j0), Op::none};
    return {a.block(j0, i0, j1 - j0, i1 - i0), Op::transpose};
  }
  Matrix<T> rows(std::int64_t begin, std::int64_t end) const {
    return b.block(begin, 0, end - begin, b.columns);
  }
};

template <class T>
void solve_block(Stream& stream, Triangular<T> const& system, std::int64_t begin,
                 std::int64_t end) {
  std::int64_t const first = system.lower ? begin : end - 1, sign = system.lower ? 1 : -1;
  std::int64_t const along = system.op == Op::none ? system.a.leading : 1;
  std::int64_t const across = system.op == Op::none ? 1 : system.a.leading;
  solve_lower_block<T>(
      stream, static_cast<int>(end - begin), system.unit,
      {system.a.data + first * (system.a.leading + 1), sign * along, sign * across},
      system.b.columns, {system.b.data + first * system.b.leading, sign * system.b.leading, 1});
}

/// With rows and columns [begin, end) of op(A), for those rows of B.
template <class T>
void solve_range(Stream& stream, Triangular<T> const& system, std::int64_t begin,
                 std::int64_t end) {
  int const block = block_rows<T>(stream.device());
  if (end - begin <= block) return solve_block(stream, system, begin, end);
  std::int64_t const blocks = (end - begin + block - 1) / block;
  std::int64_t const middle = begin + blocks / 2 * block;
  auto const subtract = [&](std::int64_t i0, std::int64_t i1, std::int64_t j0, std::int64_t j1) {
    matmul::multiply(stream, -1, system.block(i0, i1, j0, j1), system.rows(j0, j1), 1,
                     system.rows(i0, i1), system.matmul);
  };
  if (system.lower) {
    solve_range(stream, system, begin, middle);
    subtract(middle, end, begin, middle);
    solve_range(stream, system, middle, end);
  } else {
    solve_range(stream, system, middle, end);
    subtract(begin, middle, middle, end);
    solve_range(stream, system, begin, middle);
  }
}

/// Up to this many right-hand sides are solved one by one, each in one launch.
constexpr std::int64_t vectors_limit = 4;

template <class T>
__global__ void __launch_bounds__(256)
    store_vector_kernel(T* b, std::int64_t stride, T const* x, std::int64_t n) {
  std::int64_t const i = std::int64_t{blockIdx.x} * 256 + threadIdx.x;
  if (i < n) b[i * stride] = x[i];
}

template <class T>
void solve_vectors(Stream& stream, Triangular<T> const& system) {
  std::int64_t const n = system.a.rows, first = system.lower ? 0 : n - 1;
  std::int64_t const sign = system.lower ? 1 : -1, stride = sign * system.b.leading;
  std::int64_t const along = system.op == Op::none ? system.a.leading : 1;
  std::int64_t const across = system.op == Op::none ? 1 : system.a.leading;
  Buffer<T> x(stream, MemorySpace::device, static_cast<std::size_t>(n));
  for (std::int64_t j = 0; j < system.b.columns; ++j) {
    T* const b = system.b.data + first * system.b.leading + j;
    solve_lower_vector<T>(
        stream, n, system.unit,
        {system.a.data + first * (system.a.leading + 1), sign * along, sign * across}, b, stride,
        x.data());
    store_vector_kernel<<<blocks_for(n, 256), 256, 0, native(stream)>>>(
        b, stride, static_cast<T const*>(x.data()), n);
    GRIDSTRIDE_CHECK_LAUNCH(stream, "factorize store_vector");
  }
}

template <class T>
void solve_triangle(Stream& stream, Arguments<T> const& arguments, Triangle triangle, Op op,
                    Diagonal diagonal) {
  Triangular<T> const system{arguments.a,
                             op,
                             (triangle == Triangle::lower) == (op == Op::none),
                             diagonal == Diagonal::unit,
                             arguments.b,
                             arguments.matmul};
  if (system.b.columns <= vectors_limit && system.a.rows > panel_limit)
    solve_vectors(stream, system);
  else
    solve_range(stream, system, 0, system.a.rows);
}

template <class T>
void solve_lu(Stream& stream, Arguments<T> const& arguments) {
  auto const n = static_cast<std::size_t>(arguments.a.rows);
  Buffer<std::int32_t> order(stream, MemorySpace::device, n);
  list_order(stream, arguments.pivots, order.span());
  if (arguments.op == Op::none) {
    reorder_rows(stream, arguments.b, order.data(), Reorder::gather);
    solve_triangle(stream, arguments, Triangle::lower, Op::none, Diagonal::unit);
    solve_triangle(stream, arguments, Triangle::upper, Op::none, Diagonal::general);
  } else {
    solve_triangle(stream, arguments, Triangle::upper, Op::transpose, Diagonal::general);
    solve_triangle(stream, arguments, Triangle::lower, Op::transpose, Diagonal::unit);
    reorder_rows(stream, arguments.b, order.data(), Reorder::scatter);
  }
}

}  // namespace

template <class T>
int block_rows(Device const& device) {
  int rows = panel_limit;
  while (solve_shared_bytes<T>(rows) + sizeof(T) * step > device.capabilities().shared_bytes)
    rows /= 2;
  return rows;
}

template <class T>
void solve_lower_block(Stream& stream, int rows, bool unit,
                       std::type_identity_t<Strided<T const>> l, std::int64_t columns,
                       Strided<T> b) {
  auto const bytes = solve_shared_bytes<T>(rows);
  GRIDSTRIDE_CUDA(cudaFuncSetAttribute(
      solve_lower_kernel<T>, cudaFuncAttributeMaxDynamicSharedMemorySize,
      static_cast<int>(solve_shared_bytes<T>(block_rows<T>(stream.device())))));
  solve_lower_kernel<<<blocks_for(columns, strip), solve_threads, bytes, native(stream)>>>(
      rows, unit, l, columns, b);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "factorize solve_lower");
}

template <class T>
void solve_on_gpu(Stream& stream, Arguments<T> const& arguments) {
  switch (arguments.task) {
    case Task::lu_solve:
      return solve_lu(stream, arguments);
    case Task::cholesky_solve:
      solve_triangle(stream, arguments, Triangle::lower, Op::none, Diagonal::general);
      return solve_triangle(stream, arguments, Triangle::lower, Op::transpose, Diagonal::general);
    default:
      return solve_triangle(stream, arguments, arguments.triangle, arguments.op,
                            arguments.diagonal);
  }
}

#define GRIDSTRIDE_INSTANTIATE(T)                                                                  \
  template int block_rows<T>(Device const&);                                                       \
  template void solve_lower_block(Stream&, int, bool, Strided<T const>, std::int64_t, Strided<T>); \
  template void solve_on_gpu(Stream&, Arguments<T> const&);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::factorize

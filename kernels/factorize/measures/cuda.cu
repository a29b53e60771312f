// The GPU's part of the measures. Each reads its matrices once, at the speed of memory, in an order
// that depends on the sizes alone.
//
// Sums of magnitudes: a block takes 256 x 256 elements, a warp of it every eighth group of rows. A
// lane has eight columns, a warp's width apart, so that loads are coalesced wherever rows begin,
// and asks for the elements of a whole group of rows before it uses any. The sums of its columns
// stay in its registers, and those of rows are combined by shuffles. What a block finds is added to
// what others found by a second kernel: 1/256 of the matrix's elements, in float64.
//
// Maxima of a triangle: a warp takes every so many rows, one after the other.
//
// Norms of columns: a block takes up to 32 neighbouring columns, thread t column t mod their
// number.

#include <algorithm>
#include <span>
#include <vector>

#include "core/buffer.hpp"
#include "kernels/factorize/measures/parts.hpp"
#include "kernels/support/collectives.cuh"
#include "kernels/support/launch.cuh"
#include "kernels/support/vector.cuh"

namespace gridstride::factorize {

namespace {

struct Add {
  __device__ double operator()(double a, double b) const { return a + b; }
};
struct Larger {
  __device__ double operator()(double a, double b) const { return larger(a, b); }
};

template <class T>
std::vector<T> to_host(Stream& stream, Buffer<T> const& values) {
  std::vector<T> host(values.size());
  copy_async(std::span<T>(host), values.span(), stream);
  stream.synchronize();
  return host;
}

// --------------------------------------------------------------------------- sums of magnitudes

constexpr int measure_threads = 256, warps = measure_threads / warp_size;
constexpr int lane_columns = 8, tile_columns = lane_columns * warp_size, tile_rows = 256;

/// Rows whose elements a lane asks for at once.
template <class T>
constexpr int group = 16 / static_cast<int>(sizeof(T));

template <class T>
__global__ void __launch_bounds__(measure_threads)
    sums_kernel(Matrix<T const> const a, double* of_rows, double* of_columns, double* maxima) {
  __shared__ double shared_sums[warps][tile_columns];
  __shared__ double shared_maxima[warps];
  std::int64_t const first_column = std::int64_t{blockIdx.x} * tile_columns + lane_index();
  std::int64_t const first_row = std::int64_t{blockIdx.y} * tile_rows;
  double sums[lane_columns] = {};
  T maximum = 0;
  for (int step = warp_index() * group<T>; step < tile_rows; step += warps * group<T>) {
    T values[group<T>][lane_columns];
#pragma unroll
    for (int r = 0; r < group<T>; ++r)
#pragma unroll
      for (int c = 0; c < lane_columns; ++c) {
        std::int64_t const i = first_row + step + r, j = first_column + c * warp_size;
        values[r][c] =
            i < a.rows && j < a.columns ? load_once<1>(a.data + i * a.leading + j).at[0] : T(0);
      }
#pragma unroll
    for (int r = 0; r < group<T>; ++r) {
      double row_sum = 0;
#pragma unroll
      for (int c = 0; c < lane_columns; ++c) {
        T const magnitude = values[r][c] < 0 ? -values[r][c] : values[r][c];
        sums[c] += magnitude;
        row_sum += magnitude;
        maximum = max(maximum, magnitude);
      }
      row_sum = warp_reduce(row_sum, Add{});
      std::int64_t const i = first_row + step + r;
      if (lane_index() == 0 && i < a.rows) of_rows[blockIdx.x * a.rows + i] = row_sum;
    }
  }
  for (int c = 0; c < lane_columns; ++c)
    shared_sums[warp_index()][c * warp_size + lane_index()] = sums[c];
  double const block_maximum =
      block_reduce<measure_threads>(double{maximum}, Larger{}, shared_maxima);
  if (threadIdx.x == 0) maxima[blockIdx.y * gridDim.x + blockIdx.x] = block_maximum;
  std::int64_t const j = std::int64_t{blockIdx.x} * tile_columns + threadIdx.x;
  static_assert(measure_threads == tile_columns);
  if (j >= a.columns) return;
  double sum = 0;
  for (int warp = 0; warp < warps; ++warp) sum += shared_sums[warp][threadIdx.x];
  of_columns[blockIdx.y * a.columns + j] = sum;
}

/// Sums that were found in parts: sum i is of parts_(k·size + i), for all k < count.
struct Parts {
  double const* parts;
  unsigned count;
  std::int64_t size;
};

/// The largest of each block's sums, those of columns first.
__global__ void __launch_bounds__(measure_threads)
    largest_sum_kernel(Parts const of_columns, Parts const of_rows, double* maxima) {
  __shared__ double shared[warps];
  unsigned const column_blocks = blocks_for(of_columns.size, measure_threads);
  bool const is_column = blockIdx.x < column_blocks;
  Parts const& mine = is_column ? of_columns : of_rows;
  std::int64_t const block = is_column ? blockIdx.x : blockIdx.x - column_blocks;
  std::int64_t const i = block * measure_threads + threadIdx.x;
  double sum = 0;
  if (i < mine.size)
#pragma unroll 8
    for (unsigned k = 0; k < mine.count; ++k) sum += mine.parts[k * mine.size + i];
  double const maximum = block_reduce<measure_threads>(sum, Larger{}, shared);
  if (threadIdx.x == 0) maxima[blockIdx.x] = maximum;
}

}  // namespace

template <class T>
MatrixNorms cuda_matrix_norms(Stream& stream, Matrix<T const> const& a) {
  dim3 const grid(blocks_for(a.columns, tile_columns), blocks_for(a.rows, tile_rows));
  auto const rows = static_cast<std::size_t>(a.rows), columns = static_cast<std::size_t>(a.columns);
  std::size_t const of_columns = blocks_for(a.columns, measure_threads);
  std::size_t const of_rows = blocks_for(a.rows, measure_threads), sums = of_columns + of_rows;
  Buffer<double> row_parts(stream, MemorySpace::device, grid.x * rows);
  Buffer<double> column_parts(stream, MemorySpace::device, grid.y * columns);
  Buffer<double> maxima(stream, MemorySpace::device, sums + std::size_t{grid.x} * grid.y);
  sums_kernel<<<grid, measure_threads, 0, native(stream)>>>(
      a, row_parts.data(), column_parts.data(), maxima.data() + sums);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "factorize sums");
  largest_sum_kernel<<<static_cast<unsigned>(sums), measure_threads, 0, native(stream)>>>(
      {column_parts.data(), grid.y, a.columns}, {row_parts.data(), grid.x, a.rows}, maxima.data());
  GRIDSTRIDE_CHECK_LAUNCH(stream, "factorize largest_sum");
  auto const found = to_host(stream, maxima);
  std::span<double const> const all = found;
  return {largest(all.first(of_columns)), largest(all.subspan(of_columns, of_rows)),
          largest(all.subspan(sums))};
}

// ------------------------------------------------------------------------ maxima of a triangle

namespace {

template <class T>
__global__ void __launch_bounds__(measure_threads)
    triangle_maxima_kernel(Matrix<T const> const a, Triangle triangle, double* maxima) {
  __shared__ double shared[warps];
  std::int64_t const stride = std::int64_t{gridDim.x} * warps;
  double maximum = 0;
  for (std::int64_t i = std::int64_t{blockIdx.x} * warps + warp_index(); i < a.rows; i += stride) {
    TriangleRow const row(triangle, i, a.columns);
#pragma unroll 8
    for (std::int64_t j = row.begin + lane_index(); j < row.end; j += warp_size)
      maximum =
          larger(maximum, ColumnNorms::magnitude(load_once<1>(a.data + i * a.leading + j).at[0]));
  }
  maximum = block_reduce<measure_threads>(maximum, Larger{}, shared);
  if (threadIdx.x == 0) maxima[blockIdx.x] = maximum;
}

}  // namespace

template <class T>
std::vector<double> cuda_triangle_maxima(Stream& stream, Matrix<T const> const& a,
                                         Triangle triangle) {
  auto const most = static_cast<unsigned>(8 * stream.device().processors());
  unsigned const blocks = std::min(blocks_for(a.rows, warps), most);
  Buffer<double> maxima(stream, MemorySpace::device, blocks);
  triangle_maxima_kernel<<<blocks, measure_threads, 0, native(stream)>>>(a, triangle,
                                                                         maxima.data());
  GRIDSTRIDE_CHECK_LAUNCH(stream, "factorize triangle_maxima");
  return to_host(stream, maxima);
}

// ------------------------------------------------------------------------------- norms of columns

namespace {

constexpr int norm_threads = 1024;

/// `width` neighbouring columns to a block, a power of two.
template <class T>
__global__ void __launch_bounds__(norm_threads)
    column_norms_kernel(Matrix<T const> const product, Matrix<T const> const x,
                        Matrix<T const> const b, int width, ColumnNorms* norms) {
  __shared__ ColumnNorms shared[norm_threads];
  int const thread = static_cast<int>(threadIdx.x);
  std::int64_t const j = std::int64_t{blockIdx.x} * width + thread % width;
  ColumnNorms own{};
  if (j < b.columns)
#pragma unroll 4
    for (std::int64_t i = thread / width; i < b.rows; i += norm_threads / width) {
      double const right = b.data[i * b.leading + j];
      double const left = product.data[i * product.leading + j];
      own.take(right - left, x.data[i * x.leading + j], right);
    }
  shared[thread] = own;
  for (int half = norm_threads / 2; half >= width; half /= 2) {
    __syncthreads();
    if (thread < half) shared[thread].combine(shared[thread + half]);
  }
  if (thread < width && j < b.columns) norms[j] = shared[thread];
}

}  // namespace

template <class T>
std::vector<ColumnNorms> cuda_column_norms(Stream& stream, Matrix<T const> const& product,
                                           Matrix<T const> const& x, Matrix<T const> const& b) {
  int width = 1;
  while (width < warp_size && width < b.columns) width *= 2;
  Buffer<ColumnNorms> norms(stream, MemorySpace::device, static_cast<std::size_t>(b.columns));
  column_norms_kernel<<<blocks_for(b.columns, width), norm_threads, 0, native(stream)>>>(
      product, x, b, width, norms.data());
  GRIDSTRIDE_CHECK_LAUNCH(stream, "factorize column_norms");
  return to_host(stream, norms);
}

#define GRIDSTRIDE_INSTANTIATE(T)                                                               \
  template MatrixNorms cuda_matrix_norms(Stream&, Matrix<T const> const&);                      \
  template std::vector<double> cuda_triangle_maxima(Stream&, Matrix<T const> const&, Triangle); \
  template std::vector<ColumnNorms> cuda_column_norms(                                          \
      Stream&, Matrix<T const> const&, Matrix<T const> const&, Matrix<T const> const&);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::factorize

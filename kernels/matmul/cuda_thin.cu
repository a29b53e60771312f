// Matrix products with at most 16 columns or rows, and β·C.
//
// thin: where op(B) has few columns, op(A) is large beside all else, and where op(A) has few rows,
// op(B) is: in either case the product is Σ_p large(i, p)·small(p, j), and its roof the bandwidth
// at which `large` is read, once. A thread takes 4 rows of `large` at a time and 16 bytes' worth of
// places along k, and has the sums of its rows, for all j, in registers. The threads of a warp lie
// along the rows of `large` in memory, whatever op is, so that they read whole lines. Those of a
// block are spread over `row_lanes` groups of rows and `k_lanes` places along k, and k is cut into
// pieces, one for each layer of blocks, so that the device is full also where there are few rows
// or a long k. Sums of threads that share rows are added in a fixed order: by shuffles, then in
// shared memory; those of several pieces go to an array, which a second kernel adds up.
//
// The threads need 16 bytes' worth of small(p, j) along p, for every j. Unless it lies like that,
// as a vector does, it is copied first into columns of that kind, a few percent of what is read.
//
// More than 16 columns are taken 16 at a time, for any size is legal.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <type_traits>
#include <utility>

#include "core/buffer.hpp"
#include "kernels/matmul/rows.hpp"
#include "kernels/matmul/work.cuh"
#include "kernels/support/vector.cuh"

namespace gridstride::matmul {

namespace {

constexpr int threads = 256, warp = 32;
/// Rows of `large` that a thread takes at a time.
constexpr int own_rows = 4;
constexpr int most_columns = 16;

/// The product as the kernels see it.
template <class T>
struct Thin {
  std::int64_t rows, columns, k;
  Strided<T> large, small;
  T alpha, beta;
  T* c;
  std::int64_t c_row, c_column;  ///< strides
  T* partial;          ///< sums of piece s at partial[(s·columns + j)·rows + i], or null
  int row_lanes;       ///< groups of `own_rows` rows per block; a power of two
  std::int64_t piece;  ///< places along k of a layer of blocks

  __device__ void store(std::int64_t i, std::int64_t j, T sum) const {
    T* const element = c + i * c_row + j * c_column;
    *element = combine(alpha, sum, beta, element);
  }
};

/// `width` neighbours, through the second-level cache alone: they are used once.
template <int width, class T>
__device__ Vector<T, width> load_streaming(T const* source) {
  using Words = std::conditional_t<std::is_same_v<T, float>, float4, double2>;
  if constexpr (width > 1)
    return __builtin_bit_cast(Vector<T, width>, __ldcg(reinterpret_cast<Words const*>(source)));
  else
    return {__ldcg(source)};
}

/// What a thread does: its rows, and its places along k within the block's piece.
template <bool along_k, int width>
struct Share {
  std::int64_t first;  ///< of the block's rows
  std::int64_t begin, end;
  int row_lane, row_lanes, k_lane, k_lanes;

  template <class T>
  __device__ explicit Share(Thin<T> const& work)
      : first(static_cast<std::int64_t>(blockIdx.x) * work.row_lanes * own_rows),
        begin(blockIdx.y * work.piece),
        end(min(begin + work.piece, work.k)),
        row_lanes(work.row_lanes),
        k_lanes(threads / work.row_lanes) {
    int const t = threadIdx.x;
    row_lane = along_k ? t / k_lanes : t % row_lanes;
    k_lane = along_k ? t % k_lanes : t / row_lanes;
  }

  /// The place in the block of the thread's row number r.
  __device__ int row(int r) const {
    return along_k ? r * row_lanes + row_lane
                   : (r / width * row_lanes + row_lane) * width + r % width;
  }
};

/// The thread's part of `large` at p: its rows times `width` places along k.
template <bool along_k, int width, class T>
__device__ void load_whole(Thin<T> const& work, Share<along_k, width> const& share, std::int64_t p,
                           T (&x)[own_rows][width]) {
#pragma unroll
  for (int g = 0; g < own_rows; ++g) {
    // Along k a group is a row's; otherwise one of those of `width` rows, for each place along k.
    int const r = along_k ? g : g / width * width, e = along_k ? 0 : g % width;
    auto const group = load_streaming<width>(work.large.at(share.first + share.row(r), p + e));
#pragma unroll
    for (int l = 0; l < width; ++l) x[along_k ? r : r + l][along_k ? l : e] = group.at[l];
  }
}

/// The same where some of it is beyond the ends of `large`: zeros there.
template <bool along_k, int width, class T>
__device__ void load_part(Thin<T> const& work, Share<along_k, width> const& share, std::int64_t p,
                          T (&x)[own_rows][width]) {
#pragma unroll
  for (int r = 0; r < own_rows; ++r)
#pragma unroll
    for (int e = 0; e < width; ++e) {
      std::int64_t const i = share.first + share.row(r);
      x[r][e] = i < work.rows && p + e < share.end ? work.large(i, p + e) : T(0);
    }
}

/// Adds to sums[r][j] the products of the thread's rows with `width` places of column j of `small`.
template <bool whole, int width, int columns, class T>
__device__ void add_products(Thin<T> const& work, std::int64_t p, T const (&x)[own_rows][width],
                             T (&sums)[own_rows][columns]) {
#pragma unroll
  for (int j = 0; j < columns; ++j) {
    T const* const from = work.small.at(p, j);
    Vector<T, width> y;
    if (whole)
      y = *reinterpret_cast<Vector<T, width> const*>(from);
    else
#pragma unroll
      for (int e = 0; e < width; ++e) y.at[e] = p + e < work.k ? from[e] : T(0);
#pragma unroll
    for (int r = 0; r < own_rows; ++r)
#pragma unroll
      for (int e = 0; e < width; ++e) sums[r][j] += x[r][e] * y.at[e];
  }
}

/// The sum over the threads that share the row, for those of them whose lane is the first.
template <bool along_k, int width, class T>
__device__ T sum_of_lanes(Share<along_k, width> const& share, T value) {
  int const from = along_k ? 1 : share.row_lanes;
  int const to = along_k ? min(share.k_lanes, warp) : warp;
  for (int distance = from; distance < to; distance *= 2)
    value += __shfl_xor_sync(0xffffffffu, value, distance);
  return value;
}

/// Blocks that a multiprocessor holds, as far as the registers for the sums allow.
template <int columns, class T>
constexpr int resident = columns * sizeof(T) > 64 ? 1
                         : columns > 2            ? 2
                                                  : 4;

/// `columns`: those that are computed; `small` has as many, zeros beyond work.columns.
template <bool along_k, int width, int columns, class T>
__global__ void __launch_bounds__(threads, resident<columns, T>) thin_kernel(Thin<T> work) {
  __shared__ T of_warp[threads * own_rows];
  Share<along_k, width> const share(work);
  T sums[own_rows][columns] = {};
  T x[own_rows][width];
  std::int64_t p = share.begin + share.k_lane * width;
  int const step = share.k_lanes * width;
  if (share.first + share.row(own_rows - 1) < work.rows) {
    // Several steps at a time, as far as there are registers, for more bytes on their way.
#pragma unroll(width == 1 ? 8 : columns <= 4 ? 2 : 1)
    for (; p + width <= share.end; p += step) {
      load_whole(work, share, p, x);
      add_products<true>(work, p, x, sums);
    }
  }
  for (; p < share.end; p += step) {
    load_part(work, share, p, x);
    add_products<false>(work, p, x, sums);
  }

  int const t = threadIdx.x, rows = share.row_lanes * own_rows;
  int const warps = along_k ? max(share.k_lanes / warp, 1) : threads / warp;
  int const warp_along_k = along_k ? share.k_lane / warp : t / warp;
  bool const first_lane = along_k ? share.k_lane % warp == 0 : t % warp < share.row_lanes;
#pragma unroll
  for (int j = 0; j < columns; ++j) {
    if (j >= work.columns) break;
#pragma unroll
    for (int r = 0; r < own_rows; ++r) {
      T const sum = sum_of_lanes(share, sums[r][j]);
      if (first_lane) of_warp[warp_along_k * rows + share.row(r)] = sum;
    }
    __syncthreads();
    std::int64_t const i = share.first + t;
    if (t < rows && i < work.rows) {
      T sum = of_warp[t];
      for (int w = 1; w < warps; ++w) sum += of_warp[w * rows + t];
      if (work.partial == nullptr)
        work.store(i, j, sum);
      else
        work.partial[(blockIdx.y * work.columns + j) * work.rows + i] = sum;
    }
    __syncthreads();
  }
}

/// `lanes` neighbouring threads per element of C, 1 or a warp's: the sum of its pieces, in a fixed
/// order.
template <int lanes, class T>
__global__ void add_pieces_kernel(Thin<T> work, int pieces) {
  std::int64_t const t = static_cast<std::int64_t>(blockIdx.x) * threads + threadIdx.x;
  std::int64_t const e = t / lanes, size = work.rows * work.columns;
  if (e >= size) return;
  T sum = 0;
#pragma unroll 4
  for (std::int64_t s = t % lanes; s < pieces; s += lanes) sum += work.partial[s * size + e];
  for (int distance = lanes / 2; distance > 0; distance /= 2)
    sum += __shfl_xor_sync(0xffffffffu, sum, distance);
  if (t % lanes == 0) work.store(e % work.rows, e / work.rows, sum);
}

template <class T>
void add_pieces(Stream& stream, Thin<T> const& work, int pieces) {
  // Few elements have many pieces each.
  constexpr int many = 64;
  int const lanes = pieces < many ? 1 : warp;
  auto const kernel = lanes == 1 ? add_pieces_kernel<1, T> : add_pieces_kernel<warp, T>;
  kernel<<<blocks_for(work.rows * work.columns * lanes, threads), threads, 0, native(stream)>>>(
      work, pieces);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "multiply: sums of pieces");
}

/// Copies `small` into `columns` columns of length `length`, with zeros beyond its ends. A block
/// takes `threads` places along k, and turns them in shared memory where the columns of `small` lie
/// beside each other.
template <class T>
__global__ void pack_kernel(Thin<T> work, int columns, T* packed, std::int64_t length) {
  __shared__ T tile[most_columns][threads + 1];
  bool const turn = work.small.column == 1;
  std::int64_t const first = static_cast<std::int64_t>(blockIdx.x) * threads;
  for (int e = threadIdx.x; e < threads * columns; e += threads) {
    int const p = turn ? e / columns : e % threads, j = turn ? e % columns : e / threads;
    tile[j][p] = first + p < work.k && j < work.columns ? work.small(first + p, j) : T(0);
  }
  __syncthreads();
  std::int64_t const p = first + threadIdx.x;
  if (p >= length) return;
  for (int j = 0; j < columns; ++j) packed[j * length + p] = tile[j][threadIdx.x];
}

template <class T>
using Kernel = void (*)(Thin<T>);

/// The kernel that computes at least `columns` columns, and how many those are.
template <bool along_k, int width, class T, int computed = 1>
std::pair<Kernel<T>, int> kernel_for(std::int64_t columns) {
  if constexpr (computed < most_columns)
    if (columns > computed) return kernel_for<along_k, width, T, 2 * computed>(columns);
  return {thin_kernel<along_k, width, computed, T>, computed};
}

template <class T>
std::pair<Kernel<T>, int> kernel_for(bool along_k, int width, std::int64_t columns) {
  constexpr int wide = vector_width<T>;
  if (along_k)
    return width > 1 ? kernel_for<true, wide, T>(columns) : kernel_for<true, 1, T>(columns);
  return width > 1 ? kernel_for<false, wide, T>(columns) : kernel_for<false, 1, T>(columns);
}

/// Sets how the threads share the work, and returns the number of pieces of k. A thread has at
/// least `steps` steps along k, unless there are too few blocks then.
template <class T>
std::int64_t share_work(Thin<T>& work, bool along_k, int width, int processors) {
  constexpr int least_k_lanes = 8, most_row_lanes = threads / least_k_lanes, steps = 4;
  std::int64_t const blocks_wanted = std::int64_t{processors} * (1024 / threads);
  auto const tiles = [&] { return blocks_for(work.rows, work.row_lanes * own_rows); };
  auto const step = [&] { return std::int64_t{threads / work.row_lanes} * width; };
  work.row_lanes = most_row_lanes;
  if (along_k) {
    while (work.row_lanes > threads / warp && step() * steps < work.k) work.row_lanes /= 2;
    while (work.row_lanes > 1 && step() < work.k && tiles() < blocks_wanted) work.row_lanes /= 2;
  } else {
    while (work.row_lanes > 1 && work.row_lanes / 2 * own_rows >= work.rows) work.row_lanes /= 2;
  }
  std::int64_t const pieces = std::clamp<std::int64_t>(
      blocks_wanted / tiles(), 1, std::max<std::int64_t>(work.k / (step() * steps), 1));
  work.piece = ((work.k + pieces - 1) / pieces + step() - 1) / step() * step();
  return (work.k + work.piece - 1) / work.piece;
}

/// At most `most_columns` columns.
template <class T>
void multiply_thin(Stream& stream, Thin<T> work) {
  bool const along_k = work.large.column == 1;
  int const width =
      aligned(work.large.data, along_k ? work.large.row : work.large.column) ? vector_width<T> : 1;
  auto const [kernel, computed] = kernel_for<T>(along_k, width, work.columns);

  Buffer<T> packed;
  bool const a_vector = work.columns == 1 && (work.small.row == 1 || work.k == 1);
  if (!a_vector || (width > 1 && misalignment(work.small.data) != 0)) {
    std::int64_t const length = (work.k + vector_width<T> - 1) / vector_width<T> * vector_width<T>;
    packed = Buffer<T>(stream, MemorySpace::device, computed * length);
    pack_kernel<<<blocks_for(length, threads), threads, 0, native(stream)>>>(work, computed,
                                                                             packed.data(), length);
    GRIDSTRIDE_CHECK_LAUNCH(stream, "multiply: copy of the small matrix");
    work.small = {packed.data(), 1, length};
  }

  std::int64_t const pieces = share_work(work, along_k, width, stream.device().processors());
  Buffer<T> partial(stream, MemorySpace::device,
                    pieces > 1 ? pieces * work.columns * work.rows : 0);
  work.partial = pieces > 1 ? partial.data() : nullptr;
  kernel<<<dim3(blocks_for(work.rows, work.row_lanes * own_rows), pieces), threads, 0,
           native(stream)>>>(work);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "multiply: thin");
  if (pieces > 1) add_pieces(stream, work, static_cast<int>(pieces));
}

}  // namespace

template <class T>
void cuda_thin(Stream& stream, Arguments<T> const& x) {
  auto const a = strided(x.op_a, x.a, x.lda), b = strided(x.op_b, x.b, x.ldb);
  bool const few_columns = x.n <= x.m;
  Thin<T> work{};
  work.rows = few_columns ? x.m : x.n;
  work.k = x.k;
  work.alpha = x.alpha;
  work.beta = x.beta;
  work.large = few_columns ? a : transposed(b);
  Strided<T> const small = few_columns ? b : transposed(a);
  work.c_row = few_columns ? x.ldc : 1;
  work.c_column = few_columns ? 1 : x.ldc;
  std::int64_t const columns = few_columns ? x.n : x.m;
  for (std::int64_t j = 0; j < columns; j += most_columns) {
    work.columns = std::min<std::int64_t>(most_columns, columns - j);
    work.small = {small.at(0, j), small.row, small.column};
    work.c = x.c + j * work.c_column;
    multiply_thin(stream, work);
  }
}

// ------------------------------------------------------------------------------------ scaling

namespace {

/// A thread per element.
template <class T>
__global__ void scale_kernel(T beta, Matrix<T> c) {
  std::int64_t const e = static_cast<std::int64_t>(blockIdx.x) * threads + threadIdx.x;
  std::int64_t const i = e / c.columns, j = e % c.columns;
  if (i >= c.rows) return;
  T* const element = c.data + i * c.leading + j;
  *element = beta == T(0) ? T(0) : beta * *element;
}

}  // namespace

template <class T>
void cuda_scale(Stream& stream, T beta, Matrix<T> c) {
  scale_kernel<<<blocks_for(c.rows * c.columns, threads), threads, 0, native(stream)>>>(beta, c);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "multiply: beta C");
}

#define GRIDSTRIDE_INSTANTIATE(T)                        \
  template void cuda_thin(Stream&, Arguments<T> const&); \
  template void cuda_scale(Stream&, T, Matrix<T>);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::matmul

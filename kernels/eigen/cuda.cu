// Blocks of vectors on the GPU. There are some dozens of vectors of millions of values, so that all
// products of blocks with blocks are bound by memory and by the arithmetic of float64 alike.
//
// gram: a block takes a tile of places and up to 64 × 64 pairs of rows. 16 places of each row go to
// shared memory at a time, those of the next 16 to registers meanwhile; a thread has the sums of
// 4 × 4 pairs, whose rows are 16 apart, so that a warp reads 16 neighbours, or one, of shared memory.
// The tiles' sums are added by a second kernel, in their order.
//
// combine: a block takes some places of all rows into shared memory, and then writes as many of all
// combinations, so that these may stand where the rows were. A thread has 4 places of as many
// combinations, up to 4, as leave the fewest without use.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <utility>

#include "core/buffer.hpp"
#include "kernels/eigen/tiles.hpp"
#include "kernels/support/collectives.cuh"
#include "kernels/support/launch.cuh"
#include "kernels/support/shared_bytes.cuh"

namespace gridstride::eigen {

namespace {

constexpr int threads = 256;
constexpr int lanes = 16;  ///< threads next to each other in either direction
constexpr int own = 4;     ///< rows, or places, of a thread

// ------------------------------------------------------------------------------------------- gram

/// A thread's part of 16 places of up to `count` · 16 rows from `first` on.
template <int count>
struct Fetched {
  double const* from[count];
  double values[count];

  __device__ Fetched(Rows const& rows, int first, std::int64_t size) {
    int const all = rows.count(), row_lane = threadIdx.x / lanes;
#pragma unroll
    for (int i = 0; i < count; ++i) {
      int const row = first + row_lane + lanes * i;
      from[i] = row < all ? rows.row(row, size) : nullptr;
    }
  }
  __device__ void fetch(std::int64_t place, bool inside) {
#pragma unroll
    for (int i = 0; i < count; ++i)
      values[i] = inside && from[i] != nullptr ? __ldcg(from[i] + place) : 0;
  }
  /// Rows next to each other, a line for each place.
  __device__ void keep(double* shared, int stride, double factor) const {
    int const place = threadIdx.x % lanes, row_lane = threadIdx.x / lanes;
#pragma unroll
    for (int i = 0; i < count; ++i)
      shared[place * stride + row_lane + lanes * i] = values[i] * factor;
  }
};

template <int columns>
__global__ void __launch_bounds__(threads)
    gram_kernel(Space space, Rows u, Rows v, Tiles tiles, double* parts) {
  constexpr int u_stride = own * lanes + 1, v_stride = columns * lanes + 1;
  __shared__ double u_shared[lanes * u_stride], v_shared[lanes * v_stride];
  int const first_u = static_cast<int>(blockIdx.y) * own * lanes;
  int const first_v = static_cast<int>(blockIdx.z) * columns * lanes;
  int const x = threadIdx.x % lanes, y = threadIdx.x / lanes;
  std::int64_t const end = tiles.end(blockIdx.x);
  Fetched<own> of_u(u, first_u, space.size);
  Fetched<columns> of_v(v, first_v, space.size);
  double weight = 0;
  auto const fetch = [&](std::int64_t place) {
    bool const inside = place < end;
    weight = inside ? weight_at(space, place) : 0;
    of_u.fetch(place, inside);
    of_v.fetch(place, inside);
  };
  double sums[own][columns] = {};
  std::int64_t place = tiles.begin(blockIdx.x) + x;
  fetch(place);
  for (std::int64_t rest = end - tiles.begin(blockIdx.x); rest > 0; rest -= lanes) {
    of_u.keep(u_shared, u_stride, weight);
    of_v.keep(v_shared, v_stride, 1);
    __syncthreads();
    place += lanes;
    fetch(place);
#pragma unroll
    for (int p = 0; p < lanes; ++p) {
      double a[own], b[columns];
#pragma unroll
      for (int i = 0; i < own; ++i) a[i] = u_shared[p * u_stride + x + lanes * i];
#pragma unroll
      for (int j = 0; j < columns; ++j) b[j] = v_shared[p * v_stride + y + lanes * j];
#pragma unroll
      for (int i = 0; i < own; ++i)
#pragma unroll
        for (int j = 0; j < columns; ++j) sums[i][j] = fma(a[i], b[j], sums[i][j]);
    }
    __syncthreads();
  }
  int const rows = u.count(), all = v.count();
#pragma unroll
  for (int i = 0; i < own; ++i)
#pragma unroll
    for (int j = 0; j < columns; ++j) {
      int const row = first_u + x + lanes * i, column = first_v + y + lanes * j;
      if (row < rows && column < all)
        parts[(std::int64_t{blockIdx.x} * rows + row) * all + column] = sums[i][j];
    }
}

/// sums_e = Σ_t parts_te, in the order of t.
__global__ void __launch_bounds__(threads)
    add_kernel(double const* parts, std::int64_t tiles, std::int64_t size, double* sums) {
  std::int64_t const e = std::int64_t{blockIdx.x} * threads + threadIdx.x;
  if (e >= size) return;
  double sum = 0;
  for (std::int64_t t = 0; t < tiles; ++t) sum += parts[t * size + e];
  sums[e] = sum;
}

/// The sums of `tiles` × `size` parts, on the host.
std::vector<double> added(Stream& stream, Buffer<double> const& parts, std::int64_t tiles,
                          std::int64_t size) {
  Buffer<double> sums(stream, MemorySpace::device, static_cast<std::size_t>(size));
  add_kernel<<<blocks_for(size, threads), threads, 0, native(stream)>>>(parts.data(), tiles, size,
                                                                        sums.data());
  GRIDSTRIDE_CHECK_LAUNCH(stream, "eigen add");
  std::vector<double> result(sums.size());
  copy_async(std::span(result), std::as_const(sums).span(), stream);
  stream.synchronize();
  return result;
}

unsigned pieces(int count, int length) {
  return static_cast<unsigned>((count + length - 1) / length);
}

template <int columns>
void launch_gram(Stream& stream, Space const& space, Rows const& u, Rows const& v,
                 Tiles const& tiles, double* parts) {
  dim3 const grid(static_cast<unsigned>(tiles.count), pieces(u.count(), own * lanes),
                  pieces(v.count(), columns * lanes));
  gram_kernel<columns><<<grid, threads, 0, native(stream)>>>(space, u, v, tiles, parts);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "eigen gram");
}

/// Numbers of the host, there once this returns.
Buffer<double> on_device(Stream& stream, std::span<double const> values) {
  Buffer<double> buffer(stream, MemorySpace::device, values.size());
  copy_async(buffer.span(), values, stream);
  stream.synchronize();
  return buffer;
}

// ---------------------------------------------------------------------------------------- combine

/// So many factors of a row, in loads of 16 bytes where there are two or four.
template <int count>
__device__ void load_factors(double const* from, double (&to)[count]) {
  if constexpr (count % 2 == 0) {
#pragma unroll
    for (int j = 0; j < count; j += 2) {
      double2 const both = __ldg(reinterpret_cast<double2 const*>(from + j));
      to[j] = both.x;
      to[j + 1] = both.y;
    }
  } else {
#pragma unroll
    for (int j = 0; j < count; ++j) to[j] = __ldg(from + j);
  }
}

/// Factors by rows of `in`, each of `stride` for the rows of `out`, zeros behind the last.
template <int places, int columns>
__global__ void __launch_bounds__(threads)
    combine_kernel(std::int64_t size, Rows in, double const* factors, int stride, Rows out) {
  extern __shared__ double shared[];
  constexpr int place_lanes = places / own, row_lanes = threads / place_lanes;
  int const rows = in.count(), all = out.count();
  std::int64_t const first = std::int64_t{blockIdx.x} * places;
  for (int i = threadIdx.x; i < rows * places; i += threads) {
    std::int64_t const place = first + i % places;
    shared[i] = place < size ? __ldcg(in.row(i / places, size) + place) : 0;
  }
  __syncthreads();
  int const x = threadIdx.x % place_lanes, y = threadIdx.x / place_lanes;
  for (int begin = 0; begin < all; begin += row_lanes * columns) {
    double const* const own_factors = factors + begin + y * columns;
    double sums[own][columns] = {};
#pragma unroll 4
    for (int k = 0; k < rows; ++k) {
      double a[own], b[columns];
#pragma unroll
      for (int i = 0; i < own; ++i) a[i] = shared[k * places + x + place_lanes * i];
      load_factors(own_factors + std::int64_t{k} * stride, b);
#pragma unroll
      for (int i = 0; i < own; ++i)
#pragma unroll
        for (int j = 0; j < columns; ++j) sums[i][j] = fma(a[i], b[j], sums[i][j]);
    }
#pragma unroll
    for (int j = 0; j < columns; ++j) {
      int const row = begin + y * columns + j;
      if (row >= all) continue;
      double* const to = out.row(row, size) + first;
#pragma unroll
      for (int i = 0; i < own; ++i)
        if (first + x + place_lanes * i < size) to[x + place_lanes * i] = sums[i][j];
    }
  }
}

template <int places>
bool fits(Stream& stream, int rows) {
  std::size_t const bytes = sizeof(double) * static_cast<std::size_t>(rows) * places;
  return bytes <= stream.device().capabilities().shared_bytes;
}

template <int places, int columns>
void launch_combine(Stream& stream, std::int64_t size, Rows const& in, Small const& factors,
                    Rows const& out) {
  // As many as all threads have at once, so that none has to look where they end.
  constexpr int at_once = threads / (places / own) * columns;
  int const stride = static_cast<int>(pieces(out.count(), at_once)) * at_once;
  std::vector<double> by_rows(static_cast<std::size_t>(in.count() * stride), 0.0);
  for (int i = 0; i < factors.rows; ++i)
    for (int j = 0; j < factors.columns; ++j)
      by_rows[static_cast<std::size_t>(j * stride + i)] = factors(i, j);
  auto const there = on_device(stream, by_rows);
  int const bytes = in.count() * places * 8;
  auto const kernel = combine_kernel<places, columns>;
  allow_shared_bytes(kernel, static_cast<std::size_t>(bytes));
  kernel<<<blocks_for(size, places), threads, static_cast<unsigned>(bytes), native(stream)>>>(
      size, in, there.data(), stride, out);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "eigen combine");
}

// -------------------------------------------------------------------------------- element by element

__device__ double add(double a, double b) { return a + b; }
__device__ double larger(double a, double b) { return fmax(a, b); }

__global__ void __launch_bounds__(threads)
    residual_kernel(Space space, Rows x, Rows ax, double const* values, Rows r, Tiles tiles,
                    double* parts) {
  __shared__ double shared[threads / warp_size];
  int const row = static_cast<int>(blockIdx.y);
  double const value = values[row];
  double const* const from = x.row(row, space.size);
  double const* const mapped = ax.row(row, space.size);
  double* const to = r.row(row, space.size);
  double sum = 0;
  for (std::int64_t p = tiles.begin(blockIdx.x) + threadIdx.x; p < tiles.end(blockIdx.x);
       p += threads) {
    double const residual = mapped[p] - value * from[p];
    to[p] = residual;
    sum += weight_at(space, p) * residual * residual;
  }
  sum = block_reduce<threads>(sum, add, shared);
  if (threadIdx.x == 0) parts[std::int64_t{blockIdx.x} * gridDim.y + row] = sum;
}

__global__ void __launch_bounds__(threads)
    maxima_kernel(Space space, Rows rows, Tiles tiles, double* maxima) {
  __shared__ double shared[threads / warp_size];
  double const* const row = rows.row(static_cast<int>(blockIdx.y), space.size);
  double largest = 0;
  for (std::int64_t p = tiles.begin(blockIdx.x) + threadIdx.x; p < tiles.end(blockIdx.x);
       p += threads)
    largest = fmax(largest, fabs(row[p]));
  largest = block_reduce<threads>(largest, larger, shared);
  if (threadIdx.x == 0) maxima[std::int64_t{blockIdx.y} * gridDim.x + blockIdx.x] = largest;
}

template <class Each>
__global__ void __launch_bounds__(threads) each_kernel(Tiles tiles, Each each) {
  for (std::int64_t p = tiles.begin(blockIdx.x) + threadIdx.x; p < tiles.end(blockIdx.x);
       p += threads)
    each(static_cast<int>(blockIdx.y), p);
}

template <class Each>
void for_all(Stream& stream, Space const& space, Rows const& rows, Each const& each) {
  Tiles const tiles = Tiles::of(space.size);
  dim3 const grid(static_cast<unsigned>(tiles.count), static_cast<unsigned>(rows.count()));
  each_kernel<<<grid, threads, 0, native(stream)>>>(tiles, each);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "eigen each");
}

struct Randomise {
  Space space;
  Rows rows;
  std::uint64_t seed;
  __device__ void operator()(int row, std::int64_t p) const {
    bool const is_unknown = weight_at(space, p) != 0;
    rows.row(row, space.size)[p] = is_unknown ? random_at(seed, row, p) : 0;
  }
};

struct ScalePoints {
  std::int64_t size;
  double const* factors;
  Rows rows;
  __device__ void operator()(int row, std::int64_t p) const {
    rows.row(row, size)[p] *= factors[p];
  }
};

template <class T>
struct Deliver {
  std::int64_t size;
  Rows rows;
  double const* factors;
  T* out;
  std::int64_t point_stride, row_stride;
  __device__ void operator()(int row, std::int64_t p) const {
    out[p * point_stride + row * row_stride] =
        static_cast<T>(factors[row] * rows.row(row, size)[p]);
  }
};

}  // namespace

Small cuda_gram(Stream& stream, Space const& space, Rows const& u, Rows const& v) {
  Tiles const tiles = Tiles::of(space.size);
  Small result(u.count(), v.count());
  std::int64_t const size = std::ssize(result.values);
  Buffer<double> parts(stream, MemorySpace::device, static_cast<std::size_t>(tiles.count * size));
  if (v.count() <= lanes)
    launch_gram<1>(stream, space, u, v, tiles, parts.data());
  else if (v.count() <= 2 * lanes)
    launch_gram<2>(stream, space, u, v, tiles, parts.data());
  else
    launch_gram<own>(stream, space, u, v, tiles, parts.data());
  result.values = added(stream, parts, tiles.count, size);
  return result;
}

void cuda_combine(Stream& stream, Space const& space, Rows const& in, Small const& factors,
                  Rows const& out) {
  int const rows = in.count();
  if (!fits<32>(stream, rows)) return launch_combine<16, own>(stream, space.size, in, factors, out);
  if (!fits<64>(stream, rows)) return launch_combine<32, own>(stream, space.size, in, factors, out);
  constexpr decltype(&launch_combine<64, own>) launches[] = {
      launch_combine<64, 1>, launch_combine<64, 2>, launch_combine<64, 3>, launch_combine<64, 4>};
  auto const columns = std::min(pieces(out.count(), lanes), unsigned{own});
  launches[columns - 1](stream, space.size, in, factors, out);
}

std::vector<double> cuda_residuals(Stream& stream, Space const& space, Rows const& x,
                                   Rows const& ax, std::span<double const> values, Rows const& r) {
  Tiles const tiles = Tiles::of(space.size);
  auto const there = on_device(stream, values);
  std::int64_t const rows = x.count();
  Buffer<double> parts(stream, MemorySpace::device, static_cast<std::size_t>(tiles.count * rows));
  dim3 const grid(static_cast<unsigned>(tiles.count), static_cast<unsigned>(rows));
  residual_kernel<<<grid, threads, 0, native(stream)>>>(space, x, ax, there.data(), r, tiles,
                                                        parts.data());
  GRIDSTRIDE_CHECK_LAUNCH(stream, "eigen residuals");
  auto norms = added(stream, parts, tiles.count, rows);
  for (double& norm : norms) norm = std::sqrt(norm);
  return norms;
}

void cuda_randomise(Stream& stream, Space const& space, Rows const& rows, std::uint64_t seed) {
  for_all(stream, space, rows, Randomise{space, rows, seed});
}

void cuda_scale_points(Stream& stream, Space const& space, double const* factors,
                       Rows const& rows) {
  for_all(stream, space, rows, ScalePoints{space.size, factors, rows});
}

std::vector<double> cuda_tile_maxima(Stream& stream, Space const& space, Rows const& rows) {
  Tiles const tiles = Tiles::of(space.size);
  std::vector<double> maxima(static_cast<std::size_t>(tiles.count * rows.count()));
  Buffer<double> there(stream, MemorySpace::device, maxima.size());
  dim3 const grid(static_cast<unsigned>(tiles.count), static_cast<unsigned>(rows.count()));
  maxima_kernel<<<grid, threads, 0, native(stream)>>>(space, rows, tiles, there.data());
  GRIDSTRIDE_CHECK_LAUNCH(stream, "eigen maxima");
  copy_async(std::span(maxima), std::as_const(there).span(), stream);
  stream.synchronize();
  return maxima;
}

template <class T>
void cuda_deliver(Stream& stream, Space const& space, Rows const& rows,
                  std::span<double const> factors, T* out, std::int64_t point_stride,
                  std::int64_t row_stride) {
  auto const there = on_device(stream, factors);
  for_all(stream, space, rows,
          Deliver<T>{space.size, rows, there.data(), out, point_stride, row_stride});
}

template void cuda_deliver(Stream&, Space const&, Rows const&, std::span<double const>, float*,
                           std::int64_t, std::int64_t);
template void cuda_deliver(Stream&, Space const&, Rows const&, std::span<double const>, double*,
                           std::int64_t, std::int64_t);

}  // namespace gridstride::eigen

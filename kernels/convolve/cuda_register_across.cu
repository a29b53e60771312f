// The rung `register` along y and z.
//
// As along x (cuda_register.cu), but the lanes of a warp have 32 neighbouring signals, a block's
// warps neighbouring points of them, 16 (8 of float64) each: what a lane's window
// moves over lies 32 elements apart in shared memory, and every load there serves 32 lanes with
// neighbouring elements. Rows are found through a table of where they begin, −1 for the value of
// `Boundary::constant`, which a block makes first: past that, no boundary is left.
//
// Bytes: sizeof(T)·(2 + taps/128) per output; halo rows mostly come from L2.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>

#include "kernels/convolve/window.cuh"
#include "kernels/support/async_copy.cuh"
#include "kernels/support/shared_bytes.cuh"
#include "kernels/support/vector.cuh"

namespace gridstride::convolve {

namespace {

constexpr int lanes = 32;
/// Warps of a block: a few where loads count, more where halos do.
constexpr int few_warps = 4, many_warps = 8, many_taps = 65;

template <class T>
constexpr int across_outputs = 64 / sizeof(T);

/// A row of the tile in shared memory, and where it begins in the data.
template <class T>
constexpr int bytes_of_row = lanes * sizeof(T) + sizeof(long long);

/// Taps of a piece: with them, two blocks share the shared memory of a multiprocessor.
template <int warps, class T>
std::int64_t most_taps(Device const& device) {
  auto const bytes = static_cast<int>(device.capabilities().shared_bytes_of_processor);
  auto const rows = (bytes / 2 - 1024) / bytes_of_row<T>;
  return std::min(rows / across_outputs<T> * across_outputs<T> - warps * across_outputs<T>,
                  most_parameter_taps<T>);
}

/// Copies `bytes`/sizeof(T) elements of a row to shared memory, or writes the value.
template <int bytes, class T>
__device__ void stage(T* target, T const* source, bool exists, T value) {
  using Piece = Vector<T, bytes / sizeof(T)>;
  if (exists) {
#if __CUDA_ARCH__ >= 800
    begin_copy<bytes>(static_cast<unsigned>(__cvta_generic_to_shared(target)), source);
#else
    *reinterpret_cast<Piece*>(target) = *reinterpret_cast<Piece const*>(source);
#endif
  } else {
    for (int j = 0; j < bytes / static_cast<int>(sizeof(T)); ++j) target[j] = value;
  }
}

template <int warps, int width, class T>
__global__ void __launch_bounds__(warps* lanes, 1024 / (warps * lanes))
    across_kernel(__grid_constant__ Work<T> const work,
                  __grid_constant__ ParameterTaps<T> const taps, unsigned column_tiles) {
  extern __shared__ __align__(16) unsigned char memory[];
  constexpr int threads = warps * lanes;
  int const tile = warps * across_outputs<T>, used = tile + work.count - 1;
  T* const data = reinterpret_cast<T*>(memory);
  auto* const rows = reinterpret_cast<long long*>(
      data + (tile + tiles_of(work.count, across_outputs<T>) * across_outputs<T>)*lanes);
  int const t = static_cast<int>(threadIdx.x);
  long long const column = static_cast<long long>(blockIdx.x % column_tiles) * lanes;
  long long const first = static_cast<long long>(blockIdx.x / column_tiles) * tile;
  long long const columns = work.inner * work.outer;
  for (int r = t; r < used; r += threads) {
    long long const source = source_of(work.boundary, first + work.lowest + r, work.length);
    rows[r] = source < 0 ? -1 : source * work.inner;
  }
  __syncthreads();
  constexpr int per_row = lanes / width;
  int const c = t % per_row * width;
  if (column + c < columns) {
    T const* const signal = work.in + work.signal(column + c);
    for (int r = t / per_row; r < used; r += threads / per_row)
      stage<width * sizeof(T)>(data + r * lanes + c, signal + max(rows[r], 0ll), rows[r] >= 0,
                               work.value);
  }
  close_group();
  await_groups<0>();
  __syncthreads();

  int const lane = t % lanes, warp = t / lanes;
  long long const i = first + warp * across_outputs<T>;
  if (column + lane >= columns || i >= work.length) return;
  T sum[across_outputs<T>] = {};
  T const* const own = data + warp * across_outputs<T> * lanes + lane;
  slide(sum, taps, 0, work.count, [&](T* target, int part) {
#pragma unroll
    for (int v = 0; v < across_outputs<T>; ++v)
      target[v] = own[(part * across_outputs<T> + v) * lanes];
  });
  T* out = work.out + work.signal(column + lane) + i * work.inner;
#pragma unroll
  for (int v = 0; v < across_outputs<T>; ++v, out += work.inner)
    if (i + v < work.length) *out = work.add ? *out + sum[v] : sum[v];
}

template <int warps, class T>
void launch(Stream& stream, Arguments<T> const& a) {
  constexpr int tile = warps * across_outputs<T>;
  for_each_piece(
      a, most_taps<warps, T>(stream.device()), [&](Work<T> const& work, std::span<T const> piece) {
        auto const column_tiles = tiles_of(work.inner * work.outer, lanes);
        auto const blocks = grid_of(column_tiles * tiles_of(work.length, tile));
        auto const kernel = takes_vectors(a, work.inner) ? across_kernel<warps, vector_width<T>, T>
                                                         : across_kernel<warps, 1, T>;
        auto const rows = tile + tiles_of(work.count, across_outputs<T>) * across_outputs<T>;
        auto const bytes = static_cast<int>(rows * bytes_of_row<T>);
        allow_shared_bytes(kernel, static_cast<std::size_t>(bytes));
        kernel<<<blocks, warps * lanes, bytes, native(stream)>>>(
            work, ParameterTaps<T>::of(piece), static_cast<unsigned>(column_tiles));
        GRIDSTRIDE_CHECK_LAUNCH(stream, "convolve register across");
      });
}

}  // namespace

template <class T>
void cuda_register_across(Stream& stream, Arguments<T> const& a) {
  if (a.filter->count() < many_taps)
    launch<few_warps>(stream, a);
  else
    launch<many_warps>(stream, a);
}

template void cuda_register_across(Stream&, Arguments<float> const&);
template void cuda_register_across(Stream&, Arguments<double> const&);

}  // namespace gridstride::convolve

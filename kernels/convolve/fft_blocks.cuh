#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/convolve/boundary.hpp"
#include "kernels/convolve/rows.hpp"
#include "kernels/support/launch.cuh"
#include "kernels/support/vector.cuh"

/// Overlap-save: signals in blocks for filters by their spectrum. A block of `points` elements
/// begins taps − 1 elements before its outputs. Its product with a filter of period `points` is
/// wrong in those first taps − 1 places, where it runs around the block's end, and right in all
/// others, which are the block's outputs.
namespace gridstride::convolve {

/// How signals are cut into blocks. Block b of a signal yields its outputs from b·useful on.
struct Tiling {
  std::int64_t points;  ///< of a transform, a multiple of four
  std::int64_t useful;  ///< outputs of a block, which the last of a signal may have fewer of
  std::int64_t per_signal;
  std::int64_t batch;  ///< how many have a row of the work memory at a time

  /// Blocks of `points` elements with `useful` outputs, as many at a time as fit `most_bytes`.
  template <class T>
  static Tiling make(std::int64_t points, std::int64_t useful, Signals const& signals,
                     std::int64_t most_bytes) {
    Tiling tiling{points, useful, (signals.length + useful - 1) / useful, 1};
    std::int64_t const fit = most_bytes / (tiling.row<T>() * static_cast<std::int64_t>(sizeof(T)));
    constexpr std::int64_t most_rows = 32768;  // the kernels have a block of threads for each
    tiling.batch = std::clamp<std::int64_t>(fit, 1, most_rows);
    tiling.batch = std::min(tiling.batch, tiling.per_signal * signals.count());
    return tiling;
  }

  /// Elements from one row of the work memory to the next: room for points/2 + 1 complex numbers,
  /// aligned to 16 bytes.
  template <class T>
  std::int64_t row() const {
    return points + vector_width<T>;
  }
};

/// Some blocks in a row, numbered through all signals: those of one signal after the other where
/// the elements of a signal are neighbours, else the first blocks of all signals, then the second.
template <class T>
struct Blocks {
  long long first, count;  ///< of the blocks
  long long inner, length, signals;
  long long useful, per_signal, row;
  long long taps, center;
  long long skip;  ///< elements of a row before its outputs
  Boundary boundary;
  T value;

  static Blocks make(Arguments<T> const& a, Tiling const& tiling, std::int64_t first,
                     std::int64_t count) {
    auto const signals = Signals::of(a.shape);
    return {first,
            count,
            signals.inner,
            signals.length,
            signals.count(),
            tiling.useful,
            tiling.per_signal,
            tiling.row<T>(),
            a.filter->count(),
            a.filter->center(),
            a.filter->count() - 1,
            a.boundary,
            a.value};
  }

  struct Place {
    long long origin;  ///< the signal's first element in the array
    long long start;   ///< the block's first output in the signal
    long long outputs;
  };
  __device__ Place place(long long n) const {
    long long const id = first + n;
    bool const along = inner == 1;
    long long const signal = along ? id / per_signal : id % signals;
    long long const start = (along ? id % per_signal : id / signals) * useful;
    return {signal / inner * length * inner + signal % inner, start, min(useful, length - start)};
  }
  /// The place in the signal of element j of a block.
  __device__ long long at(Place const& block, long long j) const {
    return block.start + center - (taps - 1) + j;
  }
  /// What the filter meets at element j of a block; zero where it needs none.
  __device__ T element(T const* in, Place const& block, long long j) const {
    if (j >= block.outputs + taps - 1) return T(0);
    long long const source = source_of(boundary, at(block, j), length);
    return source < 0 ? value : in[block.origin + source * inner];
  }
};

namespace blocks {

constexpr int threads = 256;

/// A thread has every gridDim.x·threads-th element of a row of `work`; blockIdx.y tells the row.
template <class T>
__global__ void gather_along(Blocks<T> blocks, T const* in, T* work) {
  auto const block = blocks.place(blockIdx.y);
  T* const row = work + blockIdx.y * blocks.row;
  for (auto j = static_cast<long long>(blockIdx.x) * threads + threadIdx.x; j < blocks.row;
       j += gridDim.x * threads)
    row[j] = blocks.element(in, block, j);
}

template <class T>
__global__ void crop_along(Blocks<T> blocks, T const* work, T* out) {
  auto const block = blocks.place(blockIdx.y);
  T const* const row = work + blockIdx.y * blocks.row + blocks.skip;
  T* const target = out + block.origin + block.start;
  for (auto j = static_cast<long long>(blockIdx.x) * threads + threadIdx.x; j < block.outputs;
       j += gridDim.x * threads)
    store_once(target + j, Vector<T, 1>{{row[j]}});
}

constexpr int tile_size = 32, tile_rows = 8;

/// Lanes lie beside each other in the array, one per block, then along a row of `work`. A block of
/// threads has every gridDim.x-th tile along its 32 rows.
template <class T>
__global__ void gather_across(Blocks<T> blocks, T const* in, T* work) {
  __shared__ T tile[tile_size][tile_size + 1];
  int const first = static_cast<int>(blockIdx.y) * tile_size;
  int const lane = threadIdx.x;
  bool const here = first + lane < blocks.count;
  auto const block = blocks.place(here ? first + lane : 0);
  for (auto piece = static_cast<long long>(blockIdx.x) * tile_size; piece < blocks.row;
       piece += gridDim.x * tile_size) {
    for (int j = threadIdx.y; here && j < tile_size; j += tile_rows)
      tile[j][lane] = blocks.element(in, block, piece + j);
    __syncthreads();
    for (int n = threadIdx.y; n < tile_size; n += tile_rows)
      if (first + n < blocks.count && piece + lane < blocks.row)
        work[(first + n) * blocks.row + piece + lane] = tile[lane][n];
    __syncthreads();
  }
}

template <class T>
__global__ void crop_across(Blocks<T> blocks, T const* work, T* out) {
  __shared__ T tile[tile_size][tile_size + 1];
  int const first = static_cast<int>(blockIdx.y) * tile_size;
  int const lane = threadIdx.x;
  bool const here = first + lane < blocks.count;
  auto const block = blocks.place(here ? first + lane : 0);
  for (auto piece = static_cast<long long>(blockIdx.x) * tile_size; piece < blocks.useful;
       piece += gridDim.x * tile_size) {
    for (int n = threadIdx.y; n < tile_size; n += tile_rows)
      if (first + n < blocks.count && piece + lane < blocks.useful)
        tile[lane][n] = work[(first + n) * blocks.row + blocks.skip + piece + lane];
    __syncthreads();
    for (int j = threadIdx.y; here && j < tile_size; j += tile_rows)
      if (piece + j < block.outputs)
        out[block.origin + (block.start + piece + j) * blocks.inner] = tile[j][lane];
    __syncthreads();
  }
}

/// Pieces of a row for which there is a block of threads each; it goes on to the next ones.
inline unsigned pieces(std::int64_t size, int piece) {
  constexpr unsigned per_block = 8;
  return (blocks_for(size, piece) + per_block - 1) / per_block;
}

}  // namespace blocks

/// Queues work ← in: a row for each block, its boundary made. Each side moves whole lines.
template <class T>
void gather(Stream& stream, Blocks<T> const& described, T const* in, T* work) {
  using namespace blocks;
  auto const rows = static_cast<unsigned>(described.count);
  if (described.inner == 1)
    gather_along<<<dim3(pieces(described.row, threads), rows), threads, 0, native(stream)>>>(
        described, in, work);
  else
    gather_across<<<dim3(pieces(described.row, tile_size), blocks_for(rows, tile_size)),
                    dim3(tile_size, tile_rows), 0, native(stream)>>>(described, in, work);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "gather");
}

/// Queues out ← work: the outputs of each row.
template <class T>
void crop(Stream& stream, Blocks<T> const& described, T const* work, T* out) {
  using namespace blocks;
  auto const rows = static_cast<unsigned>(described.count);
  if (described.inner == 1)
    crop_along<<<dim3(pieces(described.useful, threads), rows), threads, 0, native(stream)>>>(
        described, work, out);
  else
    crop_across<<<dim3(pieces(described.useful, tile_size), blocks_for(rows, tile_size)),
                  dim3(tile_size, tile_rows), 0, native(stream)>>>(described, work, out);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "crop");
}

}  // namespace gridstride::convolve

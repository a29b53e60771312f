// The rung `reduce_then_scan` of the ladder in cuda.cu: see there for what it follows.
//
// As many blocks as the GPU holds at a time share the elements in contiguous pieces:
//   1. each block combines its piece to a total (reads n),
//   2. one block scans the totals, a thread a piece,
//   3. each block scans its piece, starting with what the totals say is before it (reads and
//      writes n).
// A piece is a row of tiles. Of a tile a thread holds four vectors of 16 bytes, a block's width
// apart, so that a warp's loads are contiguous and four are in flight per thread. It scans its
// vectors in registers, the warp the vectors' totals by shuffles, and the 32 totals of the tile's
// warp-wide rows meet in shared memory, where every warp scans them at once: one barrier a tile.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>

#include "core/buffer.hpp"
#include "kernels/scan/operations.hpp"
#include "kernels/scan/rows.hpp"
#include "kernels/support/collectives.cuh"
#include "kernels/support/launch.cuh"
#include "kernels/support/vector.cuh"

namespace gridstride::scan {

namespace {

constexpr int threads = 256, blocks_per_processor = 4;
constexpr int rows = 4, warps = threads / warp_size;
static_assert(rows * warps == warp_size, "one warp scans the totals of all rows of all warps");
/// What one block scans the totals of.
constexpr int max_pieces = 1024;

/// Elements of a tile.
template <class T>
constexpr int tile = rows* threads * 16 / static_cast<int>(sizeof(T));

/// A thread's part of a tile.
template <class T>
struct Part {
  Vector<T, vector_width<T>> row[rows];
};

/// The place in its tile of a thread's vector in a row.
template <class T>
__device__ int place(int row) {
  return (row * threads + static_cast<int>(threadIdx.x)) * vector_width<T>;
}

/// A thread's part of the tile that starts at `source`, of which `count` elements exist; the
/// identity stands for the others. `aligned`: to 16 bytes.
template <class Op, class T>
__device__ Part<T> load(T const* source, std::int64_t count, bool aligned) {
  Part<T> part;
  if (aligned && count >= tile<T>) {
    for (int r = 0; r < rows; ++r)
      part.row[r] = *reinterpret_cast<Vector<T, vector_width<T>> const*>(source + place<T>(r));
  } else {
    for (int r = 0; r < rows; ++r)
      for (int j = 0; j < vector_width<T>; ++j)
        part.row[r].at[j] = place<T>(r) + j < count ? source[place<T>(r) + j] : Op::identity();
  }
  return part;
}

template <class T>
__device__ void store(Part<T> const& part, T* target, std::int64_t count, bool aligned) {
  if (aligned && count >= tile<T>) {
    for (int r = 0; r < rows; ++r)
      *reinterpret_cast<Vector<T, vector_width<T>>*>(target + place<T>(r)) = part.row[r];
  } else {
    for (int r = 0; r < rows; ++r)
      for (int j = 0; j < vector_width<T>; ++j)
        if (place<T>(r) + j < count) target[place<T>(r) + j] = part.row[r].at[j];
  }
}

template <class Op, class T>
__global__ void __launch_bounds__(threads, blocks_per_processor)
    totals_kernel(T const* input, T* totals, std::int64_t size, std::int64_t piece, bool aligned) {
  __shared__ T shared[warps];
  auto const combine = [](T a, T b) { return Op::combine(a, b); };
  std::int64_t const begin = blockIdx.x * piece, end = min(begin + piece, size);
  T total = Op::identity();
  for (std::int64_t at = begin; at < end; at += tile<T>) {
    auto const part = load<Op>(input + at, end - at, aligned);
    for (int r = 0; r < rows; ++r)
      for (int j = 0; j < vector_width<T>; ++j) total = combine(total, part.row[r].at[j]);
  }
  total = block_reduce<threads>(total, combine, shared);
  if (threadIdx.x == 0) totals[blockIdx.x] = total;
}

template <class Op, class T>
__global__ void __launch_bounds__(max_pieces) scan_totals_kernel(T* totals, int pieces) {
  __shared__ T shared[max_pieces / warp_size];
  int const t = static_cast<int>(threadIdx.x);
  T total;
  T const before = block_exclusive_scan<max_pieces>(
      t < pieces ? totals[t] : Op::identity(), Op::identity(),
      [](T a, T b) { return Op::combine(a, b); }, shared, total);
  if (t < pieces) totals[t] = before;
}

/// Each piece with what is before it in `before`; null: there is but one piece.
template <class Op, bool inclusive, class T>
__global__ void __launch_bounds__(threads, blocks_per_processor)
    scan_pieces_kernel(T const* input, T* output, T const* before, std::int64_t size,
                       std::int64_t piece, bool aligned) {
  // In turns, so that a warp may be one tile ahead of another.
  __shared__ T row_totals[2][warp_size];
  auto const combine = [](T a, T b) { return Op::combine(a, b); };
  int const lane = lane_index(), warp = warp_index();
  std::int64_t const begin = blockIdx.x * piece, end = min(begin + piece, size);
  T before_tile = before != nullptr ? before[blockIdx.x] : Op::identity();
  int turn = 0;
  for (std::int64_t at = begin; at < end; at += tile<T>, turn = 1 - turn) {
    auto part = load<Op>(input + at, end - at, aligned);
    T before_lane[rows];  // from the row's part of this warp
    for (int r = 0; r < rows; ++r) {
      T total = part.row[r].at[0];
      for (int j = 1; j < vector_width<T>; ++j) total = combine(total, part.row[r].at[j]);
      total = warp_inclusive_scan(total, combine);
      before_lane[r] = shuffle_up(total, 1);
      if (lane == 0) before_lane[r] = Op::identity();
      if (lane == warp_size - 1) row_totals[turn][r * warps + warp] = total;
    }
    __syncthreads();
    T const up_to_row = warp_inclusive_scan(row_totals[turn][lane], combine);
    for (int r = 0; r < rows; ++r) {
      int const rows_before = r * warps + warp;
      T before_row = shuffle(up_to_row, rows_before > 0 ? rows_before - 1 : 0);
      if (rows_before == 0) before_row = Op::identity();
      T value = combine(combine(before_tile, before_row), before_lane[r]);
      for (int j = 0; j < vector_width<T>; ++j) {
        T const up_to = combine(value, part.row[r].at[j]);
        part.row[r].at[j] = inclusive ? up_to : value;
        value = up_to;
      }
    }
    store(part, output + at, end - at, aligned);
    before_tile = combine(before_tile, shuffle(up_to_row, warp_size - 1));
  }
}

}  // namespace

template <class T>
void cuda_reduce_then_scan(Stream& stream, Arguments<T> const& arguments) {
  with_operation(arguments, [&](auto operation, auto inclusive) {
    using Op = decltype(operation);
    auto const [_, kind, input, output, size, none] = arguments;
    std::int64_t const tiles = (size + tile<T> - 1) / tile<T>;
    std::int64_t const blocks = std::min<std::int64_t>(
        {tiles, max_pieces, blocks_per_processor * stream.device().processors()});
    std::int64_t const piece = (tiles + blocks - 1) / blocks * tile<T>;
    auto const pieces = static_cast<unsigned>((size + piece - 1) / piece);

    bool const aligned = misalignment(input) == 0 && misalignment(output) == 0;
    Buffer<T> before(stream, MemorySpace::device, pieces > 1 ? pieces : 0);
    if (pieces > 1) {
      totals_kernel<Op>
          <<<pieces, threads, 0, native(stream)>>>(input, before.data(), size, piece, aligned);
      GRIDSTRIDE_CHECK_LAUNCH(stream, "scan reduce_then_scan: totals");
      scan_totals_kernel<Op>
          <<<1, max_pieces, 0, native(stream)>>>(before.data(), static_cast<int>(pieces));
      GRIDSTRIDE_CHECK_LAUNCH(stream, "scan reduce_then_scan: scan of the totals");
    }
    scan_pieces_kernel<Op, inclusive()><<<pieces, threads, 0, native(stream)>>>(
        input, output, before.data(), size, piece, aligned);
    GRIDSTRIDE_CHECK_LAUNCH(stream, "scan reduce_then_scan: scan of the pieces");
  });
}

#define GRIDSTRIDE_INSTANTIATE(T) template void cuda_reduce_then_scan(Stream&, Arguments<T> const&);
GRIDSTRIDE_INSTANTIATE(std::int32_t)
GRIDSTRIDE_INSTANTIATE(std::int64_t)
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::scan

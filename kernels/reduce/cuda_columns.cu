// Numbers of fields by their columns (columns.hpp) on the GPU.
//
// Thread-to-data: where an array is given, a thread has a column of a part and goes along its rows. Of
// what columns have come to, a block takes a tile, thread t its pairs of columns 2·t, 2·t + 512, …; at the
// end a block for each field combines the tiles' results, thread t those of tiles t, t + 256, …: the last
// one that is done, or where ranks share results between, a kernel of its own.
//
// Bytes: n·sizeof(T) for the columns of an array, and 8 bytes for each column of a part and number that is
// asked for, both ways.

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/reduce/columns.hpp"
#include "kernels/support/collectives.cuh"
#include "kernels/support/launch.cuh"

namespace gridstride::reduce {

namespace {

using Operation = FieldOperation<double>;
constexpr int threads = 256, warps = threads / warp_size;

struct Combine {
  __device__ FieldNumbers operator()(FieldNumbers a, FieldNumbers const& b) const {
    Operation::combine(a, b);
    return a;
  }
};

__device__ double end_weight(bool wraps, std::int64_t i, std::int64_t points) {
  return !wraps && (i == 0 || i == points - 1) ? 0.5 : 1;
}

template <class T>
__global__ void __launch_bounds__(threads)
    columns_kernel(FieldOperation<T> operation, T const* values, std::int64_t first_row,
                   std::int64_t rows, std::int64_t of_part, FieldColumns columns) {
  std::int64_t const line = operation.points[0];
  std::int64_t const column = std::int64_t{blockIdx.x} * threads + threadIdx.x;
  if (column >= line) return;
  std::int64_t const first = blockIdx.y * of_part;
  std::int64_t const last = first + of_part < rows ? first + of_part : rows;
  FieldNumbers found = Operation::identity();
  T const* place = values + first * line + column;
#pragma unroll 8
  for (std::int64_t row = first; row < last; ++row, place += line) {
    double const value = static_cast<double>(__ldcs(place));
    if (value < found.least) found.least = value;
    if (found.greatest < value) found.greatest = value;
    found.integral += end_weight(operation.wraps[1], first_row + row, operation.points[1]) * value;
  }
  std::int64_t const to = blockIdx.y * line + column;
  columns.sums[to] = found.integral;
  if (columns.least) columns.least[to] = found.least;
  if (columns.greatest) columns.greatest[to] = found.greatest;
}

/// Columns `first` to before `last` of a part that begins there or before, whose weights count from
/// `in_line` more on: a thread's pairs 2·t, 2·t + 512, … of them.
__device__ FieldNumbers take_tile(Operation const& operation, FieldColumns const& columns,
                                  std::int64_t first, std::int64_t last, std::int64_t in_line) {
  FieldNumbers found = Operation::identity();
  std::int64_t const line = operation.points[0];
  bool const in_pairs = first % 2 == 0;
#pragma unroll 8
  for (std::int64_t i = first + 2 * threadIdx.x; i < last; i += 2 * threads) {
    double pair[2] = {};
    if (in_pairs && i + 1 < last) {
      double2 const both = *reinterpret_cast<double2 const*>(columns.sums + i);
      pair[0] = both.x;
      pair[1] = both.y;
    } else {
      pair[0] = columns.sums[i];
      if (i + 1 < last) pair[1] = columns.sums[i + 1];
    }
#pragma unroll
    for (int n = 0; n < 2; ++n) {
      if (i + n >= last) continue;
      FieldNumbers one = Operation::identity();
      one.integral = end_weight(operation.wraps[0], i + n + in_line, line) * pair[n];
      if (columns.least) one.least = columns.least[i + n];
      if (columns.greatest) one.greatest = columns.greatest[i + n];
      Operation::combine(found, one);
    }
  }
  return found;
}

/// What another block may have stored a moment ago.
__device__ FieldNumbers load_shared(FieldNumbers const* numbers) {
  auto const* const pairs = reinterpret_cast<double2 const*>(numbers);
  double2 const first = __ldcg(pairs), second = __ldcg(pairs + 1);
  return {first.x, first.y, second.x, second.y};
}

/// By a block, once all tiles are there.
__device__ void finish_field(ColumnTiles const& tiles, int field, FieldNumbers (&shared)[warps]) {
  FieldNumbers found = Operation::identity();
  FieldNumbers const* const sums = tiles.sums + field * tiles.count;
#pragma unroll 4
  for (std::int64_t t = threadIdx.x; t < tiles.count; t += threads)
    Operation::combine(found, load_shared(sums + t));
  found = block_reduce<threads>(found, Combine{}, shared);
  if (threadIdx.x == 0) *tiles.results[field] = tiles.operation.finish(found);
}

__global__ void __launch_bounds__(threads) tiles_kernel(__grid_constant__ ColumnTiles const tiles) {
  __shared__ FieldNumbers shared[warps];
  __shared__ bool is_last;
  int const field = static_cast<int>(blockIdx.y);
  std::int64_t const first = tiles.cuts.first(blockIdx.x);
  std::int64_t const last = tiles.cuts.last(blockIdx.x, tiles.size);
  auto const found =
      block_reduce<threads>(take_tile(tiles.operation, tiles.columns[field], first, last,
                                      first % tiles.operation.points[0] - first),
                            Combine{}, shared);
  if (threadIdx.x == 0) tiles.sums[field * tiles.count + blockIdx.x] = found;
  if (tiles.results[field] == nullptr) return;
  if (threadIdx.x == 0) {
    __threadfence();
    is_last = atomicAdd(tiles.done + field, 1U) + 1 == gridDim.x;
  }
  __syncthreads();
  if (!is_last) return;
  __threadfence();
  finish_field(tiles, field, shared);
  if (threadIdx.x == 0) tiles.done[field] = 0;
}

__global__ void __launch_bounds__(threads)
    finish_kernel(__grid_constant__ ColumnTiles const tiles) {
  __shared__ FieldNumbers shared[warps];
  finish_field(tiles, static_cast<int>(blockIdx.x), shared);
}

}  // namespace

template <class T>
void cuda_columns(Stream& stream, FieldOperation<T> const& operation, T const* values,
                  std::int64_t first_row, std::int64_t rows, FieldColumns const& columns) {
  std::int64_t const of_part = rows_of_part(operation.points);
  dim3 const blocks(blocks_for(operation.points[0], threads),
                    static_cast<unsigned>((rows + of_part - 1) / of_part));
  columns_kernel<<<blocks, threads, 0, native(stream)>>>(operation, values, first_row, rows,
                                                         of_part, columns);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "reduce columns");
}

template void cuda_columns(Stream&, FieldOperation<float> const&, float const*, std::int64_t,
                           std::int64_t, FieldColumns const&);
template void cuda_columns(Stream&, FieldOperation<double> const&, double const*, std::int64_t,
                           std::int64_t, FieldColumns const&);

void cuda_column_tiles(Stream& stream, ColumnTiles const& tiles, int fields) {
  dim3 const blocks(static_cast<unsigned>(tiles.cuts.count(tiles.size)),
                    static_cast<unsigned>(fields));
  tiles_kernel<<<blocks, threads, 0, native(stream)>>>(tiles);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "reduce columns: tiles");
}

void cuda_finish_fields(Stream& stream, ColumnTiles const& tiles, int fields) {
  finish_kernel<<<static_cast<unsigned>(fields), threads, 0, native(stream)>>>(tiles);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "reduce columns: fields");
}

}  // namespace gridstride::reduce

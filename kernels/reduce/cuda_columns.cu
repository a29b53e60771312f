// Numbers of fields by their columns (columns.hpp) on the GPU.
//
// Thread-to-data: where an array is given, a thread has a column of a part and goes along its rows. Of
// what columns have come to, a block takes a tile, thread t its columns t, t + 256, …; at the end a block
// for each field combines the tiles' results, thread t those of tiles t, t + 256, …
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
constexpr int threads = 256;

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

__global__ void __launch_bounds__(threads) tiles_kernel(ColumnTiles tiles) {
  __shared__ FieldNumbers shared[threads / warp_size];
  auto const& operation = tiles.operation;
  FieldColumns const& columns = tiles.columns[blockIdx.y];
  std::int64_t const first = tiles.cuts.first(blockIdx.x);
  std::int64_t const last = tiles.cuts.last(blockIdx.x, tiles.size);
  std::int64_t const line = operation.points[0], in_line = first % line - first;
  FieldNumbers found = Operation::identity();
#pragma unroll 4
  for (std::int64_t i = first + threadIdx.x; i < last; i += threads) {
    FieldNumbers one = Operation::identity();
    one.integral = end_weight(operation.wraps[0], i + in_line, line) * columns.sums[i];
    if (columns.least) one.least = columns.least[i];
    if (columns.greatest) one.greatest = columns.greatest[i];
    Operation::combine(found, one);
  }
  found = block_reduce<threads>(found, Combine{}, shared);
  if (threadIdx.x == 0) tiles.sums[blockIdx.y * tiles.count + blockIdx.x] = found;
}

__global__ void __launch_bounds__(threads)
    finish_kernel(Operation operation, FieldNumbers const* sums, std::int64_t count,
                  FieldResults results) {
  __shared__ FieldNumbers shared[threads / warp_size];
  FieldNumbers found = Operation::identity();
  FieldNumbers const* const of_field = sums + blockIdx.x * count;
#pragma unroll 4
  for (std::int64_t t = threadIdx.x; t < count; t += threads)
    Operation::combine(found, of_field[t]);
  found = block_reduce<threads>(found, Combine{}, shared);
  if (threadIdx.x == 0) *results.of[blockIdx.x] = operation.finish(found);
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

void cuda_finish_fields(Stream& stream, FieldOperation<double> const& operation,
                        FieldNumbers const* sums, std::int64_t count, FieldResults const& results,
                        int fields) {
  finish_kernel<<<static_cast<unsigned>(fields), threads, 0, native(stream)>>>(operation, sums,
                                                                               count, results);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "reduce columns: fields");
}

}  // namespace gridstride::reduce

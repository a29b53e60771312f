// Reductions of data that come piece by piece (running.hpp) on the GPU.
//
// Thread-to-data: a block has a tile of up to 32,768 elements, whose vectors of 16 bytes go to its 256
// threads in turn; a thread loads four before it uses any. Which elements are a thread's, and in
// which order it takes them in, is the same whether they can be loaded as vectors or, where a tile
// does not begin at a multiple of 16 bytes, one by one. At the end one block combines the tiles'
// results, thread t those of tiles t, t + 1024, …
//
// Bytes: n·sizeof(T) read.

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/reduce/running_rows.hpp"
#include "kernels/support/collectives.cuh"
#include "kernels/support/launch.cuh"
#include "kernels/support/vector.cuh"

namespace gridstride::reduce {

namespace {

constexpr int threads = 256, combining_threads = 1024;
constexpr int under_way = 4;  // vectors of a thread

template <class Operation>
struct Combine {
  using Value = typename Operation::Value;
  __device__ Value operator()(Value a, Value const& b) const {
    Operation::combine(a, b);
    return a;
  }
};

/// The vector at `place` of a tile with `count` elements, of which some may not exist.
template <class T>
__device__ Vector<T, vector_width<T>> load(T const* tile, int place, int count, bool aligned) {
  constexpr int width = vector_width<T>;
  if (aligned && place + width <= count) return load_once<width>(tile + place);
  Vector<T, width> vector = {};
  for (int j = 0; j < width; ++j)
    if (place + j < count) vector.at[j] = tile[place + j];
  return vector;
}

template <class Operation>
__global__ void __launch_bounds__(threads) tiles_kernel(Tiles<Operation> tiles) {
  using T = typename Operation::Element;
  using Value = typename Operation::Value;
  constexpr int width = vector_width<T>, step = threads * width;
  static_assert(running_tile % (step * under_way) == 0);
  __shared__ Value shared[threads / warp_size];
  std::int64_t const first = tiles.cuts.first(blockIdx.x);
  int const count = static_cast<int>(tiles.cuts.last(blockIdx.x, tiles.size) - first);
  bool const aligned = misalignment(tiles.x + first) == 0 &&
                       (!Operation::two_inputs || misalignment(tiles.y + first) == 0);
  Value value = Operation::identity();
  for (int start = static_cast<int>(threadIdx.x) * width; start < count;
       start += step * under_way) {
    Vector<T, width> x[under_way], y[under_way];
#pragma unroll
    for (int k = 0; k < under_way; ++k) {
      x[k] = load(tiles.x + first, start + k * step, count, aligned);
      if constexpr (Operation::two_inputs)
        y[k] = load(tiles.y + first, start + k * step, count, aligned);
    }
#pragma unroll
    for (int k = 0; k < under_way; ++k)
#pragma unroll
      for (int j = 0; j < width; ++j) {
        int const place = start + k * step + j;
        if (place >= count) continue;
        T const second = Operation::two_inputs ? y[k].at[j] : T{};
        tiles.operation.add(value, x[k].at[j], second, tiles.first + first + place);
      }
  }
  value = block_reduce<threads>(value, Combine<Operation>{}, shared);
  if (threadIdx.x == 0) tiles.partials[blockIdx.x] = value;
}

template <class Operation>
__global__ void __launch_bounds__(combining_threads)
    combine_kernel(Operation operation, typename Operation::Value const* partials,
                   std::int64_t count, typename Operation::Value* result) {
  using Value = typename Operation::Value;
  __shared__ Value shared[combining_threads / warp_size];
  Value value = Operation::identity();
  for (std::int64_t t = threadIdx.x; t < count; t += combining_threads)
    Operation::combine(value, partials[t]);
  value = block_reduce<combining_threads>(value, Combine<Operation>{}, shared);
  if (threadIdx.x == 0) *result = operation.finish(value);
}

}  // namespace

template <class Operation>
void cuda_tiles(Stream& stream, Tiles<Operation> const& tiles) {
  tiles_kernel<<<static_cast<unsigned>(tiles.count()), threads, 0, native(stream)>>>(tiles);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "reduce running");
}

template <class Operation>
void cuda_combine_tiles(Stream& stream, Operation const& operation,
                        typename Operation::Value const* partials, std::int64_t count,
                        typename Operation::Value* result) {
  combine_kernel<<<1, combining_threads, 0, native(stream)>>>(operation, partials, count, result);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "reduce running: tiles");
}

#define GRIDSTRIDE_INSTANTIATE(Operation)                                              \
  template void cuda_tiles(Stream&, Tiles<Operation> const&);                          \
  template void cuda_combine_tiles(Stream&, Operation const&, Operation::Value const*, \
                                   std::int64_t, Operation::Value*)
GRIDSTRIDE_FOR_TILED_OPERATIONS(GRIDSTRIDE_INSTANTIATE);

}  // namespace gridstride::reduce

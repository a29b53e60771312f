// The rungs `warp_shuffle` and `cooperative_groups` of the ladder in cuda.cu: the tree in
// registers. Thread-to-data mapping and bytes are those of `grid_stride`.

#include <cooperative_groups.h>

#include <cstring>

#include "kernels/reduce/passes.cuh"

namespace gridstride::reduce {

namespace {

constexpr int block_warps = block_threads / warp_threads;

// --------------------------------------------------------------------------------- warp_shuffle

/// `v` of another lane: `shuffle` moves one 32-bit word, and a value is a few of them.
template <class V, class Shuffle>
__device__ V shuffled(V const& v, Shuffle const& shuffle) {
  unsigned words[sizeof(V) / sizeof(unsigned)];
  memcpy(words, &v, sizeof(V));
  for (unsigned& word : words) word = shuffle(word);
  V other;
  memcpy(&other, words, sizeof(V));
  return other;
}

/// Combines the values of a warp; lane 0 has the result. The lanes of the upper half go on with
/// values that nobody asks for.
template <class Op>
__device__ void combine_warp(Value<Op>& v) {
#pragma unroll
  for (unsigned s = warp_threads / 2; s > 0; s /= 2)
    Op::combine(v, shuffled(v, [s](unsigned word) { return __shfl_down_sync(~0u, word, s); }));
}

template <class Op>
__global__ void warp_shuffle_kernel(Input<Op> const in, Value<Op>* partials) {
  __shared__ Value<Op> of_warp[block_warps];
  unsigned const warp = threadIdx.x / warp_threads, lane = threadIdx.x % warp_threads;
  Value<Op> v = accumulate(in);
  combine_warp<Op>(v);
  if (lane == 0) of_warp[warp] = v;
  __syncthreads();
  if (warp > 0) return;
  v = lane < block_warps ? of_warp[lane] : Op::identity();
  combine_warp<Op>(v);
  if (lane == 0) partials[blockIdx.x] = v;
}

// --------------------------------------------------------------------------- cooperative_groups

/// Combines the values of a tile of threads; its rank 0 has the result.
/// `cooperative_groups::reduce` takes values of up to 32 bytes, which not all moments are.
template <class Op, class Tile>
__device__ void combine_tile(Tile const& tile, Value<Op>& v) {
#pragma unroll
  for (unsigned s = Tile::num_threads() / 2; s > 0; s /= 2)
    Op::combine(v, shuffled(v, [&](unsigned word) { return tile.shfl_down(word, s); }));
}

template <class Op>
__global__ void cooperative_groups_kernel(Input<Op> const in, Value<Op>* partials) {
  __shared__ Value<Op> of_warp[block_warps];
  auto const block = cooperative_groups::this_thread_block();
  auto const warp = cooperative_groups::tiled_partition<warp_threads>(block);
  Value<Op> v = accumulate(in);
  combine_tile<Op>(warp, v);
  if (warp.thread_rank() == 0) of_warp[warp.meta_group_rank()] = v;
  block.sync();
  auto const tile = cooperative_groups::tiled_partition<block_warps>(block);
  if (tile.meta_group_rank() > 0) return;
  v = of_warp[tile.thread_rank()];
  combine_tile<Op>(tile, v);
  if (tile.thread_rank() == 0) partials[blockIdx.x] = v;
}

}  // namespace

template <class T>
void cuda_warp_shuffle(Stream& stream, Arguments<T> const& a) {
  reduce_blocks(stream, a, resident_blocks(stream, a.size),
                [&](auto const& input, auto* partials, unsigned blocks) {
                  warp_shuffle_kernel<<<blocks, block_threads, 0, native(stream)>>>(input,
                                                                                    partials);
                  GRIDSTRIDE_CHECK_LAUNCH(stream, "reduce warp_shuffle");
                });
}

template <class T>
void cuda_cooperative_groups(Stream& stream, Arguments<T> const& a) {
  reduce_blocks(stream, a, resident_blocks(stream, a.size),
                [&](auto const& input, auto* partials, unsigned blocks) {
                  cooperative_groups_kernel<<<blocks, block_threads, 0, native(stream)>>>(input,
                                                                                          partials);
                  GRIDSTRIDE_CHECK_LAUNCH(stream, "reduce cooperative_groups");
                });
}

#define GRIDSTRIDE_INSTANTIATE(T)                                \
  template void cuda_warp_shuffle(Stream&, Arguments<T> const&); \
  template void cuda_cooperative_groups(Stream&, Arguments<T> const&);
GRIDSTRIDE_INSTANTIATE(std::int32_t)
GRIDSTRIDE_INSTANTIATE(std::int64_t)
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::reduce

#pragma once

#include "kernels/support/launch.cuh"
#include "kernels/support/vector.cuh"

/// A pass over long arrays by a fixed number of blocks. A tile is `threads` x `group`
/// vectors; block b takes tiles b, b + blocks, b + 2·blocks, ... A thread loads its `group` vectors
/// of a tile before it uses any, so that many bytes are on their way at once, and has them in
/// rising order of their indices.
namespace gridstride {

namespace detail {
template <bool whole, int threads, int group, int width, int inputs, class T, class Body>
__device__ void take_tile(T const* const (&input)[inputs], VectorCut const& cut, std::int64_t first,
                          Body const& body) {
  Vector<T, width> vectors[group][inputs];
  first += threadIdx.x;
#pragma unroll
  for (int k = 0; k < group; ++k) {
    std::int64_t const v = first + k * threads;
#pragma unroll
    for (int i = 0; i < inputs; ++i)
      if (whole || v < cut.vectors)
        vectors[k][i] = load_once<width>(input[i] + cut.head + v * width);
  }
#pragma unroll
  for (int k = 0; k < group; ++k) {
    std::int64_t const v = first + k * threads;
    if (whole || v < cut.vectors) body(vectors[k], cut.head + v * width);
  }
}
}  // namespace detail

/// Calls `body(vectors, index)` for this thread's share of arrays that are cut alike: one vector of
/// each array, and the index of its first element. Elements outside the cut come as vectors of one,
/// after the others, to threads of block 0. To be called by all threads of one-dimensional blocks.
template <int threads, int group, int width, int inputs, class T, class Body>
__device__ void for_each_vector(T const* const (&input)[inputs], VectorCut const& cut,
                                Body const& body) {
  constexpr std::int64_t tile = threads * group;
  std::int64_t first = blockIdx.x * tile;
  for (; first + tile <= cut.vectors; first += gridDim.x * tile)
    detail::take_tile<true, threads, group, width>(input, cut, first, body);
  if (first < cut.vectors) detail::take_tile<false, threads, group, width>(input, cut, first, body);
  if (blockIdx.x != 0 || threadIdx.x >= cut.outside) return;
  std::int64_t const index = cut.index_outside(threadIdx.x, width);
  Vector<T, 1> single[inputs];
  for (int i = 0; i < inputs; ++i) single[i] = {input[i][index]};
  body(single, index);
}

/// The blocks of such a pass: `rounds` times as many as run at the same time, or as there are
/// tiles, but at least one.
template <int threads, int group, class Kernel>
unsigned blocks_of_pass(Stream& stream, Kernel kernel, VectorCut const& cut, int rounds = 1) {
  int resident = 0;
  GRIDSTRIDE_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, threads, 0));
  std::int64_t const most = std::int64_t{resident} * stream.device().processors() * rounds;
  std::int64_t const tiles = (cut.vectors + threads * group - 1) / (threads * group);
  return static_cast<unsigned>(tiles < 1 ? 1 : tiles < most ? tiles : most);
}

}  // namespace gridstride
